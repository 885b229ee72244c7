//! Finds the VI of a frame, reads that VI's context, and judges the frame by it; or finds a VI that has receives to flush.
//!
//! ```text
//!  show ◄─►┌────────┐◄─► contexts, vis, ahead, posted
//!  work ──►│ Lookup │──► order
//!  hold ──►│ Judge  │──► set_aside
//!          └────────┘──► looking, unfinished ◄── blocking
//! ```
//! Contract: the block gives one order at a time. It takes a VI's frames in the order of the store; a frame and a receive to flush take
//! turns. An order stands until it is taken, and its frame with it (fate Taken). While [`Delivery`](super::Delivery) works on a VI and
//! has not saved its context (`blocking`), the block does not look up the same VI, but it may look up another one.
//!
//! A frame that needs a receive which is posted and not fetched yet is looked at twice. Then it is set aside (fate Aside), and `set_aside`
//! marks its VI: all later frames of the VI are set aside too, and the frames of other VIs go on. When the receive has come, or the VI's
//! state has changed, the block looks at the frames again, from the oldest on (`again`). A frame that is set aside and leaves no room to
//! others for too long (`overdue`, see [`Roster`](super::Roster)) is dropped, as if the network had lost it. So are the other frames of its
//! VI (`late`), until the receive is there.
//!
//! After an order that only ended a message (Partial) the same frame comes again. After a flush the block takes a frame if there is one,
//! and then the same VI again, until nothing is left to flush (`unfinished`). While `hold` is high nothing new begins.
//!
//! Example: a frame for VI 3 is on show. Its context and its descriptor come a cycle later, the verdict is Take and a
//! receive is there. 3 cycles after the frame `order` says so; when it is taken, the frame is decided, with the fate Taken.
//!
//! Latency: 3 cycles from a frame to its order.
//!
//! Tests: `tests/receive/path/`.

use super::ahead::{AheadRow, SlotId};
use super::contexts::{Context, FarHalf, HalfId, Message, NearHalf, Peer};
use super::flush::{SetAside, ViStatus};
use super::judge::{Judge, Judgement};
use super::order::Order;
use super::show::{Fate, ShowSink};
use crate::bus::{FrameInfo, Position, Vi};
use crate::stream::{FlowSink, FlowSource, LookUp, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Nothing; or the row of the next VI is being read.
    Idle,
    /// The row of the same VI is being read again.
    Reload,
    /// The row comes out of memory.
    Load,
    /// The row is compared with the frame.
    Judge,
    /// The verdict is there.
    Decide,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Lookup {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the frame or the flush under way.
    pub reset: Signal<In, bool>,
    /// The frame on show, from the store, and what becomes of it.
    pub show: ShowSink,
    /// A VI that has receives to flush, from `Flush`.
    pub work: Sink<Vi>,
    /// Nothing new may begin, because a commit waits; `Commits` drives it.
    pub hold: Signal<In, bool>,
    /// The VI that is being looked up; `complete/sends` listens, through `placing` of `Receive`.
    pub looking: FlowSource<Vi>,
    /// A flush is not at its end, even if nothing is being looked up; `Receive` is busy then.
    pub unfinished: Signal<Out, bool>,
    /// A VI whose context `Delivery` has not saved yet: it must not be looked up. `Delivery` drives it.
    pub blocking: FlowSink<Vi>,
    /// Asks `Contexts` for what is kept of a VI, with one half of its message.
    pub contexts: LookUp<HalfId, Context>,
    /// Asks `Flush` for a VI's state.
    pub vis: LookUp<Vi, ViStatus>,
    /// The frames of a VI are set aside, or dropped, from now on; for `Flush`.
    pub set_aside: FlowSource<SetAside>,
    /// Asks `Ahead` for the receive at the consumed position.
    pub ahead: LookUp<SlotId, AheadRow>,
    /// Asks doorbell for the posted position of a VI's receive queue.
    pub posted: LookUp<Vi, Position>,
    /// What `Delivery` is to do: deliver the frame on show, or flush a receive.
    pub order: Source<Order>,
    judge: Judge,
    step: DFF<Step>,
    vi: DFF<Vi>,
    flushing: DFF<bool>,
    /// Peer of the VI in hand; likewise the three below.
    known_peer: DFF<Peer>,
    known_near: DFF<NearHalf>,
    known_far: DFF<FarHalf>,
    known_consumed: DFF<Position>,
    /// Both halves: where the VI's receive side is.
    message: Signal<Local, Message>,
    info: Signal<Local, FrameInfo>,
    status: Signal<Local, ViStatus>,
    judged: Signal<Local, Judgement>,
    row: Signal<Local, AheadRow>,
    /// A receive is there at the consumed position.
    present: DFF<bool>,
    /// No receive is there at the consumed position, but one is posted.
    coming: DFF<bool>,
    /// The receive in hand has been looked for before, and was not there.
    looked: DFF<bool>,
    /// The VI in hand comes from `work`, and leaves the queue of `Flush` in this cycle.
    popping: DFF<bool>,
    /// The flush of `rest_vi` goes on.
    rests: DFF<bool>,
    rest_vi: DFF<Vi>,
    /// A frame is on show and goes before a flush now. It stays on show until this block decides, so nobody has to look at `show.valid` again.
    frame_turn: DFF<bool>,
    works: Signal<Local, bool>,
    next_work: Signal<Local, Vi>,
    /// A flush comes next, if anything.
    flushes: Signal<Local, bool>,
    target: Signal<Local, Vi>,
    blocked: Signal<Local, bool>,
    next_blocked: Signal<Local, bool>,
    /// The packet needs a receive, if it is taken.
    needs: Signal<Local, bool>,
    waits: Signal<Local, bool>,
    ordered: Signal<Local, bool>,
}

// `target` takes the low bits of a queue pair number.
const _: () = assert!(VI_LOG2 <= 10);

impl Logic for Lookup {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, flushing, known_peer, known_near, known_far, known_consumed);
        dff_setup!(self, clock, present, coming, looked, popping, rests, rest_vi, frame_turn);
        clock!(self, clock, judge);

        // The VI in hand; in Idle, the next one.
        drive!(self, show.info => info; rests.q => unfinished; ahead.row => row);
        self.works.next = self.rests.q.val() | self.work.valid.val();
        self.next_work.next = self.work.data.val();
        if self.rests.q.val() {
            self.next_work.next = self.rest_vi.q.val();
        }
        self.flushes.next = self.works.val() & !self.frame_turn.q.val();
        self.target.next = self.vi.q.val();
        if self.step.q.val() == Step::Idle {
            self.target.next = bit_cast::<VI_LOG2, 24>(self.info.val().queue_pair);
            if self.flushes.val() {
                self.target.next = self.next_work.val();
            }
        }
        self.contexts.index.next.vi = self.target.val();
        self.contexts.index.next.far =
            (self.step.q.val() == Step::Load) | (self.step.q.val() == Step::Decide);
        self.ahead.index.next.vi = self.target.val();
        self.ahead.index.next.slot = self.known_consumed.q.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        drive!(self, vi.q => posted.index, vis.index; vis.row => status);
        self.blocked.next = self.blocking.valid.val() & (self.blocking.data.val() == self.vi.q.val());
        // The same for the next VI. Each candidate is compared by itself, so that the comparison need not wait for the choice.
        self.next_blocked.next = self.blocking.valid.val()
            & (self.blocking.data.val() == bit_cast::<VI_LOG2, 24>(self.info.val().queue_pair));
        if self.flushes.val() {
            self.next_blocked.next =
                self.blocking.valid.val() & (self.blocking.data.val() == self.next_work.val());
        }

        // The frame is judged by both halves of the VI's message.
        fill!(self, message, known_near.q.val().psn => psn; known_near.q.val().msn => msn;
            known_near.q.val().left => left; known_near.q.val().active => active;
            known_near.q.val().writing => writing; known_near.q.val().writable => writable;
            known_near.q.val().refused => refused; known_near.q.val().broken => broken;
            known_near.q.val().reception => reception; known_far.q.val().place => place;
            known_far.q.val().rkey => rkey);
        self.message.next.received = (bit_cast::<32, 10>(self.known_far.q.val().received) << 22)
            | bit_cast::<32, 22>(self.known_near.q.val().received);
        drive!(self, info => judge.info; known_peer.q => judge.peer; message => judge.message;
            status.val().connected => judge.connected; status.val().error => judge.error;
            judge.judgement => judged);

        self.looking.valid.next = self.step.q.val() != Step::Idle;
        self.looking.data.next = self.vi.q.val();
        fill!(self, order.data, vi.q => vi; flushing.q => flush; judged.val().verdict => verdict;
            judged.val().ends => ends; judged.val().writes => writes; judged.val().reading => reading;
            judged.val().reads => reads; judged.val().immediate => immediate; judged.val().some => some;
            present.q => present; row.val().descriptor => receive; known_consumed.q => consumed;
            known_peer.q => peer; message => message; info => packet);
        // A send takes a receive with its first packet, an RDMA write with immediate data with its last.
        self.needs.next = (self.judged.val().writes & self.judged.val().immediate)
            | (!self.judged.val().writes & self.judged.val().first);
        // FRAME-11, RSP-4: a receive is posted and not fetched yet.
        self.waits.next = self.judged.val().takes & self.needs.val() & self.coming.q.val();
        self.ordered.next = !self.waits.val();
        if self.flushing.q.val() {
            self.ordered.next = self.status.val().error & self.present.q.val();
        }
        self.order.valid.next = (self.step.q.val() == Step::Decide) & self.ordered.val();
        self.popping.d.next = false;
        self.work.ready.next = self.popping.q.val();
        self.show.decided.next = false;
        self.show.fate.next = Fate::Taken;
        self.set_aside.valid.next = false;
        self.set_aside.data.next.vi = self.vi.q.val();
        self.set_aside.data.next.late = false;

        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.target.val();
                self.flushing.d.next = self.flushes.val();
                if (self.works.val() | self.show.valid.val()) & !self.hold.val() & !self.next_blocked.val() {
                    self.popping.d.next = self.flushes.val() & !self.rests.q.val();
                    self.frame_turn.d.next = false;
                    self.step.d.next = Step::Load;
                }
            }
            Step::Reload => {
                if !self.blocked.val() {
                    self.step.d.next = Step::Load;
                }
            }
            Step::Load => {
                self.known_peer.d.next = self.contexts.row.val().peer;
                self.known_near.d.next = self.contexts.row.val().near;
                self.known_consumed.d.next = self.contexts.row.val().consumed;
                self.step.d.next = Step::Judge;
                if !self.flushing.q.val() {
                    if self.show.again.val() {
                        self.show.decided.next = true;
                        self.show.fate.next = Fate::Left;
                        self.step.d.next = Step::Idle;
                    } else if self.status.val().aside {
                        // FRAME-11: it waits behind others of its VI. FRAME-12: they are dropped if they crowd the store for too long.
                        self.step.d.next = Step::Idle;
                        self.show.decided.next = true;
                        self.show.fate.next = Fate::Aside;
                        if self.status.val().late {
                            self.show.fate.next = Fate::Dropped;
                        } else if self.show.overdue.val() & self.status.val().settled {
                            self.show.fate.next = Fate::Dropped;
                            self.set_aside.valid.next = true;
                            self.set_aside.data.next.late = true;
                        }
                    }
                }
            }
            Step::Judge => {
                self.known_far.d.next = self.contexts.row.val().far;
                self.present.d.next = self.row.val().filled != self.known_consumed.q.val();
                self.coming.d.next = (self.row.val().filled == self.known_consumed.q.val())
                    & (self.row.val().filled != self.posted.row.val());
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.looked.d.next = false;
                if self.flushing.q.val() {
                    self.frame_turn.d.next = self.show.valid.val();
                }
                if !self.ordered.val() {
                    if self.flushing.q.val() {
                        self.step.d.next = Step::Idle;
                        self.rests.d.next = false;
                    } else if self.looked.q.val() & self.status.val().settled {
                        self.step.d.next = Step::Idle;
                        self.show.decided.next = true;
                        self.show.fate.next = Fate::Aside;
                        self.set_aside.valid.next = true;
                    } else {
                        // A receive on its way is looked for once more.
                        self.looked.d.next = true;
                        self.step.d.next = Step::Judge;
                    }
                } else if self.order.ready.val() {
                    self.step.d.next = Step::Idle;
                    if self.flushing.q.val() {
                        self.rests.d.next = true;
                        self.rest_vi.d.next = self.vi.q.val();
                    } else if self.judged.val().partial {
                        self.step.d.next = Step::Reload;
                    } else {
                        self.show.decided.next = true;
                    }
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.popping.d.next = false;
            self.step.d.next = Step::Idle;
            self.looked.d.next = false;
            self.rests.d.next = false;
            self.frame_turn.d.next = false;
        }
    }
}
