//! What becomes of a TLP that has arrived.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// What becomes of a TLP. If neither `passed` nor `queued`, it ends in the inbox.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TlpFate {
    /// The TLP goes to the core.
    pub passed: bool,
    /// The request goes to the queue of those that are answered here.
    pub queued: bool,
    /// The request hits BAR 2, not BAR 0.
    pub high_bar: bool,
    /// The TLP is a non-posted request.
    pub non_posted: bool,
    /// See [`verdict`].
    pub verdict: Bits<2>,
}

/// What `Completer` does with a request.
pub mod verdict {
    /// Carry it out: it is of the configuration space.
    pub const CARRY_OUT: u64 = 0;
    /// Answer it as unsupported.
    pub const REFUSE: u64 = 1;
    /// Give its credits back, and nothing else: it is malformed.
    pub const DROP: u64 = 2;
    /// Answer it as unsupported; it is a locked read, which has a completion of its own kind.
    pub const REFUSE_LOCKED: u64 = 3;
}

/// A word of a request that is queued.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct QueuedWord {
    /// Two bytes.
    pub data: Bits<16>,
    /// The word is the first of its request.
    pub first: bool,
    /// The word is the last of its request.
    pub last: bool,
    /// What is done with it; it counts with `last`.
    pub verdict: Bits<2>,
}
