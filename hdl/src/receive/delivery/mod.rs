//! Carries an order out: the payload to memory, and how it ends.
//!
//! ```text
//!        order ──►┌────────────────────┐──► job, held           (scatter's and the payload queue's)
//!         done ──►│      Delivery      │──► blocking, placing
//!    admission ──►│ Opening  Placement │──► request             (reply/requests')
//!         told ──►│ Outcome  Standing  │──► answer, placed      (Reads')
//!       target ──►│ Report   Dispatch  │──► save, close, acknowledged
//!                 │ MovedMessage       │──► events
//!                 │ DeliveryCounts     │
//!                 └────────────────────┘
//! ```
//! Contract: the block carries out one order at a time. [`Opening`] says what its verdict leads to. What came of the order waits in a
//! register: it is known at once, or when the payload is placed ([`Placement`]), or when another block has answered. From it [`Outcome`]
//! decides how the order ends. [`MovedMessage`] moves the VI's message on meanwhile. [`Standing`] works out where the VI stands afterwards,
//! and [`Report`] what others are told.
//!
//! * A packet whose PSN is behind the expected one is not delivered again; a reliable VI acknowledges it again, with the newest PSN. A
//!   gap is refused once, until the expected PSN comes.
//! * The last packet completes the descriptor: Length is what arrived. Its acknowledgement goes with the completion,
//!   behind the data. The context is saved with it, and from then on the VI may be looked up again (`blocking`).
//! * When a reliable VI breaks, its descriptor completes and the NAK goes out, and then the fault. From then on the VI takes nothing: it
//!   only answers requests with its last word again. An unreliable VI only loses the message.
//!
//! Example: a message of 8 bytes comes in one packet for a VI that has a receive. The order's verdict is Take. `job` asks scatter for 8
//! bytes; when `done` says that they are placed, `save` writes the context back with the next PSN, `close` brings the completion, and
//! `held` releases the frame.
//!
//! Latency: a frame of one packet and one segment takes 3 cycles, and those of scatter and of the protection check.
//!
//! Tests: `tests/receive/path/`.

mod counts;
mod dispatch;
mod moved;
mod opening;
mod outcome;
mod placement;
mod report;
mod standing;

pub use counts::{DeliveryCounts, DeliveryEvents};
pub use dispatch::Dispatch;
pub use opening::{Course, Opening};
pub use outcome::{Ending, Outcome};
pub use placement::Placement;
pub use report::Report;
pub use standing::Standing;

use moved::MovedMessage;

use super::closing::Close;
use super::contexts::{Message, Saved};
use super::job::{ReadPlaced, ReadTarget, ScatterDone, ScatterJob, ScatterResult, Told};
use super::judge::Verdict;
use super::order::{Came, Order, Situation};
use super::show::HeldSource;
use crate::bus::{local, Acknowledged, Admission, Answer, FrameInfo, ReadRequest, Vi};
use crate::prims::Number;
use crate::stream::{FlowSink, FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Nothing.
    Idle,
    /// Do what the verdict leads to.
    Act,
    /// An acknowledgement goes to the send side.
    Answer,
    /// An RDMA read is looked at.
    Request,
    /// An answer is looked at.
    Ask,
    /// Scatter works.
    Scatter,
    /// The context is saved, and the frame released.
    Close,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Delivery {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the order under way.
    pub reset: Signal<In, bool>,
    /// What to do: deliver a frame, or flush a receive; from [`Lookup`](super::Lookup).
    pub order: Sink<Order>,
    /// The VI of the order under way, whose context is not saved yet; `Lookup` listens.
    pub blocking: FlowSource<Vi>,
    /// The frame in delivery, for `PayloadQueue`.
    pub held: HeldSource,
    /// From `PayloadQueue`, which has room for the frame's steps: an order may begin.
    pub room: Signal<In, bool>,
    /// What scatter is to place: the payload of the frame in delivery.
    pub job: FlowSource<ScatterJob>,
    /// How scatter's job ended, and how far it came; from `Scatter`.
    pub done: FlowSink<ScatterDone>,
    /// An RDMA read that a peer asks for: see [`Requests`](crate::reply::Requests).
    pub request: FlowSource<ReadRequest>,
    /// What becomes of the request, from `reply/requests`: whether it is kept, and how many PSNs its answer takes.
    pub admission: FlowSink<Admission>,
    /// An acknowledgement, or an answer to a read of ours: see [`Reads`](super::Reads).
    pub answer: FlowSource<Answer>,
    /// What `answer` is for `complete/sends`, and whether it counts; from [`Reads`](super::Reads).
    pub told: FlowSink<Told>,
    /// Where the payload of the answer goes, from [`Reads`](super::Reads).
    pub target: Signal<In, ReadTarget>,
    /// What became of the payload of the answer, for [`Reads`](super::Reads); a cycle after `done`.
    pub placed: FlowSource<ReadPlaced>,
    /// The payload of an answer for the VI of `blocking` is being placed, or will be; for `complete/sends`.
    pub placing: Signal<Out, bool>,
    /// The context to write back to `Contexts`.
    pub save: FlowSource<Saved>,
    /// What is left of the order that ends: see [`Closing`](super::Closing).
    pub close: Source<Close>,
    /// An acknowledgement from the wire, or what an answer to a read amounts to, for complete/sends.
    pub acknowledged: Source<Acknowledged>,
    /// What is counted now, for `admin/counters`.
    pub events: Signal<Out, DeliveryEvents>,
    step: DFF<Step>,
    /// The order under way.
    in_hand: DFF<Order>,
    /// What came of it, until it is closed.
    came: DFF<Came>,
    /// What the answer in hand is for `complete/sends`.
    word: DFF<Acknowledged>,
    /// Scatter's job was the payload of an answer, and it ended in the cycle before.
    answer_placed: DFF<bool>,
    /// How that job ended.
    answer_end: DFF<ReadPlaced>,
    opening: Opening,
    dispatch: Dispatch,
    placement: Placement,
    outcome: Outcome,
    standing: Standing,
    report: Report,
    counts: DeliveryCounts,
    moved: MovedMessage,
    message: Signal<Local, Message>,
    packet: Signal<Local, FrameInfo>,
    ending: Signal<Local, Ending>,
    /// Where the VI stands behind the order.
    after: Signal<Local, Message>,
    saved: Signal<Local, Saved>,
    course: Signal<Local, Course>,
    /// The frame is an answer.
    answers: Signal<Local, bool>,
    /// A job begins.
    starts: Signal<Local, bool>,
    closes: Signal<Local, bool>,
    local_protection: Number<8, { local::PROTECTION }>,
    local_failure: Number<8, { local::FAILURE }>,
}

impl Logic for Delivery {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, in_hand, came, word, answer_placed, answer_end);
        clock!(self, clock, counts);
        drive!(self, in_hand.q.val().message => message; in_hand.q.val().packet => packet);
        self.answers.next = self.in_hand.q.val().verdict == Verdict::Answer;

        // What the order leads to, and what scatter made of its payload.
        drive!(self, in_hand.q => opening.order, placement.order; opening.course => course;
            done.data => placement.done);

        // How it ends, where the VI is then, and what is said of it.
        drive!(self, in_hand.q => outcome.order, standing.order, report.order;
            came.q => outcome.came, standing.came, report.came; outcome.ending => ending;
            ending => standing.ending, report.ending; admission.data.val().packets => standing.answer_packets;
            standing.saved => saved; saved.val().message => after; after => report.after;
            report.close => close.data);
        self.close.valid.next = self.step.q.val() == Step::Close;
        self.closes.next = (self.step.q.val() == Step::Close) & self.close.ready.val();
        drive!(self, closes => save.valid, counts.closes; saved => save.data; reset => counts.reset;
            in_hand.q => counts.order; came.q => counts.came; counts.events => events);
        self.counts.dropped.next = (self.step.q.val() == Step::Act) & self.opening.dropped.val();
        self.counts.strays.next =
            (self.step.q.val() == Step::Ask) & self.told.valid.val() & !self.told.data.val().keep;

        // What other blocks are asked and told.
        drive!(self, in_hand.q => dispatch.order; standing.next_msn => dispatch.next_msn;
            target => dispatch.target; in_hand.q.val().vi => blocking.data; dispatch.request => request.data;
            dispatch.answer => answer.data; word.q => acknowledged.data);
        self.order.ready.next = (self.step.q.val() == Step::Idle) & self.room.val();
        self.blocking.valid.next = self.step.q.val() != Step::Idle;
        self.request.valid.next = self.step.q.val() == Step::Request;
        self.answer.valid.next = (self.step.q.val() == Step::Ask)
            | ((self.step.q.val() == Step::Act) & self.answers.val() & !self.in_hand.q.val().flush);
        // Scatter ends late in a cycle, so `Reads` hears of it in the next one; the answer is still on show then.
        self.answer_placed.d.next = self.done.valid.val() & self.answers.val();
        self.answer_end.d.next.ok = self.done.data.val().result == ScatterResult::Placed;
        self.answer_end.d.next.index = self.done.data.val().index;
        self.answer_end.d.next.position = self.done.data.val().position;
        drive!(self, answer_placed.q => placed.valid; answer_end.q => placed.data);
        self.placing.next = self.dispatch.answer.val().response
            & ((self.step.q.val() == Step::Act)
                | (self.step.q.val() == Step::Ask)
                | (self.step.q.val() == Step::Scatter));
        self.acknowledged.valid.next = self.step.q.val() == Step::Answer;
        // The message moves on.
        drive!(self, in_hand.q => moved.order; done.data => moved.done; closes => moved.closes;
            after.val().received => moved.received);
        self.moved.begins.next = self.step.q.val() == Step::Act;
        self.moved.places.next =
            (self.step.q.val() == Step::Scatter) & self.done.valid.val() & !self.answers.val();

        self.starts.next = false;
        match self.step.q.val() {
            Step::Idle => {
                if self.order.valid.val() & self.room.val() {
                    self.step.d.next = Step::Act;
                }
            }
            Step::Act => {
                self.came.d.next = self.opening.came.val();
                match self.course.val() {
                    Course::Ask => {
                        self.step.d.next = Step::Ask;
                    }
                    Course::Request => {
                        self.step.d.next = Step::Request;
                    }
                    Course::Place => {
                        self.starts.next = true;
                        self.step.d.next = Step::Scatter;
                    }
                    _ => {
                        self.step.d.next = Step::Close;
                    }
                }
            }
            Step::Request => {
                if self.admission.valid.val() {
                    self.step.d.next = Step::Close;
                    self.came.d.next.situation = Situation::Unread;
                    if self.admission.data.val().ok {
                        self.came.d.next.situation = Situation::Read;
                        self.came.d.next.advances = self.in_hand.q.val().verdict == Verdict::Read;
                    } else if self.in_hand.q.val().verdict == Verdict::Read {
                        self.came.d.next.situation = Situation::Refuse;
                        self.came.d.next.fails = true;
                        self.came.d.next.consumes = self.message.val().active & !self.message.val().writing;
                        if self.admission.data.val().denied {
                            self.came.d.next.situation = Situation::NoReading;
                            self.came.d.next.consumes = false;
                        }
                    }
                }
            }
            Step::Ask => {
                self.word.d.next = self.told.data.val().word;
                if self.told.valid.val() {
                    self.step.d.next = Step::Close;
                    if self.told.data.val().keep {
                        self.step.d.next = Step::Answer;
                        if self.told.data.val().data {
                            self.starts.next = true;
                            self.step.d.next = Step::Scatter;
                        }
                    }
                }
            }
            Step::Answer => {
                if self.acknowledged.ready.val() {
                    self.step.d.next = Step::Close;
                }
            }
            Step::Scatter => {
                if self.done.valid.val() {
                    self.step.d.next = Step::Close;
                    if self.answers.val() {
                        self.step.d.next = Step::Answer;
                        // WQ-2: a read's own segment is refused when its answer comes. WQ-8: or cannot be read then.
                        if self.done.data.val().result == ScatterResult::Refused {
                            self.word.d.next.syndrome = self.local_protection.val();
                        } else if self.done.data.val().result != ScatterResult::Placed {
                            self.word.d.next.syndrome = self.local_failure.val();
                        }
                    } else {
                        self.came.d.next = self.placement.came.val();
                    }
                }
            }
            Step::Close => {
                if self.close.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        self.in_hand.d.next.message = self.moved.moved.val();
        if self.step.q.val() == Step::Idle {
            // The order comes from block RAM, late in the cycle, so it goes into this register and nowhere else.
            self.in_hand.d.next = self.order.data.val();
        }
        drive!(self, starts => job.valid, held.payload_start; dispatch.job => job.data; packet => held.frame);
        // After an order that only ended a message the same frame is looked at again.
        self.held.release.next = self.closes.val()
            & !self.in_hand.q.val().flush
            & (self.came.q.val().situation != Situation::Partial);
        if self.closes.val() | self.reset.val() {
            self.came.d.next.situation = Situation::Nothing;
            self.came.d.next.fails = false;
            self.came.d.next.consumes = false;
            self.came.d.next.advances = false;
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.answer_placed.d.next = false;
        }
    }
}
