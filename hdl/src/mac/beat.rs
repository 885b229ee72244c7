//! What crosses between the blocks of the MAC: beats between the core and the line, bytes between the line and the pins.

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

/// A byte between the line's side and the pins, as GMII has it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LineByte {
    /// The byte. While `valid` is low, a byte from the PHY is its status.
    pub data: Bits<8>,
    /// The byte belongs to a frame or to its preamble.
    pub valid: bool,
    /// The byte is wrong: it came so, or is to arrive so.
    pub error: bool,
}

/// What a PHY says of itself between frames.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PhyStatus {
    /// The PHY has a link.
    pub link: bool,
    /// Its speed is 100 Mbit/s.
    pub hundred: bool,
    /// Its speed is 1000 Mbit/s.
    pub gigabit: bool,
    /// Its link is full duplex.
    pub duplex: bool,
}

/// What was sent: the values of [`LineSender`](super::LineSender)'s `outcome`.
pub mod outcome {
    /// A frame of the core's.
    pub const FRAME: u64 = 0;
    /// A pause frame.
    pub const PAUSE: u64 = 1;
    /// A frame that ended damaged on purpose.
    pub const SPOILED: u64 = 2;
}
