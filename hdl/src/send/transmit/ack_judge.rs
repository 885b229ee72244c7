//! Says what becomes of an acknowledgement: whether a frame is made of it, and what it counts as.
//!
//! ```text
//!  ack, now ──►[ AckJudge ]──► verdict
//! ```
//! Contract: the block has no state. No frame is made if the VI has no connection any more, or if the acknowledgement is to be forgotten.
//! A VI that has refused an answer sends no positive one: that would be for a request behind the read that was refused.
//!
//! Latency: none.
//!
//! Example: a NAK_SEQUENCE of a VI that is in Error: `verdict` says `told` and `nak`. A receiver-not-ready answer is `told` alone.
//!
//! Tests: `tests/send/transmit/judges.rs`, and with the whole of transmit, `acknowledgement.rs`, `answers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

use super::sender::SenderNow;
use crate::bus::{syndrome_class, word, AckRequest, SyndromeParts};
use crate::prims::{Cast, Number};

/// Whether a frame is made of an acknowledgement, and which counter it raises.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AckVerdict {
    /// A frame is made of it.
    pub told: bool,
    /// With `told`: it is a positive one.
    pub positive: bool,
    /// With `told`: it is a negative one, but no receiver-not-ready answer.
    pub nak: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AckJudge {
    /// The acknowledgement at hand, from send/ack.
    pub ack: Signal<In, AckRequest>,
    /// State of the VI of the acknowledgement, from the sender.
    pub now: Signal<In, SenderNow>,
    /// Whether a frame is made of it; the steps go by it.
    pub verdict: Signal<Out, AckVerdict>,
    syndrome: Cast<Bits<8>, SyndromeParts>,
    positive: Signal<Local, bool>,
    told: Signal<Local, bool>,
    forget: Number<2, { word::FORGET }>,
    positive_class: Number<2, { syndrome_class::ACK }>,
    nak_class: Number<2, { syndrome_class::NAK }>,
}

impl Logic for AckJudge {
    #[hdl_gen]
    fn update(&mut self) {
        self.syndrome.from.next = self.ack.val().syndrome;
        self.positive.next = self.syndrome.to.val().class == self.positive_class.val();
        // No frame is made when the VI's connection, or the connection that the acknowledgement is of, is over.
        // RSP-5: nor for a request behind a read that was refused.
        self.told.next = !self.now.val().idle
            & (self.ack.val().kind != self.forget.val())
            & !(self.now.val().refusing & self.positive.val());
        self.verdict.next.told = self.told.val();
        self.verdict.next.positive = self.told.val() & self.positive.val();
        self.verdict.next.nak = self.told.val() & (self.syndrome.to.val().class == self.nak_class.val());
    }
}
