//! Numbers the TLPs, and keeps each until it is acknowledged; sends them again when they are not.
//!
//! ```text
//!    sink ──►┌────────┐──► waits, number, row
//!   heard ──►│ Replay │◄── begins, takes, ends
//!   in_l0 ──►│        │──► retrain
//!            └────────┘──► empty
//! ```
//! Contract: while `waits`, `Frame` may begin the TLP `number`, whose first row is `row`. `begins` says that it does, `takes` that the row
//! was used, `ends` that all its rows were. TLPs come in the order of their numbers.
//!
//! Ack and Nak free all TLPs up to their number, if it is that of one that was sent and is not acknowledged; otherwise they mean nothing, but
//! that a Nak of the one before the oldest asks for a replay, too. A Nak, and REPLAY_TIMER, lead back to the oldest TLP when the one under
//! way is sent whole. The fourth time without progress asks for `retrain`, until L0 is left, and the replay waits for that.
//!
//! Acks that come while one is worked on become one, that of the last number.
//!
//! `empty`: nothing is stored.
//!
//! Latency: an Ack takes 4 cycles; a replay begins up to 8 cycles behind the TLP under way.
//!
//! Example: TLPs 0 to 4 are sent. Nak 1 comes: 0 and 1 are freed, and 2, 3 and 4 are sent again.
//!
//! Tests: `tests/pcie/link/replays.rs`.

use super::packet::{Heard, Row};
use super::replay_timer::ReplayTimer;
use super::ring::Ring;
use crate::pcie::bus::TlpWord;
use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    /// Nothing is to be done.
    Idle,
    /// How far on is the number that is named?
    Look,
    /// Is that a TLP that was sent?
    Judge,
    /// Free the TLPs.
    Apply,
    /// How far behind the oldest is the one to send next?
    Settle,
    /// If it is behind, go on with the oldest one.
    Move,
    /// A replay: go back to the oldest one.
    Rewind,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Replay {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The next number is 0, and nothing is kept.
    pub reset: Signal<In, bool>,
    /// L0: time passes; from `mac`.
    pub in_l0: Signal<In, bool>,
    /// Max_Payload_Size: 128 << n bytes; from `transaction`.
    pub max_payload: Signal<In, Bits<3>>,
    /// TLPs to send; from `Credits`.
    pub sink: Sink<TlpWord>,
    /// A DLLP; from `Dllps`.
    pub heard: FlowSink<Heard>,
    /// A TLP is to be sent; to `Frame`, as `number` and `row`.
    pub waits: Signal<Out, bool>,
    /// The TLP's sequence number.
    pub number: Signal<Out, Bits<12>>,
    /// The TLP's next row.
    pub row: Signal<Out, Row>,
    /// The TLP begins; from `Frame`, as `takes` and `ends`.
    pub begins: Signal<In, bool>,
    /// The TLP's row is used.
    pub takes: Signal<In, bool>,
    /// All rows of the TLP are used.
    pub ends: Signal<In, bool>,
    /// Go to Recovery.
    pub retrain: Signal<Out, bool>,
    /// Nothing is kept.
    pub empty: Signal<Out, bool>,
    ring: Ring,
    timer: ReplayTimer,
    state: DFF<State>,
    // The last Ack or Nak.
    asked: DFF<bool>,
    asked_nak: DFF<bool>,
    asked_number: DFF<Bits<12>>,
    // The one that is worked on.
    nak: DFF<bool>,
    named: DFF<Bits<12>>,
    /// How many TLPs it frees.
    frees: DFF<Bits<12>>,
    /// How many were sent.
    sent: DFF<Bits<8>>,
    oldest: DFF<Bits<12>>,
    next: DFF<Bits<12>>,
    /// The first number that was never sent.
    fresh: DFF<Bits<8>>,
    ready: DFF<bool>,
    sending: DFF<bool>,
    /// A replay is to begin.
    again: DFF<bool>,
    /// Replays without progress.
    replays: DFF<Bits<2>>,
    wants: DFF<bool>,
    nothing: DFF<bool>,
    lag: DFF<Bits<8>>,
    replaying: Signal<Local, bool>,
    hold: Signal<Local, bool>,
    next_low: Signal<Local, Bits<8>>,
    oldest_low: Signal<Local, Bits<8>>,
    frees_low: Signal<Local, Bits<8>>,
    frees_high: Signal<Local, Bits<4>>,
    /// No TLP is on its way without an Ack.
    settled: Signal<Local, bool>,
    progress: Signal<Local, bool>,
    goes_back: Signal<Local, bool>,
}

impl Logic for Replay {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, asked, asked_nak, asked_number, nak, named, frees, sent, oldest);
        dff_setup!(self, clock, next, fresh, ready, sending, again, replays, wants, nothing, lag);
        clock!(self, clock, ring, timer);
        drive!(self, reset => ring.reset; in_l0 => timer.in_l0; max_payload => timer.max_payload;
            ring.row => row; takes => ring.takes; next.q => number; wants.q => retrain; nothing.q => empty);
        Sink::<TlpWord>::link(&mut self.sink, &mut self.ring.sink);
        self.next_low.next = self.next.q.val().get_bits::<8>(0);
        self.oldest_low.next = self.oldest.q.val().get_bits::<8>(0);
        drive!(self, oldest_low => ring.oldest);
        self.ring.up_to.next = self.named.q.val().get_bits::<6>(0);
        self.nothing.d.next = self.ring.stored.val() == self.oldest_low.val();

        // What is sent. No TLP begins while it may have to be another one.
        self.replaying.next = self.next_low.val() != self.fresh.q.val();
        self.settled.next = self.fresh.q.val() == self.oldest_low.val();
        self.hold.next = self.again.q.val()
            | self.wants.q.val()
            | ((self.state.q.val() != State::Idle) & (self.nak.q.val() | self.replaying.val()));
        self.waits.next = self.ready.q.val() & !self.hold.val();
        self.ready.d.next = self.next_low.val() != self.ring.stored.val();
        if self.begins.val() {
            self.sending.d.next = true;
        }
        if self.ends.val() {
            drive!(self, false => sending.d, ready.d);
            self.next.d.next = self.next.q.val() + 1;
            if !self.replaying.val() {
                self.fresh.d.next = self.fresh.q.val() + 1;
            }
        }

        // What is heard. `frees` is one less than what is freed: all ones is nothing.
        self.frees.d.next = self.named.q.val() - self.oldest.q.val();
        self.sent.d.next = self.fresh.q.val() - self.oldest_low.val();
        self.frees_low.next = self.frees.q.val().get_bits::<8>(0);
        self.frees_high.next = self.frees.q.val().get_bits::<4>(8);
        self.lag.d.next = self.next_low.val() - self.oldest_low.val();
        drive!(self, false => progress, goes_back);
        match self.state.q.val() {
            State::Idle => {
                if self.asked.q.val() {
                    drive!(self, asked_number.q => named.d; asked_nak.q => nak.d;
                        false => asked.d, asked_nak.d);
                    self.state.d.next = State::Look;
                } else if self.again.q.val() & !self.sending.q.val() & !self.wants.q.val() {
                    self.state.d.next = State::Rewind;
                    // Meanwhile all may have been acknowledged.
                    if !self.sent.q.val().any() {
                        self.again.d.next = false;
                        self.state.d.next = State::Idle;
                    }
                }
            }
            State::Look => {
                self.state.d.next = State::Judge;
            }
            State::Judge => {
                self.state.d.next = State::Idle;
                if self.frees.q.val().all() {
                    if self.nak.q.val() {
                        self.again.d.next = true;
                    }
                } else if !self.frees_high.val().any() & (self.frees_low.val() < self.sent.q.val()) {
                    self.state.d.next = State::Apply;
                }
            }
            State::Apply => {
                // Rows that are being sent again are not freed under way.
                if !self.sending.q.val() | !(self.nak.q.val() | self.replaying.val()) {
                    self.progress.next = true;
                    self.oldest.d.next = self.named.q.val() + 1;
                    self.state.d.next = State::Settle;
                }
            }
            State::Settle => {
                self.state.d.next = State::Move;
            }
            State::Move => {
                if self.lag.q.val().get_bit(7) {
                    self.goes_back.next = true;
                }
                if self.nak.q.val() {
                    self.again.d.next = true;
                }
                self.state.d.next = State::Idle;
            }
            State::Rewind => {
                self.again.d.next = false;
                self.goes_back.next = true;
                self.replays.d.next = self.replays.q.val() + 1;
                if self.replays.q.val().all() {
                    self.wants.d.next = true;
                }
                self.state.d.next = State::Idle;
            }
        }
        drive!(self, progress => ring.purge; goes_back => ring.rewind);
        if self.goes_back.val() {
            drive!(self, oldest.q => next.d; false => ready.d);
        }
        if self.progress.val() {
            self.replays.d.next = bits::<2>(0);
        }

        // The timer runs from the first TLP that is sent and not acknowledged, or from the last progress.
        self.timer.start.next =
            (self.ends.val() & !self.timer.runs.val()) | (self.progress.val() & self.timer.runs.val());
        self.timer.stop.next =
            (self.settled.val() & !self.ends.val()) | (self.state.q.val() == State::Rewind);
        if self.timer.expired.val() & !self.progress.val() & (self.state.q.val() != State::Rewind) {
            self.again.d.next = true;
        }

        if self.heard.valid.val() & (self.heard.data.val().ack | self.heard.data.val().nak) {
            self.asked.d.next = true;
            self.asked_number.d.next = self.heard.data.val().number;
            // A Nak that is not worked on yet is not forgotten for an Ack.
            self.asked_nak.d.next =
                self.heard.data.val().nak | (self.asked_nak.q.val() & (self.state.q.val() != State::Idle));
        }
        if !self.in_l0.val() {
            self.wants.d.next = false;
        }
        if self.reset.val() {
            self.state.d.next = State::Idle;
            self.oldest.d.next = bits::<12>(0);
            self.next.d.next = bits::<12>(0);
            self.fresh.d.next = bits::<8>(0);
            self.replays.d.next = bits::<2>(0);
            drive!(self, false => asked.d, asked_nak.d, nak.d, ready.d, sending.d, again.d, wants.d; true => nothing.d);
        }
    }
}
