//! Decides the state of every VI, tells every block, and queues events for the error ring.
//!
//! ```text
//!          commit ──►┌─────────┐──► state (broadcast)
//!     *_fault (6) ──►│ ViState │──► ring_event
//!          settle ──►│         │◄── query: VI, its state
//!   event_writing ──►└─────────┘──► settling, count_lost, count_broken
//! ```
//! Contract: a commit of VI_STATE sets any state. A fault may put its VI into Error and may make an event: [`FaultVerdict`] says when.
//! Events wait for the error ring in an [`EventQueue`], which drops and counts an event that finds no room. A fault is taken (`ready`) in
//! the cycle in which the new state is on the bus: the source that goes on in the next cycle finds its own copy up to date. Faults are
//! served round robin.
//!
//! After a `settle` pulse, `settling` is high until the faults offered then are taken and their events are in the error ring or lost: see
//! [`Settle`].
//!
//! Latency: a fault 5 cycles, its event one more, a commit 2. The offers and their faults go into registers first.
//! `query` answers in the same cycle.
//!
//! Example: VI 5 is connected and fetch offers a fault of it with `breaks` and a code: 5 cycles later `state` says that VI 5 is in Error
//! and the fault is taken; a cycle after that `ring_event` has the event, with `broke`.
//!
//! Tests: `tests/admin/state.rs`, `tests/admin/settle.rs`.

use super::{EventQueue, FaultVerdict, Settle, FAULT_SOURCES};
use crate::bus::{Commit, Fault, StateWrite, Vi};
use crate::prims::{Arbiter, Cast, LutRam, Number, Unpack};
use crate::rows::inside::FaultSources;
use crate::rows::register::EventWord;
use crate::rows::tables::ViStateRow;
use crate::stream::{FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Take,
    Decide,
    Tell,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ViState {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets events. The states themselves are cleared by commits.
    pub reset: Signal<In, bool>,
    /// A row of VI_STATE, from `admin/broadcast`: the new state of a VI.
    pub commit: Sink<Commit>,
    /// Faults of `fetch`.
    pub fetch_fault: Sink<Fault>,
    /// Faults of `send/transmit`.
    pub transmit_fault: Sink<Fault>,
    /// Faults of `receive`.
    pub receive_fault: Sink<Fault>,
    /// Faults of `complete/sends`.
    pub sends_fault: Sink<Fault>,
    /// Faults of `complete/writer`.
    pub writer_fault: Sink<Fault>,
    /// Faults of `complete/queues`.
    pub queues_fault: Sink<Fault>,
    /// The VI that changes its state in this cycle, and the new state; send/gather, send/transmit, receive and complete/sends listen.
    pub state: FlowSource<StateWrite>,
    /// For a VI: its state, in the same cycle; `admin/command` asks.
    pub query: Table<Vi, Bits<2>>,
    /// An event for the error ring, to `complete/queues`.
    pub ring_event: Source<EventWord>,
    /// An event that was taken is neither in the error ring nor lost yet; `complete/queues` drives it.
    pub event_writing: Signal<In, bool>,
    /// Pulses when `admin/command` begins to wait for the faults and events that are there now.
    pub settle: Signal<In, bool>,
    /// Some fault or event that was there at the last `settle` has not come to its end; `admin/command` waits.
    pub settling: Signal<Out, bool>,
    /// An event found the queue full and is lost.
    pub count_lost: Pulse,
    /// A fault has put a VI into Error.
    pub count_broken: Pulse,
    /// The step of the commit or the fault at hand.
    step: DFF<Step>,
    /// State of each VI.
    states: LutRam<Bits<2>, VI_LOG2>,
    /// State of each VI again, for `query`.
    query_states: LutRam<Bits<2>, VI_LOG2>,
    /// Whose fault is next.
    arbiter: Arbiter<FAULT_SOURCES, 3>,
    /// The sources that offer a fault.
    offers: Cast<FaultSources, Bits<FAULT_SOURCES>>,
    /// The sources that offered a fault in the cycle before, if no fault or commit was at hand then.
    offered: DFF<Bits<FAULT_SOURCES>>,
    /// The source whose fault is at hand, one-hot.
    granted: DFF<Bits<FAULT_SOURCES>>,
    /// The same by its name.
    source: Cast<Bits<FAULT_SOURCES>, FaultSources>,
    /// The fault at hand.
    fault: DFF<Fault>,
    verdict: FaultVerdict,
    /// The source whose fault is taken in this cycle.
    taken: Cast<Bits<FAULT_SOURCES>, FaultSources>,
    /// The row that is committed.
    row: Unpack<Commit, ViStateRow>,
    /// The change of state that is told.
    told: DFF<StateWrite>,
    /// `told` is given in this cycle.
    telling: DFF<bool>,
    /// The fault at hand has an event.
    reports: DFF<bool>,
    /// The change is a commit's.
    by_commit: DFF<bool>,
    events: EventQueue,
    settler: Settle,
    error: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for ViState {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, offered, granted, fault, told, telling, reports, by_commit);
        clock!(self, clock, states, query_states, arbiter, events, settler);
        drive!(self, reset => arbiter.reset, events.reset);

        fill!(self, offers.from, fetch_fault.valid => fetch; transmit_fault.valid => transmit;
            receive_fault.valid => receive; sends_fault.valid => sends; writer_fault.valid => writer;
            queues_fault.valid => queues);
        self.row.from.next = self.commit.data.val();

        // Copies of the states are written when the change is told, so they change when those of the other blocks do.
        drive!(self, telling.q => states.write_enable, query_states.write_enable, state.valid;
            told.q.val().vi => states.write_address, query_states.write_address;
            told.q.val().state => states.write_data, query_states.write_data;
            fault.q.val().vi => states.read_address; query.index => query_states.read_address;
            query_states.read_data => query.row; told.q => state.data);

        drive!(self, granted.q => source.from; fault.q => verdict.fault, events.fault;
            source.to => verdict.source; states.read_data => verdict.state; reports.q => events.report;
            telling.q => events.broke);
        self.reports.d.next = false;
        Source::<EventWord>::link(&mut self.ring_event, &mut self.events.ring_event);
        Pulse::link(&mut self.count_lost, &mut self.events.count_lost);

        self.arbiter.request.next = self.offered.q.val();
        self.offered.d.next = bits::<FAULT_SOURCES>(0);
        self.arbiter.advance.next = false;
        self.taken.from.next = bits::<FAULT_SOURCES>(0);
        self.commit.ready.next = false;
        self.telling.d.next = false;
        self.count_broken.next = self.telling.q.val() & !self.by_commit.q.val();

        match self.step.q.val() {
            Step::Idle => {
                if self.commit.valid.val() {
                    self.told.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    self.told.d.next.state = self.row.to.val().state;
                    self.telling.d.next = true;
                    self.by_commit.d.next = true;
                    self.step.d.next = Step::Tell;
                } else if self.arbiter.valid.val() {
                    self.arbiter.advance.next = true;
                    self.granted.d.next = self.arbiter.grant.val();
                    self.by_commit.d.next = false;
                    self.step.d.next = Step::Take;
                } else {
                    self.offered.d.next = self.offers.to.val();
                }
            }
            Step::Take => {
                self.fault.d.next = self.queues_fault.data.val();
                if self.source.to.val().fetch {
                    self.fault.d.next = self.fetch_fault.data.val();
                } else if self.source.to.val().transmit {
                    self.fault.d.next = self.transmit_fault.data.val();
                } else if self.source.to.val().receive {
                    self.fault.d.next = self.receive_fault.data.val();
                } else if self.source.to.val().sends {
                    self.fault.d.next = self.sends_fault.data.val();
                } else if self.source.to.val().writer {
                    self.fault.d.next = self.writer_fault.data.val();
                }
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.told.d.next.vi = self.fault.q.val().vi;
                self.told.d.next.state = self.error.val();
                self.telling.d.next = self.verdict.breaks.val();
                self.reports.d.next = self.verdict.reports.val();
                self.step.d.next = Step::Tell;
            }
            Step::Tell => {
                if self.by_commit.q.val() {
                    self.commit.ready.next = true;
                } else {
                    self.taken.from.next = self.granted.q.val();
                }
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        drive!(self, taken.to.val().fetch => fetch_fault.ready;
            taken.to.val().transmit => transmit_fault.ready; taken.to.val().receive => receive_fault.ready;
            taken.to.val().sends => sends_fault.ready; taken.to.val().writer => writer_fault.ready;
            taken.to.val().queues => queues_fault.ready);
        drive!(self, reset => settler.reset; settle => settler.settle; offers.to => settler.fault_valid;
            taken.from => settler.fault_ready; events.ring_event.valid => settler.event_valid;
            ring_event.ready => settler.event_ready;
            event_writing => settler.writing; settler.settling => settling);
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.telling.d.next = false;
            self.reports.d.next = false;
            self.offered.d.next = bits::<FAULT_SOURCES>(0);
        }
    }
}
