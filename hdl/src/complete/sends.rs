//! Completes send descriptors: unreliable ones when they have left, reliable ones when they are acknowledged.
//!
//! ```text
//!          sent ──►┌───────┐──► completion
//!  acknowledged ──►│ Sends │──► again_send
//!         state ──►│       │──► fault
//!  completed_vi ──►└───────┘──► completed_position
//! ```
//! Contract: a ring of SEND_WINDOW messages for each VI, oldest first. The oldest completes when it waits for nothing, when
//! a PSN at or past its own has been acknowledged, or, flushed, when its VI is not connected. After each completion
//! the position moves on first and the queue is queued again second, so fetch finds the room. A refusal (NAK) of a PSN
//! acknowledges everything before it, completes the message that it hits with TRANSPORT_ERROR, and breaks the VI with
//! CONN_LOST. An acknowledgement that lies behind an earlier one changes nothing. A commit of TRANSMIT empties the ring and
//! sets the position to 0.
//!
//! Latency: 6 cycles from `sent` or `acknowledged` to `completion`, 4 more for each further one.
//! `completed_position` is that of the cycle before's `completed_vi`.
//!
//! Tests: `tests/complete/sends.rs`.

use crate::bus::{Acknowledged, Commit, Completion, Fault, Position, Sent, StateWrite, Vi};
use crate::prims::{Fifo, LutRam, Number, Ram, RunQueue};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::{SEND_WINDOW_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::vi_states;

/// log2 of the rows of all rings.
const ENTRY_LOG2: usize = VI_LOG2 + SEND_WINDOW_LOG2;
// A shift in RustHDL is a plain number: `<< 4` below.
const _: () = assert!(SEND_WINDOW_LOG2 == 4);

/// What the block remembers of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Window {
    completed: Position,
    pushed: Position,
    /// Newest PSN acknowledged; valid once there is one.
    acknowledged: Bits<24>,
    any: bool,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Wait,
    Update,
    Look,
    Read,
    Decide,
    Emit,
    Move,
    Again,
    Break,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Sends {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way.
    pub reset: Signal<In, bool>,
    /// A message has ended.
    pub sent_valid: Signal<In, bool>,
    /// Which.
    pub sent: Signal<In, Sent>,
    /// It is taken.
    pub sent_ready: Signal<Out, bool>,
    /// An acknowledgement from the wire.
    pub acknowledged_valid: Signal<In, bool>,
    /// Which.
    pub acknowledged: Signal<In, Acknowledged>,
    /// It is taken.
    pub acknowledged_ready: Signal<Out, bool>,
    /// A row of TRANSMIT.
    pub commit_valid: Signal<In, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// A VI has changed its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// A descriptor to complete.
    pub completion_valid: Signal<Out, bool>,
    /// Which.
    pub completion: Signal<Out, Completion>,
    /// It is taken.
    pub completion_ready: Signal<In, bool>,
    /// A VI breaks.
    pub fault_valid: Signal<Out, bool>,
    /// Which.
    pub fault: Signal<Out, Fault>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// A VI's window has room again.
    pub again_send_valid: Signal<Out, bool>,
    /// Which.
    pub again_send_vi: Signal<Out, Vi>,
    /// It is queued.
    pub again_send_ready: Signal<In, bool>,
    /// VI to look up.
    pub completed_vi: Signal<In, Vi>,
    /// Messages of it completed, modulo 2^14.
    pub completed_position: Signal<Out, Position>,
    /// Something waits to be looked at. Messages that wait for their acknowledgement do not count.
    pub busy: Signal<Out, bool>,
    /// An ACK was taken.
    pub count_ack: Signal<Out, bool>,
    /// A NAK was taken.
    pub count_nak: Signal<Out, bool>,
    step: DFF<Step>,
    arrivals: Fifo<Sent, 2, 3>,
    answers: Fifo<Acknowledged, 3, 4>,
    flush: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    states: LutRam<Bits<2>, VI_LOG2>,
    positions: LutRam<Position, VI_LOG2>,
    position: DFF<Position>,
    windows: Ram<Window, VI_LOG2>,
    entries: Ram<Sent, ENTRY_LOG2>,
    vi: DFF<Vi>,
    window: DFF<Window>,
    by_sent: DFF<bool>,
    by_answer: DFF<bool>,
    by_commit: DFF<bool>,
    /// A refusal is being worked off.
    refusal: DFF<bool>,
    errors: DFF<Bits<9>>,
    acked: DFF<bool>,
    naked: DFF<bool>,
    refused: Signal<Local, bool>,
    covered: Signal<Local, Bits<24>>,
    newer: Signal<Local, Bits<24>>,
    reached: Signal<Local, Bits<24>>,
    connected: Signal<Local, bool>,
    done: Signal<Local, bool>,
    status: Signal<Local, Bits<20>>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    error_state: Number<2, { vi_states::ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    nak_bits: Number<8, 0x60>,
}

impl Logic for Sends {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, position, vi, window, by_sent, by_answer, by_commit, refusal, errors, acked,
            naked
        );
        clock!(self, clock, arrivals, answers, flush, states, positions, windows, entries);
        self.arrivals.reset.next = self.reset.val();
        self.answers.reset.next = self.reset.val();
        self.flush.reset.next = self.reset.val();
        self.arrivals.in_valid.next = self.sent_valid.val();
        self.arrivals.in_data.next = self.sent.val();
        self.sent_ready.next = self.arrivals.in_ready.val();
        self.arrivals.out_ready.next = false;
        self.answers.in_valid.next = self.acknowledged_valid.val();
        self.answers.in_data.next = self.acknowledged.val();
        self.acknowledged_ready.next = self.answers.in_ready.val();
        self.answers.out_ready.next = false;
        self.flush.push_valid.next =
            self.state_valid.val() & (self.state.val().state == self.error_state.val());
        self.flush.push_id.next = self.state.val().vi;
        self.flush.pop_ready.next = false;
        self.states.write_enable.next = self.state_valid.val();
        self.states.write_address.next = self.state.val().vi;
        self.states.write_data.next = self.state.val().state;
        self.states.read_address.next = self.vi.q.val();
        self.connected.next = self.states.read_data.val() == self.connected_state.val();

        // Positions for fetch: read whenever it likes, hence distributed RAM and a register.
        self.positions.write_enable.next = false;
        self.positions.write_address.next = self.vi.q.val();
        self.positions.write_data.next = self.window.q.val().completed;
        self.positions.read_address.next = self.completed_vi.val();
        self.position.d.next = self.positions.read_data.val();
        self.completed_position.next = self.position.q.val();

        self.windows.read_address.next = self.vi.q.val();
        self.windows.write_enable.next = false;
        self.windows.write_address.next = self.vi.q.val();
        self.windows.write_data.next = self.window.q.val();
        self.entries.write_enable.next = false;
        self.entries.write_address.next = (bit_cast::<ENTRY_LOG2, VI_LOG2>(self.vi.q.val()) << 4)
            | bit_cast::<ENTRY_LOG2, SEND_WINDOW_LOG2>(bit_cast::<SEND_WINDOW_LOG2, 14>(
                self.windows.read_data.val().pushed,
            ));
        self.entries.write_data.next = self.arrivals.out_data.val();
        self.entries.read_address.next = (bit_cast::<ENTRY_LOG2, VI_LOG2>(self.vi.q.val()) << 4)
            | bit_cast::<ENTRY_LOG2, SEND_WINDOW_LOG2>(bit_cast::<SEND_WINDOW_LOG2, 14>(
                self.window.q.val().completed,
            ));

        // What an answer covers: a NAK refuses its PSN and acknowledges the one before.
        self.refused.next = (self.answers.out_data.val().syndrome & self.nak_bits.val()).any();
        self.covered.next = self.answers.out_data.val().psn;
        if self.refused.val() {
            self.covered.next = self.answers.out_data.val().psn - 1;
        }
        self.newer.next = self.covered.val() - self.windows.read_data.val().acknowledged;

        self.reached.next = self.window.q.val().acknowledged - self.entries.read_data.val().psn;
        self.done.next = !self.entries.read_data.val().acknowledged
            | (self.window.q.val().any & !self.reached.val().get_bit(23))
            | !self.connected.val()
            | self.refusal.q.val();

        self.status.next = bit_cast::<20, 9>(self.errors.q.val()) | bits::<20>(1);
        self.completion_valid.next = false;
        self.completion.next.vi = self.vi.q.val();
        self.completion.next.receive = false;
        self.completion.next.write = !self.entries.read_data.val().lost;
        self.completion.next.region = self.entries.read_data.val().region;
        self.completion.next.offset = self.entries.read_data.val().offset;
        self.completion.next.length = self.entries.read_data.val().length;
        if self.errors.q.val().any() {
            self.completion.next.length = bits::<32>(0);
        }
        self.completion.next.status = self.status.val();
        self.completion.next.has_immediate = false;
        self.completion.next.immediate = bits::<32>(0);
        self.completion.next.acknowledge = false;
        self.completion.next.psn = bits::<24>(0);
        self.completion.next.msn = bits::<24>(0);
        self.completion.next.syndrome = bits::<8>(0);
        self.completion.next.kind = bits::<2>(0);
        self.completion.next.ends = true;
        self.fault_valid.next = false;
        self.fault.next.vi = self.vi.q.val();
        self.fault.next.code = self.conn_lost.val();
        self.fault.next.receive = false;
        self.fault.next.breaks = true;
        self.again_send_valid.next = false;
        self.again_send_vi.next = self.vi.q.val();
        self.commit_ready.next = false;
        self.busy.next = true;
        self.acked.d.next = false;
        self.naked.d.next = false;
        self.count_ack.next = self.acked.q.val();
        self.count_nak.next = self.naked.q.val();

        match self.step.q.val() {
            Step::Idle => {
                self.busy.next = self.arrivals.out_valid.val()
                    | self.answers.out_valid.val()
                    | self.flush.pop_valid.val()
                    | self.flush.busy.val();
                self.by_sent.d.next = false;
                self.by_answer.d.next = false;
                self.by_commit.d.next = false;
                self.refusal.d.next = false;
                if self.commit_valid.val() {
                    self.vi.d.next = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
                    self.window.d.next.completed = bits::<14>(0);
                    self.window.d.next.pushed = bits::<14>(0);
                    self.window.d.next.any = false;
                    self.by_commit.d.next = true;
                    self.step.d.next = Step::Move;
                } else if self.arrivals.out_valid.val() {
                    self.vi.d.next = self.arrivals.out_data.val().vi;
                    self.by_sent.d.next = true;
                    self.step.d.next = Step::Wait;
                } else if self.answers.out_valid.val() {
                    self.vi.d.next = self.answers.out_data.val().vi;
                    self.by_answer.d.next = true;
                    self.step.d.next = Step::Wait;
                } else if self.flush.pop_valid.val() {
                    self.vi.d.next = self.flush.pop_id.val();
                    self.flush.pop_ready.next = true;
                    self.step.d.next = Step::Wait;
                }
            }
            Step::Wait => {
                self.step.d.next = Step::Update;
            }
            Step::Update => {
                self.window.d.next = self.windows.read_data.val();
                self.step.d.next = Step::Look;
                if self.by_sent.q.val() {
                    self.arrivals.out_ready.next = true;
                    self.entries.write_enable.next = true;
                    self.window.d.next.pushed = self.windows.read_data.val().pushed + 1;
                }
                if self.by_answer.q.val() {
                    self.answers.out_ready.next = true;
                    self.acked.d.next = !self.refused.val();
                    self.naked.d.next = self.refused.val();
                    if !self.windows.read_data.val().any | !self.newer.val().get_bit(23) {
                        self.window.d.next.acknowledged = self.covered.val();
                        self.window.d.next.any = true;
                        self.refusal.d.next = self.refused.val();
                    }
                }
            }
            Step::Look => {
                // The row as it stands; from here on only `completed` changes.
                self.windows.write_enable.next = true;
                self.step.d.next = Step::Read;
                if self.window.q.val().completed == self.window.q.val().pushed {
                    self.step.d.next = Step::Idle;
                    if self.refusal.q.val() {
                        self.step.d.next = Step::Break;
                    }
                }
            }
            Step::Read => {
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.errors.d.next = self.entries.read_data.val().errors;
                self.step.d.next = Step::Idle;
                if self.done.val() {
                    self.step.d.next = Step::Emit;
                    if self.entries.read_data.val().acknowledged
                        & (!self.window.q.val().any | self.reached.val().get_bit(23))
                    {
                        // Not acknowledged: the message that a refusal hits, or one that is flushed.
                        self.errors.d.next = self.flushed.val();
                        if self.refusal.q.val() {
                            self.errors.d.next = self.transport.val();
                            self.step.d.next = Step::Break;
                        }
                    }
                }
            }
            Step::Break => {
                // Break first: whoever sees the completion finds the VI in Error.
                self.fault_valid.next = true;
                if self.fault_ready.val() {
                    self.refusal.d.next = false;
                    self.step.d.next = Step::Emit;
                    if self.window.q.val().completed == self.window.q.val().pushed {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Emit => {
                self.completion_valid.next = true;
                if self.completion_ready.val() {
                    self.window.d.next.completed = self.window.q.val().completed + 1;
                    self.step.d.next = Step::Move;
                }
            }
            Step::Move => {
                self.positions.write_enable.next = true;
                self.windows.write_enable.next = true;
                self.step.d.next = Step::Again;
                if self.by_commit.q.val() {
                    self.step.d.next = Step::Idle;
                    self.commit_ready.next = true;
                }
            }
            Step::Again => {
                self.again_send_valid.next = true;
                if self.again_send_ready.val() {
                    self.step.d.next = Step::Look;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.acked.d.next = false;
            self.naked.d.next = false;
        }
    }
}
