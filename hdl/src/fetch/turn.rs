//! Carries out a queue's turn: it uses the tokens at hand, asks for more, and writes back how far the queue has come.
//!
//! ```text
//!     start, queue ──►┌──────┐──► issue                       (a descriptor)
//!    row, doorbell ──►│ Turn │──► ask, filled, tokens        (a line of the ring)
//!      done, heads ──►│      │──► store                      (the row)
//!            token ──►│      │──► overrun                    (more is posted than the ring holds)
//!           rewind ──►└──────┘──► again                      (there is more)
//! ```
//! Contract: `start` comes while `idle`. `queue` says which queue and why, from the next cycle on until the next `start`, and the rows of
//! that queue come the cycle after. With `hold` the rows may be those of two queues: the block then asks for nothing, and queues the
//! queue again. `issue` comes only while `request_free` and `entry_ready`, `ask` only while `request_free` and `ask_ready`; `ask_ready`
//! does not fall during a turn. `token` is that of `place` of the cycle before. `rewind` holds still until `rewind.ready`. `begun` says
//! that the rewind is in its queue's row and that its first head has not come. After `forget` the rewind begins again.
//!
//! An overrun queue whose ring has come to its first wrong slot rests until it is rewound or committed anew. A VI that broke may still
//! need the rewind.
//!
//! How: [`QueueProgress`] has the queue's row and counts, [`Plan`] decides how much to ask for, [`RewindMark`] knows which descriptor is
//! the first of a rewind. The steps of the turn are here.
//!
//! Example: a send queue has two tokens at hand, and both of its descriptors may be read. After `start` the block gives `issue` twice,
//! three cycles apart; then `store` writes the row back, two positions further.
//!
//! Latency: see [`Fetch`](super::Fetch). Tests: with it, `tests/queues/fetch/`.

use crate::stream::{FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

use super::lines::TOKENS_LOG2;
use super::progress::QueueProgress;
use super::queue_rows::WINDOW_BITS;
use super::rewind_mark::RewindMark;
use super::{ChosenQueue, DescriptorPlace, DescriptorRead, Plan, WorkQueue};
use crate::bus::{DoorbellRow, Position, Rewind};
use crate::prims::Number;

/// The steps of a queue's turn.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Take a queue, or a commit.
    Idle,
    /// Its rows are being read.
    Read,
    /// The rows are there.
    Look,
    /// The rows are in registers: the tokens that a line has brought are added.
    Count,
    /// Work out how many are posted, and how many are out.
    Weigh,
    /// Decide how many to fetch now.
    Decide,
    /// Ask for a line of the ring.
    Line,
    /// Ask for the descriptor of a token.
    Token,
    /// The next token is being read.
    Turn,
    /// The token is there.
    Load,
    /// See what is left to do.
    Rest,
    /// Raise the fault of an overrun.
    Fault,
    /// Write the progress back.
    Store,
    /// Queue the VI again.
    Again,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Turn {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the turn under way ends without being stored.
    pub reset: Signal<In, bool>,
    /// Pulse from `Choice`: a turn of `queue` begins.
    pub start: Signal<In, bool>,
    /// No turn is under way.
    pub idle: Signal<Out, bool>,
    /// A commit is on the bus, or queues are not served: nothing is asked for. `Fetch` drives it.
    pub hold: Signal<In, bool>,
    /// The queue that has its turn, and why, from `Choice`.
    pub queue: Signal<In, ChosenQueue>,
    /// Row of the queue, from `QueueRows`.
    pub row: Signal<In, WorkQueue>,
    /// The queue's row, from doorbell: the position posted, and the last token.
    pub doorbell: Signal<In, DoorbellRow>,
    /// Position of the queue's oldest descriptor that is fetched and not done, from complete/sends or receive.
    pub done: Signal<In, Position>,
    /// Send heads in use in gather, 0 to 8, from `Fetch`.
    pub heads: Signal<In, Bits<4>>,
    /// A VI that sends again, from complete/sends: where it begins. It is taken when the first head is there, or when the queue is closed.
    pub rewind: Sink<Rewind>,
    /// Pulses when the first head of the rewind is there; `Landing` drives it.
    pub restarted: Signal<In, bool>,
    /// The rewind is in its queue's row, and its first head has not come.
    pub begun: Signal<Out, bool>,
    /// Pulses when `Fetch` takes a table row: a rewind that has begun is forgotten and begins again.
    pub forget: Signal<In, bool>,
    /// Place of the token to read in `Lines`: its position modulo 16.
    pub place: Signal<Out, Bits<TOKENS_LOG2>>,
    /// The token at the `place` of the cycle before, from `Lines`: where its descriptor lies.
    pub token: Signal<In, DescriptorPlace>,
    /// `Request` says that it can take an access.
    pub request_free: Signal<In, bool>,
    /// `Landing` says that it can take another descriptor.
    pub entry_ready: Signal<In, bool>,
    /// The descriptor that is asked for: where it lies, and what for. `Request` and `Landing` listen.
    pub issue: FlowSource<DescriptorRead>,
    /// `Lines` says that it can take another line.
    pub ask_ready: Signal<In, bool>,
    /// Pulses when a line of the ring is asked for; `Request` and `Lines` listen.
    pub ask: Signal<Out, bool>,
    /// Position of the first token to ask for.
    pub filled: Signal<Out, Position>,
    /// How many tokens to ask for, 0 to 8.
    pub tokens: Signal<Out, Bits<4>>,
    /// Row of the queue that has its turn.
    pub held: Signal<Out, WorkQueue>,
    /// The row that is written back: the queue's progress after this turn.
    pub store: FlowSource<WorkQueue>,
    /// The queue is overrun, and its fault is to be raised; it stays high until `overrun_ready`.
    pub overrun: Signal<Out, bool>,
    /// `Fetch` takes the fault of the overrun.
    pub overrun_ready: Signal<In, bool>,
    /// The queue has more to do and asks to be queued again; it stays high until `again_ready`.
    pub again: Signal<Out, bool>,
    /// The queue is queued again; doorbell drives this.
    pub again_ready: Signal<In, bool>,

    plan: Plan,
    step: DFF<Step>,
    progress: QueueProgress,
    mark: RewindMark,
    /// One past the last position posted.
    posted: DFF<Position>,
    /// Position of the oldest descriptor that is fetched and not done.
    oldest: DFF<Position>,
    token_now: DFF<DescriptorPlace>,
    /// The last doorbell brought a token.
    with_token: DFF<bool>,
    /// Descriptors to ask for in this turn.
    left: DFF<Bits<4>>,
    /// The VI has work beyond what this turn can do.
    more: DFF<bool>,

    nothing: Signal<Local, bool>,
    /// The descriptor of the doorbell's own token may be asked for in Decide.
    at_once: Signal<Local, bool>,
    wants: Signal<Local, bool>,
    more_left: Signal<Local, bool>,
    ends: Signal<Local, bool>,
    minus_one: Number<4, 0xF>,
}

impl Logic for Turn {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, posted, oldest, token_now, with_token, left, more);
        clock!(self, clock, plan, progress, mark);
        self.idle.next = self.step.q.val() == Step::Idle;

        // The row of the queue, and its progress.
        self.progress.load.next = self.step.q.val() == Step::Look;
        drive!(self, row => progress.row; queue => progress.queue; rewind.data => progress.rewind);
        self.progress.count.next = self.step.q.val() == Step::Count;

        // The number of descriptors and of tokens to fetch.
        drive!(self, progress.again => plan.again; posted.q => plan.posted;
            progress.position => plan.position; oldest.q => plan.done; progress.cached => plan.cached);
        self.plan.count.next = self.step.q.val() == Step::Count;
        self.plan.weigh.next = self.step.q.val() == Step::Weigh;
        self.plan.decide.next = self.step.q.val() == Step::Decide;
        // A line that is under way will bring that token too.
        self.plan.lone.next = self.with_token.q.val() & !self.progress.asked.val();
        drive!(self, progress.filled => plan.filled; queue.val().receive => plan.receive; heads => plan.heads;
            progress.held.val().ring_log2 => plan.ring_log2);
        self.nothing.next =
            !self.progress.held.val().open | self.progress.ended.val() | !self.plan.some.val();
        self.wants.next = self.plan.tokens.val().any() & !self.progress.asked.val();
        self.more_left.next = self.plan.blocked.val() | (self.wants.val() & !self.ask_ready.val());

        // WQ-6: the flush of an overrun queue ends at this slot.
        // Nobody knows what was posted to an overrun queue, so it is followed to the first wrong slot behind what was fetched before.
        self.ends.next = self.plan.overrun.val()
            & self.token_now.q.val().wrong
            & (self.progress.passed.val() | (self.progress.again.val() < bits::<WINDOW_BITS>(2)));

        // A descriptor.
        self.place.next = bit_cast::<TOKENS_LOG2, 14>(self.progress.position.val());
        // The doorbell's own token is at hand from the beginning: it is asked for a cycle earlier.
        self.at_once.next = (self.step.q.val() == Step::Decide)
            & self.plan.inlined.val()
            & self.plan.amount.val().any()
            & !self.plan.overrun.val()
            & !self.nothing.val()
            & !self.hold.val();
        self.issue.valid.next = ((self.step.q.val() == Step::Token) | self.at_once.val())
            & self.request_free.val()
            & self.entry_ready.val();
        fill!(self, issue.data, queue.val().vi => vi; queue.val().receive => receive;
            token_now.q.val().offset => offset; token_now.q.val().short => short;
            progress.position => position; progress.epoch => epoch; mark.restart => restart);
        self.issue.data.next.region = bit_cast::<16, REGION_LOG2>(self.token_now.q.val().region);
        drive!(self, issue.valid => progress.issue; ends => progress.rests);
        self.progress.from_ring.next = !self.plan.inlined.val();

        // A line.
        self.ask.next = (self.step.q.val() == Step::Line)
            & self.wants.val()
            & self.ask_ready.val()
            & self.request_free.val();
        drive!(self, progress.filled => filled; ask => progress.lined; plan.tokens => tokens);

        // The rewind under way.
        drive!(self, reset => mark.reset; rewind.valid => mark.rewind.valid; rewind.data => mark.rewind.data;
            queue => mark.queue; issue.valid => mark.issue; restarted => mark.restarted;
            forget => mark.forget; mark.begun => begun);
        self.mark.load.next = self.step.q.val() == Step::Look;
        self.mark.start.next = (self.step.q.val() == Step::Decide)
            & self.queue.val().rewinding
            & !self.nothing.val()
            & !self.hold.val();

        self.rewind.ready.next = self.restarted.val();
        match self.step.q.val() {
            Step::Idle => {
                if self.start.val() {
                    self.step.d.next = Step::Read;
                }
            }
            Step::Read => {
                self.step.d.next = Step::Look;
            }
            Step::Look => {
                fill!(self, token_now.d, doorbell.val().offset => offset; doorbell.val().region => region;
                    doorbell.val().short => short; false => wrong);
                self.with_token.d.next = self.doorbell.val().with_token & !self.queue.val().rewinding;
                self.posted.d.next = self.doorbell.val().posted;
                self.oldest.d.next = self.done.val();
                self.step.d.next = Step::Count;
            }
            Step::Count => {
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                if !self.plan.inlined.val() {
                    self.token_now.d.next = self.token.val();
                }
                self.left.d.next = self.plan.amount.val();
                self.more.d.next = self.hold.val();
                self.step.d.next = Step::Line;
                if self.issue.valid.val() {
                    self.step.d.next = Step::Rest;
                }
                if self.plan.overrun.val() {
                    self.step.d.next = Step::Fault;
                }
                if self.nothing.val() | self.hold.val() {
                    self.step.d.next = Step::Idle;
                    self.rewind.ready.next =
                        self.restarted.val() | (self.queue.val().rewinding & !self.hold.val());
                    if self.hold.val() & !self.queue.val().rewinding {
                        self.step.d.next = Step::Again;
                    }
                    if self.queue.val().landed {
                        self.step.d.next = Step::Store;
                    }
                }
            }
            Step::Line => {
                // The line goes before the descriptors: it comes while they are used.
                if self.ask.val() | !self.wants.val() | !self.ask_ready.val() {
                    self.step.d.next = Step::Rest;
                    if self.plan.amount.val().any() {
                        self.step.d.next = Step::Token;
                    }
                }
            }
            Step::Token => {
                if self.issue.valid.val() {
                    self.left.d.next = self.left.q.val() + self.minus_one.val();
                    self.step.d.next = Step::Turn;
                    if self.left.q.val() == bits::<4>(1) {
                        self.step.d.next = Step::Rest;
                    }
                    if self.ends.val() {
                        self.step.d.next = Step::Store;
                    }
                }
            }
            Step::Turn => {
                self.step.d.next = Step::Load;
            }
            Step::Load => {
                self.token_now.d.next = self.token.val();
                self.step.d.next = Step::Token;
            }
            Step::Rest => {
                self.more.d.next = self.more_left.val();
                self.step.d.next = Step::Idle;
                if self.more_left.val() {
                    self.step.d.next = Step::Again;
                }
                if self.plan.amount.val().any()
                    | self.progress.asked.val()
                    | self.queue.val().landed
                    | self.queue.val().rewinding
                {
                    self.step.d.next = Step::Store;
                }
            }
            Step::Fault => {
                if self.overrun_ready.val() {
                    self.step.d.next = Step::Line;
                }
            }
            Step::Store => {
                self.step.d.next = Step::Idle;
                if self.more.q.val() {
                    self.step.d.next = Step::Again;
                }
            }
            Step::Again => {
                if self.again_ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        drive!(self, progress.held => held; progress.stored => store.data);
        self.store.valid.next = self.step.q.val() == Step::Store;
        self.overrun.next = self.step.q.val() == Step::Fault;
        self.again.next = self.step.q.val() == Step::Again;

        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
