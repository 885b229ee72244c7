//! VIPL, the library of Virtual Interface Architecture programs, for Rust.
//!
//! The names and the rules are VIA's (VI Architecture Specification 1.0): a [`Nic`] is opened,
//! memory is registered under a protection tag ([`Ptag`]) and becomes a [`Region`], a virtual
//! interface ([`Vi`]) is created and connected, and [`Descriptor`]s are posted to its two work
//! queues. Posting is two stores, one into the VI's ring and one to its doorbell; the NIC reads
//! descriptor and data where they lie and writes the completion into the descriptor.
//!
//! ```no_run
//! use std::time::Duration;
//! use vipl::{Descriptor, MemAttributes, Nic, ViAttributes};
//!
//! # fn main() -> Result<(), vipl::Error> {
//! # let mut channel = std::os::unix::net::UnixStream::connect("peer").unwrap();
//! let nic = Nic::open("vfio-user:/run/viaduct/nic0.sock")?;
//! let ptag = nic.create_ptag()?;
//! let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! vi.connect_through(&mut channel)?;
//!
//! memory.write(4096, b"hello")?;
//! let send = Descriptor::new().segment(&memory, 4096, 5)?.build(&memory, 0)?;
//! vi.post_send(send)?;
//! let sent = vi.send_wait(Some(Duration::from_secs(1)))?;
//! assert_eq!(sent.length(), 5);
//! # Ok(()) }
//! ```
//!
//! VIA gives no flow control: on a reliable VI a message that finds no receive posted breaks the
//! connection. Receives are posted before the peer sends; how many, the two programs agree.

pub mod connections;
mod cq;
mod descriptor;
mod error;
mod form;
mod memory;
mod names;
mod nic;
mod patience;
mod queue;
mod vi;
mod wire;

pub use cq::{Cq, CqEntry, ViId};
pub use descriptor::{Descriptor, DescriptorBuilder, Operation, Remote, Status};
pub use error::{Error, Return};
pub use form::{Form, RawDescriptor};
pub use memory::{MemAttributes, Region};
pub use names::full_name;
pub use nic::{Nic, NicAttributes, Ptag};
pub use vi::{Direction, ReliabilityLevel, Vi, ViAttributes, ViQuery, ViState};
pub use viaduct_driver::{
    address::{ConnectionInfo, Mac, Mtu},
    agent::{Event, NicKind},
};
