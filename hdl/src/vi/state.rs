//! Decides the state of every VI, tells every block, and queues events for the error ring.
//!
//! ```text
//!   commit ───────►┌─────────┐──► state (broadcast)
//!   *_fault (6) ──►│ ViState │──► event_word ◄── event_ready
//!   query_vi ─────►│         │──► query_state
//!   settle ───────►└─────────┘──► settling ◄── event_writing
//! ```
//! Contract: a commit of VI_STATE sets any state. A fault with `breaks` puts a connected VI into Error; an idle one
//! only if it is a fault of its own queues (from fetch, writer or completion queues) and not of a connection. A fault with
//! a code queues an event, but CONN_LOST only if the VI breaks by it; and of a VI in Error nothing that fetch finds, nor
//! anything that would break it again but COMP_PROT: it is passed over. An event is counted in `count_lost` when 16 wait already: it waits for nobody. A fault is taken (`ready`) in the cycle in which the new state is on the bus: the source that goes on in
//! the next cycle finds its own copy up to date. Faults are served round robin.
//!
//! After a `settle` pulse, `settling` is high until every event of a fault of before is in the error ring: see [`Settle`].
//!
//! Latency: a fault 5 cycles, its event one more, a commit 2. Who offers a fault, and what, goes into registers first. `query_state` follows `query_vi` in the same cycle.
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
    /// A row of VI_STATE.
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
    /// A VI has changed its state. Which, and to what.
    pub state: FlowSource<StateWrite>,
    /// VI to look up.
    pub query: Table<Vi, Bits<2>>,
    /// There is an event.
    pub ring_event: Source<Event>,
    /// One that was taken is not in the error ring yet.
    pub event_writing: Signal<In, bool>,
    /// Begin to wait for the events of before.
    pub settle: Signal<In, bool>,
    /// They are not all in the error ring.
    pub settling: Signal<Out, bool>,
    /// An event found the queue full.
    pub count_lost: Pulse,
    /// A fault has broken a VI.
    pub count_broken: Pulse,
    step: DFF<Step>,
    states: LutRam<Bits<2>, VI_LOG2>,
    query_states: LutRam<Bits<2>, VI_LOG2>,
    arbiter: Arbiter<6, 3>,
    /// Who offered a fault in the last cycle, if that was an idle one: with the states as they are now.
    offered: DFF<Bits<6>>,
    granted: DFF<Bits<6>>,
    fault: DFF<Fault>,
    offers: Signal<Local, Bits<6>>,
    told: DFF<StateWrite>,
    telling: DFF<bool>,
    /// There is an event of the fault at hand.
    reports: DFF<bool>,
    by_commit: DFF<bool>,
    lost: DFF<bool>,
    events: Fifo<Event, 4, 5>,
    settler: Settle,
    /// Whose fault is taken.
    taken: Signal<Local, Bits<6>>,
    new_event: Signal<Local, Event>,
    vi_state: Signal<Local, Bits<2>>,
    own: Signal<Local, bool>,
    passed_over: Signal<Local, bool>,
    broke: Signal<Local, bool>,
    told_of: Signal<Local, bool>,
    /// It would break a VI that is in Error already.
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
