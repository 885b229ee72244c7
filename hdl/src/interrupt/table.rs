//! The MSI-X table: address, data and mask of every vector, as the host's system writes them.
//!
//! ```text
//!   mmio_write ──►┌─────────────┐──► data (of row)
//!          row ──►│ VectorTable │──► open, busy
//!                 └─────────────┘
//! ```
//! Contract: a store to the table in BAR 0 writes the bytes that it enables. Row 2 v is vector v's address, row 2 v + 1 its
//! data and, above, its control. The address's low two bits and all of the control but the mask bit are reserved:
//! they stay 0. Reset masks every vector and clears the rest within 17 cycles; stores in that time are lost.
//!
//! Latency: a store 2 cycles, `data` 0.
//!
//! How: the store waits a cycle in registers, because their synchronous clear makes the zeros at no cost; gates before
//! the memory would take a LUT for each bit.
//!
//! Example: the host stores 0 to the control of vector 3 (row 7, upper half): bit 3 of `open` is high two cycles later.
//!
//! Tests: `tests/interrupt/vectors.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{MmioWrite, STORE_LOG2};
use crate::prims::{Cast, LutRam, Number};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{VECTORS, VECTOR_LOG2};
use viaduct_spec::register::MSIX_TABLE;

/// log2 of the table's rows of 8 bytes.
pub const ROW_LOG2: usize = VECTOR_LOG2 + 1;
/// Bits of an address in BAR 0 that say whether it lies in the table.
pub const PLACE_BITS: usize = 20 - 3 - ROW_LOG2;

/// A byte offset in BAR 0, as one of the table.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct VectorAddress {
    /// Which byte of the row.
    pub byte: Bits<3>,
    /// The row of 8 bytes.
    pub row: Bits<ROW_LOG2>,
    /// The table, or another part of BAR 0.
    pub place: Bits<PLACE_BITS>,
}

/// A row's number by what it says.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct VectorRow {
    /// Data and control; otherwise the address.
    of_control: bool,
    vector: Bits<VECTOR_LOG2>,
}

/// What is stored to a row, in the pieces that are kept or cleared as a whole.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct RowParts {
    /// Reserved in an address.
    lowest: Bits<2>,
    low: Bits<30>,
    /// The mask bit of a control.
    mask: bool,
    /// Reserved in a control.
    high: Bits<31>,
}

/// Which bytes of a row are written.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct RowEnables {
    /// Bytes 3:0.
    low: Bits<4>,
    /// The byte that has the mask bit of a control.
    mask: bool,
    high: Bits<3>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct VectorTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Masks every vector and clears the table.
    pub reset: Signal<In, bool>,
    /// A store of the host, from `edge/receive`; those outside the table are not looked at.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The row of 8 bytes that is read; `Vectors` drives it.
    pub row: Signal<In, Bits<ROW_LOG2>>,
    /// The 8 bytes of `row`, for `Vectors`, like `open`.
    pub data: Signal<Out, Bits<64>>,
    /// One bit for each vector that is not masked.
    pub open: Signal<Out, Bits<VECTORS>>,
    /// A store is on its way into the memory; `Vectors` is busy then.
    pub busy: Signal<Out, bool>,
    lanes: [LutRam<Bits<8>, ROW_LOG2>; 8],
    /// The vectors that are not masked.
    opened: DFF<Bits<VECTORS>>,
    /// The rows are being cleared after a reset.
    clearing: DFF<bool>,
    /// The row that is cleared next.
    clear_row: DFF<Bits<ROW_LOG2>>,
    /// The bytes that are written in this cycle: those of the store in the cycle before.
    enables: DFF<Bits<8>>,
    /// The row that they are written to.
    write_row: DFF<Bits<ROW_LOG2>>,
    /// What is written.
    written: DFF<RowParts>,
    address: Cast<Bits<20>, VectorAddress>,
    /// There is a store to the table in this cycle.
    store: Signal<Local, bool>,
    stored: Cast<Bits<64>, RowParts>,
    /// The row that is stored to.
    store_row: Cast<Bits<ROW_LOG2>, VectorRow>,
    /// The row that is cleared next.
    cleared: Cast<Bits<ROW_LOG2>, VectorRow>,
    /// The row that is written.
    at: Cast<Bits<ROW_LOG2>, VectorRow>,
    bytes: Cast<Bits<8>, RowEnables>,
    as_bytes: Cast<RowParts, Bits<64>>,
    /// What is written, of which each lane takes its byte.
    rest: Signal<Local, Bits<64>>,
    lane: Signal<Local, Bits<8>>,
    /// The vector whose row is written, one-hot.
    which: Signal<Local, Bits<VECTORS>>,
    one: Number<VECTORS, 1>,
    table_place: Number<PLACE_BITS, { MSIX_TABLE >> (20 - PLACE_BITS) }>,
}

// `VectorAddress` says that the table is aligned to its size.
const _: () = assert!(MSIX_TABLE % (VECTORS as u64 * 16) == 0);

impl Logic for VectorTable {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, opened, clearing, clear_row, enables, write_row, written);

        self.address.from.next = bit_cast::<20, STORE_LOG2>(self.mmio_write.data.val().address);
        self.store.next = self.mmio_write.valid.val()
            & !self.mmio_write.data.val().doorbell
            & (self.address.to.val().place == self.table_place.val());
        drive!(self, address.to.val().row => store_row.from; mmio_write.data.val().data => stored.from;
            clear_row.q => cleared.from);
        self.enables.d.next = bits::<8>(0);
        if self.store.val() {
            self.enables.d.next = self.mmio_write.data.val().enables;
        }
        self.write_row.d.next = self.address.to.val().row;
        self.written.d.next = self.stored.to.val();
        if !self.store_row.to.val().of_control | self.clearing.q.val() {
            self.written.d.next.lowest = bits::<2>(0);
        }
        if self.store_row.to.val().of_control | self.clearing.q.val() {
            self.written.d.next.high = bits::<31>(0);
        }
        if self.clearing.q.val() {
            self.clear_row.d.next = self.clear_row.q.val() + 1;
            self.clearing.d.next = !self.clear_row.q.val().all();
            self.enables.d.next = bits::<8>(0xFF);
            self.write_row.d.next = self.clear_row.q.val();
            self.written.d.next.low = bits::<30>(0);
            self.written.d.next.mask = self.cleared.to.val().of_control;
        }

        drive!(self, write_row.q => at.from; enables.q => bytes.from; opened.q => open);
        self.which.next = self.one.val() << self.at.to.val().vector;
        if self.at.to.val().of_control & self.bytes.to.val().mask {
            self.opened.d.next = self.opened.q.val() | self.which.val();
            if self.written.q.val().mask {
                self.opened.d.next = self.opened.q.val() & !self.which.val();
            }
        }
        self.busy.next = self.enables.q.val().any();

        // Lane 0 is the low byte of both.
        self.as_bytes.from.next = self.written.q.val();
        self.rest.next = self.as_bytes.to.val();
        self.data.next = bits::<64>(0);
        for i in 0..8 {
            self.lanes[i].clock.next = self.clock.val();
            self.lanes[i].write_enable.next = self.enables.q.val().get_bit(i);
            self.lanes[i].write_address.next = self.write_row.q.val();
            self.lanes[i].write_data.next = bit_cast::<8, 64>(self.rest.val());
            self.lanes[i].read_address.next = self.row.val();
            self.rest.next = self.rest.val() >> 8;
            self.lane.next = self.lanes[i].read_data.val();
            self.data.next = (self.data.val() >> 8) | (bit_cast::<64, 8>(self.lane.val()) << 56);
        }

        if self.reset.val() {
            self.opened.d.next = bits::<VECTORS>(0);
            self.enables.d.next = bits::<8>(0);
            self.clearing.d.next = true;
            self.clear_row.d.next = bits::<ROW_LOG2>(0);
        }
    }
}
