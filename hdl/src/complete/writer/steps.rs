//! The steps in which [`Writer`](super::Writer) writes a completion or an entry.
//!
//! ```text
//!  row, entry, send, ──►┌─────────────┐──► job
//!  receive, at, ...     │ WriterSteps │──► step
//!                       └─────────────┘
//! ```
//! Contract: in Idle the block takes the first job that waits, in the order of its ports; in each other step it goes on as the answers say:
//!
//! ```text
//!  a completion:  Idle ─► (AskImmediate ─► Immediate) ─► AskStatus ─► Status ─► (Acknowledge) ─► Idle
//!                                             └────────► Refused ◄───┘    Refused ─► Acknowledge
//!                 Idle ─► Unwritten ─► Acknowledge ─► Idle
//!  an entry:      Idle ─► AskEntry ─► EntryToken ─► EntryOwner ─► Idle
//!  a row:         Idle ─► Acknowledge ─► Idle
//! ```
//! Unwritten is for a completion that writes nothing.
//!
//! Latency: 1 cycle a step; all but Unwritten last until what they wait for has come.
//!
//! Example: a receive without immediate data and without an acknowledgement. The steps are AskStatus, Status and Idle.
//!
//! Tests: with the whole, `tests/complete/writer/`.

use crate::bus::Completion;
use rust_hdl::prelude::*;

/// A job that the block takes in Idle.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum WriterJob {
    /// Nothing waits, or a step is under way.
    Nothing,
    /// A row of RECEIVE.
    Row,
    /// A completion queue entry.
    Entry,
    /// A completion of a send.
    Send,
    /// A completion of a receive.
    Receive,
}

/// A step; the drawing has their order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum WriterStep {
    /// Take the next job.
    Idle,
    /// The completion writes nothing.
    Unwritten,
    /// Ask for the write of ImmediateData.
    AskImmediate,
    /// Write ImmediateData when it is granted.
    Immediate,
    /// Ask for the write of Length and Status.
    AskStatus,
    /// Write them when that is granted.
    Status,
    /// Have the acknowledgement sent.
    Acknowledge,
    /// The memory is refused: break the VI.
    Refused,
    /// Ask for the write of an entry.
    AskEntry,
    /// Write its first word when that is granted.
    EntryToken,
    /// Write its second word.
    EntryOwner,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct WriterSteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Goes to Idle.
    pub reset: Signal<In, bool>,
    /// A row waits; [`Writer`](super::Writer) drives this and the other inputs.
    pub row: Signal<In, bool>,
    /// An entry waits.
    pub entry: Signal<In, bool>,
    /// A send's completion waits, and it is its turn.
    pub send: Signal<In, bool>,
    /// A receive's completion waits.
    pub receive: Signal<In, bool>,
    /// The completion that is taken writes its descriptor.
    pub writes: Signal<In, bool>,
    /// The completion that is taken has immediate data.
    pub has_immediate: Signal<In, bool>,
    /// A completion may be taken: `interrupt/notify` and `complete/queues` know of the end of the one before.
    pub rest: Signal<In, bool>,
    /// The completion at hand.
    pub at: Signal<In, Completion>,
    /// The access on show is taken.
    pub asked: Signal<In, bool>,
    /// The write is granted, and the write engine has room for its data.
    pub written: Signal<In, bool>,
    /// The write engine has room for data.
    pub taken: Signal<In, bool>,
    /// `protect` refuses the write.
    pub refused: Signal<In, bool>,
    /// In Acknowledge: the acknowledgement is taken.
    pub acknowledged: Signal<In, bool>,
    /// In Refused: the fault is taken.
    pub broken: Signal<In, bool>,
    /// The job that is taken in this cycle.
    pub job: Signal<Out, WriterJob>,
    /// The step of this cycle.
    pub step: Signal<Out, WriterStep>,
    now: DFF<WriterStep>,
}

impl Logic for WriterSteps {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, now);
        self.step.next = self.now.q.val();
        self.job.next = WriterJob::Nothing;
        match self.now.q.val() {
            WriterStep::Idle => {
                if self.row.val() {
                    self.job.next = WriterJob::Row;
                    self.now.d.next = WriterStep::Acknowledge;
                } else if self.entry.val() {
                    self.job.next = WriterJob::Entry;
                    self.now.d.next = WriterStep::AskEntry;
                } else if (self.send.val() | self.receive.val()) & self.rest.val() {
                    self.job.next = WriterJob::Receive;
                    if self.send.val() {
                        self.job.next = WriterJob::Send;
                    }
                    // WQ-1: ImmediateData goes first, then Length and Status at once.
                    self.now.d.next = WriterStep::Unwritten;
                    if self.writes.val() {
                        self.now.d.next = WriterStep::AskStatus;
                        if self.has_immediate.val() {
                            self.now.d.next = WriterStep::AskImmediate;
                        }
                    }
                }
            }
            WriterStep::Unwritten => {
                self.now.d.next = WriterStep::Acknowledge;
            }
            WriterStep::AskImmediate => {
                if self.asked.val() {
                    self.now.d.next = WriterStep::Immediate;
                }
            }
            WriterStep::Immediate => {
                if self.written.val() {
                    self.now.d.next = WriterStep::AskStatus;
                }
                if self.refused.val() {
                    self.now.d.next = WriterStep::Refused;
                }
            }
            WriterStep::AskStatus => {
                if self.asked.val() {
                    self.now.d.next = WriterStep::Status;
                }
            }
            WriterStep::Status => {
                if self.written.val() {
                    self.now.d.next = WriterStep::Idle;
                    if self.at.val().acknowledge {
                        self.now.d.next = WriterStep::Acknowledge;
                    }
                }
                if self.refused.val() {
                    self.now.d.next = WriterStep::Refused;
                }
            }
            WriterStep::Acknowledge => {
                if self.acknowledged.val() | !self.at.val().acknowledge {
                    self.now.d.next = WriterStep::Idle;
                }
            }
            WriterStep::Refused => {
                if self.broken.val() {
                    self.now.d.next = WriterStep::Acknowledge;
                }
            }
            WriterStep::AskEntry => {
                if self.asked.val() {
                    self.now.d.next = WriterStep::EntryToken;
                }
            }
            WriterStep::EntryToken => {
                if self.written.val() {
                    self.now.d.next = WriterStep::EntryOwner;
                }
                if self.refused.val() {
                    self.now.d.next = WriterStep::Idle;
                }
            }
            WriterStep::EntryOwner => {
                if self.taken.val() {
                    self.now.d.next = WriterStep::Idle;
                }
            }
        }
        if self.reset.val() {
            self.now.d.next = WriterStep::Idle;
        }
    }
}
