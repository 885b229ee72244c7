//! Answers requests: those of the configuration space with what is there, all others as unsupported. And PME_Turn_Off with PME_TO_Ack.
//!
//! ```text
//!     entry ──►┌───────────┐──► tlp
//!  row, word ◄►│           │◄─► index, write, enables, data, value   (ConfigSpace)
//!   turn_off ─►│ Completer │──► identity
//!       hold ─►└───────────┘──► start_reset, parted, busy, count_*
//! ```
//! Contract: requests are answered in order, one at a time; while `hold` is high none begins. The identity is that in the last
//! configuration write that was carried out. A write that asks for a function-level reset is answered first; then `start_reset` pulses.
//! `parted` is high from the beginning of PME_TO_Ack on. `count_*` pulse when a TLP begins, one for each credit that it takes.
//!
//! Latency: an answer's first word comes 13 cycles after `entry`.
//!
//! Example: a read of double word 0 with tag 5: a completion of 8 words, with tag 5 and 56491234.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use super::fate::verdict;
use super::half_word::{in_half, whole_field};
use super::read_extent::ReadExtent;
use crate::pcie::bus::TlpWord;
use crate::prims::{Cast, Number, Unpack, WireOrder};
use crate::rows::tlp::{RequestWordLow, TargetWordLow, TlpKind};
use crate::stream::{Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::{
    completion_dw1, completion_dw2, completion_status, dw0, endpoint_kind, kind, message_code, message_dw1,
};

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Gather,
    Apply,
    Settle,
    Ready,
    Send,
    Finish,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Completer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what it does, and who it is.
    pub reset: Signal<In, bool>,
    /// The verdict on the oldest request, from `RequestQueue`.
    pub entry: Sink<Bits<2>>,
    /// The number of a word of the oldest request, to `RequestQueue`.
    pub row: Signal<Out, Bits<3>>,
    /// The word `row` of the oldest request, in the next cycle; from `RequestQueue`.
    pub word: Signal<In, Bits<16>>,
    /// PME_Turn_Off has come; from `Inbox`.
    pub turn_off: Signal<In, bool>,
    /// A function-level reset is not over; from `FunctionReset`.
    pub hold: Signal<In, bool>,
    /// Number of a double word of the configuration space; this and the next three are for `ConfigSpace`.
    pub index: Signal<Out, Bits<10>>,
    /// The double word `index` is written.
    pub write: Signal<Out, bool>,
    /// The bytes that are written.
    pub enables: Signal<Out, Bits<4>>,
    /// The new contents.
    pub data: Signal<Out, Bits<32>>,
    /// The contents of the double word `index`, from `ConfigSpace`.
    pub value: Signal<In, Bits<32>>,
    /// The write asks for a function-level reset; from `ConfigSpace`.
    pub asks_reset: Signal<In, bool>,
    /// The function's bus, device and function number, to `ConfigSpace`.
    pub identity: Signal<Out, Bits<16>>,
    /// Answers and messages, to `Outbox`.
    pub tlp: Source<TlpWord>,
    /// A function-level reset begins; to `FunctionReset`.
    pub start_reset: Pulse,
    /// Nothing of the core's begins any more: PME_TO_Ack is on its way; to `Outbox`.
    pub parted: Signal<Out, bool>,
    /// PME_TO_Ack has been sent; for the link.
    pub leaves: Signal<Out, bool>,
    /// Something is under way, or waits; for `enter_l1`.
    pub busy: Signal<Out, bool>,
    /// Pulses when a request has left its queue.
    pub freed: Pulse,
    /// Pulses when a completion begins; this and the next two are for `OwnCredits`.
    pub count_completion: Pulse,
    /// Pulses when a completion with data begins.
    pub count_data: Pulse,
    /// Pulses when a message begins.
    pub count_message: Pulse,
    step: DFF<Step>,
    /// The word that is on show, and in Send the one that is sent.
    at: DFF<Bits<3>>,
    next_at: Signal<Local, Bits<3>>,
    /// PME_Turn_Off is not answered yet.
    turning_off: DFF<bool>,
    has_parted: DFF<bool>,
    has_left: DFF<bool>,
    /// What is sent is PME_TO_Ack.
    message: DFF<bool>,
    /// The request is refused.
    refusing: DFF<bool>,
    /// The request is a locked read.
    locked: DFF<bool>,
    refuses: Signal<Local, bool>,
    /// The request is a write that is carried out.
    writes: DFF<bool>,
    resets: DFF<bool>,
    byte_enables: DFF<Bits<4>>,
    /// Bus, device and function number, as in a header: the bus is first.
    target: DFF<Bits<16>>,
    own: DFF<Bits<16>>,
    number: DFF<Bits<10>>,
    low: DFF<Bits<16>>,
    high: DFF<Bits<16>>,
    extent: ReadExtent,
    /// The request's word as a number: its first byte is the high one.
    asked: WireOrder<16>,
    /// The request's word, as each half of the header's double words that it may be. The kind is the first byte.
    asked_kind: Unpack<Bits<16>, TlpKind>,
    asked_low: Cast<Bits<16>, RequestWordLow>,
    asked_target: Cast<Bits<16>, TargetWordLow>,
    /// The completion's word 3 but for its status.
    count: WireOrder<16>,
    /// The lower address in word 5.
    lower_address: WireOrder<16>,
    /// The function's identity as a number.
    own_number: WireOrder<16>,
    with_data: Signal<Local, bool>,
    last: Signal<Local, bool>,
    shown: Signal<Local, Bits<16>>,
    carry_out: Number<2, { verdict::CARRY_OUT }>,
    refuse: Number<2, { verdict::REFUSE }>,
    refuse_locked: Number<2, { verdict::REFUSE_LOCKED }>,
    data_kind: Number<16, { in_half(&dw0::KIND, kind::COMPLETION_DATA as u64) }>,
    bare_kind: Number<16, { in_half(&dw0::KIND, kind::COMPLETION as u64) }>,
    locked_bare_kind: Number<16, { in_half(&dw0::KIND, endpoint_kind::LOCKED_COMPLETION as u64) }>,
    message_kind: Number<16, { in_half(&dw0::KIND, endpoint_kind::MESSAGE_GATHERED as u64) }>,
    message_code: Number<16, { in_half(&message_dw1::CODE, message_code::TURN_OFF_ACK as u64) }>,
    unsupported: Number<16, { in_half(&completion_dw1::STATUS, completion_status::UNSUPPORTED as u64) }>,
    one_word: Number<16, { in_half(&dw0::LENGTH, 1) }>,
    class_bits: Number<16, { whole_field(&dw0::TRAFFIC_CLASS) }>,
    attribute_bits: Number<16, { whole_field(&dw0::ATTR) }>,
    tag_bits: Number<16, { whole_field(&completion_dw2::TAG) }>,
}

impl Logic for Completer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, at, turning_off, has_parted, has_left, message, refusing, locked);
        dff_setup!(self, clock, writes, resets);
        dff_setup!(self, clock, byte_enables, target, own, number, low, high);
        clock!(self, clock, extent);
        drive!(self, word => extent.word, asked.from, asked_kind.from; at.q => extent.at;
            asked.to => asked_low.from, asked_target.from; own.q => own_number.from; own_number.to => identity);
        self.extent.take.next = self.step.q.val() == Step::Gather;
        drive!(self, number.q => index; byte_enables.q => enables; has_parted.q => parted;
            has_left.q => leaves);
        self.data.next = (bit_cast::<32, 16>(self.high.q.val()) << 16) | bit_cast::<32, 16>(self.low.q.val());
        self.busy.next =
            (self.step.q.val() != Step::Idle) | self.entry.valid.val() | self.turning_off.q.val();
        drive!(self, false => write, entry.ready, start_reset, freed, count_completion, count_data,
            count_message);
        if self.turn_off.val() {
            self.turning_off.d.next = true;
        }
        self.with_data.next = !self.refusing.q.val() & !self.writes.q.val() & !self.message.q.val();

        // What is sent, word by word.
        self.count.from.next = bit_cast::<16, 12>(self.extent.byte_count.val());
        self.lower_address.from.next = bit_cast::<16, 7>(self.extent.lower_address.val());
        self.shown.next = bits::<16>(0);
        match self.at.q.val().index() {
            0 => {
                self.shown.next = (self.word.val() & self.class_bits.val()) | self.bare_kind.val();
                if self.locked.q.val() {
                    self.shown.next = (self.word.val() & self.class_bits.val()) | self.locked_bare_kind.val();
                }
                if self.with_data.val() {
                    self.shown.next = (self.word.val() & self.class_bits.val()) | self.data_kind.val();
                }
                if self.message.q.val() {
                    self.shown.next = self.message_kind.val();
                }
            }
            1 => {
                self.shown.next = self.word.val() & self.attribute_bits.val();
                if self.with_data.val() {
                    self.shown.next = (self.word.val() & self.attribute_bits.val()) | self.one_word.val();
                }
                if self.message.q.val() {
                    self.shown.next = bits::<16>(0);
                }
            }
            2 => {
                self.shown.next = self.own.q.val();
            }
            3 => {
                self.shown.next = self.count.to.val();
                if self.refusing.q.val() {
                    self.shown.next = self.count.to.val() | self.unsupported.val();
                }
                if self.message.q.val() {
                    self.shown.next = self.message_code.val();
                }
            }
            4 => {
                if !self.message.q.val() {
                    self.shown.next = self.word.val();
                }
            }
            5 => {
                if !self.message.q.val() {
                    self.shown.next = (self.word.val() & self.tag_bits.val()) | self.lower_address.to.val();
                }
            }
            6 => {
                if !self.message.q.val() {
                    self.shown.next = bit_cast::<16, 32>(self.value.val());
                }
            }
            _ => {
                if !self.message.q.val() {
                    self.shown.next = bit_cast::<16, 32>(self.value.val() >> 16);
                }
            }
        }
        self.last.next = (self.at.q.val() == bits::<3>(7))
            | ((self.at.q.val() == bits::<3>(5)) & !self.with_data.val() & !self.message.q.val());
        self.tlp.valid.next = self.step.q.val() == Step::Send;
        self.tlp.data.next.data = self.shown.val();
        self.tlp.data.next.first = !self.at.q.val().any();
        self.tlp.data.next.last = self.last.val();

        self.refuses.next = (self.entry.data.val() == self.refuse.val())
            | (self.entry.data.val() == self.refuse_locked.val());
        self.next_at.next = bits::<3>(0);
        match self.step.q.val() {
            Step::Idle => {
                self.message.d.next = self.turning_off.q.val();
                self.refusing.d.next = !self.turning_off.q.val() & self.refuses.val();
                self.locked.d.next = self.entry.data.val() == self.refuse_locked.val();
                self.writes.d.next = false;
                self.resets.d.next = false;
                if self.turning_off.q.val() {
                    self.step.d.next = Step::Send;
                    self.has_parted.d.next = true;
                    self.turning_off.d.next = self.turn_off.val();
                    self.count_message.next = true;
                } else if self.entry.valid.val() & !self.hold.val() {
                    self.step.d.next = Step::Finish;
                    if (self.entry.data.val() == self.carry_out.val()) | self.refuses.val() {
                        self.step.d.next = Step::Gather;
                    }
                }
            }
            Step::Gather => {
                self.next_at.next = self.at.q.val() + 1;
                match self.at.q.val().index() {
                    0 => {
                        self.writes.d.next = self.asked_kind.to.val().with_data & !self.refusing.q.val();
                    }
                    3 => {
                        self.byte_enables.d.next = self.asked_low.to.val().first_be;
                    }
                    4 => {
                        self.target.d.next = self.word.val();
                    }
                    5 => {
                        self.number.d.next = self.asked_target.to.val().register;
                    }
                    6 => {
                        self.low.d.next = self.word.val();
                    }
                    7 => {
                        self.high.d.next = self.word.val();
                        self.step.d.next = Step::Apply;
                    }
                    _ => {}
                }
            }
            Step::Apply => {
                self.write.next = self.writes.q.val();
                self.resets.d.next = self.asks_reset.val();
                if self.writes.q.val() {
                    self.own.d.next = self.target.q.val();
                }
                self.step.d.next = Step::Settle;
            }
            Step::Settle => {
                self.step.d.next = Step::Ready;
            }
            Step::Ready => {
                self.count_completion.next = true;
                self.count_data.next = self.with_data.val();
                self.step.d.next = Step::Send;
            }
            Step::Send => {
                self.next_at.next = self.at.q.val();
                if self.tlp.ready.val() {
                    self.next_at.next = self.at.q.val() + 1;
                    if self.last.val() {
                        self.next_at.next = bits::<3>(0);
                        self.step.d.next = Step::Finish;
                        if self.message.q.val() {
                            self.step.d.next = Step::Idle;
                            self.has_left.d.next = true;
                        }
                    }
                }
            }
            Step::Finish => {
                self.entry.ready.next = true;
                self.freed.next = true;
                self.start_reset.next = self.resets.q.val();
                self.step.d.next = Step::Idle;
            }
        }
        self.at.d.next = self.next_at.val();
        // An answer's words 4 and 5, the requester and the tag, are a request's words 2 and 3.
        drive!(self, next_at => row);
        if (self.step.q.val() == Step::Send) & self.next_at.val().get_bit(2) {
            self.row.next = self.next_at.val() ^ 6;
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.at.d.next = bits::<3>(0);
            self.turning_off.d.next = false;
            self.has_parted.d.next = false;
            self.has_left.d.next = false;
            self.own.d.next = bits::<16>(0);
        }
    }
}
