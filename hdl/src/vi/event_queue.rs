//! Keeps the events that wait for the error ring.
//!
//! ```text
//!   report, fault, broke ──►┌────────────┐──► ring_event
//!                           │ EventQueue │──► count_lost
//!                           └────────────┘
//! ```
//! Contract: with `report`, an event is made of `fault` and `broke`, and waits. Events leave in order. One that finds 16 others waiting is
//! dropped, and counted in `count_lost` a cycle later.
//!
//! Latency: 1 cycle.
//!
//! Example: nothing waits and `report` is high for one cycle: in the next cycle `ring_event` offers the event, until it is taken.
//!
//! Tests: with `ViState`, `tests/admin/state.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Fault, Vi};
use crate::prims::Fifo;
use crate::rows::register::EventWord;
use crate::stream::{Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// An event while it waits: the fields of [`EventWord`] without its reserved bits, which need no memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct WaitingEvent {
    code: Bits<8>,
    vi: Vi,
    receive: bool,
    broke: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EventQueue {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the events that wait.
    pub reset: Signal<In, bool>,
    /// There is an event; [`ViState`](super::ViState) drives this and the next two.
    pub report: Signal<In, bool>,
    /// With `report`: the fault that the event is about.
    pub fault: Signal<In, Fault>,
    /// With `report`: the VI went into Error by the fault.
    pub broke: Signal<In, bool>,
    /// The oldest event that waits, to `complete/queues`.
    pub ring_event: Source<EventWord>,
    /// An event found no room and is lost.
    pub count_lost: Pulse,
    events: Fifo<WaitingEvent, 4, 5>,
    new_event: Signal<Local, WaitingEvent>,
    /// The oldest event.
    oldest: Signal<Local, WaitingEvent>,
    /// An event was lost in the cycle before.
    lost: DFF<bool>,
}

impl Logic for EventQueue {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, lost);
        clock!(self, clock, events);
        self.events.reset.next = self.reset.val();
        fill!(self, new_event, fault.val().code => code; fault.val().vi => vi; fault.val().receive => receive;
            broke => broke);
        drive!(self, new_event => events.sink.data; report => events.sink.valid; lost.q => count_lost);
        self.lost.d.next = self.report.val() & !self.events.sink.ready.val();

        drive!(self, events.source.valid => ring_event.valid; ring_event.ready => events.source.ready;
            events.source.data => oldest);
        self.ring_event.data.next.code = self.oldest.val().code;
        self.ring_event.data.next.vi = bit_cast::<10, VI_LOG2>(self.oldest.val().vi);
        self.ring_event.data.next.receive = self.oldest.val().receive;
        self.ring_event.data.next.broke = self.oldest.val().broke;
        self.ring_event.data.next.reserved_20 = bits::<44>(0);
    }
}
