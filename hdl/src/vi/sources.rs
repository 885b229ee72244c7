//! The blocks that offer faults, by name.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Number of the blocks that offer faults.
pub const FAULT_SOURCES: usize = 6;

/// One bit for each block that offers faults. Packed, as an arbiter has them, it is a `Bits<FAULT_SOURCES>`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FaultSources {
    /// `fetch`.
    pub fetch: bool,
    /// `send/transmit`.
    pub transmit: bool,
    /// `receive`.
    pub receive: bool,
    /// `complete/sends`.
    pub sends: bool,
    /// `complete/writer`.
    pub writer: bool,
    /// `complete/queues`.
    pub queues: bool,
}
