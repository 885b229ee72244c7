//! The core's end of the way out: ends a frame that a reset of the core leaves half way.
//!
//! ```text
//!    tx ──►┌─────────────┐──► beat
//! reset ──►│ FrameCloser │
//!          └─────────────┘
//! ```
//! Contract: beats go on as they come; a last beat that is `bad` gets the reason OVERRUN, so the frame is sent damaged. If `reset` comes
//! between two beats of a frame, an empty last beat with that reason follows as soon as there is room, during the reset or after it. The
//! block sees a reset a cycle late.
//!
//! Latency: 0 cycles; it holds nothing.
//!
//! Example: two beats of a frame have gone when `reset` comes: an empty last beat with OVERRUN follows, and the wire sees a damaged frame.
//!
//! Tests: `tests/mac/reset.rs`.

use super::beat::{reason, MacBeat};
use crate::bus::FrameBeat;
use crate::prims::Number;
use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FrameCloser {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The core starts anew.
    pub reset: Signal<In, bool>,
    /// A beat of a frame to send, from the core.
    pub tx: Sink<FrameBeat>,
    /// The beat for the crossing to the transmit side.
    pub beat: Source<MacBeat>,
    /// The next beat belongs to the frame under way; it counts through a reset.
    midway: DFF<bool>,
    /// The frame under way is to be ended here.
    ending: DFF<bool>,
    /// The core was in reset in the cycle before: its reset comes from far.
    resting: DFF<bool>,
    open: Signal<Local, bool>,
    spoiled: Number<3, { reason::OVERRUN }>,
}

impl Logic for FrameCloser {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, midway, ending, resting);
        self.resting.d.next = self.reset.val();
        self.open.next = !self.ending.q.val() & !self.resting.q.val();
        self.tx.ready.next = self.open.val() & self.beat.ready.val();
        self.beat.valid.next = self.ending.q.val() | (self.open.val() & self.tx.valid.val());
        fill!(self, beat.data, tx.data.val().data => data; tx.data.val().count => count;
            tx.data.val().last => last);
        self.beat.data.next.reason = bits::<3>(0);
        if self.tx.data.val().last & self.tx.data.val().bad {
            self.beat.data.next.reason = self.spoiled.val();
        }
        if self.open.val() & self.tx.valid.val() & self.beat.ready.val() {
            self.midway.d.next = !self.tx.data.val().last;
        }
        if self.ending.q.val() {
            self.beat.data.next.count = bits::<4>(0);
            self.beat.data.next.last = true;
            self.beat.data.next.reason = self.spoiled.val();
            if self.beat.ready.val() {
                self.ending.d.next = false;
                self.midway.d.next = false;
            }
        } else if self.resting.q.val() & self.midway.q.val() {
            self.ending.d.next = true;
        }
    }
}
