//! Acknowledgements, from the wire and to it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::Vi;
use rust_hdl::prelude::*;

/// Kinds of [`AckRequest`]: what a VI has to say.
pub mod word {
    /// Send the acknowledgement.
    pub const SAY: u64 = 0;
    /// Send the acknowledgement, and keep it: the connection has come to its end.
    pub const LAST: u64 = 1;
    /// Send the acknowledgement that was kept once more, if it was sent before.
    pub const REPEAT: u64 = 2;
    /// Forget the acknowledgement that was kept: a new connection begins.
    pub const FORGET: u64 = 3;
}

/// Syndromes of [`Acknowledged`] that no frame brings. Their class is reserved on the wire; bits 2:0 are what
/// `complete/sends` keeps of them.
pub mod local {
    /// An answer came and could not be placed: the rest of the descriptor could not be read, or its segments are too short now.
    pub const FAILURE: u64 = 0x40;
    /// An answer came and could not be placed: the protection checker refused a segment of ours.
    pub const PROTECTION: u64 = 0x44;
    /// With bits 1:0 of a refusal: a read before the packet that was refused has not been answered, and will not be.
    pub const BEHIND: u64 = 0x44;
}

/// An acknowledgement from the wire, or what stands for one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Acknowledged {
    /// The VI that the answer is for.
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
    /// The VI that acknowledges.
    pub vi: Vi,
    /// PSN to acknowledge, or to refuse.
    pub psn: Bits<24>,
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// What is to be done with the acknowledgement: see [`word`].
    pub kind: Bits<2>,
    /// The acknowledgement leaves only when the data is in memory (Reliable Reception).
    pub reception: bool,
}

/// Classes of a [`SyndromeParts`].
pub mod syndrome_class {
    /// Positive.
    pub const ACK: u64 = 0;
    /// The receiver is not ready.
    pub const RNR: u64 = 1;
    /// Reserved on the wire: what no frame brings, see [`local`].
    pub const LOCAL: u64 = 2;
    /// Negative.
    pub const NAK: u64 = 3;
}

/// A syndrome, as [`Cast`](crate::prims::Cast) takes it apart.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SyndromeParts {
    /// Timer code or error code.
    pub value: Bits<5>,
    /// See [`syndrome_class`].
    pub class: Bits<2>,
    /// Reserved, 0.
    pub reserved: bool,
}
