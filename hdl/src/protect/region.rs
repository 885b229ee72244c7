//! The region table.
//!
//! ```text
//!    write_enable ──►┌─────────────┐
//!       write_row ──►│ RegionTable │──► region
//! word0, 1, 2     ──►│ 2^REGION_LOG2
//!        read_row ──►└─────────────┘
//! ```
//! Contract: `region` is the row of `read_row` one cycle later; not to be read in the cycle in which it is written.
//! Writes to a row that does not exist change nothing. Rows are written whole, so no reader sees half of one.
//!
//! Latency: 1 cycle. Tests: with the checker, `tests/protect`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_spec::profile::REGION_LOG2;
use viaduct_spec::tables::region;

use crate::prims::Number;
use crate::prims::Ram;

/// A row: see `viaduct_spec::tables::region`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Region {
    /// Virtual address of its first byte.
    pub base: Bits<64>,
    /// Bytes.
    pub length: Bits<48>,
    /// Protection tag.
    pub tag: Bits<16>,
    /// What a memory handle must repeat.
    pub key: Bits<16>,
    /// First row of its slice of the page table.
    pub first_page: Bits<16>,
    /// log2 of its page size.
    pub page_shift: Bits<6>,
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

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RegionTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub write_enable: Signal<In, bool>,
    /// Row to write.
    pub write_row: Signal<In, Bits<16>>,
    /// Bits 63:0 of the row.
    pub word0: Signal<In, Bits<64>>,
    /// Bits 127:64.
    pub word1: Signal<In, Bits<64>>,
    /// Bits 191:128.
    pub word2: Signal<In, Bits<64>>,
    /// Row to read.
    pub read_row: Signal<In, Bits<REGION_LOG2>>,
    /// The row read in the cycle before.
    pub region: Signal<Out, Region>,
    rows: Ram<Region, REGION_LOG2>,
    fields: Signal<Local, Region>,
    beyond: Signal<Local, Bits<16>>,
    row_bits: Number<5, { REGION_LOG2 as u64 }>,
}

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
        self.fields.next.base = self.word0.val();
        self.fields.next.length = self.word1.val().get_bits::<48>(0);
        self.fields.next.tag = self.word1.val().get_bits::<16>(48);
        self.fields.next.key = self.word2.val().get_bits::<16>(0);
        self.fields.next.first_page = self.word2.val().get_bits::<16>(16);
        self.fields.next.page_shift = self.word2.val().get_bits::<6>(32);
        self.fields.next.live = self.word2.val().get_bit(38);
        self.fields.next.rdma_write = self.word2.val().get_bit(39);
        self.fields.next.rdma_read = self.word2.val().get_bit(40);
        self.fields.next.system = self.word2.val().get_bit(41);
        self.fields.next.read_only = self.word2.val().get_bit(42);

        self.beyond.next = self.write_row.val() >> self.row_bits.val();
        self.rows.write_enable.next = self.write_enable.val() & !self.beyond.val().any();
        self.rows.write_address.next = bit_cast::<REGION_LOG2, 16>(self.write_row.val());
        self.rows.write_data.next = self.fields.val();
        self.rows.read_address.next = self.read_row.val();
        self.region.next = self.rows.read_data.val();
    }
}
