//! The steps in which [`CompletionQueues`](super::CompletionQueues) takes a commit, a descriptor or an event.
//!
//! ```text
//!  row, work_row, closed, ──►┌─────────┐──► job
//!  ring_event, ready, ...    │ CqSteps │──► step
//!                            └─────────┘
//! ```
//! Contract: in Idle the block takes the first job that waits, in the order of its ports; in each other step it goes on as the answers say:
//!
//! ```text
//!  a queue's row:  Idle ─► Home ─► Start ─► Idle          a work queue's row:  Idle
//!  a descriptor:   Idle ─► Look ─► Fetch ─► Found ─► (Read ...) ─► Idle
//!  an event:       Idle ─► Read ─► First ─► Second ─► Offer ─► Count ─► Idle
//!                           ▲                 │ full    │ refused
//!                           │                 ▼         ▼
//!                           └─ Tell ◄─ Break ◄─ Lost ◄──┘
//! ```
//! Lost is the end for an event, Break the end where nobody is to be told.
//!
//! Latency: 1 cycle a step; Start, Read, Offer, Count, Break and Tell last until what they wait for has come.
//!
//! Example: a descriptor comes whose work queue has no completion queue. The steps are Look, Fetch, Found and Idle.
//!
//! Tests: with the whole, `tests/complete/queues.rs`.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// A job that the block takes in Idle.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum CqJob {
    /// Nothing waits, or a step is under way.
    Nothing,
    /// A row of either table.
    Row,
    /// A descriptor that has ended.
    Descriptor,
    /// An event.
    Event,
}

/// A step; the drawing has their order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum CqStep {
    /// Take a commit, a descriptor or an event.
    Idle,
    /// Write the ring's home, the second word of a completion queue that is committed.
    Home,
    /// Begin the queue.
    Start,
    /// Ask for the work queue's word.
    Look,
    /// The word comes.
    Fetch,
    /// Count the descriptor.
    Found,
    /// The completion queue's row is there; ask for its ring's place.
    Read,
    /// The place comes; ask for the ring's home.
    First,
    /// The home comes.
    Second,
    /// Offer the entry.
    Offer,
    /// Count the entry.
    Count,
    /// The entry is lost.
    Lost,
    /// Break the VI.
    Break,
    /// Make an event of the overrun.
    Tell,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CqSteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Goes to Idle.
    pub reset: Signal<In, bool>,
    /// A row waits, and it is its turn; [`CompletionQueues`](super::CompletionQueues) drives this and the other inputs.
    pub row: Signal<In, bool>,
    /// The row is of WORK_QUEUE.
    pub work_row: Signal<In, bool>,
    /// A descriptor that has ended waits.
    pub closed: Signal<In, bool>,
    /// An event waits.
    pub ring_event: Signal<In, bool>,
    /// There is an error ring.
    pub ring_is_there: Signal<In, bool>,
    /// In Start, Read, Count and Tell: the indices take what they are given.
    pub ready: Signal<In, bool>,
    /// In Found: the descriptor makes an entry.
    pub makes: Signal<In, bool>,
    /// In Second: the ring has no room.
    pub full: Signal<In, bool>,
    /// In Offer: the entry is done; true: it is written.
    pub entry_end: FlowSink<bool>,
    /// The entry at hand is an event.
    pub is_event: Signal<In, bool>,
    /// In Break: the fault is taken.
    pub broken: Signal<In, bool>,
    /// In Break: the error ring is to be told.
    pub tells: Signal<In, bool>,
    /// The job that is taken in this cycle.
    pub job: Signal<Out, CqJob>,
    /// The step of this cycle.
    pub step: Signal<Out, CqStep>,
    at: DFF<CqStep>,
}

impl Logic for CqSteps {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at);
        self.step.next = self.at.q.val();
        self.job.next = CqJob::Nothing;
        match self.at.q.val() {
            CqStep::Idle => {
                if self.row.val() {
                    self.job.next = CqJob::Row;
                    if !self.work_row.val() {
                        self.at.d.next = CqStep::Home;
                    }
                } else if self.closed.val() {
                    self.job.next = CqJob::Descriptor;
                    self.at.d.next = CqStep::Look;
                } else if self.ring_event.val() {
                    self.job.next = CqJob::Event;
                    if self.ring_is_there.val() {
                        self.at.d.next = CqStep::Read;
                    }
                }
            }
            CqStep::Home => {
                self.at.d.next = CqStep::Start;
            }
            CqStep::Start => {
                if self.ready.val() {
                    self.at.d.next = CqStep::Idle;
                }
            }
            CqStep::Look => {
                self.at.d.next = CqStep::Fetch;
            }
            CqStep::Fetch => {
                self.at.d.next = CqStep::Found;
            }
            CqStep::Found => {
                self.at.d.next = CqStep::Idle;
                if self.makes.val() {
                    self.at.d.next = CqStep::Read;
                }
            }
            CqStep::Read => {
                if self.ready.val() {
                    self.at.d.next = CqStep::First;
                }
            }
            CqStep::First => {
                self.at.d.next = CqStep::Second;
            }
            CqStep::Second => {
                self.at.d.next = CqStep::Offer;
                if self.full.val() {
                    self.at.d.next = CqStep::Lost;
                }
            }
            CqStep::Offer => {
                if self.entry_end.valid.val() {
                    self.at.d.next = CqStep::Lost;
                    if self.entry_end.data.val() {
                        self.at.d.next = CqStep::Count;
                    }
                }
            }
            CqStep::Count => {
                if self.ready.val() {
                    self.at.d.next = CqStep::Idle;
                }
            }
            CqStep::Lost => {
                self.at.d.next = CqStep::Break;
                if self.is_event.val() {
                    self.at.d.next = CqStep::Idle;
                }
            }
            CqStep::Break => {
                if self.broken.val() {
                    self.at.d.next = CqStep::Idle;
                    // CQ-2: an overrun is told once.
                    if self.tells.val() {
                        self.at.d.next = CqStep::Tell;
                    }
                }
            }
            CqStep::Tell => {
                if self.ready.val() {
                    self.at.d.next = CqStep::Read;
                }
            }
        }
        if self.reset.val() {
            self.at.d.next = CqStep::Idle;
        }
    }
}
