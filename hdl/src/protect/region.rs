//! Keeps the region table (TPT): one row for each memory region.
//!
//! ```text
//! write_enable, write_rest ──►┌─────────────┐──► region  (first half)
//!                   commit ──►│ RegionTable │──► extent  (second half)
//!      read_row, read_rest ──►└─────────────┘
//! ```
//! Contract: a row is two words of one memory, which therefore takes three block RAMs and not five. `region` is the first half of
//! `read_row` one cycle later; with `read_rest`, `extent` is the second half. The table must not be read in a cycle in which it is
//! written. `write_rest` writes the second half. Writes to a row that does not exist change nothing. The first half has what the first
//! step of a check computes with. A row whose page size is not valid is dead.
//!
//! Latency: 1 cycle.
//!
//! Example: row 5 is written in cycles 0 and 1, with `write_rest` in the second. `read_row` 5 in cycle 2 gives `region` in cycle 3; with
//! `read_rest` in cycle 3, `extent` is there in cycle 4.
//!
//! Tests: with `Protect`, `tests/protect/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::REGION_LOG2;

use crate::bus::Commit;
use crate::prims::{Cast, Number, Ram, Unpack};
use crate::rows::tables::RegionRow;

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
pub struct RegionExtent {
    /// Bytes of the region.
    pub length: Bits<48>,
    /// Protection tag.
    pub tag: Bits<16>,
    /// What a memory handle must repeat.
    pub key: Bits<16>,
    /// First row of its slice of the page table.
    pub first_page: Bits<16>,
    /// 0: the first half is longer.
    pub unused: Bits<9>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct RegionTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Half a row is written in this cycle; `AccessIntake` drives this and the other inputs.
    pub write_enable: Signal<In, bool>,
    /// The second half is written, otherwise the first.
    pub write_rest: Signal<In, bool>,
    /// The row of REGION that is written.
    pub commit: Signal<In, Commit>,
    /// The row that is read.
    pub read_row: Signal<In, Bits<REGION_LOG2>>,
    /// The second half is read, otherwise the first.
    pub read_rest: Signal<In, bool>,
    /// The first half of a row, if that was read in the cycle before; `AccessIntake` listens to both outputs.
    pub region: Signal<Out, Region>,
    /// The second half of a row, if that was read in the cycle before.
    pub extent: Signal<Out, RegionExtent>,
    rows: Ram<Bits<105>, ROWS_LOG2>,
    written: Unpack<Commit, RegionRow>,
    row: Signal<Local, RegionRow>,
    first: Signal<Local, Region>,
    second: Signal<Local, RegionExtent>,
    first_in: Cast<Region, Bits<105>>,
    second_in: Cast<RegionExtent, Bits<105>>,
    first_out: Cast<Bits<105>, Region>,
    second_out: Cast<Bits<105>, RegionExtent>,
    number: Signal<Local, Bits<16>>,
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

impl Logic for RegionTable {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        drive!(self, commit => written.from; written.to => row; commit.val().row => number);
        // The mask is made here, once, so that no access has to wait for it.
        self.scale.next = self.row.val().page_shift - bits::<6>(12);
        self.dead.next = self.scale.val().get_bit(5);
        self.ones.next = !bits::<31>(0);
        self.above.next = self.ones.val() << bit_cast::<5, 6>(self.scale.val());
        self.below.next = !self.above.val();
        self.first.next.base = self.row.val().base;
        self.first.next.scale = bit_cast::<5, 6>(self.scale.val());
        self.first.next.page_mask = self.below.val();
        self.first.next.live = self.row.val().live & !self.dead.val();
        self.first.next.rdma_write = self.row.val().rdma_write & !self.dead.val();
        self.first.next.rdma_read = self.row.val().rdma_read & !self.dead.val();
        self.first.next.system = self.row.val().system & !self.dead.val();
        self.first.next.read_only = self.row.val().read_only & !self.dead.val();
        fill!(self, second, row.val().length => length; row.val().tag => tag; row.val().key => key;
            row.val().first_page => first_page);
        self.second.next.unused = bits::<9>(0);
        drive!(self, first => first_in.from; second => second_in.from);
        self.rows.write_data.next = self.first_in.to.val();
        self.rows.write_address.next = bit_cast::<ROWS_LOG2, 16>(self.number.val()) << 1;
        self.rows.read_address.next = bit_cast::<ROWS_LOG2, REGION_LOG2>(self.read_row.val()) << 1;
        if self.write_rest.val() {
            self.rows.write_data.next = self.second_in.to.val();
            self.rows.write_address.next =
                (bit_cast::<ROWS_LOG2, 16>(self.number.val()) << 1) | bits::<ROWS_LOG2>(1);
        }
        if self.read_rest.val() {
            self.rows.read_address.next =
                (bit_cast::<ROWS_LOG2, REGION_LOG2>(self.read_row.val()) << 1) | bits::<ROWS_LOG2>(1);
        }

        self.beyond.next = self.number.val() >> self.row_bits.val();
        self.rows.write_enable.next = self.write_enable.val() & !self.beyond.val().any();
        drive!(self, rows.read_data => first_out.from, second_out.from; first_out.to => region;
            second_out.to => extent);
    }
}
