//! Where in its ring the next entry of a completion queue goes, and whether there is room.
//!
//! ```text
//!   row, taken, offset ──►┌───────────┐──► slot, phase, full
//!            held_slot ──►│ NextEntry │──► address
//!                         └───────────┘
//! ```
//! Contract: the block has no state. `slot`, `phase` and `full` are those of the next entry of a queue with `written` entries in `row`,
//! of which `taken` have been taken; `address` is that of the entry in `held_slot` of the ring at `offset`, in bytes. An entry has 16
//! bytes.
//!
//! Latency: none; `EntryPlace` keeps `slot` in a register, which comes back as `held_slot`.
//!
//! Example: a ring of 4 entries has 5 written and 3 taken: `slot` is 1, `phase` is low since it is the second lap, and `full` is low.
//!
//! Tests: `tests/complete/ring_blocks.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::super::indices::CqRow;
use crate::arithmetic::{RingLevel, RingSlot};
use crate::bus::CqIndex;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct NextEntry {
    /// The row of the completion queue; `EntryPlace` drives this and the other inputs.
    pub row: Signal<In, CqRow>,
    /// How many entries the consumer of the completion queue has taken.
    pub taken: Signal<In, CqIndex>,
    /// Place of the next entry in the ring.
    pub slot: Signal<Out, CqIndex>,
    /// Phase of the ring's lap: high in the first one.
    pub phase: Signal<Out, bool>,
    /// The ring has no room.
    pub full: Signal<Out, bool>,
    /// Offset of the ring in its region, in units of 64 bytes.
    pub offset: Signal<In, Bits<34>>,
    /// A place in the ring, which was `slot` before.
    pub held_slot: Signal<In, CqIndex>,
    /// Where the entry of that place goes: bytes from the region's base rounded down to 64.
    pub address: Signal<Out, Bits<40>>,
    place: RingSlot<18, 5>,
    level: RingLevel<18, 5>,
    waiting: Signal<Local, CqIndex>,
    /// Entries in front of the place, in lines of 64 bytes.
    line: Signal<Local, Bits<34>>,
    /// Place of the entry in its line.
    quarter: Signal<Local, Bits<2>>,
}

impl Logic for NextEntry {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, row.val().written => place.position; row.val().log2 => place.log2; place.slot => slot);
        // CQ-1: the phase is 1 in the first lap.
        self.phase.next = !self.place.odd_lap.val();
        self.waiting.next = self.row.val().written - self.taken.val();
        self.level.level.next = self.waiting.val();
        self.level.log2.next = self.row.val().log2;
        self.full.next = self.level.full.val();

        self.line.next = self.offset.val() + bit_cast::<34, 18>(self.held_slot.val() >> 2);
        self.quarter.next = bit_cast::<2, 18>(self.held_slot.val());
        self.address.next =
            (bit_cast::<40, 34>(self.line.val()) << 6) | (bit_cast::<40, 2>(self.quarter.val()) << 4);
    }
}
