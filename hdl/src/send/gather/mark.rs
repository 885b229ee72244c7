//! What an access of gather is for: the mark goes with the access as `user`, and comes back with each beat of the answer.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Says for what the answer to an access is. [`Cast`](crate::prims::Cast) makes it of `user`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AnswerMark {
    /// The tail of a descriptor; otherwise payload.
    pub tail: bool,
    /// The payload ends its packet.
    pub ends: bool,
    /// Always 0.
    pub unused: Bits<6>,
}

/// `user` of an access that brings payload, and more of its packet comes.
pub const GOES_ON: u64 = 0;
/// `user` of an access that brings the tail of a descriptor.
pub const TAIL: u64 = 1;
/// `user` of an access whose payload ends its packet.
pub const ENDS: u64 = 2;
