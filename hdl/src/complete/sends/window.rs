//! What `complete/sends` remembers: of each VI a window, and of each message in it an entry.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Position;
use rust_hdl::prelude::*;
use viaduct_spec::profile::{REGION_LOG2, SEND_WINDOW_LOG2};

/// Bits of a number of messages in a window, 0 to SEND_WINDOW.
pub const COUNT_BITS: usize = SEND_WINDOW_LOG2 + 1;

/// A VI's window: its messages from `completed` on, and its packets from `oldest` on.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Window {
    /// Position of the oldest message that is not complete.
    pub completed: Position,
    /// Entries, 0 to SEND_WINDOW: messages from `completed` on that have come at least once.
    pub known: Bits<COUNT_BITS>,
    /// How many of them have come since the last rewind; while rewinding, since the one before.
    pub come: Bits<COUNT_BITS>,
    /// PSN of the first packet of the message at `completed`.
    pub first: Bits<24>,
    /// Oldest PSN that is not acknowledged.
    pub oldest: Bits<24>,
    /// Next PSN that has never been sent.
    pub fresh: Bits<24>,
    /// See [`crate::bus::EpochWrite`].
    pub epoch: bool,
    /// Nothing of the epoch has left yet.
    pub rewinding: bool,
    /// A rewind waits.
    pub pending: bool,
    /// The peer has no receive: the rewind waits for the timer.
    pub resting: bool,
    /// Packets behind the newest entry have left; what is known of their message stands in the next one.
    pub partial: bool,
    /// The VI's service is Reliable Reception.
    pub reception: bool,
    /// Why the peer refused the oldest message: see [`refusal`].
    pub refusal: Bits<3>,
}

/// A message that has left, or a part of it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SentMessage {
    /// Region of the descriptor. One beyond the table was never read, and is never written.
    pub region: Bits<{ REGION_LOG2 }>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// PSN behind its last packet.
    pub after: Bits<24>,
    /// How the message has ended, or that it waits: see [`kind`].
    pub kind: Bits<3>,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
}

/// The RDMA reads of a VI: how many are complete, and whether a message waits for one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Parking {
    /// Reads complete, modulo 8.
    pub done: Bits<3>,
    /// A message waits for one to be complete: it is the next after those known, and must be fetched again.
    pub parked: bool,
    /// The rewind under way, or the last one, only went on behind what was known.
    pub resuming: bool,
    /// Reads that were complete when gather saw that.
    pub seen: Bits<3>,
}

/// A refusal in its parts: see [`refusal`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Refusal {
    /// INVALID, ACCESS or OPERATIONAL.
    pub reason: Bits<2>,
    /// With a reason: reads before what was refused have not been answered; without: LOCAL.
    pub behind: bool,
}

/// How a message has ended, or that it waits.
pub mod kind {
    /// The message has left and nobody acknowledges it.
    pub const DONE: u64 = 0;
    /// The message has left and must be acknowledged.
    pub const WAITS: u64 = 1;
    /// The message ends with FORMAT_ERROR.
    pub const FORMAT: u64 = 2;
    /// The message ends with LENGTH_ERROR.
    pub const LENGTH: u64 = 3;
    /// The message ends with PROTECTION_ERROR.
    pub const PROTECTION: u64 = 4;
    /// The message ends with DESC_FLUSHED_ERROR.
    pub const FLUSHED: u64 = 5;
    /// The message ends with TRANSPORT_ERROR.
    pub const TRANSPORT: u64 = 6;
    /// The message's descriptor could not be read: nothing is written.
    pub const LOST: u64 = 7;
}

/// Why a peer refused: low bits of the syndromes NAK_INVALID to NAK_OPERATIONAL. A peer that had no receive too often counts
/// as OPERATIONAL.
pub mod refusal {
    /// No refusal.
    pub const NONE: u64 = 0;
    /// NAK_INVALID.
    pub const INVALID: u64 = 1;
    /// NAK_ACCESS.
    pub const ACCESS: u64 = 2;
    /// NAK_OPERATIONAL.
    pub const OPERATIONAL: u64 = 3;
    /// The answer to a read came, and a segment of ours was refused: `crate::bus::local`. In INVALID to OPERATIONAL: the reads
    /// before what was refused have not been answered.
    pub const LOCAL: u64 = 4;
}
