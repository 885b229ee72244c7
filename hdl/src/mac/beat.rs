//! What crosses between the clock domains of the MAC.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// The longest frame that is received, in bytes without FCS: 528 beats, what `receive/ingress` keeps room for.
pub const LONGEST: u64 = 4224;

/// Why a frame is not to be used: the values of [`MacBeat::reason`].
pub mod reason {
    /// The frame is good.
    pub const NONE: u64 = 0;
    /// The frame's FCS is wrong.
    pub const FCS: u64 = 1;
    /// The frame has fewer than 64 bytes, the FCS among them.
    pub const RUNT: u64 = 2;
    /// The frame has more than [`LONGEST`](super::LONGEST) bytes and the FCS.
    pub const LONG: u64 = 3;
    /// The PHY marked an error in the frame.
    pub const CODING: u64 = 4;
    /// The core did not take the frame in time.
    pub const OVERRUN: u64 = 5;
}

/// The MAC's counters, in order: see [`Counters`](super::Counters).
pub mod counter {
    /// Good frames received, control frames among them.
    pub const RECEIVED: u64 = 0;
    /// Frames with a wrong FCS. This one and the next four stand at their [`reason`](super::reason).
    pub const FCS: u64 = 1;
    /// Frames that were too short.
    pub const RUNT: u64 = 2;
    /// Frames that were too long.
    pub const LONG: u64 = 3;
    /// Frames that the PHY marked.
    pub const CODING: u64 = 4;
    /// Frames that the core did not take in time.
    pub const OVERRUN: u64 = 5;
    /// Pause frames obeyed.
    pub const PAUSED: u64 = 6;
    /// Frames sent for the core.
    pub const SENT: u64 = 8;
    /// Pause frames sent.
    pub const PAUSES_SENT: u64 = 9;
    /// Frames sent damaged on purpose: the core was too slow, was reset, or said so.
    pub const SPOILED: u64 = 10;
}

/// Eight bytes of a frame between the core and the wire.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MacBeat {
    /// Eight bytes, the first in bits 7:0.
    pub data: Bits<64>,
    /// Number of bytes that are there, 1 to 8; fewer than 8 only with `last`; 0 only with `last` and a reason.
    pub count: Bits<4>,
    /// The beat is the last of its frame.
    pub last: bool,
    /// With `last`: why the frame is not to be used, see [`reason`].
    pub reason: Bits<3>,
}
