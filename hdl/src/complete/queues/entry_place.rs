//! Collects where the entry at hand goes, as the words of its completion queue come from memory.
//!
//! ```text
//!  step, row, taken ──►┌─────────────┐──► at
//!       place, home ──►│ EntryPlace  │──► written, told
//!         entry_end ──►│ (NextEntry) │──► full, gone
//!                      └─────────────┘
//! ```
//! Contract: the block takes the queue's `row` and `taken` in Read, `place` in First, `home` in Second. `full` is valid in Second; `at`
//! from the next cycle on. `gone` says in Lost and Break that the entry is not lost for want of room: there is no such queue, or
//! `entry_end` was false, so its memory is refused. `written` and `told` are those of `row`.
//!
//! Latency: 1 cycle from each of them.
//!
//! Example: a ring of 4 entries lies 640 bytes behind its region's base, and has 5 entries written and 3 taken. `full` is low, and `at`
//! has the address 656: the second entry.
//!
//! Tests: with the whole, `tests/complete/queues.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::super::indices::CqRow;
use super::next_entry::NextEntry;
use super::steps::CqStep;
use super::words::{RingHome, RingPlace};
use crate::bus::CqIndex;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Where an entry goes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EntryAddress {
    /// Region of the ring.
    pub region: Bits<16>,
    /// Tag that the region must have.
    pub tag: Bits<16>,
    /// Where the entry lies in the region: bytes from the region's base rounded down to 64.
    pub address: Bits<40>,
    /// Phase of the ring's lap.
    pub phase: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct EntryPlace {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The step of [`CompletionQueues`](super::CompletionQueues), which drives this and the other inputs.
    pub step: Signal<In, CqStep>,
    /// The row of the completion queue, from the indices.
    pub row: Signal<In, CqRow>,
    /// Entries that the consumer of the completion queue has taken.
    pub taken: Signal<In, CqIndex>,
    /// Where the ring of the completion queue lies in its region.
    pub place: Signal<In, RingPlace>,
    /// In which region the ring of the completion queue lies.
    pub home: Signal<In, RingHome>,
    /// The entry is done; true: it is written, false: its memory is refused.
    pub entry_end: FlowSink<bool>,
    /// Where the entry goes: the ring's region and tag, and the address and the phase of the entry.
    pub at: Signal<Out, EntryAddress>,
    /// Entries written before it.
    pub written: Signal<Out, CqIndex>,
    /// The error ring knows that the queue has lost entries.
    pub told: Signal<Out, bool>,
    /// The ring has no room, or there is none.
    pub full: Signal<Out, bool>,
    /// There is no such queue, or its memory is refused.
    pub gone: Signal<Out, bool>,
    next_entry: NextEntry,
    known: DFF<CqRow>,
    seen: DFF<CqIndex>,
    offset: DFF<Bits<34>>,
    slot: DFF<CqIndex>,
    phase: DFF<bool>,
    no_room: DFF<bool>,
    lacks: DFF<bool>,
    held_home: DFF<RingHome>,
    address: DFF<Bits<40>>,
}

impl Logic for EntryPlace {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, known, seen, offset, slot, phase, no_room, lacks, held_home, address);
        drive!(self, known.q => next_entry.row; seen.q => next_entry.taken; offset.q => next_entry.offset;
            slot.q => next_entry.held_slot; known.q.val().written => written; known.q.val().told => told;
            no_room.q => full; lacks.q => gone);
        fill!(self, at, held_home.q.val().region => region; held_home.q.val().tag => tag;
            address.q => address; phase.q => phase);
        match self.step.val() {
            CqStep::Read => {
                self.known.d.next = self.row.val();
                self.seen.d.next = self.taken.val();
            }
            CqStep::First => {
                self.offset.d.next = self.place.val().offset;
                self.slot.d.next = self.next_entry.slot.val();
                self.phase.d.next = self.next_entry.phase.val();
                // CQ-2: the ring has no room. CQ-4: the queue is not live.
                self.no_room.d.next = self.next_entry.full.val() | !self.known.q.val().live;
                self.lacks.d.next = !self.known.q.val().live;
            }
            CqStep::Second => {
                self.held_home.d.next = self.home.val();
                self.address.d.next = self.next_entry.address.val();
            }
            CqStep::Offer => {
                if self.entry_end.valid.val() {
                    // CQ-4: the entry's memory is refused.
                    self.lacks.d.next = !self.entry_end.data.val();
                }
            }
            _ => {}
        }
    }
}
