//! Decides the state of every VI, tells every block, and queues events for the error ring.
//!
//! ```text
//!          commit ──►┌─────────┐──► state (broadcast)
//!     *_fault (6) ──►│ ViState │──► ring_event
//!          settle ──►│         │◄── query: VI, its state
//!   event_writing ──►└─────────┘──► settling, count_lost, count_broken
//! ```
//! Contract: a commit of VI_STATE sets any state. A fault with `breaks` puts a connected VI into Error; an idle one
//! only if it is a fault of its own queues (from fetch, writer or completion queues) and not of a connection. A fault with
//! a code queues an event, with these exceptions: CONN_LOST queues one only if the VI breaks by it; of a VI in Error, what fetch finds is
//! passed over, and so is what would break the VI again, but for COMP_PROT. An event that finds 16 others waiting is dropped and counted in
//! `count_lost`: it waits for nobody. A fault is taken (`ready`) in the cycle in which the new state is on the bus: the source that goes on
//! in the next cycle finds its own copy up to date. Faults are served round robin.
//!
//! After a `settle` pulse, `settling` is high until every event of a fault of before is in the error ring: see [`Settle`].
//!
//! Latency: a fault 5 cycles, its event one more, a commit 2. Who offers a fault, and what, goes into registers first.
//! `query` answers in the same cycle.
//!
//! Example: VI 5 is connected and fetch offers a fault of it with `breaks` and a code: 5 cycles later `state` says that VI 5 is in Error and the
//! fault is taken; a cycle after that `ring_event` has the event, with `broke`.
//!
//! Tests: `tests/admin/state.rs`, `tests/admin/settle.rs`.

use super::Settle;
use crate::bus::{Commit, Event, Fault, StateWrite, Vi};
use crate::prims::{Arbiter, Fifo, LutRam, Number};
use crate::stream::{FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::register::event_code;
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
    /// A row of VI_STATE: the new state of a VI.
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
    /// The VI that changes its state in this cycle, and the new state.
    pub state: FlowSource<StateWrite>,
    /// For a VI: its state, in the same cycle.
    pub query: Table<Vi, Bits<2>>,
    /// An event for the error ring, to `complete/queues`.
    pub ring_event: Source<Event>,
    /// An event that was taken is neither in the error ring nor lost yet.
    pub event_writing: Signal<In, bool>,
    /// `admin/command` begins to wait for the events of before.
    pub settle: Signal<In, bool>,
    /// Some fault or event of before that `settle` has not come to its end.
    pub settling: Signal<Out, bool>,
    /// An event found the queue full and is lost.
    pub count_lost: Pulse,
    /// A fault has put a VI into Error.
    pub count_broken: Pulse,
    /// What is done with the fault at hand.
    step: DFF<Step>,
    /// State of each VI.
    states: LutRam<Bits<2>, VI_LOG2>,
    /// State of each VI again, for `query`.
    query_states: LutRam<Bits<2>, VI_LOG2>,
    arbiter: Arbiter<6, 3>,
    /// The sources that offered a fault in the cycle before, if that was an idle one: with the states as they are now.
    offered: DFF<Bits<6>>,
    /// The source whose fault is at hand, one-hot.
    granted: DFF<Bits<6>>,
    /// The fault at hand.
    fault: DFF<Fault>,
    offers: Signal<Local, Bits<6>>,
    /// The change of state that is told.
    told: DFF<StateWrite>,
    /// `told` is given in this cycle.
    telling: DFF<bool>,
    /// The fault at hand has an event.
    reports: DFF<bool>,
    /// The change is a commit's.
    by_commit: DFF<bool>,
    /// An event was lost in the cycle before.
    lost: DFF<bool>,
    events: Fifo<Event, 4, 5>,
    settler: Settle,
    /// The source whose fault is taken, one-hot.
    taken: Signal<Local, Bits<6>>,
    new_event: Signal<Local, Event>,
    vi_state: Signal<Local, Bits<2>>,
    own: Signal<Local, bool>,
    passed_over: Signal<Local, bool>,
    broke: Signal<Local, bool>,
    told_of: Signal<Local, bool>,
    /// The fault would break a VI that is in Error already.
    again: Signal<Local, bool>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    idle: Number<2, { vi_states::IDLE as u64 }>,
    comp_prot: Number<8, { event_code::COMP_PROT as u64 }>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
    error: Number<2, { vi_states::ERROR as u64 }>,
}

impl Logic for ViState {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, offered, granted, fault, told, telling, reports, by_commit, lost);
        clock!(self, clock, states, query_states, arbiter, events, settler);
        self.arbiter.reset.next = self.reset.val();
        self.events.reset.next = self.reset.val();

        // Who offers a fault: one bit a source, in the order of the ports.
        self.offers.next = bits::<6>(0);
        self.offers.next = self.offers.val().replace_bit(0, self.fetch_fault.valid.val());
        self.offers.next = self.offers.val().replace_bit(1, self.transmit_fault.valid.val());
        self.offers.next = self.offers.val().replace_bit(2, self.receive_fault.valid.val());
        self.offers.next = self.offers.val().replace_bit(3, self.sends_fault.valid.val());
        self.offers.next = self.offers.val().replace_bit(4, self.writer_fault.valid.val());
        self.offers.next = self.offers.val().replace_bit(5, self.queues_fault.valid.val());

        // Copies of the states: written when told, so that they change with everybody else's.
        self.states.write_enable.next = self.telling.q.val();
        self.states.write_address.next = self.told.q.val().vi;
        self.states.write_data.next = self.told.q.val().state;
        self.states.read_address.next = self.fault.q.val().vi;
        self.query_states.write_enable.next = self.telling.q.val();
        self.query_states.write_address.next = self.told.q.val().vi;
        self.query_states.write_data.next = self.told.q.val().state;
        self.query_states.read_address.next = self.query.index.val();
        self.query.row.next = self.query_states.read_data.val();
        self.state.valid.next = self.telling.q.val();
        self.state.data.next = self.told.q.val();

        self.vi_state.next = self.states.read_data.val();
        self.own.next = self.granted.q.val().get_bit(0)
            | self.granted.q.val().get_bit(4)
            | self.granted.q.val().get_bit(5);
        // WQ-4: a connected VI breaks, once; an idle one by its own queues.
        self.broke.next = self.fault.q.val().breaks
            & ((self.vi_state.val() == self.connected.val())
                | ((self.vi_state.val() == self.idle.val()) & self.own.val()));
        self.again.next = self.fault.q.val().breaks & (self.fault.q.val().code != self.comp_prot.val());
        self.passed_over.next =
            (self.vi_state.val() == self.error.val()) & (self.granted.q.val().get_bit(0) | self.again.val());
        // WQ-4: one event, and none for a send's own error.
        self.told_of.next = self.fault.q.val().code.any()
            & !self.passed_over.val()
            & (self.broke.val() | (self.fault.q.val().code != self.conn_lost.val()));
        self.new_event.next.code = self.fault.q.val().code;
        self.new_event.next.vi = self.fault.q.val().vi;
        self.new_event.next.receive = self.fault.q.val().receive;
        self.new_event.next.broke = self.telling.q.val();
        self.events.sink.data.next = self.new_event.val();
        self.events.sink.valid.next = self.reports.q.val();
        self.reports.d.next = false;
        Source::<Event>::link(&mut self.ring_event, &mut self.events.source);

        self.arbiter.request.next = self.offered.q.val();
        self.offered.d.next = bits::<6>(0);
        self.arbiter.advance.next = false;
        self.taken.next = bits::<6>(0);
        self.commit.ready.next = false;
        self.telling.d.next = false;
        self.lost.d.next = self.reports.q.val() & !self.events.sink.ready.val();
        self.count_lost.next = self.lost.q.val();
        self.count_broken.next = self.telling.q.val() & !self.by_commit.q.val();

        match self.step.q.val() {
            Step::Idle => {
                if self.commit.valid.val() {
                    self.told.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    self.told.d.next.state = bit_cast::<2, 64>(self.commit.data.val().word0);
                    self.telling.d.next = true;
                    self.by_commit.d.next = true;
                    self.step.d.next = Step::Tell;
                } else if self.arbiter.valid.val() {
                    self.arbiter.advance.next = true;
                    self.granted.d.next = self.arbiter.grant.val();
                    self.by_commit.d.next = false;
                    self.step.d.next = Step::Take;
                } else {
                    self.offered.d.next = self.offers.val();
                }
            }
            Step::Take => {
                self.fault.d.next = self.queues_fault.data.val();
                if self.granted.q.val().get_bit(0) {
                    self.fault.d.next = self.fetch_fault.data.val();
                } else if self.granted.q.val().get_bit(1) {
                    self.fault.d.next = self.transmit_fault.data.val();
                } else if self.granted.q.val().get_bit(2) {
                    self.fault.d.next = self.receive_fault.data.val();
                } else if self.granted.q.val().get_bit(3) {
                    self.fault.d.next = self.sends_fault.data.val();
                } else if self.granted.q.val().get_bit(4) {
                    self.fault.d.next = self.writer_fault.data.val();
                }
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.told.d.next.vi = self.fault.q.val().vi;
                self.told.d.next.state = self.error.val();
                self.telling.d.next = self.broke.val();
                self.reports.d.next = self.told_of.val();
                self.step.d.next = Step::Tell;
            }
            Step::Tell => {
                if self.by_commit.q.val() {
                    self.commit.ready.next = true;
                } else {
                    self.taken.next = self.granted.q.val();
                }
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        self.fetch_fault.ready.next = self.taken.val().get_bit(0);
        self.transmit_fault.ready.next = self.taken.val().get_bit(1);
        self.receive_fault.ready.next = self.taken.val().get_bit(2);
        self.sends_fault.ready.next = self.taken.val().get_bit(3);
        self.writer_fault.ready.next = self.taken.val().get_bit(4);
        self.queues_fault.ready.next = self.taken.val().get_bit(5);
        self.settler.reset.next = self.reset.val();
        self.settler.settle.next = self.settle.val();
        self.settler.fault_valid.next = self.offers.val();
        self.settler.fault_ready.next = self.taken.val();
        self.settler.event_valid.next = self.events.source.valid.val();
        self.settler.event_ready.next = self.ring_event.ready.val();
        self.settler.writing.next = self.event_writing.val();
        self.settling.next = self.settler.settling.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.telling.d.next = false;
            self.reports.d.next = false;
            self.offered.d.next = bits::<6>(0);
        }
    }
}
