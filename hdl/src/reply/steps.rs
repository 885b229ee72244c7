//! The steps in which [`Requests`](super::Requests) serves a VI.
//!
//! ```text
//!  failure, departure, ──►┌────────────┐──► job, step
//!  request, row, turn     │ ReplySteps │──► keeps, refuses
//!   in_order, again, ... ►└────────────┘
//! ```
//! Contract: in Idle the block takes the first job that waits, in the order of its ports; in each other step it goes on as the answers say:
//!
//! ```text
//!  a request:  Idle ─► Wait ─► Count ─► Sort ─► Keep ─► Note ─► Idle
//!                                        │ again ▲
//!                                        ▼       │ found
//!                                      Search ─► Fetch ─► Measure ─► Compare ─► Search, the next slot
//!  a turn:     Idle ─► Pick ─► Place ─► Progress ─► Give ─► Move ─► Shift ─► Store ─► Idle
//!  a departure:  Idle ─► Free ─► Idle          a failure:  Idle ─► Fail ─► Say ─► Idle
//!  a row:        Idle ─► Row ─► Idle
//! ```
//! In Row [`Requests`](super::Requests) takes the row if it can; otherwise the row waits for the next Idle. `keeps` and `refuses` say
//! what became of a request, in the last cycle before Idle.
//!
//! Latency: 1 cycle a step; Wait, Count, Measure, Note, Place, Free and Say last until what they wait for has come.
//!
//! Example: a new request comes, its answer has one packet, and the writes before it are out. The steps are Wait, Count, Sort, Keep,
//! Note, and `keeps` is high in Note.
//!
//! Tests: with the whole, `tests/reply/requests/`.

use rust_hdl::prelude::*;

/// A job that the block takes in Idle.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum ReplyJob {
    /// Nothing waits, or a step is under way.
    Nothing,
    /// A packet could not be read.
    Failure,
    /// The last packet of a VI's answers has left.
    Departure,
    /// A peer asks for a read.
    Request,
    /// A RECEIVE row has come.
    Row,
    /// A VI has its turn to answer.
    Turn,
}

/// A step; the drawing has their order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum ReplyStep {
    /// Take the next job.
    Idle,
    /// Wait until the writes before the request are out.
    Wait,
    /// Count the request's packets.
    Count,
    /// Find out whether the request is new.
    Sort,
    /// Look for the original request, slot by slot: ask for the slot's second row.
    Search,
    /// The slot's row comes.
    Fetch,
    /// Count the slot's packets.
    Measure,
    /// Compare the request with the slot.
    Compare,
    /// Write the slot's first row.
    Keep,
    /// Write the slot's second row, and the VI's queue.
    Note,
    /// Begin with the VI's oldest slot.
    Pick,
    /// Find the slot that waits, and ask for its second row.
    Place,
    /// The second row comes; ask for the first.
    Progress,
    /// The first row comes; cut the packet.
    Give,
    /// Move on, and write the VI's queue.
    Move,
    /// Write the slot's first row.
    Shift,
    /// Write the slot's second row.
    Store,
    /// Take the row, if no packet is on its way.
    Row,
    /// The answers of the VI have left: let its acknowledgements go.
    Free,
    /// Forget the VI's requests.
    Fail,
    /// Give the NAK to send/ack.
    Say,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReplySteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Goes to Idle.
    pub reset: Signal<In, bool>,
    /// A failure waits; [`Requests`](super::Requests) drives this and the other inputs.
    pub failure: Signal<In, bool>,
    /// A VI's last packet has left.
    pub departure: Signal<In, bool>,
    /// A request waits.
    pub request: Signal<In, bool>,
    /// A row waits.
    pub row: Signal<In, bool>,
    /// A VI has its turn, and there is room for its packet.
    pub turn: Signal<In, bool>,
    /// In Wait: the writes before the request have left the edge, or are in memory.
    pub in_order: Signal<In, bool>,
    /// In Count and Measure: the packets are counted.
    pub counted: Signal<In, bool>,
    /// In Sort: the request comes again.
    pub again: Signal<In, bool>,
    /// In Sort: the VI has no room for a new request.
    pub full: Signal<In, bool>,
    /// In Compare: the request lies within the slot's.
    pub found: Signal<In, bool>,
    /// In Compare: this is the last slot to look at.
    pub last_slot: Signal<In, bool>,
    /// In Note: the VI can be queued for its turn.
    pub queued: Signal<In, bool>,
    /// In Pick: the VI has an answer to give.
    pub owes: Signal<In, bool>,
    /// In Place: the slot waits for its answer.
    pub waits: Signal<In, bool>,
    /// In Free: send/ack knows that the VI's acknowledgements may go, or they still may not.
    pub freed: Signal<In, bool>,
    /// In Say: the NAK is taken.
    pub said: Signal<In, bool>,
    /// The job that is taken in this cycle.
    pub job: Signal<Out, ReplyJob>,
    /// The step of this cycle.
    pub step: Signal<Out, ReplyStep>,
    /// Pulse: the request is kept.
    pub keeps: Signal<Out, bool>,
    /// Pulse: the request is not kept.
    pub refuses: Signal<Out, bool>,
    at: DFF<ReplyStep>,
}

impl Logic for ReplySteps {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at);
        self.step.next = self.at.q.val();
        self.job.next = ReplyJob::Nothing;
        self.keeps.next = false;
        self.refuses.next = false;
        match self.at.q.val() {
            ReplyStep::Idle => {
                if self.failure.val() {
                    self.job.next = ReplyJob::Failure;
                    self.at.d.next = ReplyStep::Fail;
                } else if self.departure.val() {
                    self.job.next = ReplyJob::Departure;
                    self.at.d.next = ReplyStep::Free;
                } else if self.request.val() {
                    self.job.next = ReplyJob::Request;
                    self.at.d.next = ReplyStep::Wait;
                } else if self.row.val() {
                    self.job.next = ReplyJob::Row;
                    self.at.d.next = ReplyStep::Row;
                } else if self.turn.val() {
                    self.job.next = ReplyJob::Turn;
                    self.at.d.next = ReplyStep::Pick;
                }
            }
            ReplyStep::Wait => {
                if self.in_order.val() {
                    self.at.d.next = ReplyStep::Count;
                }
            }
            ReplyStep::Count => {
                if self.counted.val() {
                    self.at.d.next = ReplyStep::Sort;
                }
            }
            ReplyStep::Sort => {
                if self.again.val() {
                    self.at.d.next = ReplyStep::Search;
                } else if self.full.val() {
                    // RSP-6: as many reads wait as READ_DEPTH allows.
                    self.refuses.next = true;
                    self.at.d.next = ReplyStep::Idle;
                } else {
                    self.at.d.next = ReplyStep::Keep;
                }
            }
            ReplyStep::Search => {
                self.at.d.next = ReplyStep::Fetch;
            }
            ReplyStep::Fetch => {
                self.at.d.next = ReplyStep::Measure;
            }
            ReplyStep::Measure => {
                if self.counted.val() {
                    self.at.d.next = ReplyStep::Compare;
                }
            }
            ReplyStep::Compare => {
                // RSP-1: a read that comes again is answered if it lies within one of the last four; otherwise it is dropped.
                if self.found.val() {
                    self.at.d.next = ReplyStep::Keep;
                } else if self.last_slot.val() {
                    self.refuses.next = true;
                    self.at.d.next = ReplyStep::Idle;
                } else {
                    self.at.d.next = ReplyStep::Search;
                }
            }
            ReplyStep::Keep => {
                self.at.d.next = ReplyStep::Note;
            }
            ReplyStep::Note => {
                if self.queued.val() {
                    self.keeps.next = true;
                    self.at.d.next = ReplyStep::Idle;
                }
            }
            ReplyStep::Pick => {
                self.at.d.next = ReplyStep::Place;
                if !self.owes.val() {
                    self.at.d.next = ReplyStep::Idle;
                }
            }
            ReplyStep::Place => {
                if self.waits.val() {
                    self.at.d.next = ReplyStep::Progress;
                }
            }
            ReplyStep::Progress => {
                self.at.d.next = ReplyStep::Give;
            }
            ReplyStep::Give => {
                self.at.d.next = ReplyStep::Move;
            }
            ReplyStep::Move => {
                self.at.d.next = ReplyStep::Shift;
            }
            ReplyStep::Shift => {
                self.at.d.next = ReplyStep::Store;
            }
            ReplyStep::Store => {
                self.at.d.next = ReplyStep::Idle;
            }
            ReplyStep::Row => {
                self.at.d.next = ReplyStep::Idle;
            }
            ReplyStep::Free => {
                if self.freed.val() {
                    self.at.d.next = ReplyStep::Idle;
                }
            }
            ReplyStep::Fail => {
                self.at.d.next = ReplyStep::Say;
            }
            ReplyStep::Say => {
                if self.said.val() {
                    self.at.d.next = ReplyStep::Idle;
                }
            }
        }
        if self.reset.val() {
            self.at.d.next = ReplyStep::Idle;
        }
    }
}
