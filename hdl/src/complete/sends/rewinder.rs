//! Has a VI sent again.
//!
//! ```text
//!      vi, window ──►┌──────────┐──► rewind ◄── rewind_ready
//!  start, resumes ──►│ Rewinder │──► epoch
//!          clears ──►└──────────┘──► waits
//! ```
//! Contract: with `start` the VI goes back to its oldest packet that is not acknowledged; with `resumes` to what it has never sent. `window`
//! is that before the epoch turns; in the cycle behind, when the epoch is broadcast, that after. `start` only while
//! nothing `waits`. `clears`: the epoch of a new connection is broadcast too.
//!
//! Latency: 1.
//!
//! Tests: with the whole, `tests/complete/sends.rs`, `tests/complete/again.rs`.

use super::window::Window;
use crate::bus::{EpochWrite, Rewind, Vi};
use crate::stream::FlowSource;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Rewinder {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the rewind that waits.
    pub reset: Signal<In, bool>,
    /// The VI at hand.
    pub vi: Signal<In, Vi>,
    /// Its window.
    pub window: Signal<In, Window>,
    /// It is to send again,
    pub start: Signal<In, bool>,
    /// but only what it has never sent.
    pub resumes: Signal<In, bool>,
    /// A connection of it begins.
    pub clears: Signal<In, bool>,
    /// A rewind waits for fetch.
    pub waits: Signal<Out, bool>,
    /// From where.
    pub rewind: Signal<Out, Rewind>,
    /// Fetch has turned back.
    pub rewind_ready: Signal<In, bool>,
    /// Pulse: the VI changes its epoch.
    pub epoch: FlowSource<EpochWrite>,
    waiting: DFF<bool>,
    place: DFF<Rewind>,
    turned: DFF<bool>,
    skip: Signal<Local, Bits<24>>,
    behind: Signal<Local, Bits<14>>,
}

impl Logic for Rewinder {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, waiting, place, turned);
        self.waits.next = self.waiting.q.val();
        self.rewind.next = self.place.q.val();
        if self.rewind_ready.val() {
            self.waiting.d.next = false;
        }
        self.turned.d.next = self.start.val() | self.clears.val();
        self.epoch.valid.next = self.turned.q.val();
        self.epoch.data.next.vi = self.vi.val();
        self.epoch.data.next.epoch = self.window.val().epoch;

        // REQ-4, REQ-5, REQ-6: all from the oldest PSN on goes again. REQ-8: of a read what is missing.
        // The oldest packet that is not acknowledged, and which of its message it is.
        self.skip.next = self.window.val().oldest - self.window.val().first;
        self.behind.next = self.window.val().completed + bit_cast::<14, 5>(self.window.val().known);
        if self.start.val() {
            self.waiting.d.next = true;
            self.place.d.next.vi = self.vi.val();
            self.place.d.next.epoch = !self.window.val().epoch;
            self.place.d.next.position = self.window.val().completed;
            self.place.d.next.skip = self.skip.val();
            self.place.d.next.psn = self.window.val().oldest;
            self.place.d.next.resume = self.resumes.val();
            if self.resumes.val() {
                self.place.d.next.position = self.behind.val();
                self.place.d.next.skip = bits::<24>(0);
                self.place.d.next.psn = self.window.val().fresh;
            }
        }
        if self.reset.val() {
            self.waiting.d.next = false;
            self.turned.d.next = false;
        }
    }
}
