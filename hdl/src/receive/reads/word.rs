//! Says what `complete/sends` hears of an answer.
//!
//! ```text
//!  vi, answer ──►┌────────────┐
//!      judged ──►│ AnswerWord │──► word
//!    next_psn ──►└────────────┘
//! ```
//! Contract: docs/semantics.md, REQ-2 and REQ-4. An acknowledgement or a refusal is told as what it is, a response as an ACK of its PSN; an
//! implied NAK as a NAK_SEQUENCE at the first PSN that is missing; a refusal beyond what is missing as one behind a read
//! ([`local::BEHIND`]). A NAK whose code is not defined is told as NAK_OPERATIONAL, and the reserved bit of every NAK as 0.
//!
//! Example: an ACK of PSN 102 comes, and the answer with PSN 101 has not: `judged` is implied, and `word` is a NAK_SEQUENCE at PSN 101.
//!
//! Latency: none, no state. Tests: with `Reads`, `tests/receive/reads.rs`, `tests/receive/answers.rs`.

use super::check::JudgedAnswer;
use crate::bus::{local, syndrome_class, Acknowledged, Answer, SyndromeParts, Vi};
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::syndrome;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AnswerWord {
    /// The VI; `Reads` drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// The answer.
    pub answer: Signal<In, Answer>,
    /// What the answer is to the VI's reads.
    pub judged: Signal<In, JudgedAnswer>,
    /// PSN that comes next.
    pub next_psn: Signal<In, Bits<24>>,
    /// What `complete/sends` hears.
    pub word: Signal<Out, Acknowledged>,
    parts: Cast<Bits<8>, SyndromeParts>,
    syndrome: Signal<Local, SyndromeParts>,
    code: Signal<Local, Bits<5>>,
    nak_class: Number<2, { syndrome_class::NAK }>,
    local_class: Number<2, { syndrome_class::RESERVED }>,
    /// Why the peer refuses: the code of a NAK.
    reason: Signal<Local, Bits<2>>,
    nak_sequence: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
    ack: Number<8, { syndrome::ACK as u64 }>,
    /// The largest code that is defined.
    last_code: Number<5, { syndrome::NAK_OPERATIONAL as u64 & 0x1F }>,
    operational: Number<2, { syndrome::NAK_OPERATIONAL as u64 & 3 }>,
    refused_behind: Number<8, { local::BEHIND }>,
}

impl Logic for AnswerWord {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, answer.val().syndrome => parts.from; parts.to => syndrome; syndrome.val().value => code);
        // REQ-4: NAK_OPERATIONAL.
        // A code that is not defined says no more than that something is wrong at the peer.
        self.reason.next = bit_cast::<2, 5>(self.code.val());
        if self.code.val() > self.last_code.val() {
            self.reason.next = self.operational.val();
        }
        fill!(self, word, vi => vi; answer.val().psn => psn; syndrome.val().class => frame;
            answer.val().syndrome => syndrome);
        if self.syndrome.val().class == self.nak_class.val() {
            self.word.next.syndrome = self.nak_sequence.val() | bit_cast::<8, 2>(self.reason.val());
        }
        if self.answer.val().response {
            self.word.next.syndrome = self.ack.val();
            self.word.next.frame = self.local_class.val();
        }
        if self.judged.val().implied {
            self.word.next.psn = self.next_psn.val();
            self.word.next.syndrome = self.nak_sequence.val();
        }
        if self.judged.val().behind {
            self.word.next.syndrome = self.refused_behind.val() | bit_cast::<8, 2>(self.reason.val());
        }
    }
}
