//! Messages sent and not yet complete: a ring of `SEND_WINDOW` for each VI.
//!
//! ```text
//!           sent ──►┌────────────────┐──► completion
//!   acknowledged ──►│ rings, context │──► again_send, completed_position
//!  commit, state ──►└────────────────┘──► fault, count_*
//! ```
//! Contract: descriptors of a VI complete in the order in which they were sent. What needs no acknowledgement (UC,
//! and what was never sent) completes when everything before it has; the rest when an ACK covers its last PSN. An ACK
//! beyond the last PSN sent is counted and ignored. A NAK acknowledges what is before its PSN; the message that holds
//! the PSN completes with TRANSPORT_ERROR and the VI breaks (CONN_LOST). When a VI leaves Connected all that waits
//! for an acknowledgement completes DESC_FLUSHED_ERROR, as VipDisconnect has it, and so does what comes later. The
//! position counts every descriptor, lost ones too, and is up to date before `again_send`. A WORK_QUEUE commit of a
//! send queue empties the ring and sets position 0, as in fetch.
//!
//! Latency: 5 cycles from `sent` to its completion, 4 from there to the next; `completed_position` 1 cycle.
//! Throughput: a message every 5 cycles.
//!
//! Tests: `tests/send/sends.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;
use viaduct_spec::profile::{SEND_WINDOW_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, vi_states};

use crate::bus::{Acknowledged, Commit, Completion, Fault, Position, Sent, StateWrite, Vi};
use crate::literal::Literal;
use crate::prims::{LutRam, Ram, RunQueue};

/// VIs and one more bit, for the run queue.
const VI_LOG2_PLUS_1: usize = VI_LOG2 + 1;
/// Rows of the ring memory, as log2.
const RING_LOG2: usize = VI_LOG2 + SEND_WINDOW_LOG2;

/// A VI's ring.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Context {
    /// Descriptors completed: the ring's head.
    completed: Position,
    /// Descriptors sent: the ring's tail.
    sent: Position,
    /// Last PSN sent that will be acknowledged.
    last: Bits<24>,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Sweep,
    Idle,
    Start,
    Head,
    Look,
    Complete,
    Save,
    Again,
    Break,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Sends {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties all rings.
    pub reset: Signal<In, bool>,
    /// A message has left, or will not.
    pub sent_valid: Signal<In, bool>,
    /// The message.
    pub sent: Signal<In, Sent>,
    /// It is taken.
    pub sent_ready: Signal<Out, bool>,
    /// The peer acknowledges, or refuses.
    pub acknowledged_valid: Signal<In, bool>,
    /// What.
    pub acknowledged: Signal<In, Acknowledged>,
    /// It is taken.
    pub acknowledged_ready: Signal<Out, bool>,
    /// A table row.
    pub commit_valid: Signal<In, bool>,
    /// WORK_QUEUE rows of send queues are ours.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// A VI changes its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// A descriptor to complete.
    pub completion_valid: Signal<Out, bool>,
    /// The descriptor.
    pub completion: Signal<Out, Completion>,
    /// It is taken.
    pub completion_ready: Signal<In, bool>,
    /// A VI must break.
    pub fault_valid: Signal<Out, bool>,
    /// Which, and why.
    pub fault: Signal<Out, Fault>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// The window of a VI's send queue has moved.
    pub again_send_valid: Signal<Out, bool>,
    /// Which.
    pub again_send_vi: Signal<Out, Vi>,
    /// It is taken.
    pub again_send_ready: Signal<In, bool>,
    /// Whose position to read.
    pub completed_vi: Signal<In, Vi>,
    /// Descriptors of the VI of the cycle before that are complete.
    pub completed_position: Signal<Out, Position>,
    /// Something is being done.
    pub busy: Signal<Out, bool>,
    /// An ACK has been taken.
    pub count_ack: Signal<Out, bool>,
    /// A NAK has been taken.
    pub count_nak: Signal<Out, bool>,
    rings: Ram<Sent, { RING_LOG2 }>,
    contexts: Ram<Context, { VI_LOG2 }>,
    positions: Ram<Position, { VI_LOG2 }>,
    states: LutRam<Bits<2>, { VI_LOG2 }>,
    /// VIs that have left Connected.
    leavers: RunQueue<{ VI_LOG2 }, { VI_LOG2_PLUS_1 }>,
    step: DFF<State>,
    sweep: DFF<Vi>,
    vi: DFF<Vi>,
    /// The event at hand is a `sent`, or an `acknowledged`; neither: a VI has left Connected.
    sending: DFF<bool>,
    acking: DFF<bool>,
    negative: DFF<bool>,
    completed: DFF<Position>,
    tail: DFF<Position>,
    last: DFF<Bits<24>>,
    /// How the descriptor at the ring's head completes.
    errors: DFF<Bits<9>>,
    /// The message that a NAK names has been found.
    named: DFF<bool>,
    moved: DFF<bool>,
    /// A row of `positions` was written in the cycle in which it was read.
    collided: DFF<bool>,
    written: DFF<Position>,
    entry: Signal<Local, Sent>,
    place: Signal<Local, Position>,
    tail_place: Signal<Local, Position>,
    asked: Signal<Local, Vi>,
    prefers_ack: Signal<Local, bool>,
    flush: Signal<Local, bool>,
    refusal: Signal<Local, bool>,
    syndrome: Signal<Local, Bits<8>>,
    ours: Signal<Local, bool>,
    commit_row: Signal<Local, Bits<16>>,
    commit_vi: Signal<Local, Vi>,
    starts: Signal<Local, bool>,
    takes_commit: Signal<Local, bool>,
    distance: Signal<Local, Bits<24>>,
    margin: Signal<Local, Bits<24>>,
    covered: Signal<Local, bool>,
    known: Signal<Local, bool>,
    completes: Signal<Local, bool>,
    last_row: Literal<{ VI_LOG2 }, { (1 << VI_LOG2) - 1 }>,
    work_queue: Literal<8, { table::WORK_QUEUE as u64 }>,
    connected: Literal<2, { vi_states::CONNECTED as u64 }>,
    /// What a NAK makes of the message it names, whatever its syndrome.
    refused: Literal<9, { status::TRANSPORT_ERROR as u64 }>,
    /// What becomes of messages that no acknowledgement will reach.
    flushed: Literal<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    done: Literal<20, { status::DONE as u64 }>,
    immediate: Literal<20, { status::IMMEDIATE as u64 }>,
    connection_lost: Literal<8, { event_code::CONN_LOST as u64 }>,
}

impl Logic for Sends {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clock, step, sweep, vi, sending, acking, negative, completed, tail, last, errors, named, moved,
            collided, written
        );
        clock!(self, clock, rings, contexts, positions, states, leavers);
        self.leavers.reset.next = self.reset.val();

        self.states.write_enable.next = self.state_valid.val();
        self.states.write_address.next = self.state.val().vi;
        self.states.write_data.next = self.state.val().state;
        self.states.read_address.next = self.vi.q.val();
        self.leavers.push_valid.next =
            self.state_valid.val() & (self.state.val().state != self.connected.val());
        self.leavers.push_id.next = self.state.val().vi;
        self.leavers.pop_ready.next = false;

        self.commit_row.next = self.commit.val().row;
        self.ours.next = self.commit_valid.val()
            & (self.commit.val().target == self.work_queue.val())
            & !self.commit_row.val().get_bit(0);
        self.syndrome.next = self.acknowledged.val().syndrome;
        // An acknowledgement is never looked at before the message it is for: that of the same VI goes first.
        self.prefers_ack.next = self.acknowledged_valid.val()
            & (!self.sent_valid.val()
                | (self.sending.q.val() & (self.sent.val().vi != self.acknowledged.val().vi)));
        self.asked.next = self.leavers.pop_id.val();
        if !self.leavers.pop_valid.val() {
            self.asked.next = self.sent.val().vi;
            if self.prefers_ack.val() {
                self.asked.next = self.acknowledged.val().vi;
            }
        }

        // A commit goes beside an event of another VI: neither waits for the other.
        self.commit_vi.next = self.commit_row.val().get_bits::<VI_LOG2>(1);
        self.starts.next =
            self.leavers.pop_valid.val() | self.sent_valid.val() | self.acknowledged_valid.val();
        self.takes_commit.next = (self.step.q.val() == State::Idle)
            & (!self.starts.val() | (self.asked.val() != self.commit_vi.val()));
        self.commit_ready.next = self.takes_commit.val();

        // The descriptor at the ring's head, and what the event means for it. Acknowledgements count only while
        // the VI is connected: when it has left, nothing waits any more.
        self.entry.next = self.rings.read_data.val();
        self.flush.next = self.states.read_data.val() != self.connected.val();
        self.distance.next = self.acknowledged.val().psn - self.entry.val().psn;
        self.margin.next = self.last.q.val() - self.acknowledged.val().psn;
        self.covered.next = !self.distance.val().get_bit(23);
        self.known.next = !self.margin.val().get_bit(23);
        self.refusal.next = self.acking.q.val()
            & self.negative.q.val()
            & !self.flush.val()
            & (!self.distance.val().any() | self.distance.val().get_bit(23));
        self.completes.next = !self.entry.val().acknowledged
            | self.flush.val()
            | (self.acking.q.val() & !self.negative.q.val() & self.covered.val() & self.known.val())
            | (self.acking.q.val() & self.negative.q.val() & !self.named.q.val());

        self.place.next = self.completed.q.val();
        self.rings.read_address.next =
            (bit_cast::<{ RING_LOG2 }, { VI_LOG2 }>(self.vi.q.val()) << 4)
                | bit_cast::<{ RING_LOG2 }, { SEND_WINDOW_LOG2 }>(
                    self.place.val().get_bits::<SEND_WINDOW_LOG2>(0),
                );
        self.tail_place.next = self.contexts.read_data.val().sent;
        self.rings.write_address.next =
            (bit_cast::<{ RING_LOG2 }, { VI_LOG2 }>(self.vi.q.val()) << 4)
                | bit_cast::<{ RING_LOG2 }, { SEND_WINDOW_LOG2 }>(
                    self.tail_place.val().get_bits::<SEND_WINDOW_LOG2>(0),
                );
        self.rings.write_enable.next = false;
        self.rings.write_data.next = self.sent.val();
        self.contexts.read_address.next = self.asked.val();
        self.contexts.write_enable.next = false;
        self.contexts.write_address.next = self.vi.q.val();
        self.contexts.write_data.next.completed = self.completed.q.val();
        self.contexts.write_data.next.sent = self.tail.q.val();
        self.contexts.write_data.next.last = self.last.q.val();

        self.sent_ready.next = false;
        self.acknowledged_ready.next = false;
        self.count_ack.next = false;
        self.count_nak.next = false;
        self.completion_valid.next = false;
        self.again_send_valid.next = false;
        self.fault_valid.next = false;
        match self.step.q.val() {
            State::Sweep => {
                self.contexts.write_enable.next = true;
                self.contexts.write_address.next = self.sweep.q.val();
                self.contexts.write_data.next.completed = bits::<14>(0);
                self.contexts.write_data.next.sent = bits::<14>(0);
                self.sweep.d.next = self.sweep.q.val() + 1;
                if self.sweep.q.val() == self.last_row.val() {
                    self.step.d.next = State::Idle;
                }
            }
            State::Idle => {
                self.vi.d.next = self.asked.val();
                self.sending.d.next = false;
                self.acking.d.next = false;
                self.contexts.write_enable.next = self.ours.val() & self.takes_commit.val();
                self.contexts.write_address.next = self.commit_vi.val();
                self.contexts.write_data.next.completed = bits::<14>(0);
                self.contexts.write_data.next.sent = bits::<14>(0);
                if self.leavers.pop_valid.val() {
                    self.leavers.pop_ready.next = true;
                    self.step.d.next = State::Start;
                } else if self.prefers_ack.val() {
                    self.acking.d.next = true;
                    self.step.d.next = State::Start;
                } else if self.sent_valid.val() {
                    self.sending.d.next = true;
                    self.step.d.next = State::Start;
                }
            }
            State::Start => {
                self.completed.d.next = self.contexts.read_data.val().completed;
                self.tail.d.next = self.contexts.read_data.val().sent;
                self.last.d.next = self.contexts.read_data.val().last;
                self.negative.d.next = self.syndrome.val().get_bits::<2>(5).any();
                self.named.d.next = false;
                self.moved.d.next = false;
                if self.sending.q.val() {
                    self.sent_ready.next = true;
                    self.rings.write_enable.next = true;
                    self.tail.d.next = self.contexts.read_data.val().sent + 1;
                    if self.sent.val().acknowledged {
                        self.last.d.next = self.sent.val().psn;
                    }
                }
                self.step.d.next = State::Head;
            }
            State::Head => {
                self.step.d.next = State::Look;
                if self.completed.q.val() == self.tail.q.val() {
                    self.step.d.next = State::Save;
                }
            }
            State::Look => {
                self.errors.d.next = bits::<9>(0);
                if self.refusal.val() {
                    self.errors.d.next = self.refused.val();
                }
                if self.flush.val() {
                    self.errors.d.next = self.flushed.val();
                }
                if !self.entry.val().acknowledged {
                    self.errors.d.next = self.entry.val().errors;
                }
                self.step.d.next = State::Save;
                if self.completes.val() {
                    self.named.d.next =
                        self.named.q.val() | (self.refusal.val() & self.entry.val().acknowledged);
                    self.step.d.next = State::Complete;
                }
            }
            State::Complete => {
                self.completion_valid.next = !self.entry.val().lost;
                if self.completion_ready.val() | self.entry.val().lost {
                    self.completed.d.next = self.completed.q.val() + 1;
                    self.moved.d.next = true;
                    self.step.d.next = State::Head;
                }
            }
            State::Save => {
                self.contexts.write_enable.next = true;
                self.acknowledged_ready.next = self.acking.q.val();
                self.count_ack.next = self.acking.q.val() & !self.negative.q.val();
                self.count_nak.next = self.acking.q.val() & self.negative.q.val();
                self.step.d.next = State::Idle;
                if self.acking.q.val() & self.negative.q.val() {
                    self.step.d.next = State::Break;
                }
                if self.moved.q.val() {
                    self.step.d.next = State::Again;
                }
            }
            State::Again => {
                self.again_send_valid.next = true;
                if self.again_send_ready.val() {
                    self.step.d.next = State::Idle;
                    if self.acking.q.val() & self.negative.q.val() {
                        self.step.d.next = State::Break;
                    }
                }
            }
            State::Break => {
                self.fault_valid.next = true;
                if self.fault_ready.val() {
                    self.step.d.next = State::Idle;
                }
            }
            _ => {}
        }

        self.completion.next.vi = self.vi.q.val();
        self.completion.next.receive = false;
        self.completion.next.write = true;
        self.completion.next.region = self.entry.val().region;
        self.completion.next.offset = self.entry.val().offset;
        self.completion.next.length = self.entry.val().length;
        self.completion.next.status = self.done.val() | bit_cast::<20, 9>(self.errors.q.val());
        if self.errors.q.val().any() {
            self.completion.next.length = bits::<32>(0);
        } else if self.entry.val().has_immediate {
            self.completion.next.status = self.done.val() | self.immediate.val();
        }
        self.completion.next.has_immediate = false;
        self.completion.next.immediate = bits::<32>(0);
        self.completion.next.acknowledge = false;
        self.completion.next.psn = bits::<24>(0);
        self.completion.next.msn = bits::<24>(0);
        self.completion.next.syndrome = bits::<8>(0);
        self.again_send_vi.next = self.vi.q.val();
        self.fault.next.vi = self.vi.q.val();
        self.fault.next.code = self.connection_lost.val();
        self.fault.next.receive = false;
        self.fault.next.breaks = true;

        // The positions, as fetch reads them: a row that is read while it is written shows what is written.
        self.positions.write_enable.next = self.contexts.write_enable.val();
        self.positions.write_address.next = self.contexts.write_address.val();
        self.positions.write_data.next = self.contexts.write_data.val().completed;
        self.positions.read_address.next = self.completed_vi.val();
        self.collided.d.next = self.contexts.write_enable.val()
            & (self.contexts.write_address.val() == self.completed_vi.val());
        self.written.d.next = self.contexts.write_data.val().completed;
        self.completed_position.next = self.positions.read_data.val();
        if self.collided.q.val() {
            self.completed_position.next = self.written.q.val();
        }

        self.busy.next = (self.step.q.val() != State::Idle)
            | self.sent_valid.val()
            | self.acknowledged_valid.val()
            | self.leavers.pop_valid.val();
        if self.reset.val() {
            self.step.d.next = State::Sweep;
            self.sweep.d.next = bits::<{ VI_LOG2 }>(0);
        }
    }
}
