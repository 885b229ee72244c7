//! The agent's commits, and what the NIC tells the agent: states, faults and events. Also work queues by name.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{Position, Queue, Vi};
use rust_hdl::prelude::*;
use viaduct_spec::profile::REGION_LOG2;

/// A table row on its way to the block that owns the table. The row comes first, so that its bits are the lowest ones of a commit: a
/// listener shows them as its own row by an [`Unpack`](crate::prims::Unpack), see [`rows`](crate::rows).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Commit {
    /// Bits 63:0 of the row.
    pub word0: Bits<64>,
    /// Bits 127:64 of the row.
    pub word1: Bits<64>,
    /// Bits 191:128 of the row.
    pub word2: Bits<64>,
    /// Number of the row in its table.
    pub row: Bits<16>,
    /// Number of the table: `viaduct_spec::tables::table`.
    pub target: Bits<4>,
}

/// A VI has changed its state: `vi/state` tells all blocks, and each keeps a copy of its own.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct StateWrite {
    /// The VI that changes its state.
    pub vi: Vi,
    /// The new state: `viaduct_spec::tables::vi_states`.
    pub state: Bits<2>,
}

/// Something went wrong that no descriptor can report, or that breaks a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Fault {
    /// The VI that the fault is about.
    pub vi: Vi,
    /// `viaduct_spec::register::event_code`; 0: break the VI and report nothing.
    pub code: Bits<8>,
    /// The fault happened on the receive queue.
    pub receive: bool,
    /// The VI goes into Error if it is connected.
    pub breaks: bool,
}

/// A work queue by name. Packed it is the queue's index, a [`Queue`](super::Queue).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct QueueId {
    /// The VI's receive queue; otherwise its send queue.
    pub receive: bool,
    /// The VI.
    pub vi: Vi,
}

/// A consumer goes to sleep and wants an interrupt when its queue is past a position.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Arm {
    /// The work queue.
    pub queue: Queue,
    /// Position of the last descriptor whose completion the consumer has seen.
    pub position: Position,
}

/// What the doorbells of a work queue have told so far.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DoorbellRow {
    /// Where the descriptor of the last doorbell's token lies in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Region of that descriptor; 0, which does not exist, in place of one beyond the table.
    pub region: Bits<{ REGION_LOG2 }>,
    /// That descriptor has one segment at most, and 48 bytes.
    pub short: bool,
    /// One past the last position posted.
    pub posted: Position,
    /// The last doorbell brought a token.
    pub with_token: bool,
}
