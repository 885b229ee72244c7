//! What the end of a timer means for its VI.
//!
//! ```text
//!   ended, connected, flying ──►┌──────────┐──► finding
//!                               │ TimedOut │
//!                               └──────────┘
//! ```
//! Contract: the block has no state; `finding` is Nothing unless packets of a connected VI are in flight, for then a timer that ends says
//! nothing.
//!
//! Latency: none.
//!
//! Example: TIMEOUT ends for the first time with three packets in flight: `finding` is TimeOut.
//!
//! Tests: with the whole, `tests/complete/again.rs`.

use super::finding::Finding;
use super::timers::TimerEnd;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TimedOut {
    /// The timer's end; `Findings` drives this and the other inputs.
    pub ended: Signal<In, TimerEnd>,
    /// The VI is connected.
    pub connected: Signal<In, bool>,
    /// Packets of the VI are in flight.
    pub flying: Signal<In, bool>,
    /// TimeOut, RestOver, Silent, NeverReady or Nothing.
    pub finding: Signal<Out, Finding>,
}

impl Logic for TimedOut {
    #[hdl_gen]
    fn update(&mut self) {
        self.finding.next = Finding::Nothing;
        if self.connected.val() & self.flying.val() {
            // REQ-5: a time-out with packets in flight. REQ-6: the end of the time that the receiver asked for.
            if self.ended.val().gives_up {
                self.finding.next = Finding::Silent;
                if self.ended.val().rested {
                    self.finding.next = Finding::NeverReady;
                }
            } else {
                self.finding.next = Finding::TimeOut;
                if self.ended.val().rested {
                    self.finding.next = Finding::RestOver;
                }
            }
        }
    }
}
