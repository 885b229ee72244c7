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

mod answered;
mod delays;
mod departed;
mod effect;
mod effects;
mod finding;
mod intake;
mod next_window;
mod oldest;
mod reads;
mod rewinder;
mod ring;
mod timed_out;
mod timers;
mod window;

pub use answered::Answered;
pub use departed::Departed;
pub use effect::{Effect, SendCounts};
pub use effects::Effects;
pub use finding::{Facts, Finding, LeftPacket};
pub use intake::SendIntake;
pub use next_window::NextWindow;
pub use oldest::Oldest;
pub use reads::ReadProgress;
pub use rewinder::Rewinder;
pub use ring::MessageRing;
pub use timed_out::TimedOut;
pub use timers::{TimerCommand, TimerEnd, Timers};
pub use window::{kind, SentMessage, Window};

use crate::bus::{
    Acknowledged, Commit, Completion, EpochWrite, Fault, Position, Rewind, Sent, StateWrite, Vi,
};
use crate::prims::{LutRam, Number, Ram};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{REGION_LOG2, VI_LOG2};
use viaduct_spec::tables::vi_states;

/// Why a VI is looked at.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Cause {
    /// Something has left.
    Sent,
    /// An answer has come.
    Answer,
    /// A timer has ended.
    Expired,
    /// The VI broke, or waits for something.
    Attention,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Take what comes next.
    Idle,
    /// The window comes from memory.
    Load,
    /// Decide what has come.
    Apply,
    /// The known message comes from memory.
    Fetch,
    /// Decide what the known message is.
    Compare,
    /// Write the window, and ask for the oldest message.
    Look,
    /// The oldest message comes.
    Read,
    /// Decide what becomes of the oldest message.
    Decide,
    /// Break the VI; then look again.
    Break,
    /// Show the completion.
    Emit,
    /// Move the window on.
    Move,
    /// Have the queue put into the run queue; then look again.
    Again,
    /// Decide whether the VI is sent again.
    Settle,
    /// Write the window.
    Write,
    /// Begin a new life.
    Commit,
    /// Write its window, and let the row go when the timers have its settings.
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
    intake: SendIntake,
    departed: Departed,
    answered: Answered,
    timed_out: TimedOut,
    oldest: Oldest,
    rewinder: Rewinder,
    effects: Effects,
    next_window: NextWindow,
    timers: Timers,
    progress: ReadProgress,
    ring: MessageRing,
    step: DFF<Step>,
    /// State of each VI.
    states: LutRam<Bits<2>, VI_LOG2>,
    /// `completed` of each VI, for who looks it up.
    positions: LutRam<Position, VI_LOG2>,
    /// The position that `completed` answers with.
    position: DFF<Position>,
    /// The window of each VI.
    windows: Ram<Window, VI_LOG2>,
    /// Why the VI is looked at.
    cause: DFF<Cause>,
    /// The VI at hand.
    vi: DFF<Vi>,
    /// What has left, if that is the cause.
    arrival: DFF<Sent>,
    /// The answer, if that is the cause.
    answer: DFF<Acknowledged>,
    /// The timer's end, if that is the cause.
    ended: DFF<TimerEnd>,
    /// The window of the VI at hand.
    window: DFF<Window>,
    /// The message at hand.
    message: DFF<SentMessage>,
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
    command: DFF<TimerCommand>,
    /// What is counted.
    counted: DFF<SendCounts>,
    /// The VI is connected, as of the cycle before.
    linked: DFF<bool>,
    /// Packets are in flight, as of the cycle before; `flight` is as of Step::Load.
    flies: DFF<bool>,
    flight: Signal<Local, Bits<24>>,
    /// How often 2^20 packets are in flight.
    millions: Signal<Local, Bits<4>>,
    flying: Signal<Local, bool>,
    loads: Signal<Local, bool>,
    effect: Signal<Local, Effect>,
    commit_vi: Signal<Local, Vi>,
    free: Signal<Local, bool>,
    connected_state: Number<2, { vi_states::CONNECTED as u64 }>,
    lost_kind: Number<3, { kind::LOST }>,
    many_millions: Number<4, 3>,
}

impl Logic for Sends {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, position, cause, vi, arrival, answer, ended, window, message, emitted);
        dff_setup!(
            self,
            clock,
            emission,
            breaks,
            code,
            unseen,
            command_waits,
            command,
            counted,
            linked,
            flies
        );
        clock!(
            self, clock, departed, answered, oldest, intake, timers, progress, rewinder, states, positions
        );
        clock!(self, clock, windows, ring);
        self.loads.next = self.step.q.val() == Step::Load;
        self.commit_vi.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);

        // What comes next.
        self.intake.reset.next = self.reset.val();
        Sink::<Sent>::link(&mut self.sent, &mut self.intake.sent);
        Sink::<Acknowledged>::link(&mut self.acknowledged, &mut self.intake.acknowledged);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.intake.state);
        self.intake.timeout.valid.next = self.timers.expired.valid.val();
        self.intake.timeout.data.next = self.timers.expired.data.val().vi;
        self.intake.committed.valid.next = self.commit.valid.val();
        self.intake.committed.data.next = self.commit_vi.val();
        // No completion waits to be written, and fetch knows of no rewind: both would come behind.
        self.intake.settled.next = !self.emitted.q.val()
            & (!self.rewinder.waits.val() | (self.rewinder.rewind.val().vi != self.commit_vi.val()));
        // Only the end of a timer may come before a command to the timers is taken.
        self.free.next = !self.command_waits.q.val();
        self.intake.free.next = self.free.val();
        self.intake.hold.next = self.rewinder.waits.val();
        self.intake.take.next = self.step.q.val() == Step::Idle;

        // The VI at hand: its state, its window, and the message at hand.
        self.states.write_enable.next = self.state.valid.val();
        self.states.write_address.next = self.state.data.val().vi;
        self.states.write_data.next = self.state.data.val().state;
        self.states.read_address.next = self.vi.q.val();
        self.linked.d.next = self.states.read_data.val() == self.connected_state.val();
        self.windows.read_address.next = self.intake.vi.val();
        self.windows.write_enable.next = false;
        self.windows.write_address.next = self.vi.q.val();
        self.windows.write_data.next = self.window.q.val();
        self.flies.d.next = self.window.q.val().fresh != self.window.q.val().oldest;
        self.ring.vi.next = self.vi.q.val();
        self.ring.position.next = self.window.q.val().completed;
        if (self.step.q.val() == Step::Apply) | (self.step.q.val() == Step::Compare) {
            self.ring.position.next =
                self.window.q.val().completed + bit_cast::<14, 5>(self.departed.departure.val().place);
        }
        self.ring.record.next = self.departed.record.val();

        // Who looks up positions does so whenever it likes, hence distributed RAM and a register.
        self.positions.write_enable.next = false;
        self.positions.write_address.next = self.vi.q.val();
        self.positions.write_data.next = self.window.q.val().completed;
        self.positions.read_address.next = self.completed.index.val();
        self.position.d.next = self.positions.read_data.val();
        self.completed.row.next = self.position.q.val();

        // Who finds out what has come.
        self.departed.load.next = self.loads.val();
        self.departed.row.next = self.windows.read_data.val();
        self.departed.window.next = self.window.q.val();
        self.departed.resuming.next = self.progress.resuming.val();
        self.departed.sent.next = self.arrival.q.val();
        self.departed.connected.next = self.linked.q.val();
        self.departed.message.next = self.message.q.val();
        // A message that is acknowledged whole waits no more.
        self.departed.waits.next = self.oldest.waits.val() & !self.oldest.reaches.val();
        self.answered.load.next = self.loads.val();
        self.answered.row.next = self.windows.read_data.val();
        self.answered.window.next = self.window.q.val();
        self.answered.answer.next = self.answer.q.val();
        self.answered.connected.next = self.linked.q.val();
        self.flight.next = self.answered.flight.val();
        self.flying.next = self.flight.val().any();
        self.millions.next = self.flight.val().get_bits::<4>(20);
        self.timed_out.ended.next = self.ended.q.val();
        self.timed_out.connected.next = self.linked.q.val();
        self.timed_out.flying.next = self.flying.val();

        // And how the VI stands.
        self.oldest.window.next = self.window.q.val();
        self.oldest.message.next = self.message.q.val();
        self.oldest.read_after.next = self.ring.message.val().after;
        self.oldest.connected.next = self.linked.q.val();
        self.oldest.breaks.next = self.breaks.q.val();
        self.oldest.silent.next = (self.cause.q.val() == Cause::Expired) & !self.ended.q.val().rested;
        // A VI that broke: its read is completed when no answer of it moves any more.
        self.oldest.placing.next = (self.placing.val().get_bit(0)
            & (self.placing_vis.val().get_bits::<VI_LOG2>(0) == self.vi.q.val()))
            | (self.placing.val().get_bit(1)
                & (self.placing_vis.val().get_bits::<VI_LOG2>(10) == self.vi.q.val()));
        self.rewinder.reset.next = self.reset.val();
        self.rewinder.vi.next = self.vi.q.val();
        self.rewinder.window.next = self.window.q.val();
        self.rewinder.connected.next = self.linked.q.val();
        self.rewinder.flying.next = self.flies.q.val();
        self.rewinder.unseen.next = self.unseen.q.val();
        self.rewinder.parked.next = self.progress.parked.val();
        self.rewinder.moved.next = self.progress.moved.val();

        // What is decided in this step, and what happens.
        self.effects.packet.next = LeftPacket::Absent;
        self.effects.finding.next = Finding::Nothing;
        self.effects.facts.next.connected = self.linked.q.val();
        self.effects.facts.next.flying = self.flying.val();
        self.effects.facts.next.long = self.millions.val() >= self.many_millions.val();
        self.effects.facts.next.whole = self.departed.whole.val();
        self.effects.facts.next.closes = self.departed.closes.val();
        self.effects.facts.next.taken = false;
        self.effects.facts.next.progress = false;
        self.effects.facts.next.open = self.answered.open.val();
        self.effects.facts.next.frame = self.answer.q.val().frame;
        self.effects.facts.next.refusal = self.answered.refusal.val();
        self.effects.facts.next.tells = self.oldest.tells.val();
        match self.step.q.val() {
            Step::Apply => match self.cause.q.val() {
                Cause::Sent => {
                    self.effects.packet.next = self.departed.packet.val();
                    self.effects.finding.next = self.departed.finding.val();
                }
                Cause::Answer => {
                    self.effects.finding.next = self.answered.finding.val();
                    self.effects.facts.next.taken = self.answered.taken.val();
                    self.effects.facts.next.progress = self.answered.progress.val();
                }
                Cause::Expired => {
                    self.effects.finding.next = self.timed_out.finding.val();
                }
                _ => {
                    if !self.linked.q.val() {
                        self.effects.finding.next = Finding::Broken;
                    }
                }
            },
            Step::Compare => {
                self.effects.finding.next = self.departed.compared.val();
            }
            Step::Decide => {
                self.effects.finding.next = self.oldest.finding.val();
            }
            Step::Move => {
                self.effects.finding.next = Finding::Completed;
            }
            Step::Settle => {
                self.effects.finding.next = self.rewinder.finding.val();
            }
            Step::Commit => {
                self.effects.finding.next = Finding::Begins;
            }
            _ => {}
        }
        self.effect.next = self.effects.effect.val();

        // The window.
        self.next_window.window.next = self.window.q.val();
        self.next_window.effect.next = self.effect.val();
        self.next_window.departure.next = self.departed.departure.val();
        self.next_window.reached.next = self.answered.reached.val();
        self.next_window.acknowledged.next = self.oldest.waits.val();
        self.next_window.message_end.next = self.message.q.val().after;
        self.next_window.row.next = self.commit.data.val();
        self.window.d.next = self.next_window.after.val();
        if self.loads.val() {
            self.window.d.next = self.windows.read_data.val();
        }
        self.ring.write.next = self.effect.val().records;

        // The timer.
        self.timers.reset.next = self.reset.val();
        self.timers.time_now.next = self.time_now.val();
        self.timers.command.valid.next = self.command_waits.q.val();
        self.timers.command.data.next = self.command.q.val();
        self.timers.settings.next = self.commit.data.val();
        self.timers.expired.ready.next = (self.step.q.val() == Step::Idle) & self.intake.expired.val();
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.timers.deadline);
        if self.timers.command.ready.val() {
            self.command_waits.d.next = false;
        }
        if self.effect.val().times {
            self.command_waits.d.next = true;
            self.command.d.next.vi = self.vi.q.val();
            self.command.d.next.set = self.effect.val().begins;
            self.command.d.next.run = self.effect.val().runs;
            self.command.d.next.rest = self.effect.val().rests;
            self.command.d.next.clear = self.effect.val().clears;
            self.command.d.next.code = bit_cast::<5, 8>(self.answer.q.val().syndrome);
        }

        // The reads, and the rewind.
        self.progress.vi.next = self.vi.q.val();
        self.progress.parks.next = self.effect.val().parks;
        self.progress.number.next = self.arrival.q.val().number;
        self.progress.ends.next = self.effect.val().passes & self.oldest.ends_read.val();
        self.progress.tells.next = self.step.q.val() == Step::Again;
        self.progress.rewinds.next = self.effect.val().turns;
        self.progress.resumes.next = self.effect.val().turns & !self.effect.val().drops;
        self.progress.clears.next = self.effect.val().begins;
        Table::<Vi, Bits<3>>::link(&mut self.reads, &mut self.progress.reads);
        self.rewinder.turns.next = self.effect.val().turns;
        self.rewinder.back.next = self.effect.val().drops;
        self.rewinder.clears.next = self.effect.val().begins;
        self.rewinder.rewind_ready.next = self.rewind.ready.val();
        self.rewind.valid.next = self.rewinder.waits.val();
        self.rewind.data.next = self.rewinder.rewind.val();
        FlowSource::<EpochWrite>::link(&mut self.epoch, &mut self.rewinder.epoch);

        // What breaks the VI.
        if self.effect.val().breaks {
            self.breaks.d.next = true;
            self.code.d.next = self.effect.val().code;
        }
        self.fault.valid.next = (self.step.q.val() == Step::Break) & self.linked.q.val();
        self.fault.data.next.vi = self.vi.q.val();
        self.fault.data.next.code = self.code.q.val();
        self.fault.data.next.receive = false;
        self.fault.data.next.breaks = true;

        // What is completed waits in a register: who writes it decides late in the cycle.
        self.completion.valid.next = self.emitted.q.val();
        self.completion.data.next = self.emission.q.val();
        if self.completion.ready.val() {
            self.emitted.d.next = false;
        }
        if !self.emitted.q.val() {
            self.emission.d.next.vi = self.vi.q.val();
            self.emission.d.next.receive = false;
            self.emission.d.next.write = self.message.q.val().kind != self.lost_kind.val();
            self.emission.d.next.region = bit_cast::<16, REGION_LOG2>(self.message.q.val().region);
            self.emission.d.next.offset = self.message.q.val().offset;
            self.emission.d.next.length = self.oldest.length.val();
            self.emission.d.next.status = self.oldest.status.val();
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
        self.again_send.valid.next = self.step.q.val() == Step::Again;
        self.again_send.data.next = self.vi.q.val();
        self.intake.again.valid.next = self.effect.val().queues;
        self.intake.again.data.next = self.vi.q.val();
        self.commit.ready.next = false;

        self.counted.d.next = self.effects.counts.val();
        self.count_message.next = self.counted.q.val().message;
        self.count_ack.next = self.counted.q.val().ack;
        self.count_nak.next = self.counted.q.val().nak;
        self.count_rnr.next = self.counted.q.val().rnr;
        self.count_ghost.next = self.counted.q.val().ghost;
        self.count_again.next = self.counted.q.val().again;
        self.count_timeout.next = self.counted.q.val().timeout;
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
                self.step.d.next = Step::Apply;
            }
            Step::Apply => {
                self.step.d.next = Step::Look;
                if self.effect.val().compares {
                    self.step.d.next = Step::Fetch;
                }
            }
            Step::Fetch => {
                self.message.d.next = self.ring.message.val();
                self.step.d.next = Step::Compare;
            }
            Step::Compare => {
                self.step.d.next = Step::Look;
            }
            Step::Look => {
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
                self.message.d.next = self.ring.message.val();
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.unseen.d.next = self.oldest.reaches.val();
                self.step.d.next = Step::Settle;
                if self.effect.val().completes {
                    self.step.d.next = Step::Emit;
                }
                if self.effect.val().ends {
                    self.step.d.next = Step::Break;
                }
                if self.effect.val().queues {
                    self.step.d.next = Step::Decide;
                    if self.intake.again.ready.val() {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Break => {
                // Break first: whoever sees the completion finds the VI in Error.
                if self.fault.ready.val() | !self.linked.q.val() {
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
                if self.effect.val().turns | self.effect.val().drops {
                    self.step.d.next = Step::Write;
                }
                if self.effect.val().queues & !self.intake.again.ready.val() {
                    self.step.d.next = Step::Settle;
                }
            }
            Step::Write => {
                // The window is as it was set, and the epoch is on the bus.
                self.windows.write_enable.next = true;
                self.positions.write_enable.next = true;
                self.step.d.next = Step::Idle;
            }
            Step::Commit => {
                self.step.d.next = Step::Committed;
            }
            Step::Committed => {
                self.windows.write_enable.next = true;
                self.positions.write_enable.next = true;
                if !self.command_waits.q.val() {
                    self.commit.ready.next = true;
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
