//! Decides the state of every VI, tells every block, and queues events for the agent.
//!
//! ```text
//!   commit ───────►┌─────────┐──► state (broadcast)
//!   *_fault (5) ──►│ ViState │──► event_word ◄── event_pop
//!   query_vi ─────►└─────────┘──► query_state
//! ```
//! Contract: a commit of VI_STATE sets any state. A fault with `breaks` puts a connected VI into Error and leaves
//! any other state as it is; a fault with a code queues an event, and counts it in `count_lost` when 32 wait
//! already; `event_queued` pulses when one has entered. A fault is taken (`ready`) in the cycle in which the new state is on the bus: the source that goes on in
//! the next cycle finds its own copy up to date. Faults are served round robin.
//!
//! Latency: a fault 3 cycles, a commit 2. `query_state` follows `query_vi` in the same cycle.
//!
//! Tests: `tests/admin/state.rs`.

use crate::bus::{Commit, Fault, StateWrite, Vi};
use crate::prims::{Arbiter, Fifo, LutRam, Number};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::vi_states;

/// An event as it waits for the agent: `viaduct_spec::register::event`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Event {
    code: Bits<8>,
    vi: Vi,
    receive: bool,
    broke: bool,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
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
    pub commit_valid: Signal<In, bool>,
    /// Its contents.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// Faults: bit 0 fetch, 1 transmit, 2 receive, 3 sends, 4 writer.
    pub fault_valid: Signal<In, Bits<5>>,
    /// Fault of `fetch`.
    pub fetch_fault: Signal<In, Fault>,
    /// Fault of `send/transmit`.
    pub transmit_fault: Signal<In, Fault>,
    /// Fault of `receive/matcher`.
    pub receive_fault: Signal<In, Fault>,
    /// Fault of `complete/sends`.
    pub sends_fault: Signal<In, Fault>,
    /// Fault of `complete/writer`.
    pub writer_fault: Signal<In, Fault>,
    /// Which fault is taken.
    pub fault_ready: Signal<Out, Bits<5>>,
    /// A VI has changed its state.
    pub state_valid: Signal<Out, bool>,
    /// Which, and to what.
    pub state: Signal<Out, StateWrite>,
    /// VI to look up.
    pub query_vi: Signal<In, Vi>,
    /// Its state.
    pub query_state: Signal<Out, Bits<2>>,
    /// The oldest event; 0: none.
    pub event_word: Signal<Out, Bits<64>>,
    /// The agent has taken it.
    pub event_pop: Signal<In, bool>,
    /// An event has entered the queue, this cycle only.
    pub event_queued: Signal<Out, bool>,
    /// An event found the queue full.
    pub count_lost: Signal<Out, bool>,
    step: DFF<Step>,
    states: LutRam<Bits<2>, VI_LOG2>,
    query_states: LutRam<Bits<2>, VI_LOG2>,
    arbiter: Arbiter<5, 3>,
    granted: DFF<Bits<5>>,
    fault: DFF<Fault>,
    told: DFF<StateWrite>,
    telling: DFF<bool>,
    by_commit: DFF<bool>,
    queued: DFF<bool>,
    lost: DFF<bool>,
    events: Fifo<Event, 5, 6>,
    new_event: Signal<Local, Event>,
    broke: Signal<Local, bool>,
    event_bits: Signal<Local, Bits<64>>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
    error: Number<2, { vi_states::ERROR as u64 }>,
    receive_bit: Number<64, { 1 << viaduct_spec::register::event::RECEIVE.lo }>,
    broke_bit: Number<64, { 1 << viaduct_spec::register::event::BROKE.lo }>,
}

impl Logic for ViState {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, granted, fault, told, telling, by_commit, queued, lost);
        clock!(self, clock, states, query_states, arbiter, events);
        self.arbiter.reset.next = self.reset.val();
        self.events.reset.next = self.reset.val();

        // Copies of the states: written when told, so that they change with everybody else's.
        self.states.write_enable.next = self.telling.q.val();
        self.states.write_address.next = self.told.q.val().vi;
        self.states.write_data.next = self.told.q.val().state;
        self.states.read_address.next = self.fault.q.val().vi;
        self.query_states.write_enable.next = self.telling.q.val();
        self.query_states.write_address.next = self.told.q.val().vi;
        self.query_states.write_data.next = self.told.q.val().state;
        self.query_states.read_address.next = self.query_vi.val();
        self.query_state.next = self.query_states.read_data.val();
        self.state_valid.next = self.telling.q.val();
        self.state.next = self.told.q.val();

        self.broke.next = self.fault.q.val().breaks & (self.states.read_data.val() == self.connected.val());
        self.new_event.next.code = self.fault.q.val().code;
        self.new_event.next.vi = self.fault.q.val().vi;
        self.new_event.next.receive = self.fault.q.val().receive;
        self.new_event.next.broke = self.broke.val();
        self.events.in_data.next = self.new_event.val();
        self.events.in_valid.next = false;
        self.events.out_ready.next = self.event_pop.val();

        self.event_bits.next = bit_cast::<64, 8>(self.events.out_data.val().code)
            | (bit_cast::<64, VI_LOG2>(self.events.out_data.val().vi) << 8);
        self.event_word.next = bits::<64>(0);
        if self.events.out_valid.val() {
            self.event_word.next = self.event_bits.val();
            if self.events.out_data.val().receive & self.events.out_data.val().broke {
                self.event_word.next = self.event_bits.val() | self.receive_bit.val() | self.broke_bit.val();
            } else if self.events.out_data.val().receive {
                self.event_word.next = self.event_bits.val() | self.receive_bit.val();
            } else if self.events.out_data.val().broke {
                self.event_word.next = self.event_bits.val() | self.broke_bit.val();
            }
        }

        self.arbiter.request.next = self.fault_valid.val();
        self.arbiter.advance.next = false;
        self.fault_ready.next = bits::<5>(0);
        self.commit_ready.next = false;
        self.telling.d.next = false;
        self.queued.d.next = false;
        self.event_queued.next = self.queued.q.val();
        self.lost.d.next = false;
        self.count_lost.next = self.lost.q.val();

        match self.step.q.val() {
            Step::Idle => {
                if self.commit_valid.val() {
                    self.told.d.next.vi = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
                    self.told.d.next.state = bit_cast::<2, 64>(self.commit.val().word0);
                    self.telling.d.next = true;
                    self.by_commit.d.next = true;
                    self.step.d.next = Step::Tell;
                } else if self.arbiter.valid.val() {
                    self.arbiter.advance.next = true;
                    self.granted.d.next = self.arbiter.grant.val();
                    self.by_commit.d.next = false;
                    self.step.d.next = Step::Decide;
                    if self.arbiter.grant.val().get_bit(0) {
                        self.fault.d.next = self.fetch_fault.val();
                    } else if self.arbiter.grant.val().get_bit(1) {
                        self.fault.d.next = self.transmit_fault.val();
                    } else if self.arbiter.grant.val().get_bit(2) {
                        self.fault.d.next = self.receive_fault.val();
                    } else if self.arbiter.grant.val().get_bit(3) {
                        self.fault.d.next = self.sends_fault.val();
                    } else {
                        self.fault.d.next = self.writer_fault.val();
                    }
                }
            }
            Step::Decide => {
                self.told.d.next.vi = self.fault.q.val().vi;
                self.told.d.next.state = self.error.val();
                self.telling.d.next = self.broke.val();
                self.events.in_valid.next = self.fault.q.val().code.any();
                self.queued.d.next = self.fault.q.val().code.any() & self.events.in_ready.val();
                self.lost.d.next = self.fault.q.val().code.any() & !self.events.in_ready.val();
                self.step.d.next = Step::Tell;
            }
            Step::Tell => {
                if self.by_commit.q.val() {
                    self.commit_ready.next = true;
                } else {
                    self.fault_ready.next = self.granted.q.val();
                }
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.telling.d.next = false;
            self.queued.d.next = false;
        }
    }
}
