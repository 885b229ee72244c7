//! Reads the header of each TLP that arrives, and decides its fate.
//!
//! ```text
//!    arrived ──►┌──────────────┐──► word    (what the header announces, and no more)
//!       BARs ──►│ HeaderReader │──► fate
//!     memory ──►│              │──► turn_off, faults
//!               └──────────────┘
//! ```
//! Contract: every TLP gives words and one `fate`. The words are those that its header announces: a digest, and what is too much, is left
//! out. One that is too short ends early, at a whole double word. So there is at least one word, and the last has `last`.
//!
//! A TLP is decided at its last word or its 16th: one of up to 16 words whose length is wrong is malformed. A longer one, a completion or
//! a write that the core does not take anyway, is on its way by then; if its length turns out to be wrong, `faults` says so.
//!
//! Fates: memory requests that hit a BAR, and completions, are passed, poisoned ones too: the core drops those, and counts them.
//! Other non-posted requests are queued. Messages, posted requests that hit nothing, and malformed TLPs end here.
//!
//! Latency: a word comes when the next arrives, the last one after 2 cycles; the fate 4 cycles behind the word that decides it.
//!
//! Example: a configuration read of 6 words: 6 words and a fate that is `queued`, CARRY_OUT.
//!
//! Tests: with the whole, `tests/pcie/transaction/`.

use super::bar_match::BarMatch;
use super::fate::{verdict, TlpFate};
use super::faults::Faults;
use super::kind_sort::KindSort;
use crate::pcie::bus::TlpWord;
use crate::prims::{Cast, Number, WireOrder};
use crate::rows::tlp::{FirstWordHigh, FirstWordLow, MessageWordLow, TargetWordHigh, TlpKind};
use crate::stream::{FlowSink, FlowSource, Pulse};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::{endpoint_kind, message_code, packet_type};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct HeaderReader {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the TLP under way.
    pub reset: Signal<In, bool>,
    /// TLPs from the link.
    pub arrived: FlowSink<TlpWord>,
    /// Requests for memory are taken; this and the BARs are from `ConfigSpace`.
    pub memory: Signal<In, bool>,
    /// Base Address 0.
    pub bar0: Signal<In, Bits<32>>,
    /// Base Address 2, low half.
    pub bar2: Signal<In, Bits<32>>,
    /// Base Address 2, high half.
    pub bar2_high: Signal<In, Bits<32>>,
    /// A word of a TLP, to `Inbox`'s queue.
    pub word: FlowSource<TlpWord>,
    /// The fate of a TLP, to `Inbox`'s queue.
    pub fate: FlowSource<TlpFate>,
    /// PME_Turn_Off has come; to `Completer`.
    pub turn_off: Pulse,
    /// Errors, to `ConfigSpace`.
    pub faults: Signal<Out, Faults>,
    // The word at hand.
    at_hand: DFF<TlpWord>,
    here: DFF<bool>,
    /// Its number, 16 at most.
    place: DFF<Bits<5>>,
    /// The word is the second of a double word.
    odd: DFF<bool>,
    /// The arriving word is in a TLP.
    in_tlp: DFF<bool>,
    data: Signal<Local, Bits<16>>,
    /// The arriving word as a number: its first byte is the high one.
    number: WireOrder<16>,
    /// `number`, as each half of a header's double word that it may be.
    first_high: Cast<Bits<16>, FirstWordHigh>,
    first_low: Cast<Bits<16>, FirstWordLow>,
    message_low: Cast<Bits<16>, MessageWordLow>,
    target_high: Cast<Bits<16>, TargetWordHigh>,
    /// The arriving word is one of a TLP that has begun.
    counts: Signal<Local, bool>,
    // The header.
    kind: DFF<Bits<8>>,
    kind_fields: Cast<Bits<8>, TlpKind>,
    digest: DFF<bool>,
    poisoned: DFF<bool>,
    /// The TLP has one double word of data, or asks for one.
    single: DFF<bool>,
    /// The message's code is that of PME_Turn_Off.
    turn_off_code: DFF<bool>,
    /// The request is to function 0.
    function_0: DFF<bool>,
    sort: KindSort,
    bars: BarMatch,
    length: Signal<Local, Bits<10>>,
    data_length: Signal<Local, Bits<11>>,
    header_rest: Signal<Local, Bits<11>>,
    /// Double words that the header announces and that have not come.
    left: DFF<Bits<11>>,
    /// Words behind those, 3 at most.
    excess: DFF<Bits<2>>,
    /// All that is announced has come before this word.
    over: Signal<Local, bool>,
    /// This word is the last that is announced.
    completes: Signal<Local, bool>,
    /// The TLP ends here, in the middle of a double word.
    cut: Signal<Local, bool>,
    fits: Signal<Local, bool>,
    // The word before, until it is known whether it is the last.
    held: DFF<TlpWord>,
    holds: DFF<bool>,
    held_ends: DFF<bool>,
    // The decision, in steps of one cycle.
    decided: DFF<bool>,
    decides: Signal<Local, bool>,
    /// The TLP is to be decided, or only checked; and it has ended.
    deciding: DFF<bool>,
    checking: DFF<bool>,
    ended: DFF<bool>,
    judging: DFF<bool>,
    rechecking: DFF<bool>,
    length_fits: DFF<bool>,
    is_memory: DFF<bool>,
    is_completion: DFF<bool>,
    is_configuration: DFF<bool>,
    is_message: DFF<bool>,
    is_non_posted: DFF<bool>,
    is_known: DFF<bool>,
    is_turn_off: DFF<bool>,
    is_locked: DFF<bool>,
    /// The request has to have one double word, because of its type.
    wants_single: DFF<bool>,
    spoiled: DFF<bool>,
    fine: Signal<Local, bool>,
    carried_out: Signal<Local, bool>,
    passes: Signal<Local, bool>,
    queues: Signal<Local, bool>,
    refused: Signal<Local, bool>,
    missed: Signal<Local, bool>,
    given: DFF<bool>,
    given_fate: DFF<TlpFate>,
    given_faults: DFF<Faults>,
    turned_off: DFF<bool>,
    long_rest: Number<11, 3>,
    short_rest: Number<11, 2>,
    most: Number<11, 1024>,
    last_place: Number<5, 15>,
    many: Number<5, 16>,
    turn_off_kind: Number<8, { endpoint_kind::MESSAGE_TO_ALL as u64 }>,
    turn_off_message: Number<8, { message_code::TURN_OFF as u64 }>,
    carry_out: Number<2, { verdict::CARRY_OUT }>,
    refuse: Number<2, { verdict::REFUSE }>,
    drop: Number<2, { verdict::DROP }>,
    refuse_locked: Number<2, { verdict::REFUSE_LOCKED }>,
    locked_read: Number<5, { packet_type::LOCKED_READ as u64 }>,
}

impl Logic for HeaderReader {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at_hand, here, place, odd, in_tlp, kind, digest, poisoned, single);
        dff_setup!(self, clock, turn_off_code, function_0, left, excess, held, holds, held_ends, decided);
        dff_setup!(self, clock, deciding, checking, ended, judging, rechecking, length_fits, is_memory);
        dff_setup!(self, clock, is_completion, is_configuration, is_message, is_non_posted, is_known);
        dff_setup!(self, clock, is_locked, is_turn_off, wants_single, spoiled);
        dff_setup!(self, clock, given, given_fate, given_faults, turned_off);
        clock!(self, clock, bars);
        // The word at hand.
        self.counts.next = self.arrived.valid.val() & (self.arrived.data.val().first | self.in_tlp.q.val());
        self.here.d.next = self.counts.val();
        if self.counts.val() {
            self.at_hand.d.next = self.arrived.data.val();
            self.in_tlp.d.next = !self.arrived.data.val().last;
            self.odd.d.next = !self.odd.q.val();
            if self.place.q.val() != self.many.val() {
                self.place.d.next = self.place.q.val() + 1;
            }
            if self.arrived.data.val().first {
                self.odd.d.next = false;
                self.place.d.next = bits::<5>(0);
            }
        }
        // The header.
        self.data.next = self.at_hand.q.val().data;
        drive!(self, kind.q => sort.kind, kind_fields.from; data => number.from;
            number.to => first_high.from, first_low.from, message_low.from, target_high.from;
            first_low.to.val().length => length);
        self.data_length.next = bit_cast::<11, 10>(self.length.val());
        if !self.length.val().any() {
            self.data_length.next = self.most.val();
        }
        if !self.kind_fields.to.val().with_data {
            self.data_length.next = bits::<11>(0);
        }
        self.header_rest.next = self.short_rest.val();
        if self.kind_fields.to.val().long {
            self.header_rest.next = self.long_rest.val();
        }
        self.over.next = !self.left.q.val().any() & (self.place.q.val() > bits::<5>(1));
        self.completes.next =
            self.odd.q.val() & (self.left.q.val() == bits::<11>(1)) & (self.place.q.val() > bits::<5>(1));
        if self.here.q.val() {
            if self.over.val() & (self.excess.q.val() != bits::<2>(3)) {
                self.excess.d.next = self.excess.q.val() + 1;
            }
            if self.odd.q.val() & !self.over.val() {
                self.left.d.next = self.left.q.val() - 1;
            }
            if self.place.q.val() == bits::<5>(0) {
                self.kind.d.next = self.first_high.to.val().kind;
                // Not 0: one that ends here is too short.
                self.left.d.next = bits::<11>(1);
                self.excess.d.next = bits::<2>(0);
            }
            if self.place.q.val() == bits::<5>(1) {
                self.left.d.next = self.header_rest.val() + self.data_length.val();
                self.digest.d.next = self.first_low.to.val().digest;
                self.poisoned.d.next = self.first_low.to.val().poisoned;
                self.single.d.next = self.length.val() == bits::<10>(1);
            }
            if self.place.q.val() == bits::<5>(3) {
                self.turn_off_code.d.next = self.message_low.to.val().code == self.turn_off_message.val();
            }
            if self.place.q.val() == bits::<5>(4) {
                self.function_0.d.next = self.target_high.to.val().function == bits::<3>(0);
            }
        }
        drive!(self, here.q => bars.here; place.q => bars.place; data => bars.word; memory => bars.memory;
            bar0 => bars.bar0; bar2 => bars.bar2; bar2_high => bars.bar2_high);
        self.bars.four.next = self.kind_fields.to.val().long;
        // Words go on when the next one has come, so that the last one can still be made so.
        self.cut.next = self.here.q.val()
            & self.at_hand.q.val().last
            & !self.odd.q.val()
            & !self.at_hand.q.val().first
            & !self.over.val();
        self.word.valid.next = self.holds.q.val() & (self.held_ends.q.val() | self.here.q.val());
        self.word.data.next.data = self.held.q.val().data;
        self.word.data.next.first = self.held.q.val().first;
        self.word.data.next.last = self.held_ends.q.val() | self.cut.val();
        if self.held_ends.q.val() | self.here.q.val() {
            self.holds.d.next = false;
            self.held_ends.d.next = false;
        }
        if self.here.q.val() & !self.over.val() & !self.cut.val() {
            self.held.d.next = self.at_hand.q.val();
            self.holds.d.next = true;
            self.held_ends.d.next = self.at_hand.q.val().last | self.completes.val();
        }

        // A TLP is decided once.
        self.decides.next = self.here.q.val()
            & (self.at_hand.q.val().last | (self.place.q.val() == self.last_place.val()))
            & (!self.decided.q.val() | self.at_hand.q.val().first);
        if self.here.q.val() {
            self.decided.d.next = self.decides.val() | (self.decided.q.val() & !self.at_hand.q.val().first);
        }
        self.deciding.d.next = self.decides.val();
        self.checking.d.next = self.here.q.val() & self.at_hand.q.val().last & !self.decides.val();
        self.ended.d.next = self.at_hand.q.val().last;

        // One cycle later: is it as long as it says?
        self.fits.next = !self.left.q.val().any() & (self.excess.q.val() == bits::<2>(0));
        if self.digest.q.val() {
            self.fits.next = !self.left.q.val().any() & (self.excess.q.val() == bits::<2>(2));
        }
        if !self.ended.q.val() {
            // Not over yet: only too much is wrong.
            self.fits.next =
                self.left.q.val().any() | (self.digest.q.val() & !self.excess.q.val().get_bit(1));
        }
        self.length_fits.d.next = self.fits.val();
        self.judging.d.next = self.deciding.q.val();
        self.rechecking.d.next = self.checking.q.val();
        drive!(self, sort.memory => is_memory.d; sort.completion => is_completion.d;
            sort.configuration => is_configuration.d; sort.message => is_message.d;
            sort.non_posted => is_non_posted.d; sort.known => is_known.d);
        self.is_turn_off.d.next =
            (self.kind.q.val() == self.turn_off_kind.val()) & self.turn_off_code.q.val();
        self.is_locked.d.next = self.kind_fields.to.val().packet_type == self.locked_read.val();
        self.wants_single.d.next = self.sort.single.val() & !self.single.q.val();
        self.spoiled.d.next = self.poisoned.q.val() & self.kind_fields.to.val().with_data;

        // One more: its fate.
        self.fine.next = self.length_fits.q.val() & self.is_known.q.val() & !self.wants_single.q.val();
        self.carried_out.next =
            self.is_configuration.q.val() & self.function_0.q.val() & !self.spoiled.q.val();
        self.passes.next =
            self.fine.val() & (self.is_completion.q.val() | (self.is_memory.q.val() & self.bars.hits.val()));
        self.queues.next = self.is_non_posted.q.val() & !self.passes.val();
        self.refused.next = self.queues.val() & self.fine.val() & !self.carried_out.val();
        self.missed.next =
            self.fine.val() & self.is_memory.q.val() & !self.is_non_posted.q.val() & !self.bars.hits.val();
        self.given.d.next = self.judging.q.val();
        self.given_fate.d.next.passed = self.passes.val();
        self.given_fate.d.next.queued = self.queues.val();
        self.given_fate.d.next.high_bar = self.is_memory.q.val() & self.bars.high.val();
        self.given_fate.d.next.non_posted = self.is_non_posted.q.val();
        self.given_fate.d.next.verdict = self.refuse.val();
        if self.is_locked.q.val() {
            self.given_fate.d.next.verdict = self.refuse_locked.val();
        }
        if self.carried_out.val() {
            self.given_fate.d.next.verdict = self.carry_out.val();
        }
        if !self.fine.val() {
            self.given_fate.d.next.verdict = self.drop.val();
        }
        self.given_faults.d.next.correctable = self.judging.q.val() & self.refused.val();
        self.given_faults.d.next.non_fatal = self.judging.q.val()
            & (self.missed.val() | (self.fine.val() & self.spoiled.q.val() & !self.is_non_posted.q.val()));
        self.given_faults.d.next.fatal =
            (self.judging.q.val() & !self.fine.val()) | (self.rechecking.q.val() & !self.length_fits.q.val());
        self.given_faults.d.next.unsupported =
            self.judging.q.val() & (self.refused.val() | self.missed.val());
        self.turned_off.d.next = self.judging.q.val() & self.fine.val() & self.is_turn_off.q.val();
        drive!(self, given.q => fate.valid; given_fate.q => fate.data; given_faults.q => faults;
            turned_off.q => turn_off);
        if self.reset.val() {
            self.here.d.next = false;
            self.in_tlp.d.next = false;
            self.holds.d.next = false;
            self.held_ends.d.next = false;
            self.deciding.d.next = false;
            self.checking.d.next = false;
            self.judging.d.next = false;
            self.rechecking.d.next = false;
            self.given.d.next = false;
            self.turned_off.d.next = false;
            self.given_faults.d.next.correctable = false;
            self.given_faults.d.next.non_fatal = false;
            self.given_faults.d.next.fatal = false;
            self.given_faults.d.next.unsupported = false;
        }
    }
}
