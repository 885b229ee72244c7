//! The steps in which check reads a descriptor, and which word of it is read in each.
//!
//! ```text
//!               waits, hold ──►┌────────────┐──► load, drop
//!    lost, stale, connected ──►│            │──► step
//!         fields, malformed ──►│ CheckSteps │──► seek, read_row
//!       asked, ended, taken ──►└────────────┘──► asks
//! ```
//! Contract: a word that is asked for in one step is on show in the next, and in `late` in the one behind that. In Idle the block waits
//! for a head, and `load` takes it. What the next steps read depends on how many segments the descriptor has:
//!
//! | step | word on show | word in `late` | next |
//! |---|---|---|---|
//! | Control | 1 | | Immediate |
//! | Immediate | 2 | 1 | Length; Offer, if the descriptor is lost; Idle, if the head is stale |
//! | Length | 3 | 2 | FirstLength; of RDMA Remote; without segments Row |
//! | Remote | 4 | 3 | FirstLength |
//! | FirstLength | 5 | of RDMA 4 | SecondLength; with one segment Row |
//! | SecondLength | 7 | 5 | TailRow; with two segments Row |
//! | TailRow | GATHER row | 7 | AskTail; of what is malformed or not connected Row |
//! | AskTail | GATHER row | GATHER row | WaitTail, when `asked` says that the read is taken |
//! | WaitTail | GATHER row | GATHER row | Row, when the tail has `ended` |
//! | Row | GATHER row | | Limits |
//! | Limits | first word of the first data segment | GATHER row | Verdict |
//! | Verdict | its second word | its first word | Offer |
//! | Offer | the next segment's first word | its second word | Idle, when the message is `taken` |
//!
//! Latency: a cycle for each step: 8 from `load` to Offer with one segment.
//!
//! Example: a send with one segment goes through Control, Immediate, Length, FirstLength, Row, Limits, Verdict and Offer, and reads the
//! words 1, 2, 3, 5, the GATHER row, 4 and 5.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicState) makes methods without documentation")]

use crate::stream::FlowSource;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::control_check::ControlFields;

/// See the module's table.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum CheckStep {
    /// No head is at hand.
    Idle,
    /// The control segment's first words come.
    Control,
    /// What the message is, and its immediate data.
    Immediate,
    /// The message's length.
    Length,
    /// RDMA: where it goes to.
    Remote,
    /// The first segment's length.
    FirstLength,
    /// The second segment's length.
    SecondLength,
    /// The GATHER row comes, for the tag of the tail's read.
    TailRow,
    /// The tail is asked for.
    AskTail,
    /// The tail comes.
    WaitTail,
    /// The GATHER row comes.
    Row,
    /// The GATHER row is looked at.
    Limits,
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
    /// The fields of the control segment, from step Length on.
    pub fields: Signal<In, ControlFields>,
    /// Something is wrong with the descriptor's form.
    pub malformed: Signal<In, bool>,
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
    /// The tail is to be asked for: the step is AskTail.
    pub asks: Signal<Out, bool>,
    at: DFF<CheckStep>,
    asking: DFF<bool>,
}

impl Logic for CheckSteps {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, asking);
        drive!(self, at.q => step; asking.q => asks);
        drive!(self, false => load, drop, seek.valid);
        self.seek.data.next = bits::<9>(1);
        self.read_row.next = false;
        match self.at.q.val() {
            CheckStep::Idle => {
                self.seek.valid.next = true;
                if self.waits.val() & !self.hold.val() {
                    self.load.next = true;
                    self.at.d.next = CheckStep::Control;
                }
            }
            CheckStep::Control => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(2);
                self.at.d.next = CheckStep::Immediate;
            }
            CheckStep::Immediate => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(3);
                self.at.d.next = CheckStep::Length;
                if self.lost.val() {
                    self.at.d.next = CheckStep::Offer;
                }
                if self.stale.val() {
                    self.drop.next = true;
                    self.at.d.next = CheckStep::Idle;
                }
            }
            CheckStep::Length => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                self.at.d.next = CheckStep::FirstLength;
                if self.fields.val().rdma {
                    self.seek.data.next = bits::<9>(4);
                    self.at.d.next = CheckStep::Remote;
                }
                if !self.fields.val().segments.any() {
                    self.read_row.next = true;
                    self.at.d.next = CheckStep::Row;
                }
            }
            CheckStep::Remote => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                self.at.d.next = CheckStep::FirstLength;
            }
            CheckStep::FirstLength => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(7);
                self.at.d.next = CheckStep::SecondLength;
                if self.fields.val().segments == bits::<8>(1) {
                    self.read_row.next = true;
                    self.at.d.next = CheckStep::Row;
                }
            }
            CheckStep::SecondLength => {
                self.read_row.next = true;
                self.at.d.next = CheckStep::TailRow;
                if self.fields.val().segments == bits::<8>(2) {
                    self.at.d.next = CheckStep::Row;
                }
            }
            CheckStep::TailRow => {
                self.read_row.next = true;
                self.at.d.next = CheckStep::AskTail;
                self.asking.d.next = true;
                if self.malformed.val() | !self.connected.val() {
                    self.asking.d.next = false;
                    self.at.d.next = CheckStep::Row;
                }
            }
            CheckStep::AskTail => {
                self.read_row.next = true;
                if self.asked.val() {
                    self.asking.d.next = false;
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
                // The first data segment's words come next, whatever the verdict is.
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(4);
                if self.fields.val().rdma {
                    self.seek.data.next = bits::<9>(6);
                }
                self.at.d.next = CheckStep::Limits;
            }
            CheckStep::Limits => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                if self.fields.val().rdma {
                    self.seek.data.next = bits::<9>(7);
                }
                self.at.d.next = CheckStep::Verdict;
            }
            CheckStep::Verdict => {
                // The second data segment is the next one to be read.
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(6);
                if self.fields.val().rdma {
                    self.seek.data.next = bits::<9>(8);
                }
                self.at.d.next = CheckStep::Offer;
            }
            CheckStep::Offer => {
                if self.taken.val() {
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
        }
    }
}
