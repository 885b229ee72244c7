//! Lets a TLP pass when the link partner has credits for it.
//!
//! ```text
//!  offered ──►┌─────────┐──► passed
//!    heard ──►│ Credits │──► limits, complete
//!    init1 ──►│         │──► idle
//!  blocked ──►└─────────┘
//! ```
//! Contract: TLPs pass in order and whole. The first two words are taken, whether there are credits or not, because they say how many it
//! needs; they wait here. While `blocked`, no first word is taken. `idle`: no TLP is here.
//!
//! Latency: 3 cycles for the first word if there are credits. Throughput: a TLP of n words in n + 3 cycles, which on the wire takes n + 4.
//!
//! Example: a memory write of 64 bytes is offered, and three units of posted data are left: two words are taken. UpdateFC grants one more:
//! 6 cycles later the write passes.
//!
//! Tests: `tests/pcie/link/credits.rs`.

use super::account::Account;
use super::packet::Heard;
use super::tlp_class::TlpClass;
use crate::pcie::bus::{Limits, TlpWord};
use crate::prims::{Cast, Number, WireOrder};
use crate::rows::tlp::FirstWordLow;
use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    First,
    Second,
    Wait,
    Weigh,
    Follow,
    Pass,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Credits {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is allowed, and no TLP is here.
    pub reset: Signal<In, bool>,
    /// TLPs to send; from `transaction`.
    pub offered: Sink<TlpWord>,
    /// The same TLPs; to `Replay`.
    pub passed: Source<TlpWord>,
    /// A DLLP; from `Dllps`.
    pub heard: FlowSink<Heard>,
    /// InitFC counts; from `Activity`.
    pub init1: Signal<In, bool>,
    /// No TLP may begin; from `Power` and `Activity`.
    pub blocked: Signal<In, bool>,
    /// What the link partner has allowed.
    pub limits: Signal<Out, Limits>,
    /// The limits of all classes are known.
    pub complete: Signal<Out, bool>,
    /// No TLP is here.
    pub idle: Signal<Out, bool>,
    accounts: [Account; 3],
    sorter: TlpClass,
    state: DFF<State>,
    one: DFF<TlpWord>,
    two: DFF<TlpWord>,
    /// Of the TLP's class.
    header: DFF<bool>,
    left: DFF<Bits<12>>,
    endless: DFF<bool>,
    enough: DFF<bool>,
    cost: DFF<Bits<12>>,
    spend: Signal<Local, bool>,
    first_word: Signal<Local, Bits<16>>,
    second_word: Signal<Local, Bits<16>>,
    /// The second word as a number, and as the half of the header's double word that it is.
    second_number: WireOrder<16>,
    second_fields: Cast<Bits<16>, FirstWordLow>,
    /// Double words of data; 0 is 1024.
    length: Signal<Local, Bits<12>>,
    rounded: Signal<Local, Bits<12>>,
    /// Double words that may go.
    room: Signal<Local, Bits<13>>,
    needs: Signal<Local, Bits<13>>,
    three: Number<12, 3>,
    whole: Number<12, 1024>,
}

impl Logic for Credits {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, one, two, header, left, endless, enough, cost);

        // What the TLP's class has left.
        drive!(self, one.q.val().data => first_word; two.q.val().data => second_word);
        self.sorter.kind.next = bit_cast::<8, 16>(self.first_word.val());
        self.spend.next =
            (self.state.q.val() == State::Weigh) & self.enough.q.val() & self.passed.ready.val();
        for i in 0..3 {
            self.accounts[i].clock.next = self.clock.val();
            self.accounts[i].reset.next = self.reset.val();
            self.accounts[i].heard.valid.next = self.heard.valid.val();
            self.accounts[i].heard.data.next = self.heard.data.val();
            self.accounts[i].init1.next = self.init1.val();
            self.accounts[i].units.next = self.cost.q.val();
            self.accounts[i].mine.next = self.heard.data.val().class.index() == i;
            self.accounts[i].spend.next = self.spend.val() & (self.sorter.sort.val().index() == i);
            if self.sorter.sort.val().index() == i {
                self.header.d.next = self.accounts[i].can_header.val();
                self.left.d.next = self.accounts[i].left.val();
                self.endless.d.next = self.accounts[i].endless.val();
            }
        }
        self.limits.next.posted = self.accounts[0].limit.val();
        self.limits.next.non_posted = self.accounts[1].limit.val();
        self.limits.next.completions = self.accounts[2].limit.val();
        self.complete.next =
            self.accounts[0].known.val() & self.accounts[1].known.val() & self.accounts[2].known.val();

        // What it costs. Units are compared as double words, so that nothing is rounded on the way.
        drive!(self, second_word => second_number.from; second_number.to => second_fields.from);
        self.length.next = bit_cast::<12, 10>(self.second_fields.to.val().length);
        if self.second_fields.to.val().length == bits::<10>(0) {
            self.length.next = self.whole.val();
        }
        self.rounded.next = self.length.val() + self.three.val();
        self.cost.d.next = self.rounded.val() >> 2;
        self.needs.next = bit_cast::<13, 12>(self.length.val());
        self.room.next = bit_cast::<13, 12>(self.left.q.val()) << 2;
        self.enough.d.next = self.header.q.val()
            & (self.endless.q.val()
                | (!self.left.q.val().get_bit(11) & (self.room.val() >= self.needs.val())));
        if !self.sorter.with_data.val() {
            self.cost.d.next = bits::<12>(0);
            self.enough.d.next = self.header.q.val();
        }

        // The words' way.
        drive!(self, false => passed.valid, offered.ready; offered.data => passed.data);
        self.idle.next = self.state.q.val() == State::First;
        match self.state.q.val() {
            State::First => {
                self.offered.ready.next = !self.blocked.val();
                self.one.d.next = self.offered.data.val();
                if self.offered.valid.val() & !self.blocked.val() {
                    self.state.d.next = State::Second;
                }
            }
            State::Second => {
                self.offered.ready.next = true;
                self.two.d.next = self.offered.data.val();
                if self.offered.valid.val() {
                    self.state.d.next = State::Wait;
                }
            }
            State::Wait => {
                self.state.d.next = State::Weigh;
            }
            State::Weigh => {
                self.passed.valid.next = self.enough.q.val();
                self.passed.data.next = self.one.q.val();
                if self.spend.val() {
                    self.state.d.next = State::Follow;
                }
            }
            State::Follow => {
                self.passed.valid.next = true;
                self.passed.data.next = self.two.q.val();
                if self.passed.ready.val() {
                    self.state.d.next = State::Pass;
                }
            }
            State::Pass => {
                self.passed.valid.next = self.offered.valid.val();
                self.offered.ready.next = self.passed.ready.val();
                if self.offered.valid.val() & self.passed.ready.val() & self.offered.data.val().last {
                    self.state.d.next = State::First;
                }
            }
        }
        if self.reset.val() {
            self.state.d.next = State::First;
        }
    }
}
