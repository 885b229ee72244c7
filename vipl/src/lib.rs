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
//! use vipl::{connections::NetAddress, Descriptor, Mac, MemAttributes, Nic, ViAttributes};
//!
//! # fn main() -> Result<(), vipl::Error> {
//! let nic = Nic::open("vfio-user:/run/viaduct/nic0.sock")?;
//! let ptag = nic.create_ptag()?;
//! let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//!
//! // Somebody waits there, by `Connections::wait`.
//! let own = NetAddress { host: nic.attributes().local_nic_address.into(), discriminator: b"me".to_vec() };
//! let peer = NetAddress { host: Mac([2, 0, 0, 0, 0, 2]).into(), discriminator: b"greetings".to_vec() };
//! nic.connections()?.request(&vi, &own, &peer, &[], None)?;
//!
//! memory.write(4096, b"hello")?;
//! let send = Descriptor::new().segment(&memory, 4096, 5)?.build(&memory, 0)?;
//! vi.post_send(send)?;
//! let sent = vi.send_wait(Some(Duration::from_secs(1)))?;
//! assert_eq!(sent.length(), 5);
//! # Ok(()) }
//! ```
//!
//! # What cannot be done with it
//!
//! The NIC reads and writes memory by itself, and what it may reach must stay. So what it may reach is owned: a [`Region`] is deregistered
//! when nobody has it, a built [`Descriptor`] has the regions of its segments and of itself, and a posted one belongs to the queue until
//! it is complete. Each state is a type, or nobody's: a [`DescriptorBuilder`] is in the making, a [`Descriptor`] is the program's, a posted one
//! is in nobody's hands, and what `done` and `wait` give back is complete.
//!
//! ```no_run
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let send = Descriptor::new().segment(&memory, 4096, 5)?.build(&memory, 0)?;
//! drop(memory); // The descriptor has it still.
//! vi.post_send(send)?;
//! let sent = vi.send_wait(None)?;
//! assert_eq!(sent.length(), 5);
//! # Ok(()) }
//! ```
//!
//! A posted descriptor is not there any more, to look into or to post again:
//!
//! ```compile_fail,E0382
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let send = Descriptor::new().segment(&memory, 4096, 5)?.build(&memory, 0)?;
//! vi.post_send(send)?;
//! vi.post_send(send)?; // moved
//! # Ok(()) }
//! ```
//!
//! Nor is there a second one:
//!
//! ```compile_fail,E0599
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let send = Descriptor::new().segment(&memory, 4096, 5)?.build(&memory, 0)?;
//! vi.post_send(send.clone())?; // no Clone
//! # Ok(()) }
//! ```
//!
//! What is in the making is not posted:
//!
//! ```compile_fail,E0308
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! vi.post_send(Descriptor::new().segment(&memory, 4096, 5)?)?; // a builder
//! # Ok(()) }
//! ```
//!
//! No reference leads into memory that the NIC may change; bytes are copied:
//!
//! ```compile_fail,E0608
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let bytes: &[u8] = &memory[4096..4101]; // no Index
//! # Ok(()) }
//! ```
//!
//! Memory of the program's own is a promise, that it stays:
//!
//! ```compile_fail,E0133
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let mut bytes = [0u8; 100];
//! let start = std::ptr::NonNull::from(&mut bytes).cast();
//! let region = nic.register(start, 100, &MemAttributes::new(&ptag))?; // unsafe
//! # Ok(()) }
//! ```
//!
//! And so is a descriptor that the program writes itself, which only VIs that were made for that take:
//!
//! ```compile_fail,E0599
//! # use vipl::{Descriptor, Error, MemAttributes, Nic, ViAttributes};
//! # fn main() -> Result<(), Error> {
//! # let nic = Nic::open("nic0")?;
//! # let ptag = nic.create_ptag()?;
//! # let memory = nic.allocate(8192, &MemAttributes::new(&ptag))?;
//! # let vi = nic.create_vi(&ViAttributes::new(&ptag))?;
//! let start = memory.as_ptr();
//! unsafe { vi.post_at(vipl::Direction::Send, &memory, start)? }; // not of a Vi<Descriptor>
//! # Ok(()) }
//! ```
//!
//! VIA gives no flow control: on a reliable VI a message that finds no receive posted breaks the
//! connection. Receives are posted before the peer sends; how many, the two programs agree. A VI that was created with
//! [`NotReady::Stay`] has its peer send again instead.

mod backoff;
mod builder;
mod bytes;
pub mod connections;
mod cq;
mod descriptor;
mod ends;
mod error;
mod form;
mod host_address;
mod list;
mod memory;
mod names;
mod nic;
mod queue;
mod readiness;
mod registered;
mod ring;
mod status;
mod unshared;
mod vi;
mod vi_queues;

pub use builder::DescriptorBuilder;
pub use cq::{Completion, Cq, CqEntry};
pub use descriptor::{Descriptor, Operation, Remote};
pub use error::{Error, Return};
pub use form::RawDescriptor;
pub use list::{nics, NicEntry, NicState};
pub use memory::{MemAttributes, Region, StillRegistered};
pub use names::full_name;
pub use nic::{Nic, NicAttributes, Ptag};
pub use queue::Try;
pub use status::Status;
pub use vi::{Vi, ViAttributes, ViQuery, ViSlot};
pub use vi_queues::{Form, ViId, ViQueues};
pub use viaduct_driver::{
    address::{ConnectionInfo, Mac, Mtu, Service as ReliabilityLevel},
    cm::{end::WITHOUT_END, NotReady},
    device_memory::DeviceMemory,
    kernel_agent::{Event, NicKind},
    queues::{Direction, ViState},
};
