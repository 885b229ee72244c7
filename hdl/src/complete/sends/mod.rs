//! Completes send descriptors: unreliable ones when they have left, reliable ones when they are acknowledged; and has
//! what is lost sent again.
//!
//! ```text
//!                sent ──►┌──────────────────┐──► completion
//!        acknowledged ──►│      Sends       │──► rewind, epoch
//!               state ──►│ Intake   Arrival │──► fault, again_send
//!              commit ──►│ Judge    Outcome │◄── completed: VI, its position
//! placing, placing_vis ─►│ Progress Rewinder│◄── reads: VI, its reads done
//!            time_now ──►└────── Timers ────┘──► deadline
//! ```
//! Contract: docs/semantics.md, "Reliable service: the requester (REQ)"; docs/architecture.md, "Life of a retransmission".
//! - A ring of SEND_WINDOW messages for each VI, oldest first. The oldest completes when it has come since the last
//!   rewind and waits for nothing, is acknowledged, or its VI is not connected. After each completion the position
//!   moves on first and the queue is queued again second, so fetch finds the room.
//! - An answer counts when its PSN is in flight; others are dropped and counted.
//! - A rewind of a VI starts when none of it is under way and its oldest message is not all acknowledged; the epoch
//!   turns in the same cycle, and the rewind is under way until something of the new epoch has left. One rewind waits
//!   for fetch at a time. With 3 x 2^20 packets in flight the VI is rewound too.
//! - A message that comes again, whole or in part, and is not the same breaks its VI with POST_DESC.
//! - A refusal, or retries that are used up, break the VI with CONN_LOST, behind what is acknowledged; with
//!   RDMA_TRANSPORT if it is a read that time-outs end.
//! - A commit of TRANSMIT empties the ring and sets the position to 0, the epoch to 0 and the PSNs. It comes behind all that
//!   has come in before it, behind the completions of that, and behind the VI's rewind; meanwhile nothing else comes in.
//! - `sent` is always taken after a while, whatever waits: transmit needs it to let a rewind through.
//!
//! Latency: 7 cycles from `sent` or `acknowledged` to `completion`, 5 more for each further one.
//! The row of `completed` is that of its index in the cycle before.
//!
//! Example: a message of one packet with PSN 5 leaves: `sent` puts it into the ring and starts its VI's timer. The ACK of PSN 5 moves the
//! window to 6; 7 cycles later `completion` has the descriptor with DONE, and the timer stands.
//!
//! Tests: `tests/complete/sends.rs`, `tests/complete/refusals.rs`, `tests/complete/again.rs`.

mod arrival;
mod delays;
mod intake;
mod judge;
mod outcome;
mod progress;
mod rewinder;
mod timers;
mod window;

pub use arrival::Arrival;
pub use intake::Intake;
pub use judge::Judge;
pub use outcome::Outcome;
pub use progress::Progress;
pub use rewinder::Rewinder;
pub use timers::{Command, Expired, Timers};
pub use window::{kind, refusal, Entry, Window};

use crate::bus::{
    Acknowledged, Commit, Completion, EpochWrite, Fault, Position, Rewind, Sent, StateWrite, Vi,
};
use crate::prims::{LutRam, Number, Ram};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::control;
use viaduct_spec::profile::{REGION_LOG2, SEND_WINDOW_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, vi_states};

/// log2 of the rows of all rings.
const ENTRY_LOG2: usize = VI_LOG2 + SEND_WINDOW_LOG2;
// A shift in RustHDL is a plain number: `<< 4` below; and `Window::known` holds at most 16.
const _: () = assert!(SEND_WINDOW_LOG2 == 4);

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Cause {
    Sent,
    Answer,
    Expired,
    Attention,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    Load,
    Apply,
    Fetch,
    Compare,
    Look,
    Read,
    Decide,
    Emit,
    Move,
    Again,
    Break,
    Settle,
    Commit,
    Committed,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Sends {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; commits clear the rows.
    pub reset: Signal<In, bool>,
    /// A packet that has left, or a message that has ended, from transmit.
    pub sent: Sink<Sent>,
    /// An answer from the wire, from receive.
    pub acknowledged: Sink<Acknowledged>,
    /// A row of TRANSMIT: a new connection of a VI.
    pub commit: Sink<Commit>,
    /// The VI that changes its state, and the new state.
    pub state: FlowSink<StateWrite>,
    /// Device time, ticks of 1.024 us.
    pub time_now: Signal<In, Bits<32>>,
    /// A send descriptor to complete, to `complete/writer`.
    pub completion: Source<Completion>,
    /// A VI that breaks, and why.
    pub fault: Source<Fault>,
    /// A VI that sends again, and from where, to fetch.
    pub rewind: Source<Rewind>,
    /// The VI that changes its epoch in this cycle, and the new epoch.
    pub epoch: FlowSource<EpochWrite>,
    /// A VI whose window has room again, to `doorbell`.
    pub again_send: Source<Vi>,
    /// For a VI: the position of its oldest message that is not complete.
    pub completed: Table<Vi, Position>,
    /// For a VI: how many of its reads are complete, modulo 8.
    pub reads: Table<Vi, Bits<3>>,
    /// Bit k: the answer to a read of VI k in `placing_vis` is being placed, or may be soon.
    pub placing: Signal<In, Bits<2>>,
    /// The two VIs that `placing` is about, 10 bits each.
    pub placing_vis: Signal<In, Bits<20>>,
    /// A time before which no timer ends; given while a timer runs.
    pub deadline: FlowSource<Bits<32>>,
    /// Something waits to be looked at. Messages that wait for their acknowledgement do not count, nor timers.
    pub busy: Signal<Out, bool>,
    /// A message has left whole for the first time.
    pub count_message: Pulse,
    /// An ACK counts.
    pub count_ack: Pulse,
    /// A NAK counts.
    pub count_nak: Pulse,
    /// A receiver-not-ready answer counts.
    pub count_rnr: Pulse,
    /// An answer is dropped: it is of no packet in flight.
    pub count_ghost: Pulse,
    /// A packet has left again.
    pub count_again: Pulse,
    /// A timer has ended.
    pub count_timeout: Pulse,
    intake: Intake,
    came: Arrival,
    judge: Judge,
    outcome: Outcome,
    timers: Timers,
    progress: Progress,
    rewinder: Rewinder,
    step: DFF<Step>,
    /// State of each VI.
    states: LutRam<Bits<2>, VI_LOG2>,
    /// `completed` of each VI, for who looks it up.
    positions: LutRam<Position, VI_LOG2>,
    /// The position that `completed` answers with.
    position: DFF<Position>,
    /// The window of each VI.
    windows: Ram<Window, VI_LOG2>,
    /// The rings of messages, SEND_WINDOW entries for each VI.
    entries: Ram<Entry, ENTRY_LOG2>,
    /// Why the VI is looked at.
    cause: DFF<Cause>,
    /// The VI at hand.
    vi: DFF<Vi>,
    /// What has left, if that is the cause.
    arrival: DFF<Sent>,
    /// The answer, if that is the cause.
    answer: DFF<Acknowledged>,
    /// The timer's end, if that is the cause.
    ended: DFF<Expired>,
    /// The window of the VI at hand.
    window: DFF<Window>,
    /// The entry at hand.
    entry: DFF<Entry>,
    /// `emission` is on show at `completion`.
    emitted: DFF<bool>,
    /// The completion on show.
    emission: DFF<Completion>,
    /// The VI is to break, and the event of that is `code`.
    breaks: DFF<bool>,
    /// The event of the VI that breaks.
    code: DFF<Bits<8>>,
    /// The oldest message is acknowledged, but has not come since the last rewind.
    unseen: DFF<bool>,
    /// `command` is not taken by the timers yet.
    command_waits: DFF<bool>,
    /// What is to be done to the VI's timer.
    command: DFF<Command>,
    counted_message: DFF<bool>,
    frame: Signal<Local, Bits<2>>,
    counted_ack: DFF<bool>,
    counted_nak: DFF<bool>,
    counted_rnr: DFF<bool>,
    counted_ghost: DFF<bool>,
    counted_again: DFF<bool>,
    counted_timeout: DFF<bool>,
    /// It is time to fetch again what was parked.
    resumes: Signal<Local, bool>,
    again: Signal<Local, bool>,
    read_ends: Signal<Local, bool>,
    busy_there: Signal<Local, bool>,
    free: Signal<Local, bool>,
    /// The VI is connected, as of the cycle before.
    linked: DFF<bool>,
    connected: Signal<Local, bool>,
    in_flight: Signal<Local, bool>,
    /// Packets are in flight, as of the cycle before; `flight` is as of Step::Load.
    flies: DFF<bool>,
    flight: Signal<Local, Bits<24>>,
    loads: Signal<Local, bool>,
    slot: Signal<Local, Bits<14>>,
    slot_low: Signal<Local, Bits<SEND_WINDOW_LOG2>>,
    able: Signal<Local, bool>,
    row0: Signal<Local, Bits<64>>,
    commit_vi: Signal<Local, Vi>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    reception: Number<2, { service::RELIABLE_RECEPTION as u64 }>,
    waits_kind: Number<3, { kind::WAITS }>,
    lost_kind: Number<3, { kind::LOST }>,
    no_refusal: Number<3, { refusal::NONE }>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
    operational: Number<3, { refusal::OPERATIONAL }>,
    conn_lost: Number<8, { event_code::CONN_LOST as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
    rdma_transport: Number<8, { event_code::RDMA_TRANSPORT as u64 }>,
}

impl Logic for Sends {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, position, cause, vi, arrival, answer, ended, window, entry, breaks);
        dff_setup!(self, clock, code, unseen, command_waits, command, emitted, emission);
        dff_setup!(self, clock, counted_ack, counted_nak, counted_rnr, counted_ghost, counted_again);
        dff_setup!(self, clock, counted_timeout, counted_message, flies, linked);
        clock!(
            self, clock, came, judge, outcome, intake, timers, progress, rewinder, states, positions,
            windows, entries
        );
        self.timers.reset.next = self.reset.val();
        self.intake.reset.next = self.reset.val();
        Sink::<Sent>::link(&mut self.sent, &mut self.intake.sent);
        Sink::<Acknowledged>::link(&mut self.acknowledged, &mut self.intake.acknowledged);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.intake.state);
        self.intake.timeout.valid.next = self.timers.expired.valid.val();
        self.intake.timeout.data.next = self.timers.expired.data.val().vi;
        self.intake.committed.valid.next = self.commit.valid.val();
        self.commit_vi.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.intake.committed.data.next = self.commit_vi.val();
        // No completion waits to be written, and fetch knows of no rewind: both would come behind.
        self.intake.settled.next = !self.emitted.q.val()
            & (!self.rewinder.waits.val() | (self.rewinder.rewind.val().vi != self.commit_vi.val()));
        // Only the end of a timer may come before a command to the timers is taken.
        self.free.next = !self.command_waits.q.val();
        self.intake.free.next = self.free.val();
        self.intake.hold.next = self.rewinder.waits.val();
        self.intake.take.next = self.step.q.val() == Step::Idle;
        self.intake.again.valid.next = false;
        self.intake.again.data.next = self.vi.q.val();
        self.states.write_enable.next = self.state.valid.val();
        self.states.write_address.next = self.state.data.val().vi;
        self.states.write_data.next = self.state.data.val().state;
        self.states.read_address.next = self.vi.q.val();
        self.linked.d.next = self.states.read_data.val() == self.connected_state.val();
        self.connected.next = self.linked.q.val();

        // Positions for fetch: read whenever it likes, hence distributed RAM and a register.
        self.positions.write_enable.next = false;
        self.positions.write_address.next = self.vi.q.val();
        self.positions.write_data.next = self.window.q.val().completed;
        self.positions.read_address.next = self.completed.index.val();
        self.position.d.next = self.positions.read_data.val();
        self.completed.row.next = self.position.q.val();

        // RDMA reads: how many are complete.
        self.progress.vi.next = self.vi.q.val();
        self.progress.parks.next = false;
        self.progress.number.next = self.arrival.q.val().number;
        self.progress.ends.next = false;
        self.progress.tells.next = self.step.q.val() == Step::Again;
        self.progress.rewinds.next = false;
        self.progress.resumes.next = false;
        self.progress.clears.next = self.step.q.val() == Step::Commit;
        Table::<Vi, Bits<3>>::link(&mut self.reads, &mut self.progress.reads);
        self.read_ends.next = (self.entry.q.val().operation == self.op_read.val())
            & (self.entry.q.val().kind == self.waits_kind.val());
        // A VI that broke: its read is completed when no answer of it moves any more.
        self.busy_there.next = (self.placing.val().get_bit(0)
            & (self.placing_vis.val().get_bits::<VI_LOG2>(0) == self.vi.q.val()))
            | (self.placing.val().get_bit(1)
                & (self.placing_vis.val().get_bits::<VI_LOG2>(10) == self.vi.q.val()));

        // Timers.
        self.timers.time_now.next = self.time_now.val();
        self.timers.command.valid.next = self.command_waits.q.val();
        self.timers.command.data.next = self.command.q.val();
        self.timers.settings.next = self.commit.data.val();
        self.timers.expired.ready.next = false;
        if self.timers.command.ready.val() {
            self.command_waits.d.next = false;
        }
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.timers.deadline);

        // The window of what comes next, or of what is at hand.
        self.windows.read_address.next = self.intake.vi.val();
        self.windows.write_enable.next = false;
        self.windows.write_address.next = self.vi.q.val();
        self.windows.write_data.next = self.window.q.val();

        // The entry at hand: that of an arrival, otherwise the oldest.
        self.loads.next = self.step.q.val() == Step::Load;
        self.came.load.next = self.loads.val();
        self.came.row.next = self.windows.read_data.val();
        self.came.window.next = self.window.q.val();
        self.came.resuming.next = self.progress.resuming.val();
        self.came.sent.next = self.arrival.q.val();
        self.came.entry.next = self.entry.q.val();
        self.slot.next = self.window.q.val().completed;
        if (self.step.q.val() == Step::Apply) | (self.step.q.val() == Step::Compare) {
            self.slot.next = self.window.q.val().completed + bit_cast::<14, 5>(self.came.place.val());
        }
        self.slot_low.next = self.slot.val().get_bits::<SEND_WINDOW_LOG2>(0);
        self.entries.read_address.next = (bit_cast::<ENTRY_LOG2, VI_LOG2>(self.vi.q.val()) << 4)
            | bit_cast::<ENTRY_LOG2, SEND_WINDOW_LOG2>(self.slot_low.val());
        self.entries.write_enable.next = false;
        self.entries.write_address.next = (bit_cast::<ENTRY_LOG2, VI_LOG2>(self.vi.q.val()) << 4)
            | bit_cast::<ENTRY_LOG2, SEND_WINDOW_LOG2>(self.slot_low.val());

        self.entries.write_data.next = self.came.record.val();
        self.flies.d.next = self.window.q.val().fresh != self.window.q.val().oldest;

        self.outcome.window.next = self.window.q.val();
        self.outcome.entry.next = self.entry.q.val();
        self.outcome.read_after.next = self.entries.read_data.val().after;
        self.outcome.connected.next = self.connected.val();
        self.judge.load.next = self.loads.val();
        self.judge.row.next = self.windows.read_data.val();
        self.judge.window.next = self.window.q.val();
        self.judge.answer.next = self.answer.q.val();
        self.judge.connected.next = self.connected.val();
        self.flight.next = self.judge.flight.val();
        self.in_flight.next = self.flight.val().any();
        self.came.long.next =
            self.flight.val().get_bits::<2>(22).any() | self.flight.val().get_bits::<2>(20).all();
        self.frame.next = self.answer.q.val().frame;

        // What is completed waits in a register: who writes it decides late in the cycle.
        self.completion.valid.next = self.emitted.q.val();
        self.completion.data.next = self.emission.q.val();
        if self.completion.ready.val() {
            self.emitted.d.next = false;
        }
        if !self.emitted.q.val() {
            self.emission.d.next.vi = self.vi.q.val();
            self.emission.d.next.receive = false;
            self.emission.d.next.write = self.entry.q.val().kind != self.lost_kind.val();
            self.emission.d.next.region = bit_cast::<16, REGION_LOG2>(self.entry.q.val().region);
            self.emission.d.next.offset = self.entry.q.val().offset;
            self.emission.d.next.length = self.outcome.length.val();
            self.emission.d.next.status = self.outcome.status.val();
            self.emission.d.next.has_immediate = false;
            self.emission.d.next.immediate = bits::<32>(0);
            self.emission.d.next.acknowledge = false;
            self.emission.d.next.psn = bits::<24>(0);
            self.emission.d.next.msn = bits::<24>(0);
            self.emission.d.next.syndrome = bits::<8>(0);
            self.emission.d.next.kind = bits::<2>(0);
            self.emission.d.next.ends = true;
            self.emission.d.next.reception = false;
        }
        self.fault.valid.next = (self.step.q.val() == Step::Break) & self.connected.val();
        self.fault.data.next.vi = self.vi.q.val();
        self.fault.data.next.code = self.code.q.val();
        self.fault.data.next.receive = false;
        self.fault.data.next.breaks = true;
        self.again_send.valid.next = self.step.q.val() == Step::Again;
        self.again_send.data.next = self.vi.q.val();
        self.commit.ready.next = false;
        self.row0.next = self.commit.data.val().word0;

        self.rewinder.reset.next = self.reset.val();
        self.rewinder.vi.next = self.vi.q.val();
        self.rewinder.window.next = self.window.q.val();
        self.rewinder.start.next = false;
        self.rewinder.resumes.next = false;
        self.rewinder.clears.next = self.step.q.val() == Step::Commit;
        self.rewinder.rewind_ready.next = self.rewind.ready.val();
        self.rewind.valid.next = self.rewinder.waits.val();
        self.rewind.data.next = self.rewinder.rewind.val();
        FlowSource::<EpochWrite>::link(&mut self.epoch, &mut self.rewinder.epoch);
        self.able.next = self.window.q.val().pending & !self.window.q.val().rewinding & !self.unseen.q.val();
        self.again.next = false;
        self.resumes.next = false;

        self.counted_message.d.next = false;
        self.counted_ack.d.next = false;
        self.counted_nak.d.next = false;
        self.counted_rnr.d.next = false;
        self.counted_ghost.d.next = false;
        self.counted_again.d.next = false;
        self.counted_timeout.d.next = false;
        self.count_message.next = self.counted_message.q.val();
        self.count_ack.next = self.counted_ack.q.val();
        self.count_nak.next = self.counted_nak.q.val();
        self.count_rnr.next = self.counted_rnr.q.val();
        self.count_ghost.next = self.counted_ghost.q.val();
        self.count_again.next = self.counted_again.q.val();
        self.count_timeout.next = self.counted_timeout.q.val();
        self.busy.next = (self.step.q.val() != Step::Idle)
            | self.emitted.q.val()
            | self.intake.busy.val()
            | self.command_waits.q.val()
            | self.rewinder.waits.val()
            | self.timers.busy.val();

        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.intake.vi.val();
                self.breaks.d.next = false;
                self.arrival.d.next = self.intake.arrival.val();
                self.answer.d.next = self.intake.answer.val();
                self.ended.d.next = self.timers.expired.data.val();
                if self.intake.expired.val() {
                    self.timers.expired.ready.next = true;
                    self.cause.d.next = Cause::Expired;
                    self.step.d.next = Step::Load;
                }
                if self.intake.arrived.val() {
                    self.cause.d.next = Cause::Sent;
                    self.step.d.next = Step::Load;
                }
                if self.intake.answered.val() {
                    self.cause.d.next = Cause::Answer;
                    self.step.d.next = Step::Load;
                }
                if self.intake.attends.val() {
                    self.cause.d.next = Cause::Attention;
                    self.step.d.next = Step::Load;
                }
                if self.intake.commit.val() {
                    self.step.d.next = Step::Commit;
                }
            }
            Step::Load => {
                self.window.d.next = self.windows.read_data.val();
                self.step.d.next = Step::Apply;
            }
            Step::Apply => {
                self.step.d.next = Step::Look;
                if self.free.val() {
                    self.command.d.next.vi = self.vi.q.val();
                    self.command.d.next.set = false;
                    self.command.d.next.run = true;
                    self.command.d.next.rest = false;
                    self.command.d.next.clear = false;
                    self.command.d.next.code = bit_cast::<5, 8>(self.answer.q.val().syndrome);
                }
                self.code.d.next = self.conn_lost.val();
                match self.cause.q.val() {
                    Cause::Sent => {
                        self.counted_again.d.next = self.came.again.val();
                        self.counted_message.d.next =
                            self.arrival.q.val().ends & self.came.is_new.val() & !self.came.failed.val();
                        self.window.d.next = self.came.after.val();
                        if self.came.advances.val() {
                            self.command_waits.d.next = !self.in_flight.val() & self.connected.val();
                        }
                        self.progress.parks.next = self.came.parks.val();
                        if self.came.unfit.val() {
                            self.breaks.d.next = self.connected.val();
                            self.code.d.next = self.post_desc.val();
                        }
                        self.entries.write_enable.next = self.came.enters.val();
                        if self.came.known.val() {
                            self.step.d.next = Step::Fetch;
                        }
                    }
                    Cause::Answer => {
                        self.counted_ack.d.next = self.judge.taken.val() & (self.frame.val() == bits::<2>(0));
                        self.counted_nak.d.next = self.judge.taken.val() & (self.frame.val() == bits::<2>(3));
                        self.counted_rnr.d.next = self.judge.taken.val() & (self.frame.val() == bits::<2>(1));
                        self.counted_ghost.d.next = !self.judge.taken.val();
                        self.window.d.next = self.judge.after.val();
                        self.breaks.d.next = self.judge.refuses.val();
                        // REQ-5: progress resets the counts and the time.
                        self.command.d.next.clear = self.judge.moved.val();
                        self.command.d.next.run = self.judge.open.val() & self.connected.val();
                        self.command.d.next.rest = self.judge.rests.val();
                        if self.judge.moved.val() | self.judge.rests.val() {
                            self.command_waits.d.next = true;
                        }
                    }
                    Cause::Expired => {
                        // REQ-5: a time-out with packets in flight. REQ-6: the end of the time that the receiver asked for.
                        if self.in_flight.val() & self.connected.val() {
                            self.counted_timeout.d.next = !self.ended.q.val().rested;
                            self.window.d.next.resting = false;
                            if self.ended.q.val().gives_up {
                                self.breaks.d.next = true;
                                if self.ended.q.val().rested {
                                    self.window.d.next.refusal = self.operational.val();
                                }
                            } else {
                                self.window.d.next.pending = true;
                            }
                        }
                    }
                    _ => {
                        // A VI that broke needs no timer.
                        self.command.d.next.run = false;
                        self.command_waits.d.next = !self.connected.val();
                    }
                }
            }
            Step::Fetch => {
                self.entry.d.next = self.entries.read_data.val();
                self.step.d.next = Step::Compare;
            }
            Step::Compare => {
                // A packet of a message of which something has left before.
                self.step.d.next = Step::Look;
                if self.arrival.q.val().ends {
                    self.window.d.next.come = self.came.place.val() + 1;
                    if self.came.is_new.val() {
                        self.window.d.next.known = self.window.q.val().known + 1;
                        self.window.d.next.partial = false;
                        self.entries.write_enable.next = true;
                    }
                }
                if self.came.is_new.val()
                    | ((self.entry.q.val().kind == self.waits_kind.val()) & !self.outcome.acknowledged.val())
                {
                    if self.came.failed.val() {
                        self.entries.write_enable.next = true;
                    } else if !self.came.same.val() & self.connected.val() {
                        // REQ-7: it is not the same as the first time.
                        self.breaks.d.next = true;
                        self.code.d.next = self.post_desc.val();
                    }
                }
            }
            Step::Look => {
                // The row as it stands.
                self.windows.write_enable.next = true;
                self.unseen.d.next = false;
                self.step.d.next = Step::Read;
                if !self.window.q.val().known.any() {
                    self.step.d.next = Step::Settle;
                    if self.breaks.q.val() {
                        self.step.d.next = Step::Break;
                    }
                }
            }
            Step::Read => {
                self.entry.d.next = self.entries.read_data.val();
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.unseen.d.next = self.outcome.acknowledged.val();
                self.step.d.next = Step::Settle;
                if self.outcome.done.val()
                    & self.read_ends.val()
                    & (!self.outcome.acknowledged.val() | self.outcome.missed.val())
                    & self.busy_there.val()
                {
                    // The VI is to be looked at again.
                    self.intake.again.valid.next = true;
                    self.step.d.next = Step::Decide;
                    if self.intake.again.ready.val() {
                        self.step.d.next = Step::Idle;
                    }
                } else if self.outcome.done.val() {
                    self.step.d.next = Step::Emit;
                } else if self.breaks.q.val() {
                    self.step.d.next = Step::Break;
                    // REQ-5: RDMA_TRANSPORT if it is a read that time-outs end.
                    if (self.cause.q.val() == Cause::Expired)
                        & !self.ended.q.val().rested
                        & self.read_ends.val()
                    {
                        self.code.d.next = self.rdma_transport.val();
                    }
                }
            }
            Step::Break => {
                // Break first: whoever sees the completion finds the VI in Error.
                if self.fault.ready.val() | !self.connected.val() {
                    self.breaks.d.next = false;
                    self.step.d.next = Step::Look;
                }
            }
            Step::Emit => {
                if !self.emitted.q.val() {
                    self.emitted.d.next = true;
                    self.step.d.next = Step::Move;
                }
            }
            Step::Move => {
                self.window.d.next.completed = self.window.q.val().completed + 1;
                self.window.d.next.known = self.window.q.val().known - 1;
                self.window.d.next.come = self.window.q.val().come - 1;
                if self.entry.q.val().kind == self.waits_kind.val() {
                    self.window.d.next.first = self.entry.q.val().after;
                }
                self.progress.ends.next = self.read_ends.val();
                if !self.connected.val() & self.outcome.failed.val() & !self.outcome.missed.val() {
                    self.window.d.next.refusal = self.no_refusal.val();
                }
                self.step.d.next = Step::Again;
            }
            Step::Again => {
                // Whoever is woken finds the new position. The row is written when it has been looked at once more.
                self.positions.write_enable.next = true;
                if self.again_send.ready.val() {
                    self.step.d.next = Step::Look;
                }
            }
            Step::Settle => {
                self.step.d.next = Step::Idle;
                self.again.next = self.able.val() & self.flies.q.val() & self.connected.val();
                self.resumes.next = self.progress.parked.val()
                    & !self.window.q.val().rewinding
                    & (self.progress.moved.val() | !self.connected.val());
                if (self.again.val() | self.resumes.val()) & self.rewinder.waits.val() {
                    // Another VI has its turn; this one is looked at again.
                    self.intake.again.valid.next = true;
                    if !self.intake.again.ready.val() {
                        self.step.d.next = Step::Settle;
                    }
                } else if self.again.val() | self.resumes.val() {
                    self.rewinder.start.next = true;
                    self.rewinder.resumes.next = !self.again.val();
                    self.progress.rewinds.next = true;
                    self.progress.resumes.next = !self.again.val();
                    self.window.d.next.epoch = !self.window.q.val().epoch;
                    self.window.d.next.rewinding = true;
                    self.step.d.next = Step::Committed;
                    if self.again.val() {
                        self.window.d.next.pending = false;
                    }
                } else if (!self.flies.q.val() | !self.connected.val()) & self.window.q.val().pending {
                    self.window.d.next.pending = false;
                    self.step.d.next = Step::Committed;
                }
            }
            Step::Commit => {
                // LIFE-1: a life begins at position 0, with nothing in flight.
                self.window.d.next.completed = bits::<14>(0);
                self.window.d.next.known = bits::<5>(0);
                self.window.d.next.come = bits::<5>(0);
                self.window.d.next.first = self.row0.val().get_bits::<24>(0);
                self.window.d.next.oldest = self.row0.val().get_bits::<24>(0);
                self.window.d.next.fresh = self.row0.val().get_bits::<24>(0);
                self.window.d.next.epoch = false;
                self.window.d.next.rewinding = false;
                self.window.d.next.pending = false;
                self.window.d.next.resting = false;
                self.window.d.next.partial = false;
                self.window.d.next.reception = self.row0.val().get_bits::<2>(24) == self.reception.val();
                self.window.d.next.refusal = self.no_refusal.val();
                self.command.d.next.vi = self.vi.q.val();
                self.command.d.next.set = true;
                self.command.d.next.run = false;
                self.command.d.next.rest = false;
                self.command.d.next.clear = true;
                self.command_waits.d.next = true;
                self.step.d.next = Step::Committed;
            }
            Step::Committed => {
                // The window is as it was set, and the epoch is on the bus. A commit waits until its settings are taken.
                self.windows.write_enable.next = true;
                self.positions.write_enable.next = true;
                if !self.command_waits.q.val() | !self.command.q.val().set {
                    self.commit.ready.next = self.command.q.val().set;
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.command_waits.d.next = false;
            self.emitted.d.next = false;
        }
    }
}
