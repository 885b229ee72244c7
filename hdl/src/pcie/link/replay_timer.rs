//! REPLAY_TIMER: how long an Ack may take.
//!
//! ```text
//!       start ──►┌─────────────┐──► expired
//!        stop ──►│ ReplayTimer │
//!       in_l0 ──►│             │
//! max_payload ──►└─────────────┘
//! ```
//! Contract: `start` starts it anew, `stop` stops it, and goes before. When it has run for a tenth longer than the specification's
//! least time, `expired` is high until one of them. Its time passes in L0 only.
//!
//! Latency: 1 cycle.
//!
//! Example: with 128 bytes the least time is 711 symbols: `expired` rises 391 cycles behind `start`.
//!
//! Tests: `tests/pcie/link/replays.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReplayTimer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// L0: time passes; from `mac`.
    pub in_l0: Signal<In, bool>,
    /// Max_Payload_Size: 128 << n bytes; from `transaction`.
    pub max_payload: Signal<In, Bits<3>>,
    /// The timer starts anew. `Replay` drives this, and `stop`.
    pub start: Signal<In, bool>,
    /// The timer stops.
    pub stop: Signal<In, bool>,
    /// The timer runs, or has run out.
    pub runs: Signal<Out, bool>,
    /// The timer has run out.
    pub expired: Signal<Out, bool>,
    running: DFF<bool>,
    left: DFF<Bits<11>>,
    limit: DFF<Bits<11>>,
    over: DFF<bool>,
    least: Number<11, { 711 * 11 / 20 }>,
    middle: Number<11, { 1248 * 11 / 20 }>,
    most: Number<11, { 1677 * 11 / 20 }>,
}

impl Logic for ReplayTimer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, running, left, limit, over);
        drive!(self, running.q => runs; over.q => expired);
        self.limit.d.next = self.most.val();
        if self.max_payload.val() == bits::<3>(0) {
            self.limit.d.next = self.least.val();
        }
        if self.max_payload.val() == bits::<3>(1) {
            self.limit.d.next = self.middle.val();
        }
        self.over.d.next = self.running.q.val() & !self.left.q.val().any();
        if self.in_l0.val() & self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.start.val() {
            self.running.d.next = true;
            self.left.d.next = self.limit.q.val();
            self.over.d.next = false;
        }
        if self.stop.val() {
            drive!(self, false => running.d, over.d);
        }
    }
}
