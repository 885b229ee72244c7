//! Has a VI sent again.
//!
//! ```text
//!      vi, window ──►┌──────────┐──► rewind, waits
//!  start, resumes ──►│ Rewinder │◄── rewind_ready
//!          clears ──►└──────────┘──► epoch
//! ```
//! Contract: with `start` the VI goes back to its oldest packet that is not acknowledged; with `resumes` to what it has never sent. With `start`
//! the epoch of `window` has not turned; in the cycle behind, when the epoch is broadcast, it has. `start` only while
//! nothing `waits`. `clears`: the epoch of a new connection is broadcast too.
//!
//! Latency: 1.
//!
//! Example: `start` comes for VI 2 in cycle 0: `waits` is high and `epoch` is given in cycle 1; `waits` falls when fetch takes `rewind`.
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
    /// The VI that is at hand.
    pub vi: Signal<In, Vi>,
    /// The window of that VI.
    pub window: Signal<In, Window>,
    /// The VI is to send again.
    pub start: Signal<In, bool>,
    /// With `start`: the VI is to send only what it has never sent.
    pub resumes: Signal<In, bool>,
    /// A new connection of the VI begins.
    pub clears: Signal<In, bool>,
    /// A rewind is on show and fetch has not taken it.
    pub waits: Signal<Out, bool>,
    /// The VI that sends again, and from where, to fetch; it counts while `waits`.
    pub rewind: Signal<Out, Rewind>,
    /// Fetch takes the rewind.
    pub rewind_ready: Signal<In, bool>,
    /// The VI that changes its epoch in this cycle, and the new epoch.
    pub epoch: FlowSource<EpochWrite>,
    /// `place` waits for fetch.
    waiting: DFF<bool>,
    /// The rewind that waits.
    place: DFF<Rewind>,
    /// The epoch has turned in the cycle before.
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
