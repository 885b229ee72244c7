//! Points at the slots of the VI at hand one after the other, the oldest first.
//!
//! ```text
//!  step, oldest ──►┌────────────┐──► slot
//!  found, waits ──►│ SlotCursor │──► last
//!                  └────────────┘
//! ```
//! Contract: in Wait and Pick the slot becomes `oldest`. It moves on in Compare unless the request is `found` there, and in Place unless
//! it `waits`. `last` says that the request has been compared with three other slots since Idle.
//!
//! Latency: 1 cycle.
//!
//! Example: `oldest` is 2 in Pick, and slots 3 and 0 wait. In Place the slot is 2, then 3, where it stays.
//!
//! Tests: with the whole, `tests/reply/requests/`.

use super::steps::ReplyStep;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SlotCursor {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of [`Requests`](super::Requests), which drives this and the other inputs.
    pub step: Signal<In, ReplyStep>,
    /// The VI's oldest slot.
    pub oldest: Signal<In, Bits<2>>,
    /// In Compare: the request lies within the slot's.
    pub found: Signal<In, bool>,
    /// In Place: the slot waits for its answer.
    pub waits: Signal<In, bool>,
    /// The slot at hand, 0 to 3.
    pub slot: Signal<Out, Bits<2>>,
    /// In Compare: no other slot is left.
    pub last: Signal<Out, bool>,
    at: DFF<Bits<2>>,
    /// Slots still to look at, without this one.
    left: DFF<Bits<2>>,
}

impl Logic for SlotCursor {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, left);
        self.slot.next = self.at.q.val();
        self.last.next = !self.left.q.val().any();
        match self.step.val() {
            ReplyStep::Idle => {
                self.left.d.next = bits::<2>(3);
            }
            ReplyStep::Wait => {
                self.at.d.next = self.oldest.val();
            }
            ReplyStep::Compare => {
                self.left.d.next = self.left.q.val() - 1;
                if !self.found.val() {
                    self.at.d.next = self.at.q.val() + 1;
                }
            }
            ReplyStep::Pick => {
                self.at.d.next = self.oldest.val();
            }
            ReplyStep::Place => {
                if !self.waits.val() {
                    self.at.d.next = self.at.q.val() + 1;
                }
            }
            _ => {}
        }
    }
}
