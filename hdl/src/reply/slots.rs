//! Keeps the reads that the peer of each VI asked for.
//!
//! ```text
//!               vi, slot, second ──►┌───────┐──► place, handle, progress
//!    write, write_second, whole, ──►└───────┘
//!    new_*
//! ```
//! Contract: a request has two rows of one memory; `second` says which of them is read, `write_second` which is written. The request's
//! end is its next PSN plus the packets of the bytes left. The columns that move on with each packet are written with each packet, the
//! others (`whole`) with the request:
//!
//! | row | `moving` | `fixed` |
//! |---|---|---|
//! | 0 | address | handle |
//! | 1 | next PSN, bytes left, first of its answer, MSN 23:9 | PSN of the original's first packet, MSN 8:0 |
//!
//! Example: `vi` is 3, `slot` 1 and `second` low in one cycle. In the next one `place` and `handle` are those of VI 3's request in slot
//! 1.
//!
//! Latency: 1. `place` and `handle` mean something behind the first row, `progress` behind the second; they come straight from
//! memory. Tests: with the whole, `tests/reply/requests/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Vi;
use crate::prims::Ram;
use rust_hdl::prelude::*;
use viaduct_spec::profile::{READ_DEPTH, READ_DEPTH_LOG2, VI_LOG2};

/// log2 of the memory's rows: {VI, slot, which}.
const ROW_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2 + 1;
// Shifts are plain numbers below.
const _: () = assert!(READ_DEPTH == 4 && READ_DEPTH_LOG2 == 2);

/// Where a request stands.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Progress {
    /// PSN of the original's first packet.
    pub start: Bits<24>,
    /// PSN of the next packet.
    pub psn: Bits<24>,
    /// Number of the request's message.
    pub msn: Bits<24>,
    /// Bytes to come.
    pub left: Bits<32>,
    /// The next packet is the first of its answer.
    pub first: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Slots {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// VI whose slot is read or written; `Requests` drives it.
    pub vi: Signal<In, Vi>,
    /// Slot of that VI, 0 to 3.
    pub slot: Signal<In, Bits<2>>,
    /// The second row of the slot is read; otherwise the first.
    pub second: Signal<In, bool>,
    /// Address of the next packet's bytes in the VI's memory; valid behind the first row.
    pub place: Signal<Out, Bits<64>>,
    /// The peer's memory handle for those bytes; valid behind the first row.
    pub handle: Signal<Out, Bits<32>>,
    /// How far the request's answer is; valid behind the second row.
    pub progress: Signal<Out, Progress>,
    /// Pulse: a row of the slot is written.
    pub write: Signal<In, bool>,
    /// With `write`: the second row is written; otherwise the first.
    pub write_second: Signal<In, bool>,
    /// With `write`: the columns that stay the same for a whole request are written as well.
    pub whole: Signal<In, bool>,
    /// With `write` of the first row: the address to write.
    pub new_place: Signal<In, Bits<64>>,
    /// With `write` and `whole` of the first row: the handle to write.
    pub new_handle: Signal<In, Bits<32>>,
    /// With `write` of the second row: the progress to write.
    pub new_progress: Signal<In, Progress>,
    moving: Ram<Bits<72>, ROW_LOG2>,
    fixed: Ram<Bits<36>, ROW_LOG2>,
    row: Signal<Local, Bits<ROW_LOG2>>,
    read_row: Signal<Local, Bits<ROW_LOG2>>,
    write_row: Signal<Local, Bits<ROW_LOG2>>,
    moving_row: Signal<Local, Bits<72>>,
    fixed_row: Signal<Local, Bits<36>>,
    msn: Signal<Local, Bits<24>>,
    begins: Signal<Local, Bits<1>>,
}

impl Logic for Slots {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, moving, fixed);
        self.row.next = (bit_cast::<ROW_LOG2, VI_LOG2>(self.vi.val()) << 3)
            | (bit_cast::<ROW_LOG2, 2>(self.slot.val()) << 1);
        self.read_row.next = self.row.val();
        if self.second.val() {
            self.read_row.next = self.row.val() | bits::<ROW_LOG2>(1);
        }
        self.moving.read_address.next = self.read_row.val();
        self.fixed.read_address.next = self.read_row.val();
        self.moving_row.next = self.moving.read_data.val();
        self.fixed_row.next = self.fixed.read_data.val();
        self.place.next = self.moving_row.val().get_bits::<64>(0);
        self.handle.next = self.fixed_row.val().get_bits::<32>(0);
        self.progress.next.start = self.fixed_row.val().get_bits::<24>(0);
        self.progress.next.psn = self.moving_row.val().get_bits::<24>(0);
        self.progress.next.msn = (bit_cast::<24, 15>(self.moving_row.val().get_bits::<15>(57)) << 9)
            | bit_cast::<24, 9>(self.fixed_row.val().get_bits::<9>(24));
        self.progress.next.left = self.moving_row.val().get_bits::<32>(24);
        self.progress.next.first = self.moving_row.val().get_bit(56);

        self.msn.next = self.new_progress.val().msn;
        self.begins.next = bits::<1>(0);
        if self.new_progress.val().first {
            self.begins.next = bits::<1>(1);
        }
        self.write_row.next = self.row.val();
        self.moving.write_data.next = bit_cast::<72, 64>(self.new_place.val());
        self.fixed.write_data.next = bit_cast::<36, 32>(self.new_handle.val());
        if self.write_second.val() {
            self.write_row.next = self.row.val() | bits::<ROW_LOG2>(1);
            self.moving.write_data.next = (bit_cast::<72, 15>(self.msn.val().get_bits::<15>(9)) << 57)
                | (bit_cast::<72, 1>(self.begins.val()) << 56)
                | (bit_cast::<72, 32>(self.new_progress.val().left) << 24)
                | bit_cast::<72, 24>(self.new_progress.val().psn);
            self.fixed.write_data.next = (bit_cast::<36, 9>(self.msn.val().get_bits::<9>(0)) << 24)
                | bit_cast::<36, 24>(self.new_progress.val().start);
        }
        self.moving.write_address.next = self.write_row.val();
        self.fixed.write_address.next = self.write_row.val();
        self.moving.write_enable.next = self.write.val();
        self.fixed.write_enable.next = self.write.val() & self.whole.val();
    }
}
