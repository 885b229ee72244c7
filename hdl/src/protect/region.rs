//! The region table.
//!
//! ```text
//! write_enable, _row, _rest ──►┌─────────────┐──► region  (first half)
//!               word0, 1, 2 ──►│ RegionTable │──► extent  (second half)
//!       read_row, read_rest ──►└─────────────┘
//! ```
//! Contract: a row is two words of one memory, which so takes three block RAMs and not five. `region` is the first
//! half of `read_row` one cycle later, `extent` the second with `read_rest`. Not to be read in the cycle
//! in which it is written. `write_rest` writes the second half. Writes to a row that does not exist change nothing.
//! The first half is what the first step of a check computes with; a page size that is none makes the row dead.
//!
//! Latency: 1 cycle.
//!
//! Example: row 5 is written in cycles 0 and 1, with `write_rest` in the second. `read_row` 5 in cycle 2 gives `region` in cycle 3; with
//! `read_rest` in cycle 3, `extent` is there in cycle 4.
//!
//! Tests: with the checker, `tests/protect`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_spec::profile::REGION_LOG2;
use viaduct_spec::tables::region;

use crate::prims::Number;
use crate::prims::Ram;

/// The first half of a row: see `viaduct_spec::tables::region`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Region {
    /// Virtual address of its first byte.
    pub base: Bits<64>,
    /// Page shift - 12.
    pub scale: Bits<5>,
    /// Ones in the bits of a page's offset from bit 12 on.
    pub page_mask: Bits<31>,
    /// The row is valid.
    pub live: bool,
    /// Remote peers may write to it.
    pub rdma_write: bool,
    /// Remote peers may read it.
    pub rdma_read: bool,
    /// An agent's arena.
    pub system: bool,
    /// The NIC may not write to it.
    pub read_only: bool,
}

/// The second half of a row: see `viaduct_spec::tables::region`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Extent {
    /// Bytes of the region.
    pub length: Bits<48>,
    /// Protection tag.
    pub tag: Bits<16>,
    /// What a memory handle must repeat.
    pub key: Bits<16>,
    /// First row of its slice of the page table.
    pub first_page: Bits<16>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RegionTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The owner writes half a row in this cycle.
    pub write_enable: Signal<In, bool>,
    /// The row that is written.
    pub write_row: Signal<In, Bits<16>>,
    /// The second half is written, otherwise the first.
    pub write_rest: Signal<In, bool>,
    /// Bits 63:0 of the row that is written.
    pub word0: Signal<In, Bits<64>>,
    /// Bits 127:64 of the row that is written.
    pub word1: Signal<In, Bits<64>>,
    /// Bits 191:128 of the row that is written.
    pub word2: Signal<In, Bits<64>>,
    /// The row that is read.
    pub read_row: Signal<In, Bits<REGION_LOG2>>,
    /// The second half is read, otherwise the first.
    pub read_rest: Signal<In, bool>,
    /// The first half of a row, if that was read in the cycle before.
    pub region: Signal<Out, Region>,
    /// The second half of a row, if that was read in the cycle before.
    pub extent: Signal<Out, Extent>,
    rows: Ram<Bits<105>, ROWS_LOG2>,
    first: Signal<Local, Bits<105>>,
    second: Signal<Local, Bits<105>>,
    row: Signal<Local, Bits<105>>,
    flags: Signal<Local, Bits<5>>,
    page_shift: Signal<Local, Bits<6>>,
    scale: Signal<Local, Bits<6>>,
    dead: Signal<Local, bool>,
    ones: Signal<Local, Bits<31>>,
    above: Signal<Local, Bits<31>>,
    below: Signal<Local, Bits<31>>,
    beyond: Signal<Local, Bits<16>>,
    row_bits: Number<5, { REGION_LOG2 as u64 }>,
}

/// Two halves a row.
const ROWS_LOG2: usize = REGION_LOG2 + 1;

// The slices below are the specification's.
const _: () = {
    const fn at(field: viaduct_spec::layout::Field, lo: usize, width: usize) -> bool {
        field.lo == lo && field.width == width
    }
    assert!(at(region::BASE, 0, 64) && at(region::LENGTH, 64, 48) && at(region::TAG, 112, 16));
    assert!(at(region::KEY, 128, 16) && at(region::FIRST_PAGE, 144, 16) && at(region::PAGE_SHIFT, 160, 6));
    assert!(at(region::LIVE, 166, 1) && at(region::RDMA_WRITE, 167, 1) && at(region::RDMA_READ, 168, 1));
    assert!(at(region::SYSTEM, 169, 1) && at(region::READ_ONLY, 170, 1));
};

impl Logic for RegionTable {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        // {flags, page mask, scale, base}: the mask is made here, once, so that no access has to wait for it.
        self.page_shift.next = self.word2.val().get_bits::<6>(32);
        self.scale.next = self.page_shift.val() - bits::<6>(12);
        self.dead.next = self.scale.val().get_bit(5);
        self.ones.next = !bits::<31>(0);
        self.above.next = self.ones.val() << self.scale.val().get_bits::<5>(0);
        self.below.next = !self.above.val();
        self.flags.next = self.word2.val().get_bits::<5>(38);
        if self.dead.val() {
            self.flags.next = bits::<5>(0);
        }
        self.first.next = (bit_cast::<105, 5>(self.flags.val()) << bits::<7>(100))
            | (bit_cast::<105, 31>(self.below.val()) << bits::<7>(69))
            | (bit_cast::<105, 5>(self.scale.val().get_bits::<5>(0)) << bits::<7>(64))
            | bit_cast::<105, 64>(self.word0.val());
        // {first page, key, tag, length}.
        self.second.next = (bit_cast::<105, 32>(self.word2.val().get_bits::<32>(0)) << bits::<7>(64))
            | bit_cast::<105, 64>(self.word1.val());
        self.rows.write_data.next = self.first.val();
        self.rows.write_address.next = bit_cast::<ROWS_LOG2, 16>(self.write_row.val()) << 1;
        self.rows.read_address.next = bit_cast::<ROWS_LOG2, REGION_LOG2>(self.read_row.val()) << 1;
        if self.write_rest.val() {
            self.rows.write_data.next = self.second.val();
            self.rows.write_address.next =
                (bit_cast::<ROWS_LOG2, 16>(self.write_row.val()) << 1) | bits::<ROWS_LOG2>(1);
        }
        if self.read_rest.val() {
            self.rows.read_address.next =
                (bit_cast::<ROWS_LOG2, REGION_LOG2>(self.read_row.val()) << 1) | bits::<ROWS_LOG2>(1);
        }

        self.beyond.next = self.write_row.val() >> self.row_bits.val();
        self.rows.write_enable.next = self.write_enable.val() & !self.beyond.val().any();
        self.row.next = self.rows.read_data.val();
        self.region.next.base = self.row.val().get_bits::<64>(0);
        self.region.next.scale = self.row.val().get_bits::<5>(64);
        self.region.next.page_mask = self.row.val().get_bits::<31>(69);
        self.region.next.live = self.row.val().get_bit(100);
        self.region.next.rdma_write = self.row.val().get_bit(101);
        self.region.next.rdma_read = self.row.val().get_bit(102);
        self.region.next.system = self.row.val().get_bit(103);
        self.region.next.read_only = self.row.val().get_bit(104);
        self.extent.next.length = self.row.val().get_bits::<48>(0);
        self.extent.next.tag = self.row.val().get_bits::<16>(48);
        self.extent.next.key = self.row.val().get_bits::<16>(64);
        self.extent.next.first_page = self.row.val().get_bits::<16>(80);
    }
}
