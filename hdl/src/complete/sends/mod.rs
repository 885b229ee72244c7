//! Completes send descriptors, unreliable ones when they have left, reliable ones when they are acknowledged; and has lost packets sent
//! again.
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
//! How: [`SendIntake`] shows what comes next; [`AtHand`] reads the VI's rows; [`Findings`] finds out what that means; [`Effects`], the
//! table, says what happens; [`NextWindow`] changes the window, and the other blocks do the rest. [`SendSteps`] has the order.
//!
//! Contract: docs/semantics.md, "Reliable service: the requester (REQ)"; docs/architecture.md, "Life of a retransmission".
//! - A ring of SEND_WINDOW messages for each VI, oldest first. The oldest completes when it has come since the last rewind, and either
//!   waits for nothing, or is acknowledged, or is of a VI that is not connected. After each completion the block first moves the position
//!   on and then has the queue queued again, so fetch finds the room.
//! - An answer counts when its PSN is in flight; others are dropped and counted.
//! - A rewind of a VI starts when none of it is under way and its oldest message is not all acknowledged; the epoch turns in the same
//!   cycle, and the rewind is under way until something of the new epoch has left. One rewind waits for fetch at a time. With 3 x 2^20
//!   packets in flight the VI is rewound too.
//! - A message that comes again, whole or in part, and is not the same breaks its VI with POST_DESC.
//! - A refusal, or retries that are used up, break the VI with CONN_LOST, when all that is acknowledged is completed; with RDMA_TRANSPORT
//!   if it is a read that time-outs end.
//! - A commit of TRANSMIT empties the ring and sets the position to 0, the epoch to 0 and the PSNs. It is done behind all that came in
//!   before it, behind the completions of that, and behind the VI's rewind; meanwhile nothing else comes in.
//! - `sent` is always taken after a while, whatever waits: transmit needs it to let a rewind through.
//!
//! Latency: 6 cycles from `acknowledged` to `completion`, 8 from `sent`; 4 more for each further one. A message and its acknowledgement
//! take 15 cycles of the block's time.
//! The row of `completed` is that of its index in the cycle before.
//!
//! Example: a message of one packet with PSN 5 leaves: `sent` puts it into the ring and starts its VI's timer. The ACK of PSN 5 moves the
//! window to 6; 6 cycles later `completion` has the descriptor with DONE, and the timer stands.
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
mod read_progress;
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
use read_progress::ReadProgress;
use rewinder::Rewinder;
use steps::{SendCause, SendStep, SendSteps};
use timer_order::TimerOrder;
use window::{Window, COUNT_BITS};

use crate::bus::{
    Acknowledged, Commit, Completion, EpochWrite, Fault, Placing, Position, Rewind, Sent, StateWrite, Vi,
};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Sends {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops what is under way; commits clear the rows.
    pub reset: Signal<In, bool>,
    /// A packet that has left, or a message that has ended, from send/transmit.
    pub sent: Sink<Sent>,
    /// An answer from the wire, from receive.
    pub acknowledged: Sink<Acknowledged>,
    /// A row of TRANSMIT, from `admin/broadcast`: a new connection of a VI.
    pub commit: Sink<Commit>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// Device time, ticks of 1.024 us, from `Nic`.
    pub time_now: Signal<In, Bits<32>>,
    /// A send descriptor to complete, to `complete/writer`.
    pub completion: Source<Completion>,
    /// A VI that breaks, and why, to `vi/state`.
    pub fault: Source<Fault>,
    /// A VI that sends again, and from where, to fetch.
    pub rewind: Source<Rewind>,
    /// The VI that changes its epoch in this cycle, and the new epoch, to send/gather and send/transmit.
    pub epoch: FlowSource<EpochWrite>,
    /// A VI whose window has room again, to `doorbell`.
    pub again_send: Source<Vi>,
    /// For a VI: the position of its oldest message that is not complete; fetch asks.
    pub completed: Table<Vi, Position>,
    /// For a VI: how many of its reads are complete, modulo 8; send/gather asks.
    pub reads: Table<Vi, Bits<3>>,
    /// The VIs of which the answer to a read is being placed in memory, or may be soon; receive drives it.
    pub placing: Signal<In, Placing>,
    /// Device time before which no timer ends, in ticks; given while a timer runs. It leaves the NIC as `send_deadline`.
    pub deadline: FlowSource<Bits<32>>,
    /// Something waits to be looked at. Messages that wait for their acknowledgement do not count, nor timers; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    /// A message has left whole for the first time.
    pub count_message: Pulse,
    /// An ACK counts: its PSN is in flight.
    pub count_ack: Pulse,
    /// A NAK counts: its PSN is in flight.
    pub count_nak: Pulse,
    /// A receiver-not-ready answer counts: its PSN is in flight.
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
    /// `placing`, a cycle later.
    placing_seen: DFF<Placing>,
    /// The oldest message is acknowledged, but has not come since the last rewind.
    unseen: DFF<bool>,
    /// The counters that go up.
    counted: DFF<SendCounts>,
    step: Signal<Local, SendStep>,
    effect: Signal<Local, Effect>,
    hand: Signal<Local, Hand>,
    window: Signal<Local, Window>,
    vi: Signal<Local, Vi>,
    commit_vi: Signal<Local, Vi>,
}

impl Logic for Sends {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, unseen, counted, placing_seen);
        clock!(self, clock, intake, steps, at_hand, findings, rewinder, progress, order, timers, breaking);
        clock!(self, clock, emission, positions);
        self.commit_vi.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.step.next = self.steps.step.val();

        // The intake: what comes next.
        drive!(self, reset => intake.reset; timers.expired.valid => intake.timeout.valid;
            timers.expired.data.val().vi => intake.timeout.data; commit.valid => intake.committed.valid;
            commit_vi => intake.committed.data);
        Sink::<Sent>::link(&mut self.sent, &mut self.intake.sent);
        Sink::<Acknowledged>::link(&mut self.acknowledged, &mut self.intake.acknowledged);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.intake.state);
        // No completion waits to be written, and no rewind of the VI waits for fetch: either would come behind the row.
        self.intake.settled.next = !self.emission.waits.val()
            & (!self.rewinder.waits.val() | (self.rewinder.rewind.data.val().vi != self.commit_vi.val()));
        // Only the end of a timer may come before a command to the timers is taken.
        self.intake.free.next = !self.order.waits.val();
        self.intake.hold.next = self.rewinder.waits.val();
        self.intake.take.next = self.step.val() == SendStep::Idle;

        // The VI at hand.
        drive!(self, step => at_hand.step; state.valid => at_hand.state.valid;
            state.data => at_hand.state.data; intake.vi => at_hand.vi; intake.arrival => at_hand.sent;
            intake.answer => at_hand.answer; timers.expired.data => at_hand.ended; at_hand.hand => hand;
            hand.val().vi => vi; hand.val().window => window);

        // The findings: what has come, and how the VI stands.
        drive!(self, step => findings.step; steps.cause => findings.cause; hand => findings.hand;
            at_hand.row => findings.row; at_hand.read_after => findings.read_after;
            breaking.breaks => findings.breaks; progress.resuming => findings.resuming);
        // When a VI breaks, its read is completed only when no byte of an answer to it is on its way to memory. What was so in the cycle
        // before will do: an answer that is looked up when its VI is broken already is dropped.
        self.placing_seen.d.next = self.placing.val();
        self.findings.placing.next = (self.placing_seen.q.val().placed
            & (self.placing_seen.q.val().placed_vi == self.vi.val()))
            | (self.placing_seen.q.val().looked_up
                & (self.placing_seen.q.val().looked_up_vi == self.vi.val()));
        self.findings.completing.next = self.emission.waits.val();
        self.findings.rewinds.next = self.rewinder.finding.val();

        // The effect, and the next step.
        drive!(self, findings.packet => effects.packet; findings.finding => effects.finding;
            findings.facts => effects.facts; effects.effect => effect; reset => steps.reset;
            intake.shows => steps.shows; effect => steps.effect; findings.stays => steps.stays; breaking.breaks => steps.breaks;
            breaking.broken => steps.broken; emission.waits => steps.completing;
            again_send.ready => steps.woken; intake.again.ready => steps.put_off;
            order.waits => steps.timing);
        self.steps.empty.next = !self.window.val().known.any();

        // The window and the message, as the effect leaves them.
        drive!(self, window => next_window.window; effect => next_window.effect;
            findings.departure => next_window.departure; findings.reached => next_window.reached;
            findings.waits => next_window.acknowledged; hand.val().message => next_window.message;
            commit.data => next_window.row; next_window.after => at_hand.after;
            effect.val().records => at_hand.records;
            findings.record => at_hand.record);

        self.at_hand.place.next = bits::<COUNT_BITS>(0);
        if self.steps.cause.val() == SendCause::Sent {
            self.at_hand.place.next = self.findings.departure.val().place;
        }

        // Its timer.
        drive!(self, reset => order.reset, timers.reset; vi => order.vi; effect => order.effect;
            hand.val().answer => order.answer; time_now => timers.time_now; commit.data => timers.settings);
        join!(self, Source<TimerCommand>, order.command => timers.command);
        self.timers.expired.ready.next =
            (self.step.val() == SendStep::Idle) & (self.intake.shows.val() == SendCause::Expired);
        FlowSource::<Bits<32>>::link(&mut self.deadline, &mut self.timers.deadline);

        // Its reads, and its rewind.
        drive!(self, vi => progress.vi, rewinder.vi; effect.val().parks => progress.parks;
            hand.val().sent => progress.sent; effect.val().turns => progress.rewinds, rewinder.turns;
            effect.val().begins => progress.clears, rewinder.clears; reset => rewinder.reset;
            window => rewinder.window; hand.val().connected => rewinder.connected;
            at_hand.flying => rewinder.flying; unseen.q => rewinder.unseen;
            progress.parked => rewinder.parked; progress.moved => rewinder.moved;
            effect.val().drops => rewinder.back);
        self.progress.ends.next = self.effect.val().passes & self.findings.ends_read.val();
        self.progress.tells.next = self.step.val() == SendStep::Again;
        self.progress.resumes.next = self.effect.val().turns & !self.effect.val().drops;
        Table::<Vi, Bits<3>>::link(&mut self.reads, &mut self.progress.reads);
        if (self.step.val() == SendStep::Load) | (self.step.val() == SendStep::Look) {
            self.unseen.d.next = false;
        }
        if self.step.val() == SendStep::Decide {
            self.unseen.d.next = self.findings.reaches.val();
        }
        Source::<Rewind>::link(&mut self.rewind, &mut self.rewinder.rewind);
        FlowSource::<EpochWrite>::link(&mut self.epoch, &mut self.rewinder.epoch);

        // The break of the VI.
        drive!(self, vi => breaking.vi; hand.val().connected => breaking.connected;
            effect => breaking.effect);
        self.breaking.forgets.next = self.step.val() == SendStep::Idle;
        self.breaking.now.next = self.step.val() == SendStep::Break;
        Source::<Fault>::link(&mut self.fault, &mut self.breaking.fault);

        // What is completed. The position is written with the wake-up, so fetch finds the new one; the window is written when the block
        // looks at it again.
        drive!(self, reset => emission.reset;
            vi => emission.vi, positions.vi, again_send.data, intake.again.data;
            hand.val().message => emission.message; findings.length => emission.length;
            findings.status => emission.status; window.val().completed => positions.position;
            effect.val().queues => intake.again.valid);
        self.emission.show.next = (self.step.val() == SendStep::Emit) & !self.emission.waits.val();
        Source::<Completion>::link(&mut self.completion, &mut self.emission.completion);
        self.positions.write.next = (self.step.val() == SendStep::Again)
            | (self.step.val() == SendStep::Write)
            | (self.step.val() == SendStep::Committed);
        Table::<Vi, Position>::link(&mut self.completed, &mut self.positions.completed);
        self.again_send.valid.next = self.step.val() == SendStep::Again;
        // A commit waits until its settings are taken.
        self.commit.ready.next = (self.step.val() == SendStep::Committed) & !self.order.waits.val();

        self.counted.d.next = self.effects.counts.val();
        drive!(self, counted.q.val().message => count_message; counted.q.val().ack => count_ack;
            counted.q.val().nak => count_nak; counted.q.val().rnr => count_rnr;
            counted.q.val().ghost => count_ghost; counted.q.val().again => count_again;
            counted.q.val().timeout => count_timeout);
        self.busy.next = (self.step.val() != SendStep::Idle)
            | self.emission.waits.val()
            | self.intake.busy.val()
            | self.order.waits.val()
            | self.rewinder.waits.val()
            | self.timers.busy.val();
    }
}
