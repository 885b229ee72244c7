//! Judges what an answer is to a VI's reads.
//!
//! ```text
//!       answer ──►┌─────────────┐──► judged
//!  outstanding ──►│ AnswerCheck │──► next_psn, left
//!     progress ──►└─────────────┘──► final_one
//! ```
//! Contract: docs/semantics.md, REQ-2 and REQ-3. `outstanding` is the VI's oldest read that is not answered, if there is one. The three
//! inputs stand; `judged` is right two cycles after they came, and `final_one` (the response is the last of its read) from the cycle after
//! they came on. `next_psn` is the PSN of the read's next response, and `left` says how many bytes of the read are still to come.
//!
//! Example: 1024 bytes of a read are left, from PSN 101 on, and the path MTU is 1024. A response Last with PSN 101 and 1024 bytes is kept,
//! with data, and is the final one. An ACK of PSN 102 is an implied NAK, and is kept if nothing was missed before.
//!
//! Latency: 1 cycle to `final_one`, 1 to `judged`; 0 to the others. Tests: with `Reads`, `tests/receive/reads.rs`,
//! `tests/receive/answers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::table::{OutstandingRead, ReadsProgress};
use crate::arithmetic::{Distance, PathMtu, Portion};
use crate::bus::{syndrome_class, Answer, SyndromeParts};
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What an answer is to a VI's reads.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct JudgedAnswer {
    /// The answer counts, and `complete/sends` has to hear of it.
    pub keep: bool,
    /// The answer has payload that must be placed first.
    pub data: bool,
    /// The answer is told as a NAK of what comes next.
    pub implied: bool,
    /// The answer is a refusal, and an answer before it is missing: it is told as a refusal behind a read.
    pub behind: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct AnswerCheck {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The answer; `Reads` drives this and the other inputs.
    pub answer: Signal<In, Answer>,
    /// The VI's oldest read that is not answered.
    pub outstanding: Signal<In, OutstandingRead>,
    /// Where the VI is with its reads.
    pub progress: Signal<In, ReadsProgress>,
    /// PSN that comes next; `Reads` listens to all outputs.
    pub next_psn: Signal<Out, Bits<24>>,
    /// Bytes to come.
    pub left: Signal<Out, Bits<32>>,
    /// The response is the last of its read.
    pub final_one: Signal<Out, bool>,
    /// What the answer is.
    pub judged: Signal<Out, JudgedAnswer>,
    mtu: PathMtu,
    portion: Portion,
    expected: Signal<Local, Bits<24>>,
    to_come: Signal<Local, Bits<32>>,
    /// The VI has a read that is not answered.
    open: DFF<bool>,
    /// The answer's PSN beside the one that comes next.
    distance: Distance<24>,
    /// The answer's PSN is the one that comes next.
    exact: DFF<bool>,
    /// The answer's PSN comes later.
    ahead: DFF<bool>,
    ends: DFF<bool>,
    /// The response's length is exactly what is left of the read.
    ends_it: DFF<bool>,
    /// The response's length is a whole packet's.
    whole: DFF<bool>,
    /// The response's opcode is right for its place.
    opcode_fits: DFF<bool>,
    /// The response's opcode and length are right for its place.
    fits: Signal<Local, bool>,
    parts: Cast<Bits<8>, SyndromeParts>,
    syndrome: Signal<Local, SyndromeParts>,
    nak_class: Number<2, { syndrome_class::NAK }>,
    local_class: Number<2, { syndrome_class::RESERVED }>,
    /// The answer is a NAK other than NAK_SEQUENCE.
    fatal: Signal<Local, bool>,
    /// The answer lies beyond one that has not come.
    beyond: Signal<Local, bool>,
}

impl Logic for AnswerCheck {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, open, exact, ahead, ends, ends_it, whole, opcode_fits);

        // What comes next, and what it must be.
        self.expected.next = self.outstanding.val().psn;
        self.to_come.next = self.outstanding.val().length;
        if self.progress.val().started {
            self.expected.next = self.progress.val().psn;
            self.to_come.next = self.progress.val().left;
        }
        drive!(self, expected => next_psn; to_come => left, portion.bytes; answer.val().mtu => mtu.code;
            mtu.bytes => portion.room; ends.q => final_one);
        self.ends.d.next = self.portion.ends_bytes.val();
        self.ends_it.d.next = self.answer.val().length == self.to_come.val().get_bits::<13>(0);
        self.whole.d.next = self.answer.val().length == self.mtu.bytes.val();
        // REQ-3: the opcode of its place: at the start, or in the part that was asked for again.
        self.opcode_fits.d.next = self.answer.val().first;
        if self.progress.val().started {
            self.opcode_fits.d.next = !self.answer.val().first | self.progress.val().again;
        }
        self.open.d.next = self.progress.val().oldest != self.progress.val().fresh;
        drive!(self, answer.val().psn => distance.number; expected => distance.from);
        self.exact.d.next = self.distance.same.val();
        self.ahead.d.next = self.distance.ahead.val();

        // What the answer is. On the wire, class 2 of the syndromes is reserved.
        drive!(self, answer.val().syndrome => parts.from; parts.to => syndrome);
        // REQ-3: the length of its place.
        self.fits.next = self.opcode_fits.q.val() & self.whole.q.val() & !self.answer.val().last;
        if self.ends.q.val() {
            self.fits.next = self.opcode_fits.q.val() & self.ends_it.q.val() & self.answer.val().last;
        }
        self.fatal.next = !self.answer.val().response
            & (self.syndrome.val().class == self.nak_class.val())
            & self.syndrome.val().value.any();
        // REQ-2: an implied NAK.
        // Beyond an answer that has not come.
        self.beyond.next = self.open.q.val()
            & (self.ahead.q.val()
                | (self.exact.q.val() & !self.answer.val().response & !self.syndrome.val().class.any()));
        self.judged.next.keep = self.syndrome.val().class != self.local_class.val();
        self.judged.next.data = false;
        self.judged.next.implied = false;
        self.judged.next.behind = false;
        if self.answer.val().response {
            // REQ-3: at the expected PSN only.
            // A MIDDLE has no AETH.
            self.judged.next.keep = self.open.q.val()
                & self.exact.q.val()
                & self.fits.val()
                & (!self.syndrome.val().class.any() | !(self.answer.val().first | self.answer.val().last));
            self.judged.next.data = self.answer.val().length.any();
        }
        if self.beyond.val() {
            self.judged.next.data = false;
            if self.fatal.val() {
                self.judged.next.behind = true;
            } else {
                // REQ-2: the implied NAK is taken once.
                self.judged.next.implied = true;
                self.judged.next.keep = !self.progress.val().missed;
            }
        }
    }
}
