//! Decides whether a VI is sent again, and from where, and has it sent.
//!
//! ```text
//!                 vi, window ──►┌──────────┐──► finding
//!  connected, unseen, flying ──►│          │──► rewind, waits
//!              parked, moved ──►│ Rewinder │──► epoch
//!        turns, back, clears ──►└──────────┘
//! ```
//! Contract: `finding` says whether the VI goes back to its oldest packet that is not acknowledged (GoesBack), goes on with what was parked
//! (GoesOn), would do either but another rewind waits for fetch (Queues), or need not go back though its window says so (Needless). While a
//! rewind of the VI is under way it does nothing of this.
//!
//! With `turns` the VI goes: with `back` to its oldest packet, otherwise to what it has never sent. With `turns`
//! the epoch of `window` has not turned; in the cycle behind, when the epoch is broadcast, it has. `clears`: the epoch of a new connection
//! is broadcast too.
//!
//! Latency: 0 to `finding`, 1 to the others.
//!
//! Example: VI 2 is connected and its window is pending, with packets in flight: `finding` is GoesBack. `turns` and `back` come in cycle
//! 0: `waits` is high and `epoch` is given in cycle 1; `waits` falls when fetch takes `rewind`.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use super::finding::Finding;
use super::window::{Window, COUNT_BITS};
use crate::bus::{EpochWrite, Position, Rewind, Vi};
use crate::stream::{FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Rewinder {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the rewind that waits.
    pub reset: Signal<In, bool>,
    /// The VI that is at hand; [`Sends`](super::Sends) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// The window of that VI.
    pub window: Signal<In, Window>,
    /// The VI is connected.
    pub connected: Signal<In, bool>,
    /// Packets of the VI are in flight.
    pub flying: Signal<In, bool>,
    /// The oldest message is acknowledged, but has not come since the last rewind: it is waited for.
    pub unseen: Signal<In, bool>,
    /// A message of the VI waits for a read.
    pub parked: Signal<In, bool>,
    /// With `parked`: a read has become complete since.
    pub moved: Signal<In, bool>,
    /// Whether the VI is to be sent again.
    pub finding: Signal<Out, Finding>,
    /// The VI is sent again from now on.
    pub turns: Signal<In, bool>,
    /// With `turns`: it goes back to its oldest packet; otherwise on to what it has never sent.
    pub back: Signal<In, bool>,
    /// A new connection of the VI begins.
    pub clears: Signal<In, bool>,
    /// A rewind is on show and fetch has not taken it.
    pub waits: Signal<Out, bool>,
    /// The VI that sends again, and from where, to fetch.
    pub rewind: Source<Rewind>,
    /// The VI that changes its epoch in this cycle, and the new epoch.
    pub epoch: FlowSource<EpochWrite>,
    /// `place` waits for fetch.
    waiting: DFF<bool>,
    /// The rewind that waits.
    place: DFF<Rewind>,
    /// The epoch has turned in the cycle before.
    turned: DFF<bool>,
    /// The VI goes back.
    goes_back: Signal<Local, bool>,
    /// The VI goes on, unless it goes back.
    goes_on: Signal<Local, bool>,
    /// Packets of the oldest message that are acknowledged.
    skip: Signal<Local, Bits<24>>,
    /// Position behind all that is known.
    behind: Signal<Local, Position>,
}

impl Logic for Rewinder {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, place, turned);
        drive!(self, waiting.q => waits, rewind.valid; place.q => rewind.data);
        if self.rewind.ready.val() {
            self.waiting.d.next = false;
        }
        self.goes_back.next = self.window.val().pending
            & !self.window.val().rewinding
            & !self.unseen.val()
            & self.flying.val()
            & self.connected.val();
        self.goes_on.next =
            self.parked.val() & !self.window.val().rewinding & (self.moved.val() | !self.connected.val());
        self.finding.next = Finding::Nothing;
        if self.goes_back.val() | self.goes_on.val() {
            self.finding.next = Finding::GoesOn;
            if self.goes_back.val() {
                self.finding.next = Finding::GoesBack;
            }
            if self.waiting.q.val() {
                self.finding.next = Finding::Queues;
            }
        } else if self.window.val().pending & (!self.flying.val() | !self.connected.val()) {
            self.finding.next = Finding::Needless;
        }

        self.turned.d.next = self.turns.val() | self.clears.val();
        self.epoch.valid.next = self.turned.q.val();
        self.epoch.data.next.vi = self.vi.val();
        self.epoch.data.next.epoch = self.window.val().epoch;

        // REQ-4, REQ-5, REQ-6: all packets from the oldest PSN on go again. REQ-8: of a read, what is missing.
        // The oldest packet that is not acknowledged, and which of its message it is.
        self.skip.next = self.window.val().oldest - self.window.val().first;
        self.behind.next = self.window.val().completed + bit_cast::<14, COUNT_BITS>(self.window.val().known);
        if self.turns.val() {
            self.waiting.d.next = true;
            self.place.d.next.vi = self.vi.val();
            self.place.d.next.epoch = !self.window.val().epoch;
            self.place.d.next.position = self.behind.val();
            self.place.d.next.skip = bits::<24>(0);
            self.place.d.next.psn = self.window.val().fresh;
            self.place.d.next.resume = !self.back.val();
            if self.back.val() {
                self.place.d.next.position = self.window.val().completed;
                self.place.d.next.skip = self.skip.val();
                self.place.d.next.psn = self.window.val().oldest;
            }
        }
        if self.reset.val() {
            self.waiting.d.next = false;
            self.turned.d.next = false;
        }
    }
}
