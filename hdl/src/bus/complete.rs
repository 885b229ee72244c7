//! The end of a descriptor: completions and the entries of completion queues.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{Cq, CqIndex, Vi};
use rust_hdl::prelude::*;

/// A descriptor to complete in place, and the acknowledgement that waits for it. Completions of
/// one queue are written in the order in which they come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Completion {
    /// The VI whose descriptor it is.
    pub vi: Vi,
    /// The descriptor is of the receive queue, otherwise of the send queue.
    pub receive: bool,
    /// There is a descriptor to write; otherwise only the acknowledgement.
    pub write: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Length to write.
    pub length: Bits<32>,
    /// Low 20 bits of the status to write.
    pub status: Bits<20>,
    /// ImmediateData is written before Length and Status.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// An acknowledgement follows the write.
    pub acknowledge: bool,
    /// PSN of that acknowledgement.
    pub psn: Bits<24>,
    /// MSN of that acknowledgement.
    pub msn: Bits<24>,
    /// Syndrome of that acknowledgement: `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// Kind of that acknowledgement: see [`word`](super::word).
    pub kind: Bits<2>,
    /// A descriptor of the queue ends with this completion: the queue's position moves on. Without `write` the
    /// descriptor is one that could not be read.
    pub ends: bool,
    /// The acknowledgement waits until the data is in memory (Reliable Reception).
    pub reception: bool,
}

/// A descriptor has ended: for the completion queue of its queue, if that has one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Closed {
    /// The VI whose descriptor has ended.
    pub vi: Vi,
    /// The descriptor is of the receive queue, otherwise of the send queue.
    pub receive: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// The descriptor's status is written; otherwise the consumer cannot see that it has ended.
    pub written: bool,
}

/// A completion queue entry on its way to memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqEntry {
    /// Region of the ring.
    pub region: Bits<16>,
    /// Protection tag that the ring's region must have.
    pub tag: Bits<16>,
    /// Where the entry goes: bytes from the region's base rounded down to 64.
    pub address: Bits<40>,
    /// The first 8 bytes: a token or an event.
    pub token: Bits<64>,
    /// The VI that the entry is about.
    pub vi: Vi,
    /// The entry is about the receive queue, otherwise about the send queue.
    pub receive: bool,
    /// Phase of the ring's lap.
    pub phase: bool,
}

/// A store to a completion queue's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqStore {
    /// The completion queue whose page was stored to.
    pub cq: Cq,
    /// How many entries the consumer has taken.
    pub index: CqIndex,
    /// The consumer goes to sleep; otherwise it only gives room back.
    pub arm: bool,
}
