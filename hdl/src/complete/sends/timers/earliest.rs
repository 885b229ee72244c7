//! Keeps the earliest end of the timers that run.
//!
//! ```text
//!  considers, stop──►┌──────────┐──► deadline
//!        restarts ──►│ Earliest │──► over, busy
//!        time_now ──►└──────────┘
//! ```
//! Contract: from `restarts` on, `deadline` is the earliest of the ends that come with `considers`; it is not given while there is none.
//! `over` says that it has come. An end that comes with `restarts`, or in the cycle before, counts.
//!
//! Latency: 2 from `considers` to `deadline`; the comparison of two times takes long, so it has a cycle of its own, in which the block is
//! `busy`.
//!
//! Example: it is 100 and ends of 150 and 120 come: `deadline` is 150, then 120, and `over` is high from 120 on.
//!
//! Tests: with the timers, `tests/complete/timers.rs`.

use crate::arithmetic::Distance;
use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Earliest {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets all ends.
    pub reset: Signal<In, bool>,
    /// Device time, ticks of 1.024 us, from [`Timers`](super::Timers).
    pub time_now: Signal<In, Bits<32>>,
    /// `stop` is the end of a timer that runs; [`Timers`](super::Timers) drives this and the next two.
    pub considers: Signal<In, bool>,
    /// The end, in ticks of device time.
    pub stop: Signal<In, Bits<32>>,
    /// All ends are looked at anew.
    pub restarts: Signal<In, bool>,
    /// The earliest end; given while there is one.
    pub deadline: FlowSource<Bits<32>>,
    /// The earliest end has come.
    pub over: Signal<Out, bool>,
    /// An end is being compared.
    pub busy: Signal<Out, bool>,
    /// An end waits in `candidate` to be compared.
    considered: DFF<bool>,
    candidate: DFF<Bits<32>>,
    /// There is an end: `earliest`.
    some: DFF<bool>,
    earliest: DFF<Bits<32>>,
    /// Time, from the earliest end.
    past: Distance<32>,
    /// The candidate, from the earliest end.
    lead: Distance<32>,
}

impl Logic for Earliest {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, considered, candidate, some, earliest);
        drive!(self, time_now => past.number; earliest.q => past.from, lead.from, deadline.data;
            candidate.q => lead.number; some.q => deadline.valid; considered.q => busy);
        self.over.next = self.some.q.val() & !self.past.behind.val();
        self.considered.d.next = self.considers.val();
        self.candidate.d.next = self.stop.val();
        if self.restarts.val() {
            self.some.d.next = false;
        }
        if self.considered.q.val() {
            self.some.d.next = true;
            if !self.some.q.val() | self.lead.behind.val() {
                self.earliest.d.next = self.candidate.q.val();
            }
        }
        if self.reset.val() {
            self.considered.d.next = false;
            self.some.d.next = false;
        }
    }
}
