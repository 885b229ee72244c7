//! The core's end of the way out: ends what a reset of the core leaves half way.
//!
//! ```text
//!   tx ──►┌────────┐──► beat
//! reset ──►│ Intake │
//!         └────────┘
//! ```
//! Contract: beats go on as they come, `bad` as SPOILED. If `reset` comes between two beats of a frame, an empty last beat that spoils
//! it follows as soon as there is room, during the reset or behind it. A reset is heeded a cycle late.
//!
//! Latency: 0; it holds nothing.
//!
//! Tests: `tests/mac/reset.rs`.

use super::beat::{reason, MacBeat};
use crate::bus::FrameBeat;
use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Intake {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The core starts anew.
    pub reset: Signal<In, bool>,
    /// A beat is offered.
    pub tx_valid: Signal<In, bool>,
    /// It is taken.
    pub tx_ready: Signal<Out, bool>,
    /// The beat.
    pub tx: Signal<In, FrameBeat>,
    /// A beat for the crossing.
    pub beat_valid: Signal<Out, bool>,
    /// It is taken.
    pub beat_ready: Signal<In, bool>,
    /// The beat.
    pub beat: Signal<Out, MacBeat>,
    /// The next beat is none of a new frame; it counts through a reset.
    midway: DFF<bool>,
    /// The frame under way is to be ended here.
    ending: DFF<bool>,
    /// The core was in reset in the cycle before: its reset comes from far.
    resting: DFF<bool>,
    open: Signal<Local, bool>,
    spoiled: Number<3, { reason::OVERRUN }>,
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, midway, ending, resting);
        self.resting.d.next = self.reset.val();
        self.open.next = !self.ending.q.val() & !self.resting.q.val();
        self.tx_ready.next = self.open.val() & self.beat_ready.val();
        self.beat_valid.next = self.ending.q.val() | (self.open.val() & self.tx_valid.val());
        self.beat.next.data = self.tx.val().data;
        self.beat.next.count = self.tx.val().count;
        self.beat.next.last = self.tx.val().last;
        self.beat.next.reason = bits::<3>(0);
        if self.tx.val().last & self.tx.val().bad {
            self.beat.next.reason = self.spoiled.val();
        }
        if self.open.val() & self.tx_valid.val() & self.beat_ready.val() {
            self.midway.d.next = !self.tx.val().last;
        }
        if self.ending.q.val() {
            self.beat.next.count = bits::<4>(0);
            self.beat.next.last = true;
            self.beat.next.reason = self.spoiled.val();
            if self.beat_ready.val() {
                self.ending.d.next = false;
                self.midway.d.next = false;
            }
        } else if self.resting.q.val() & self.midway.q.val() {
            self.ending.d.next = true;
        }
    }
}
