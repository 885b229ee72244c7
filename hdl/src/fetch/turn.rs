//! Carries out a queue's turn: it uses the tokens at hand, asks for more, and writes back how far the queue has come.
//!
//! ```text
//!      start, vi.. ──►┌──────┐──► issue, read_token, entry   (a descriptor)
//!  row, row_posted ──►│ Turn │──► ask, filled, tokens        (a line of the ring)
//!     done, heads ──►│      │──► store, stored              (the row)
//!           token ──►│      │──► overrun                    (more is posted than the ring holds)
//!          rewind ──►└──────┘──► again                      (there is more)
//! ```
//! Contract: `start` comes while `idle`. `vi` to `rewinding` say what for, from the next cycle on until the next `start`, and
//! the rows of that queue come the cycle after. With `hold` the rows may be those of two queues: the block asks for nothing
//! then, and queues the queue again. `issue` comes only while `request_free` and `entry_ready`, `ask` only while
//! `request_free` and `ask_ready`; `ask_ready` does not fall during a turn. `token` is that of `place` of the cycle
//! before. `rewind` holds still until `rewind.ready`; while `begun`, it is in its queue's row and its first head has
//! not come. After `forget` it begins again.
//!
//! An overrun queue whose ring has come to its first wrong slot rests (`cached` is 15) until it is rewound, which a VI that broke may
//! still need, or committed anew.
//!
//! Example: a send queue has two tokens at hand, and both of its descriptors may be read. After `start` the block gives `issue` twice,
//! three cycles apart, each with its `read_token` and `entry`; then `store` writes the row back, two positions further.
//!
//! Latency: see [`Fetch`](super::Fetch). Tests: with it, `tests/queues/fetch/`.

use crate::stream::Sink;
use rust_hdl::prelude::*;

use super::{Expected, Plan, WorkQueue};
use crate::bus::{Position, Rewind, Vi};
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
    /// The rows are in registers: what came of a line is added.
    Count,
    /// Work out how many are posted, and how many are out.
    Weigh,
    /// Decide how many to fetch now.
    Decide,
    /// Ask for the descriptor of a token.
    Token,
    /// The next token is being read.
    Turn,
    /// The token is there.
    Load,
    /// See what is left to do.
    Rest,
    /// Ask for a line of the ring.
    Line,
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
    /// Pulse from `Choice`: a turn of the queue in `vi` to `rewinding` begins.
    pub start: Signal<In, bool>,
    /// No turn is under way.
    pub idle: Signal<Out, bool>,
    /// A commit is on the bus, or queues are not served: nothing is asked for.
    pub hold: Signal<In, bool>,
    /// VI of the queue that has its turn, from `Choice`.
    pub vi: Signal<In, Vi>,
    /// The queue is the VI's receive queue; otherwise it is the send queue.
    pub receive: Signal<In, bool>,
    /// The queue has its turn because its ring line is in.
    pub landed: Signal<In, bool>,
    /// With `landed`: how many tokens that line brought.
    pub found_count: Signal<In, Bits<4>>,
    /// The queue has its turn because its VI is to be rewound.
    pub rewinding: Signal<In, bool>,
    /// Row of the queue, from `Queues`.
    pub row: Signal<In, WorkQueue>,
    /// Token of the queue's last doorbell: region and offset of a descriptor.
    pub row_token: Signal<In, Bits<50>>,
    /// One past the last position posted to the queue, from doorbell.
    pub row_posted: Signal<In, Position>,
    /// The queue's last doorbell brought a token: `row_token` can be used.
    pub row_inline: Signal<In, bool>,
    /// Position of the queue's oldest descriptor that is fetched and not done, from complete/sends or receive.
    pub done: Signal<In, Position>,
    /// Send heads in use in gather, 0 to 8.
    pub heads: Signal<In, Bits<4>>,
    /// A VI that sends again: where it begins. It is taken when the first head is there, or when the queue is closed.
    pub rewind: Sink<Rewind>,
    /// Pulses when the first head of the rewind is there; `Landing` drives it.
    pub restarted: Signal<In, bool>,
    /// The rewind is in its queue's row, and its first head has not come.
    pub begun: Signal<Out, bool>,
    /// Pulses when a table row is taken: a rewind that has begun is forgotten and begins again.
    pub forget: Signal<In, bool>,
    /// Place of the token to read in `Lines`: its position modulo 8.
    pub place: Signal<Out, Bits<3>>,
    /// The token at the `place` of the cycle before: region and offset.
    pub token: Signal<In, Bits<50>>,
    /// `Request` can take an access.
    pub request_free: Signal<In, bool>,
    /// `Landing` can take the `entry` of another descriptor.
    pub entry_ready: Signal<In, bool>,
    /// Pulses when the descriptor at `read_token` is asked for; `Request` and `Landing` listen.
    pub issue: Signal<Out, bool>,
    /// Where the descriptor to read lies: region and offset.
    pub read_token: Signal<Out, Bits<50>>,
    /// What the descriptor is read for: VI, queue, position and place. It goes to `Landing` with `issue`.
    pub entry: Signal<Out, Expected>,
    /// `Lines` can take another line.
    pub ask_ready: Signal<In, bool>,
    /// Pulses when a line of the ring is asked for; `Request` and `Lines` listen.
    pub ask: Signal<Out, bool>,
    /// Position of the first token to ask for.
    pub filled: Signal<Out, Position>,
    /// How many tokens to ask for, 0 to 8.
    pub tokens: Signal<Out, Bits<4>>,
    /// Row of the queue that has its turn.
    pub held: Signal<Out, WorkQueue>,
    /// Pulses when the queue's progress is written back with `stored`.
    pub store: Signal<Out, bool>,
    /// Row to write back: the queue's progress after this turn.
    pub stored: Signal<Out, WorkQueue>,
    /// The queue is overrun, and its fault is to be raised; it stays high until `overrun_ready`.
    pub overrun: Signal<Out, bool>,
    /// `Fetch` takes the fault of the overrun.
    pub overrun_ready: Signal<In, bool>,
    /// The queue has more to do and asks to be queued again; it stays high until `again_ready`.
    pub again: Signal<Out, bool>,
    /// The queue is queued again.
    pub again_ready: Signal<In, bool>,

    plan: Plan,
    step: DFF<Step>,
    /// Row of the queue. What a block RAM gives comes late in the cycle: rows are only looked at from registers.
    row_now: DFF<WorkQueue>,
    /// One past the last position posted.
    posted: DFF<Bits<14>>,
    /// Position of the oldest descriptor that is fetched and not done.
    oldest: DFF<Bits<14>>,
    /// Position of the next descriptor to fetch.
    position: DFF<Bits<14>>,
    /// Tokens at hand, and what of the ring is under way: see [`WorkQueue`].
    cached: DFF<Bits<4>>,
    asked: DFF<bool>,
    spoilt: DFF<bool>,
    /// Position of the first token that is not on the NIC: `position` and `cached` added up. It stays when a token is used.
    filled_now: DFF<Bits<14>>,
    epoch: DFF<bool>,
    /// The rewind on the bus is in its queue's row, and its first head has not come.
    begun_now: DFF<bool>,
    /// The first head of the rewind has been asked for.
    restarting: DFF<bool>,
    /// The next descriptor to ask for is the first of the rewind.
    restart: DFF<bool>,
    token_now: DFF<Bits<50>>,
    /// The last doorbell brought a token.
    with_token: DFF<bool>,
    /// Descriptors to ask for in this turn.
    left: DFF<Bits<4>>,
    /// The VI has work beyond what this turn can do.
    more: DFF<bool>,

    row_next: Signal<Local, WorkQueue>,
    /// The ring of an overrun queue has been followed to its end.
    ended: Signal<Local, bool>,
    nothing: Signal<Local, bool>,
    wants: Signal<Local, bool>,
    more_left: Signal<Local, bool>,
    ends: Signal<Local, bool>,
    issues: Signal<Local, bool>,
    asks: Signal<Local, bool>,
    /// Descriptors from `position` on that were fetched before the rewind.
    again_left: Signal<Local, Bits<5>>,
    /// `again_left` is less than none: new descriptors have been fetched.
    passed: Signal<Local, bool>,
    low: Signal<Local, Bits<5>>,
    region: Signal<Local, Bits<16>>,
    expected: Signal<Local, Expected>,
    minus_one: Number<4, 0xF>,
}

impl Logic for Turn {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, row_now, posted, oldest, position, cached, asked, spoilt, filled_now);
        dff_setup!(self, clock, restarting, epoch, begun_now, restart, token_now, with_token, left, more);
        clock!(self, clock, plan);
        self.idle.next = self.step.q.val() == Step::Idle;
        self.filled_now.d.next = self.position.q.val() + bit_cast::<14, 4>(self.cached.q.val());

        self.low.next = self.position.q.val().get_bits::<5>(0);
        self.again_left.next = self.row_now.q.val().top - self.low.val();
        self.passed.next = self.again_left.val().get_bit(4) & self.again_left.val().get_bits::<4>(0).any();

        // How many descriptors and tokens to fetch.
        self.plan.again.next = self.again_left.val();
        self.plan.count.next = self.step.q.val() == Step::Count;
        self.plan.weigh.next = self.step.q.val() == Step::Weigh;
        self.plan.decide.next = self.step.q.val() == Step::Decide;
        self.plan.posted.next = self.posted.q.val();
        self.plan.position.next = self.position.q.val();
        self.plan.done.next = self.oldest.q.val();
        self.plan.cached.next = self.cached.q.val();
        // A line that is under way has the one token too.
        self.plan.lone.next = self.with_token.q.val() & !self.asked.q.val();
        self.plan.filled.next = self.filled_now.q.val();
        self.plan.receive.next = self.receive.val();
        self.plan.heads.next = self.heads.val();
        self.plan.ring_log2.next = self.row_now.q.val().ring_log2;
        // More tokens than there can be.
        self.ended.next = self.cached.q.val().get_bit(3) & self.cached.q.val().get_bit(0);
        self.nothing.next = !self.row_now.q.val().open | self.ended.val() | !self.plan.some.val();
        self.wants.next = self.plan.tokens.val().any() & !self.asked.q.val();

        self.more_left.next = self.plan.blocked.val() | (self.wants.val() & !self.ask_ready.val());

        // WQ-6: where the flush of an overrun queue ends.
        // An overrun queue is followed to the first slot that is wrong, behind what was fetched before: nobody knows what was posted.
        self.region.next = self.token_now.q.val().get_bits::<16>(34);
        self.ends.next = self.plan.overrun.val()
            & !self.region.val().any()
            & (self.passed.val() | !self.again_left.val().get_bits::<4>(1).any());

        // A descriptor.
        self.place.next = self.position.q.val().get_bits::<3>(0);
        self.issues.next =
            (self.step.q.val() == Step::Token) & self.request_free.val() & self.entry_ready.val();
        self.expected.next.vi = self.vi.val();
        self.expected.next.receive = self.receive.val();
        self.expected.next.region = self.region.val();
        self.expected.next.offset = self.token_now.q.val().get_bits::<34>(0);
        self.expected.next.position = self.position.q.val();
        self.expected.next.epoch = self.epoch.q.val();
        self.expected.next.restart = self.restart.q.val();
        self.issue.next = self.issues.val();
        self.read_token.next = self.token_now.q.val();
        self.entry.next = self.expected.val();

        // A line.
        self.asks.next = (self.step.q.val() == Step::Line) & self.request_free.val();
        self.ask.next = self.asks.val();
        self.filled.next = self.filled_now.q.val();
        self.tokens.next = self.plan.tokens.val();

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
                self.row_now.d.next = self.row.val();
                self.position.d.next = self.row.val().position;
                self.cached.d.next = self.row.val().cached;
                self.asked.d.next = self.row.val().asked;
                self.spoilt.d.next = self.row.val().spoilt;
                self.epoch.d.next = self.row.val().epoch;
                self.restart.d.next = self.begun_now.q.val()
                    & !self.restarting.q.val()
                    & !self.receive.val()
                    & (self.rewind.data.val().vi == self.vi.val());
                if self.rewinding.val() {
                    self.position.d.next = self.rewind.data.val().position;
                    self.epoch.d.next = self.rewind.data.val().epoch;
                }
                self.token_now.d.next = self.row_token.val();
                self.with_token.d.next = self.row_inline.val() & !self.rewinding.val();
                self.posted.d.next = self.row_posted.val();
                self.oldest.d.next = self.done.val();
                self.step.d.next = Step::Count;
            }
            Step::Count => {
                if self.landed.val() {
                    self.asked.d.next = false;
                    self.spoilt.d.next = false;
                    if !self.spoilt.q.val() & !self.ended.val() {
                        self.cached.d.next = self.cached.q.val() + self.found_count.val();
                    }
                }
                if self.rewinding.val() {
                    self.cached.d.next = bits::<4>(0);
                    self.spoilt.d.next = self.asked.q.val();
                }
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
                self.step.d.next = Step::Rest;
                if self.plan.amount.val().any() {
                    self.step.d.next = Step::Token;
                }
                if self.plan.overrun.val() {
                    self.step.d.next = Step::Fault;
                }
                if self.nothing.val() | self.hold.val() {
                    self.step.d.next = Step::Idle;
                    self.rewind.ready.next = self.restarted.val() | (self.rewinding.val() & !self.hold.val());
                    if self.hold.val() & !self.rewinding.val() {
                        self.step.d.next = Step::Again;
                    }
                    if self.landed.val() {
                        self.step.d.next = Step::Store;
                    }
                } else if self.rewinding.val() {
                    self.begun_now.d.next = true;
                    self.restart.d.next = true;
                }
            }
            Step::Token => {
                if self.issues.val() {
                    self.position.d.next = self.position.q.val() + 1;
                    if !self.plan.inlined.val() {
                        self.cached.d.next = self.cached.q.val() + self.minus_one.val();
                    }
                    self.left.d.next = self.left.q.val() + self.minus_one.val();
                    self.restart.d.next = false;
                    if self.restart.q.val() {
                        self.restarting.d.next = true;
                    }
                    self.step.d.next = Step::Turn;
                    if self.left.q.val() == bits::<4>(1) {
                        self.step.d.next = Step::Rest;
                    }
                    if self.ends.val() {
                        self.cached.d.next = bits::<4>(15);
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
                if self.plan.amount.val().any() | self.landed.val() | self.rewinding.val() {
                    self.step.d.next = Step::Store;
                }
                if self.wants.val() & self.ask_ready.val() {
                    self.step.d.next = Step::Line;
                }
            }
            Step::Line => {
                if self.asks.val() {
                    self.asked.d.next = true;
                    self.step.d.next = Step::Store;
                }
            }
            Step::Fault => {
                if self.overrun_ready.val() {
                    self.step.d.next = Step::Rest;
                    if self.plan.amount.val().any() {
                        self.step.d.next = Step::Token;
                    }
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
        // A commit may have made the rewound queue anew: the rewind comes again.
        if self.forget.val() | self.restarted.val() | !self.rewind.valid.val() {
            self.begun_now.d.next = false;
            self.restarting.d.next = false;
        }
        self.begun.next = self.begun_now.q.val();

        // The row.
        self.row_next.next = self.row_now.q.val();
        self.row_next.next.position = self.position.q.val();
        self.row_next.next.cached = self.cached.q.val();
        self.row_next.next.asked = self.asked.q.val();
        self.row_next.next.spoilt = self.spoilt.q.val();
        self.row_next.next.epoch = self.epoch.q.val();
        if self.passed.val() {
            self.row_next.next.top = self.low.val();
        }
        self.held.next = self.row_now.q.val();
        self.store.next = self.step.q.val() == Step::Store;
        self.stored.next = self.row_next.val();
        self.overrun.next = self.step.q.val() == Step::Fault;
        self.again.next = self.step.q.val() == Step::Again;

        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.begun_now.d.next = false;
            self.restarting.d.next = false;
        }
    }
}
