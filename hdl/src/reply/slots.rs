//! Keeps the RDMA reads that the peer of each VI asked for, and how far their answers are.
//!
//! ```text
//!               vi, slot, second ──►┌───────┐──► place, handle, progress
//!    write, write_second, whole, ──►│ Slots │
//!    new_*                          └───────┘
//! ```
//! Contract: a request has two rows of one memory; `second` says which of them is read, `write_second` which is written. The request's
//! end is its next PSN plus the packets of the bytes left. The columns that move on with each packet are written with each packet, the
//! others (`whole`) with the request:
//!
//! | row | `moving` | `fixed` |
//! |---|---|---|
//! | 0 | address | handle |
//! | 1 | [`MovingColumns`] | [`FixedColumns`] |
//!
//! Example: `vi` is 3, `slot` 1 and `second` low in one cycle. In the next one `place` and `handle` are those of VI 3's request in slot
//! 1.
//!
//! Latency: 1 cycle. `place` and `handle` mean something behind the first row, `progress` behind the second; they come straight from
//! memory. Tests: with the whole, `tests/reply/requests/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Vi;
use crate::prims::{Cast, Ram, Unpack};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_DEPTH_LOG2, VI_LOG2};

/// log2 of the memory's rows: a [`SlotRow`] has so many bits.
const ROW_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2 + 1;

/// Where a request's answer stands.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AnswerProgress {
    /// PSN of the original's first packet.
    pub start: Bits<24>,
    /// PSN of the next packet.
    pub psn: Bits<24>,
    /// Number of the request's message.
    pub msn: Bits<24>,
    /// Bytes of the answer still to come.
    pub left: Bits<32>,
    /// The next packet is the first of its answer.
    pub first: bool,
}

/// Which row of the memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SlotRow {
    /// The slot's second row.
    pub second: bool,
    /// The slot of the VI.
    pub slot: Bits<READ_DEPTH_LOG2>,
    /// The VI.
    pub vi: Vi,
}

/// A message's number, in two parts: it is wider than what is left of either column.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SplitMsn {
    /// The part in [`FixedColumns`].
    pub low: Bits<9>,
    /// The part in [`MovingColumns`].
    pub high: Bits<15>,
}

/// The columns that move on with each packet.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MovingColumns {
    /// PSN of the next packet.
    pub psn: Bits<24>,
    /// Bytes of the answer still to come.
    pub left: Bits<32>,
    /// The next packet is the first of its answer.
    pub first: bool,
    /// High bits of the message's number; they do not move.
    pub msn_high: Bits<15>,
}

/// The columns that stay the same for a whole request.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FixedColumns {
    /// PSN of the original's first packet.
    pub start: Bits<24>,
    /// Low bits of the message's number.
    pub msn_low: Bits<9>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Slots {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// VI whose slot is read or written; [`Requests`](super::Requests) drives this and the other inputs.
    pub vi: Signal<In, Vi>,
    /// Slot of the VI `vi`, 0 to 3.
    pub slot: Signal<In, Bits<READ_DEPTH_LOG2>>,
    /// The second row of the slot is read; otherwise the first.
    pub second: Signal<In, bool>,
    /// Address of the next packet's bytes in the VI's memory; valid behind the first row.
    pub place: Signal<Out, Bits<64>>,
    /// The peer's memory handle for those bytes; valid behind the first row.
    pub handle: Signal<Out, Bits<32>>,
    /// How far the request's answer is; valid behind the second row.
    pub progress: Signal<Out, AnswerProgress>,
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
    pub new_progress: Signal<In, AnswerProgress>,
    moving: Ram<Bits<72>, ROW_LOG2>,
    fixed: Ram<Bits<36>, ROW_LOG2>,
    read_row: Cast<SlotRow, Bits<ROW_LOG2>>,
    write_row: Cast<SlotRow, Bits<ROW_LOG2>>,
    as_moving: Cast<Bits<72>, MovingColumns>,
    as_fixed: Unpack<Bits<36>, FixedColumns>,
    found_msn: Cast<SplitMsn, Bits<24>>,
    new_moving: Cast<MovingColumns, Bits<72>>,
    new_fixed: Cast<FixedColumns, Bits<33>>,
    new_msn: Cast<Bits<24>, SplitMsn>,
}

impl Logic for Slots {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, moving, fixed);
        fill!(self, read_row.from, vi => vi; slot => slot; second => second);
        drive!(self, read_row.to => moving.read_address, fixed.read_address;
            moving.read_data => as_moving.from; fixed.read_data => as_fixed.from);
        self.found_msn.from.next.low = self.as_fixed.to.val().msn_low;
        self.found_msn.from.next.high = self.as_moving.to.val().msn_high;
        self.place.next = bit_cast::<64, 72>(self.moving.read_data.val());
        self.handle.next = bit_cast::<32, 36>(self.fixed.read_data.val());
        fill!(self, progress, as_fixed.to.val().start => start; as_moving.to.val().psn => psn;
            found_msn.to => msn; as_moving.to.val().left => left; as_moving.to.val().first => first);

        drive!(self, new_progress.val().msn => new_msn.from;
            write_row.to => moving.write_address, fixed.write_address; write => moving.write_enable);
        fill!(self, new_moving.from, new_progress.val().psn => psn; new_progress.val().left => left;
            new_progress.val().first => first; new_msn.to.val().high => msn_high);
        self.new_fixed.from.next.start = self.new_progress.val().start;
        self.new_fixed.from.next.msn_low = self.new_msn.to.val().low;
        fill!(self, write_row.from, vi => vi; slot => slot; write_second => second);
        self.fixed.write_enable.next = self.write.val() & self.whole.val();
        self.moving.write_data.next = bit_cast::<72, 64>(self.new_place.val());
        self.fixed.write_data.next = bit_cast::<36, 32>(self.new_handle.val());
        if self.write_second.val() {
            self.moving.write_data.next = self.new_moving.to.val();
            self.fixed.write_data.next = bit_cast::<36, 33>(self.new_fixed.to.val());
        }
    }
}
