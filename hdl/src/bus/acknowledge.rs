//! Acknowledgements, from the wire and to it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::Vi;
use rust_hdl::prelude::*;

/// An acknowledgement from the wire, or what stands for one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Acknowledged {
    /// The VI that the answer is for.
    pub vi: Vi,
    /// PSN acknowledged, or refused.
    pub psn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`, or a code that no frame carries: [`local`](viaduct_spec::inside::local).
    pub syndrome: Bits<8>,
    /// What the frame itself was, for the counters: bits 6:5 of its syndrome; 2 is an answer to a read.
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
    /// What is to be done with the acknowledgement: see [`word`](viaduct_spec::inside::word).
    pub kind: Bits<2>,
    /// The acknowledgement leaves only when the data is in memory (Reliable Reception).
    pub reception: bool,
}
