//! The steps in which check judges a descriptor, and which word of it is read in each.
//!
//! ```text
//!                   waits, hold ──►┌────────────┐──► load, drop
//!        lost, stale, connected ──►│            │──► step
//!  has_tail, rdma, has_immediate ─►│ CheckSteps │──► seek, read_row
//!           asked, ended, taken ──►└────────────┘──► asks, offers, prepares
//! ```
//! Contract: a word that is asked for in one step is on show in the next, and in `late` in the one behind that. In Idle the block waits
//! for a head, and `load` takes it, and reads its VI's GATHER row. What the next steps read depends on what the descriptor has:
//!
//! | step | word on show | word in `late` | next |
//! |---|---|---|---|
//! | Load | GATHER row | | Limits; with a tail TailRow |
//! | TailRow | GATHER row | GATHER row | AskTail; Row, if the VI is not connected; Idle, if the head is stale |
//! | AskTail | GATHER row | GATHER row | WaitTail, in the cycle behind `asked`, which says that the read is taken |
//! | WaitTail | GATHER row | GATHER row | Row, when the tail has `ended` |
//! | Row | GATHER row | | Limits |
//! | Limits | with immediate data 2, otherwise 4 | GATHER row | Verdict; with immediate data Immediate; of RDMA Remote; Offer, if the descriptor is lost; Idle, if the head is stale |
//! | Immediate | 4 | 2 | Verdict; of RDMA Remote |
//! | Remote | 5 | 4 | Key |
//! | Key | 6 | 5 | Verdict |
//! | Verdict | second word of the first data segment | its first word | Offer |
//! | Offer | the next segment's first word | that second word | Idle, when the message is `taken` |
//!
//! Latency: a cycle for each step: 4 from `load` to Offer without a tail, one more with immediate data, two more for RDMA.
//!
//! Example: a send with one segment goes through Load, Limits, Verdict and Offer, and reads the GATHER row and the words 4, 5 and 6.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicState) makes methods without documentation")]

use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's table.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum CheckStep {
    /// No head is at hand.
    Idle,
    /// The GATHER row comes.
    Load,
    /// The GATHER row is looked at for the tag of the tail's read.
    TailRow,
    /// The tail is asked for.
    AskTail,
    /// The tail comes.
    WaitTail,
    /// The GATHER row comes again.
    Row,
    /// The GATHER row is looked at.
    Limits,
    /// The immediate data is there.
    Immediate,
    /// RDMA: the address at the peer is there.
    Remote,
    /// RDMA: the handle at the peer is there.
    Key,
    /// The message is judged.
    Verdict,
    /// The message is offered to cut.
    Offer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CheckSteps {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block goes to Idle.
    pub reset: Signal<In, bool>,
    /// A head waits in the inbox; check drives this and the other inputs.
    pub waits: Signal<In, bool>,
    /// No head must be loaded now.
    pub hold: Signal<In, bool>,
    /// The descriptor of the head at hand could not be read.
    pub lost: Signal<In, bool>,
    /// The head at hand is of another epoch or life of its VI.
    pub stale: Signal<In, bool>,
    /// The VI of the head at hand is connected.
    pub connected: Signal<In, bool>,
    /// The descriptor has segments behind its first 64 bytes, and they are to be read.
    pub has_tail: Signal<In, bool>,
    /// The message is an RDMA write or read.
    pub rdma: Signal<In, bool>,
    /// The message carries immediate data.
    pub has_immediate: Signal<In, bool>,
    /// The read of the tail is taken.
    pub asked: Signal<In, bool>,
    /// The whole tail has come in.
    pub ended: Signal<In, bool>,
    /// Cut is done with the message.
    pub taken: Signal<In, bool>,
    /// The step of this cycle.
    pub step: Signal<Out, CheckStep>,
    /// Pulses when the oldest head that waits is to be loaded.
    pub load: Signal<Out, bool>,
    /// Pulses when the head at hand is dropped because it is stale.
    pub drop: Signal<Out, bool>,
    /// Number of the word that is to be read.
    pub seek: FlowSource<Bits<9>>,
    /// The GATHER row is read instead of a word.
    pub read_row: Signal<Out, bool>,
    /// The tail is to be asked for: the step is AskTail, but for its last cycle.
    pub asks: Signal<Out, bool>,
    /// The message is offered: the step is Offer. Much depends on it, and a register says it at once.
    pub offers: Signal<Out, bool>,
    /// The step is not Offer; a register of its own, so that who listens to this shares no gates with who listens to `offers`.
    pub prepares: Signal<Out, bool>,
    at: DFF<CheckStep>,
    asking: DFF<bool>,
    offering: DFF<bool>,
    preparing: DFF<bool>,
}

impl Logic for CheckSteps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, asking, offering, preparing);
        drive!(self, at.q => step; asking.q => asks; offering.q => offers; preparing.q => prepares;
            false => load, drop, read_row; true => seek.valid);
        self.seek.data.next = bits::<9>(5);
        // `asked` comes late in its cycle, so it ends `asking`, and nothing else.
        if self.asked.val() {
            self.asking.d.next = false;
        }
        match self.at.q.val() {
            CheckStep::Idle => {
                self.read_row.next = true;
                if self.waits.val() & !self.hold.val() {
                    self.load.next = true;
                    self.at.d.next = CheckStep::Load;
                }
            }
            CheckStep::Load => {
                self.seek.data.next = bits::<9>(4);
                if self.has_immediate.val() {
                    self.seek.data.next = bits::<9>(2);
                }
                self.at.d.next = CheckStep::Limits;
                if self.has_tail.val() {
                    self.read_row.next = true;
                    self.at.d.next = CheckStep::TailRow;
                }
            }
            CheckStep::TailRow => {
                self.read_row.next = true;
                self.at.d.next = CheckStep::AskTail;
                self.asking.d.next = true;
                if !self.connected.val() {
                    self.asking.d.next = false;
                    self.at.d.next = CheckStep::Row;
                }
                if self.stale.val() {
                    self.drop.next = true;
                    self.asking.d.next = false;
                    self.at.d.next = CheckStep::Idle;
                }
            }
            CheckStep::AskTail => {
                self.read_row.next = true;
                if !self.asking.q.val() {
                    self.at.d.next = CheckStep::WaitTail;
                }
            }
            CheckStep::WaitTail => {
                self.read_row.next = true;
                if self.ended.val() {
                    self.at.d.next = CheckStep::Row;
                }
            }
            CheckStep::Row => {
                self.seek.data.next = bits::<9>(4);
                if self.has_immediate.val() {
                    self.seek.data.next = bits::<9>(2);
                }
                self.at.d.next = CheckStep::Limits;
            }
            CheckStep::Limits => {
                self.at.d.next = CheckStep::Verdict;
                if self.rdma.val() {
                    self.at.d.next = CheckStep::Remote;
                }
                if self.has_immediate.val() {
                    self.seek.data.next = bits::<9>(4);
                    self.at.d.next = CheckStep::Immediate;
                }
                if self.lost.val() {
                    self.at.d.next = CheckStep::Offer;
                    self.offering.d.next = true;
                }
                if self.stale.val() {
                    self.drop.next = true;
                    self.offering.d.next = false;
                    self.at.d.next = CheckStep::Idle;
                }
            }
            CheckStep::Immediate => {
                self.at.d.next = CheckStep::Verdict;
                if self.rdma.val() {
                    self.at.d.next = CheckStep::Remote;
                }
            }
            CheckStep::Remote => {
                self.seek.data.next = bits::<9>(6);
                self.at.d.next = CheckStep::Key;
            }
            CheckStep::Key => {
                self.seek.data.next = bits::<9>(7);
                self.at.d.next = CheckStep::Verdict;
            }
            CheckStep::Verdict => {
                // The second data segment is the next one to be read.
                self.seek.data.next = bits::<9>(6);
                if self.rdma.val() {
                    self.seek.data.next = bits::<9>(8);
                }
                self.at.d.next = CheckStep::Offer;
                self.offering.d.next = true;
            }
            CheckStep::Offer => {
                self.seek.valid.next = false;
                if self.taken.val() {
                    self.offering.d.next = false;
                    self.at.d.next = CheckStep::Idle;
                }
            }
            _ => {
                self.at.d.next = CheckStep::Idle;
            }
        }
        if self.reset.val() {
            self.at.d.next = CheckStep::Idle;
            self.asking.d.next = false;
            self.offering.d.next = false;
        }
        self.preparing.d.next = !self.offering.d.val();
    }
}
