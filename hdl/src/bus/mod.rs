//! The bundles that cross from one block to the next, each defined once. [`crate::stream`] has the ports that carry them.

use rust_hdl::prelude::Bits;
use viaduct_spec::profile::{BAR2_BYTES, CQ_LOG2, DOORBELL_SHIFT, READ_TAGS_LOG2, VECTOR_LOG2, VI_LOG2};

mod acknowledge;
mod agent;
mod complete;
mod frame;
mod memory;
mod pcie;
mod read;
mod receive;
mod send;

pub use acknowledge::{AckRequest, Acknowledged};
pub use agent::{Arm, Commit, DoorbellRow, Fault, QueueId, StateWrite};
pub use complete::{Closed, Completion, CqEntry, CqStore};
pub use frame::{FrameBeat, FrameInfo};
pub use memory::{Access, DmaCommand, ReadBeat, WriteBeat, WriteVerdict};
pub use pcie::{MmioRead, MmioWrite, TlpBeat};
pub use read::{Admission, Answer, Placing, ReadRequest, ReadSent, Reply};
pub use receive::{AheadWord, Filled};
pub use send::{EpochWrite, Packet, PayloadWord, Rewind, SendHead, Sent, Whole};

// The names of the bundles' codes and bits, which `spec/` defines.
pub use crate::rows::inside::{ByClient, RemoteRights};
pub use crate::rows::wire::SyndromeParts;
pub use viaduct_spec::inside::{client, local, remote, word};
pub use viaduct_spec::wire::syndrome_class;

/// Index of a virtual interface.
pub type Vi = Bits<VI_LOG2>;
/// log2 of the work queues.
pub const QUEUE_LOG2: usize = VI_LOG2 + 1;
/// Index of a work queue: 2 x VI + (1 for the receive queue).
pub type Queue = Bits<QUEUE_LOG2>;
/// Bits of a store's offset in its BAR.
pub const STORE_LOG2: usize = if BAR2_BYTES > 1 << 20 { BAR2_BYTES.ilog2() as usize } else { 20 };
/// Bits of a doorbell page's number.
pub const PAGE_NUMBER_LOG2: usize = STORE_LOG2 - DOORBELL_SHIFT;
/// Index of a completion queue.
pub type Cq = Bits<CQ_LOG2>;
/// Entries of a completion queue, written or taken, counted modulo 2^18.
pub type CqIndex = Bits<18>;
/// Index of an interrupt vector.
pub type Vector = Bits<VECTOR_LOG2>;
/// Write commands issued or retired, counted modulo 256.
pub type Mark = Bits<8>;
/// Tag of a read in flight.
pub type ReadTag = Bits<READ_TAGS_LOG2>;
/// Position in a ring, counted modulo 2^14.
pub type Position = Bits<14>;
