//! Completes send descriptors: unreliable ones when they have left, reliable ones when they are acknowledged; and has
//! what is lost sent again.
//!
//! ```text
//!                sent ──►┌──────────────────────┐──► completion
//!        acknowledged ──►│        Sends         │──► rewind, epoch
//!               state ──►│ SendIntake SendSteps │──► fault, again_send
//!              commit ──►│ AtHand      Findings │◄── completed: VI, its position
//!              placing ─►│ Effects   NextWindow │◄── reads: VI, its reads done
//!            time_now ──►│ Rewinder      Timers │──► deadline
//!                        └──────────────────────┘
//! ```
//! How: [`SendIntake`] shows what comes next; [`AtHand`] reads the VI's rows; [`Findings`] finds out what that means; [`Effects`], the table, says what
//! happens; [`NextWindow`] changes the window, and the other blocks do the rest. [`SendSteps`] has the order.
//!
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
mod at_hand;
mod breaking;
mod departed;
mod effect;
mod effects;
mod emission;
mod finding;
mod findings;
mod intake;
mod next_window;
mod oldest;
mod positions;
mod reads;
mod rewinder;
mod ring;
mod steps;
mod timed_out;
mod timer_order;
mod timers;
mod window;

pub use effect::{Effect, SendCounts};
pub use effects::Effects;
pub use finding::{Facts, Finding, LeftPacket};
pub use timers::{TimerCommand, TimerEnd, Timers};

use at_hand::{AtHand, Hand};
use breaking::Breaking;
use emission::Emission;
use findings::Findings;
use intake::SendIntake;
use next_window::NextWindow;
use positions::Positions;
use reads::ReadProgress;
use rewinder::Rewinder;
use steps::{SendCause, SendStep, SendSteps};
use timer_order::TimerOrder;
use window::Window;

use crate::bus::{
    Acknowledged, Commit, Completion, EpochWrite, Fault, Placing, Position, Rewind, Sent, StateWrite, Vi,
};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;

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
    /// The VIs of which the answer to a read is being placed, or may be soon.
    pub placing: Signal<In, Placing>,
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
    steps: SendSteps,
    at_hand: AtHand,
    findings: Findings,
    effects: Effects,
    next_window: NextWindow,
    rewinder: Rewinder,
    progress: ReadProgress,
    order: TimerOrder,
    timers: Timers,
    breaking: Breaking,
    emission: Emission,
    positions: Positions,
    /// The oldest message is acknowledged, but has not come since the last rewind.
    unseen: DFF<bool>,
    /// What is counted.
    counted: DFF<SendCounts>,
    step: Signal<Local, SendStep>,
    effect: Signal<Local, Effect>,
    hand: Signal<Local, Hand>,
    window: Signal<Local, Window>,
    vi: Signal<Local, Vi>,
    commit_vi: Signal<Local, Vi>,
}

impl Logic for Sends {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, unseen, counted);
        clock!(self, clock, intake, steps, at_hand, findings, rewinder, progress, order, timers, breaking);
        clock!(self, clock, emission, positions);
        self.commit_vi.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.step.next = self.steps.step.val();

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
        self.intake.settled.next = !self.emission.waits.val()
            & (!self.rewinder.waits.val() | (self.rewinder.rewind.data.val().vi != self.commit_vi.val()));
        // Only the end of a timer may come before a command to the timers is taken.
        self.intake.free.next = !self.order.waits.val();
        self.intake.hold.next = self.rewinder.waits.val();
        self.intake.take.next = self.step.val() == SendStep::Idle;

        // The VI at hand.
        self.at_hand.step.next = self.step.val();
        self.at_hand.state.valid.next = self.state.valid.val();
        self.at_hand.state.data.next = self.state.data.val();
        self.at_hand.vi.next = self.intake.vi.val();
        self.at_hand.sent.next = self.intake.arrival.val();
        self.at_hand.answer.next = self.intake.answer.val();
        self.at_hand.ended.next = self.timers.expired.data.val();
        self.hand.next = self.at_hand.hand.val();
        self.vi.next = self.hand.val().vi;
        self.window.next = self.hand.val().window;

        // What has come, and how the VI stands.
        self.findings.step.next = self.step.val();
        self.findings.cause.next = self.steps.cause.val();
        self.findings.hand.next = self.hand.val();
        self.findings.row.next = self.at_hand.row.val();
        self.findings.read_after.next = self.at_hand.read_after.val();
        self.findings.breaks.next = self.breaking.breaks.val();
        self.findings.resuming.next = self.progress.resuming.val();
        // A VI that broke: its read is completed when no answer of it moves any more.
        self.findings.placing.next = (self.placing.val().placed
            & (self.placing.val().placed_vi == self.vi.val()))
            | (self.placing.val().looked_up & (self.placing.val().looked_up_vi == self.vi.val()));
        self.findings.rewinds.next = self.rewinder.finding.val();

        // What happens, and what is next.
        self.effects.packet.next = self.findings.packet.val();
        self.effects.finding.next = self.findings.finding.val();
        self.effects.facts.next = self.findings.facts.val();
        self.effect.next = self.effects.effect.val();
        self.steps.reset.next = self.reset.val();
        self.steps.shows.next = self.intake.shows.val();
        self.steps.effect.next = self.effect.val();
        self.steps.empty.next = !self.window.val().known.any();
        self.steps.breaks.next = self.breaking.breaks.val();
        self.steps.broken.next = self.breaking.broken.val();
        self.steps.completing.next = self.emission.waits.val();
        self.steps.woken.next = self.again_send.ready.val();
        self.steps.put_off.next = self.intake.again.ready.val();
        self.steps.timing.next = self.order.waits.val();

        // The window and the message, as the effect leaves them.
        self.next_window.window.next = self.window.val();
        self.next_window.effect.next = self.effect.val();
        self.next_window.departure.next = self.findings.departure.val();
        self.next_window.reached.next = self.findings.reached.val();
        self.next_window.acknowledged.next = self.findings.waits.val();
        self.next_window.message.next = self.hand.val().message;
        self.next_window.row.next = self.commit.data.val();
        self.at_hand.after.next = self.next_window.after.val();
        self.at_hand.place.next = self.findings.departure.val().place;
        self.at_hand.records.next = self.effect.val().records;
        self.at_hand.record.next = self.findings.record.val();

        // Its timer.
        self.order.reset.next = self.reset.val();
        self.order.vi.next = self.vi.val();
        self.order.effect.next = self.effect.val();
        self.order.answer.next = self.hand.val().answer;
        Source::<TimerCommand>::join(&mut self.order.command, &mut self.timers.command);
        self.timers.reset.next = self.reset.val();
        self.timers.time_now.next = self.time_now.val();
        self.timers.settings.next = self.commit.data.val();
        self.timers.expired.ready.next =
            (self.step.val() == SendStep::Idle) & (self.intake.shows.val() == SendCause::Expired);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.timers.deadline);

        // Its reads, and its rewind.
        self.progress.vi.next = self.vi.val();
        self.progress.parks.next = self.effect.val().parks;
        self.progress.sent.next = self.hand.val().sent;
        self.progress.ends.next = self.effect.val().passes & self.findings.ends_read.val();
        self.progress.tells.next = self.step.val() == SendStep::Again;
        self.progress.rewinds.next = self.effect.val().turns;
        self.progress.resumes.next = self.effect.val().turns & !self.effect.val().drops;
        self.progress.clears.next = self.effect.val().begins;
        Table::<Vi, Bits<3>>::link(&mut self.reads, &mut self.progress.reads);
        if self.step.val() == SendStep::Look {
            self.unseen.d.next = false;
        }
        if self.step.val() == SendStep::Decide {
            self.unseen.d.next = self.findings.reaches.val();
        }
        self.rewinder.reset.next = self.reset.val();
        self.rewinder.vi.next = self.vi.val();
        self.rewinder.window.next = self.window.val();
        self.rewinder.connected.next = self.hand.val().connected;
        self.rewinder.flying.next = self.at_hand.flying.val();
        self.rewinder.unseen.next = self.unseen.q.val();
        self.rewinder.parked.next = self.progress.parked.val();
        self.rewinder.moved.next = self.progress.moved.val();
        self.rewinder.turns.next = self.effect.val().turns;
        self.rewinder.back.next = self.effect.val().drops;
        self.rewinder.clears.next = self.effect.val().begins;
        Source::<Rewind>::link(&mut self.rewind, &mut self.rewinder.rewind);
        FlowSource::<EpochWrite>::link(&mut self.epoch, &mut self.rewinder.epoch);

        // What breaks it.
        self.breaking.vi.next = self.vi.val();
        self.breaking.connected.next = self.hand.val().connected;
        self.breaking.effect.next = self.effect.val();
        self.breaking.forgets.next = self.step.val() == SendStep::Idle;
        self.breaking.now.next = self.step.val() == SendStep::Break;
        Source::<Fault>::link(&mut self.fault, &mut self.breaking.fault);

        // What is completed. Whoever is woken finds the new position; the window is written when it has been looked at once more.
        self.emission.reset.next = self.reset.val();
        self.emission.vi.next = self.vi.val();
        self.emission.message.next = self.hand.val().message;
        self.emission.length.next = self.findings.length.val();
        self.emission.status.next = self.findings.status.val();
        self.emission.show.next = (self.step.val() == SendStep::Emit) & !self.emission.waits.val();
        Source::<Completion>::link(&mut self.completion, &mut self.emission.completion);
        self.positions.vi.next = self.vi.val();
        self.positions.position.next = self.window.val().completed;
        self.positions.write.next = (self.step.val() == SendStep::Again)
            | (self.step.val() == SendStep::Write)
            | (self.step.val() == SendStep::Committed);
        Table::<Vi, Position>::link(&mut self.completed, &mut self.positions.completed);
        self.again_send.valid.next = self.step.val() == SendStep::Again;
        self.again_send.data.next = self.vi.val();
        self.intake.again.valid.next = self.effect.val().queues;
        self.intake.again.data.next = self.vi.val();
        // A commit waits until its settings are taken.
        self.commit.ready.next = (self.step.val() == SendStep::Committed) & !self.order.waits.val();

        self.counted.d.next = self.effects.counts.val();
        self.count_message.next = self.counted.q.val().message;
        self.count_ack.next = self.counted.q.val().ack;
        self.count_nak.next = self.counted.q.val().nak;
        self.count_rnr.next = self.counted.q.val().rnr;
        self.count_ghost.next = self.counted.q.val().ghost;
        self.count_again.next = self.counted.q.val().again;
        self.count_timeout.next = self.counted.q.val().timeout;
        self.busy.next = (self.step.val() != SendStep::Idle)
            | self.emission.waits.val()
            | self.intake.busy.val()
            | self.order.waits.val()
            | self.rewinder.waits.val()
            | self.timers.busy.val();
    }
}
