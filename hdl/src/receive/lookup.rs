//! Finds a frame's VI, where that is, and what the frame is to it; or a VI that has receives to flush.
//!
//! ```text
//!      info ──►┌────────┐──► look_vi, look_slot ◄── peer, message, consumed, look_filled, posted_position
//!      work ──►│ Lookup │──► info_taken, info_aside, info_drop, info_back; set_aside, set_late
//!  blocking ──►│        │──► order
//!      hold ──►└────────┘◄── aside, late, again, overdue, settled
//! ```
//! Contract: the block gives one order at a time. It takes a VI's frames in the order of the store; a frame and a receive to flush take
//! turns. An order stands until it is taken, and its frame with it (`info_taken`). While [`Delivery`](super::Delivery) works on a VI and
//! has not saved its context (`blocking`), the block does not look up the same VI, but it may look up another one.
//!
//! A frame that needs a receive which is posted and not there yet is looked at twice, and then set aside (`info_aside`) with its VI
//! (`set_aside`): so are all later frames of that VI, and those of others go on. When the receive has come, or the VI's state has
//! changed, frames are looked at from the oldest on again (`again`). Only if a frame that is set aside leaves no room to others for
//! long (`overdue`, see [`Roster`](super::Roster)) it is dropped, as if it had been lost on its way, and so are its VI's others
//! (`set_late`), until the receive is there.
//!
//! After an order that only ended a message (Partial) the same frame comes again. After a flush, and a frame if there is one, the same
//! VI comes again until nothing is left to flush (`unfinished`). With `hold` nothing begins between frames.
//!
//! Example: a frame for VI 3 is on show. `look_vi` is 3, the context and the descriptor come a cycle later, the verdict is Take and a
//! receive is there. 3 cycles after the frame `order` says so; when it is taken, `info_taken` is high.
//!
//! Latency: 3 cycles from a frame to its order.
//!
//! Tests: `tests/receive/path/`.

use super::contexts::{Message, Peer};
use super::judge::Judge;
use super::order::Order;
use crate::bus::{FrameInfo, Position, Vi};
use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
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
    /// The frame on show, from the store.
    pub info: FlowSink<FrameInfo>,
    /// Pulses when the frame on show goes with an order.
    pub info_taken: Signal<Out, bool>,
    /// Pulses when the frame on show is set aside, since its receive is not there yet.
    pub info_aside: Signal<Out, bool>,
    /// Pulses when the frame on show is dropped, since its VI's frames are `late`.
    pub info_drop: Signal<Out, bool>,
    /// Pulses when the frame on show is left for an older one.
    pub info_back: Signal<Out, bool>,
    /// An older frame that was set aside may have its turn now, so `info` is not to be used.
    pub again: Signal<In, bool>,
    /// The frame on show has kept others waiting for too long.
    pub overdue: Signal<In, bool>,
    /// The frames of `state_vi` are set aside.
    pub aside: Signal<In, bool>,
    /// The frames of `state_vi` are dropped until a receive is there.
    pub late: Signal<In, bool>,
    /// What was looked at in this cycle and the two before holds: see `Flush`.
    pub settled: Signal<In, bool>,
    /// Pulses when the frames of `state_vi` are set aside from now on.
    pub set_aside: Signal<Out, bool>,
    /// With `set_aside`: the frames of `state_vi` are dropped from now on.
    pub set_late: Signal<Out, bool>,
    /// A VI that has receives to flush, from `Flush`.
    pub work: Sink<Vi>,
    /// Nothing new may begin, because a commit waits; `Matcher` drives it.
    pub hold: Signal<In, bool>,
    /// No frame and no flush is being looked up.
    pub idle: Signal<Out, bool>,
    /// A flush is not at its end, even if nothing is being looked up.
    pub unfinished: Signal<Out, bool>,
    /// `Delivery` has not saved the context of `blocking_vi` yet.
    pub blocking: Signal<In, bool>,
    /// VI whose context is not saved yet; it must not be looked up.
    pub blocking_vi: Signal<In, Vi>,
    /// VI to look at in the contexts, in `Ahead`, and among the doorbells.
    pub look_vi: Signal<Out, Vi>,
    /// The far half of the context is wanted; otherwise the near one.
    pub look_far: Signal<Out, bool>,
    /// VI whose state is wanted of `Flush`.
    pub state_vi: Signal<Out, Vi>,
    /// `state_vi` is connected.
    pub connected: Signal<In, bool>,
    /// `state_vi` is in Error.
    pub error: Signal<In, bool>,
    /// Peer of the `look_vi` of the cycle before.
    pub peer: Signal<In, Peer>,
    /// A half of where the receive side of that VI is: see `Contexts`.
    pub message: Signal<In, Message>,
    /// With the far half: bits 31:22 of the message's `received`.
    pub received_high: Signal<In, Bits<10>>,
    /// Consumed position of that VI: the receive descriptors of it that are completed.
    pub consumed: Signal<In, Position>,
    /// Slot of the descriptor to look at in `Ahead`.
    pub look_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// One past the last position of the VI's receive queue whose descriptor is in `Ahead`.
    pub look_filled: Signal<In, Position>,
    /// One past the last position posted to the VI's receive queue, from doorbell.
    pub posted_position: Signal<In, Position>,
    /// What `Delivery` is to do: deliver the frame on show, or flush a receive.
    pub order: Source<Order>,
    judge: Judge,
    step: DFF<Step>,
    vi: DFF<Vi>,
    flushing: DFF<bool>,
    /// Peer of the VI in hand; likewise the two below.
    known_peer: DFF<Peer>,
    known_message: DFF<Message>,
    known_consumed: DFF<Position>,
    /// A receive is there at the consumed position.
    present: DFF<bool>,
    /// No receive is there at the consumed position, but one is posted.
    coming: DFF<bool>,
    /// The receive in hand has been looked for twice.
    looked: DFF<bool>,
    /// The VI in hand comes from the flushes, and leaves their queue.
    popping: DFF<bool>,
    /// The flush of `rest_vi` goes on.
    rests: DFF<bool>,
    rest_vi: DFF<Vi>,
    /// A frame goes before a flush next time.
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

// `look_slot` and `target` take the low bits of a position and of a queue pair number.
const _: () = assert!(RECEIVE_AHEAD_LOG2 == 2 && VI_LOG2 <= 10);

impl Logic for Lookup {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, flushing, known_peer, known_message, known_consumed);
        dff_setup!(self, clock, present, coming, looked, popping, rests, rest_vi, frame_turn);
        clock!(self, clock, judge);

        // The VI in hand; in Idle, the next one.
        self.unfinished.next = self.rests.q.val();
        self.works.next = self.rests.q.val() | self.work.valid.val();
        self.next_work.next = self.work.data.val();
        if self.rests.q.val() {
            self.next_work.next = self.rest_vi.q.val();
        }
        self.flushes.next = self.works.val() & !(self.frame_turn.q.val() & self.info.valid.val());
        self.target.next = self.vi.q.val();
        if self.step.q.val() == Step::Idle {
            self.target.next = bit_cast::<VI_LOG2, 24>(self.info.data.val().queue_pair);
            if self.flushes.val() {
                self.target.next = self.next_work.val();
            }
        }
        self.look_vi.next = self.target.val();
        self.look_far.next = (self.step.q.val() == Step::Load) | (self.step.q.val() == Step::Decide);
        self.state_vi.next = self.vi.q.val();
        self.look_slot.next = self.known_consumed.q.val().get_bits::<RECEIVE_AHEAD_LOG2>(0);
        self.blocked.next = self.blocking.val() & (self.blocking_vi.val() == self.vi.q.val());
        // The next one again: compared before it is known which it is.
        self.next_blocked.next = self.blocking.val()
            & (self.blocking_vi.val() == bit_cast::<VI_LOG2, 24>(self.info.data.val().queue_pair));
        if self.flushes.val() {
            self.next_blocked.next = self.blocking.val() & (self.blocking_vi.val() == self.next_work.val());
        }
        self.judge.info.next = self.info.data.val();
        self.judge.peer.next = self.known_peer.q.val();
        self.judge.message.next = self.known_message.q.val();
        self.judge.connected.next = self.connected.val();
        self.judge.error.next = self.error.val();

        self.idle.next = self.step.q.val() == Step::Idle;
        self.order.data.next.vi = self.vi.q.val();
        self.order.data.next.flush = self.flushing.q.val();
        self.order.data.next.verdict = self.judge.verdict.val();
        self.order.data.next.ends = self.judge.ends.val();
        self.order.data.next.writes = self.judge.writes.val();
        self.order.data.next.reads = self.judge.reads.val();
        self.order.data.next.immediate = self.judge.immediate.val();
        self.order.data.next.present = self.present.q.val();
        self.order.data.next.peer = self.known_peer.q.val();
        self.order.data.next.message = self.known_message.q.val();
        self.order.data.next.consumed = self.known_consumed.q.val();
        // A send takes a receive with its first packet, an RDMA write with immediate data with its last.
        self.needs.next = (self.judge.writes.val() & self.judge.immediate.val())
            | (!self.judge.writes.val() & self.judge.first.val());
        // FRAME-11, RSP-4: a receive is posted and not fetched yet.
        self.waits.next = self.judge.takes.val() & self.needs.val() & self.coming.q.val();
        self.ordered.next = !self.waits.val();
        if self.flushing.q.val() {
            self.ordered.next = self.error.val() & self.present.q.val();
        }
        self.order.valid.next = (self.step.q.val() == Step::Decide) & self.ordered.val();
        self.popping.d.next = false;
        self.work.ready.next = self.popping.q.val();
        self.info_taken.next = false;
        self.info_aside.next = false;
        self.info_drop.next = false;
        self.info_back.next = false;
        self.set_aside.next = false;
        self.set_late.next = false;

        match self.step.q.val() {
            Step::Idle => {
                self.vi.d.next = self.target.val();
                self.flushing.d.next = self.flushes.val();
                if (self.works.val() | self.info.valid.val()) & !self.hold.val() & !self.next_blocked.val() {
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
                self.known_peer.d.next = self.peer.val();
                self.known_message.d.next = self.message.val();
                self.known_consumed.d.next = self.consumed.val();
                self.step.d.next = Step::Judge;
                if !self.flushing.q.val() {
                    if self.again.val() {
                        self.info_back.next = true;
                        self.step.d.next = Step::Idle;
                    } else if self.aside.val() {
                        // FRAME-11: it waits behind others of its VI. FRAME-12: they are dropped if they crowd the store for too long.
                        self.step.d.next = Step::Idle;
                        if self.late.val() {
                            self.info_drop.next = true;
                        } else if self.overdue.val() & self.settled.val() {
                            self.info_drop.next = true;
                            self.set_aside.next = true;
                            self.set_late.next = true;
                        } else {
                            self.info_aside.next = true;
                        }
                    }
                }
            }
            Step::Judge => {
                self.known_message.d.next.place = self.message.val().place;
                self.known_message.d.next.rkey = self.message.val().rkey;
                self.known_message.d.next.received = self.known_message.q.val().received
                    | (bit_cast::<32, 10>(self.received_high.val()) << 22);
                self.present.d.next = self.look_filled.val() != self.known_consumed.q.val();
                self.coming.d.next = (self.look_filled.val() == self.known_consumed.q.val())
                    & (self.look_filled.val() != self.posted_position.val());
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.looked.d.next = false;
                if self.flushing.q.val() {
                    self.frame_turn.d.next = true;
                }
                if !self.ordered.val() {
                    if self.flushing.q.val() {
                        self.step.d.next = Step::Idle;
                        self.rests.d.next = false;
                    } else if self.looked.q.val() & self.settled.val() {
                        self.step.d.next = Step::Idle;
                        self.info_aside.next = true;
                        self.set_aside.next = true;
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
                    } else if self.judge.partial.val() {
                        self.step.d.next = Step::Reload;
                    } else {
                        self.info_taken.next = true;
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
