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
//! How: the store waits a cycle in registers, because their synchronous clear makes the zeros for nothing; gates before
//! the memory would take a LUT a bit.
//!
//! Example: the host stores 0 to the control of vector 3 (row 7, upper half): bit 3 of `open` is high two cycles later.
//!
//! Tests: `tests/interrupt/vectors.rs`.

use crate::bus::{MmioWrite, STORE_LOG2};
use crate::prims::{LutRam, Number};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_spec::profile::{VECTORS, VECTOR_LOG2};
use viaduct_spec::register::MSIX_TABLE;

/// log2 of the table's rows of 8 bytes.
pub const ROW_LOG2: usize = VECTOR_LOG2 + 1;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct VectorTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Masks every vector and clears the table.
    pub reset: Signal<In, bool>,
    /// A store of the host; those outside the table are not looked at.
    pub mmio_write: FlowSink<MmioWrite>,
    /// The row of 8 bytes that is read.
    pub row: Signal<In, Bits<ROW_LOG2>>,
    /// The 8 bytes of `row`.
    pub data: Signal<Out, Bits<64>>,
    /// One bit for each vector that is not masked.
    pub open: Signal<Out, Bits<VECTORS>>,
    /// A store is on its way into the memory.
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
    /// Bits 1:0 of what is written: reserved in an address.
    lowest: DFF<Bits<2>>,
    /// Bits 31:2 of what is written.
    low: DFF<Bits<30>>,
    /// Bit 32 of what is written: the mask bit in a control.
    mask: DFF<bool>,
    /// Bits 63:33 of what is written: reserved in a control.
    high: DFF<Bits<31>>,
    address: Signal<Local, Bits<20>>,
    /// There is a store to the table in this cycle.
    store: Signal<Local, bool>,
    store_row: Signal<Local, Bits<ROW_LOG2>>,
    store_data: Signal<Local, Bits<64>>,
    /// The vector whose row is written.
    written_vector: Signal<Local, Bits<VECTOR_LOG2>>,
    /// What is written, of which each lane takes its byte.
    rest: Signal<Local, Bits<64>>,
    lane: Signal<Local, Bits<8>>,
    /// The same vector, one-hot.
    which: Signal<Local, Bits<VECTORS>>,
    one: Number<VECTORS, 1>,
    table_place: Number<13, { MSIX_TABLE >> 7 }>,
    mask_bit: Number<64, { 1 << 32 }>,
}

// The slices below say that the table is 128 bytes, aligned.
const _: () = assert!(VECTORS * 16 == 1 << 7 && MSIX_TABLE % (1 << 7) == 0);

impl Logic for VectorTable {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, opened, clearing, clear_row, enables, write_row, lowest, low, mask, high);

        self.address.next = bit_cast::<20, STORE_LOG2>(self.mmio_write.data.val().address);
        self.store.next = self.mmio_write.valid.val()
            & !self.mmio_write.data.val().doorbell
            & (self.address.val().get_bits::<13>(7) == self.table_place.val());
        self.store_row.next = self.address.val().get_bits::<ROW_LOG2>(3);
        self.store_data.next = self.mmio_write.data.val().data;
        self.enables.d.next = bits::<8>(0);
        if self.store.val() {
            self.enables.d.next = self.mmio_write.data.val().enables;
        }
        self.write_row.d.next = self.store_row.val();
        self.lowest.d.next = self.store_data.val().get_bits::<2>(0);
        self.low.d.next = self.store_data.val().get_bits::<30>(2);
        self.mask.d.next = self.store_data.val().get_bit(32);
        self.high.d.next = self.store_data.val().get_bits::<31>(33);
        if !self.store_row.val().get_bit(0) | self.clearing.q.val() {
            self.lowest.d.next = bits::<2>(0);
        }
        if self.store_row.val().get_bit(0) | self.clearing.q.val() {
            self.high.d.next = bits::<31>(0);
        }
        if self.clearing.q.val() {
            self.clear_row.d.next = self.clear_row.q.val() + 1;
            self.clearing.d.next = !self.clear_row.q.val().all();
            self.enables.d.next = bits::<8>(0xFF);
            self.write_row.d.next = self.clear_row.q.val();
            self.low.d.next = bits::<30>(0);
            self.mask.d.next = self.clear_row.q.val().get_bit(0);
        }

        self.written_vector.next = self.write_row.q.val().get_bits::<VECTOR_LOG2>(1);
        self.which.next = self.one.val() << self.written_vector.val();
        if self.write_row.q.val().get_bit(0) & self.enables.q.val().get_bit(4) {
            self.opened.d.next = self.opened.q.val() | self.which.val();
            if self.mask.q.val() {
                self.opened.d.next = self.opened.q.val() & !self.which.val();
            }
        }
        self.open.next = self.opened.q.val();
        self.busy.next = self.enables.q.val().any();

        // Lane 0 is the low byte of both.
        self.rest.next = (bit_cast::<64, 31>(self.high.q.val()) << 33)
            | (bit_cast::<64, 30>(self.low.q.val()) << 2)
            | bit_cast::<64, 2>(self.lowest.q.val());
        if self.mask.q.val() {
            self.rest.next = (bit_cast::<64, 31>(self.high.q.val()) << 33)
                | (bit_cast::<64, 30>(self.low.q.val()) << 2)
                | bit_cast::<64, 2>(self.lowest.q.val())
                | self.mask_bit.val();
        }
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
