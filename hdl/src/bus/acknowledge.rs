//! Acknowledgements, from the wire and to it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::Vi;
use rust_hdl::prelude::*;

/// Kinds of [`AckRequest`]: what a VI has to say.
pub mod word {
    /// Say it.
    pub const SAY: u64 = 0;
    /// Say it, and keep it: the connection has come to its end.
    pub const LAST: u64 = 1;
    /// Say the last word again, if it was said.
    pub const REPEAT: u64 = 2;
    /// Forget it: a new connection begins.
    pub const FORGET: u64 = 3;
}

/// Syndromes of [`Acknowledged`] that no frame brings. Their class is reserved on the wire; bits 2:0 are what
/// `complete/sends` keeps of them.
pub mod local {
    /// An answer came and could not be placed: the rest of the descriptor could not be read, or its segments are too short now.
    pub const FAILURE: u64 = 0x40;
    /// The same: the protection checker refused a segment of ours.
    pub const PROTECTION: u64 = 0x44;
    /// With bits 1:0 of a refusal: a read before the packet that was refused has not been answered, and will not be.
    pub const BEHIND: u64 = 0x44;
}

/// An acknowledgement from the wire, or what stands for one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Acknowledged {
    /// The VI.
    pub vi: Vi,
    /// PSN acknowledged, or refused.
    pub psn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// What the frame itself was, for the counters: bits 6:5 of its syndrome; 2: an answer to a read.
    pub frame: Bits<2>,
}

/// An acknowledgement to send once every write granted before it is out.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AckRequest {
    /// The VI.
    pub vi: Vi,
    /// PSN to acknowledge, or to refuse.
    pub psn: Bits<24>,
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// See [`word`].
    pub kind: Bits<2>,
    /// Not before the data is in memory.
    pub reception: bool,
}
