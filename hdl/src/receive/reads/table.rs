//! Keeps a row for each read that waits for its answer, and a row for each VI that reads.
//!
//! ```text
//!                read_row ──►┌───────────┐──► outstanding
//!               write_row ──►│ ReadTable │──► progress
//!  new_read, new_progress ──►└───────────┘
//! ```
//! Contract: one memory has READ_DEPTH rows for the reads of each VI, and one row for the VI itself. Both outputs show the row that
//! `read_row` named in the cycle before: `outstanding` as a read's row, `progress` as a VI's row. The output of the other kind means
//! nothing. With `write_enable` the row `write_row` becomes `new_read` or `new_progress`, whichever fits its kind. `Reads` does not read a
//! row in the cycle in which it writes it.
//!
//! Example: with `write_row` naming slot 2 of VI 5, `new_read` is written there. `read_row` of the same name shows it in `outstanding` a
//! cycle later.
//!
//! Latency: 1 cycle to read. Tests: with `Reads`, `tests/receive/reads.rs`, `tests/receive/answers.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Vi;
use crate::prims::{Cast, Ram};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_DEPTH_LOG2, REGION_LOG2, VI_LOG2};

/// Where a VI is with its reads.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadsProgress {
    /// Number of the oldest read that is not answered.
    pub oldest: Bits<3>,
    /// Number of the next read.
    pub fresh: Bits<3>,
    /// A part of the oldest read has come; `psn`, `left`, `index` and `position` count only then.
    pub started: bool,
    /// The oldest read has been sent again.
    pub again: bool,
    /// What comes next is missing, and the implied NAK has been told.
    pub missed: bool,
    /// The read has been sent again since `missed` was set.
    pub asked: bool,
    /// PSN that comes next.
    pub psn: Bits<24>,
    /// Bytes to come.
    pub left: Bits<32>,
    /// Segment to go on with.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled.
    pub position: Bits<32>,
}

/// A read that waits for its answer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct OutstandingRead {
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// PSN of the first packet of the answer.
    pub psn: Bits<24>,
    /// Offset of the descriptor in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// Region of the descriptor.
    pub region: Bits<REGION_LOG2>,
}

/// A row of the table by name. Packed it is the row's address.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadRowId {
    /// Of a read: its number modulo READ_DEPTH. Of a VI: 0.
    pub slot: Bits<READ_DEPTH_LOG2>,
    /// The VI.
    pub vi: Vi,
    /// The VI's own row.
    pub of_vi: bool,
}

/// Bits of a VI's row.
const PROGRESS_BITS: usize = 106;
/// Bits of a read's row, which are no fewer.
const READ_BITS: usize = 98 + REGION_LOG2;
/// log2 of the rows.
const ROW_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2 + 1;
const _: () = assert!(READ_BITS >= PROGRESS_BITS);

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ReadTable {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The row to read; `Reads` drives this and the other inputs.
    pub read_row: Signal<In, ReadRowId>,
    /// The row of the `read_row` of the cycle before, if that is a read's; `Reads` listens to both outputs.
    pub outstanding: Signal<Out, OutstandingRead>,
    /// The row of the `read_row` of the cycle before, if that is a VI's.
    pub progress: Signal<Out, ReadsProgress>,
    /// A row is written in this cycle.
    pub write_enable: Signal<In, bool>,
    /// The row to write.
    pub write_row: Signal<In, ReadRowId>,
    /// The new contents of the row to write, if that is a read's row.
    pub new_read: Signal<In, OutstandingRead>,
    /// The new contents of the row to write, if that is a VI's row.
    pub new_progress: Signal<In, ReadsProgress>,
    memory: Ram<Bits<READ_BITS>, ROW_LOG2>,
    read_address: Cast<ReadRowId, Bits<ROW_LOG2>>,
    write_address: Cast<ReadRowId, Bits<ROW_LOG2>>,
    packed_read: Cast<OutstandingRead, Bits<READ_BITS>>,
    packed_progress: Cast<ReadsProgress, Bits<PROGRESS_BITS>>,
    shown_read: Cast<Bits<READ_BITS>, OutstandingRead>,
    shown_progress: Cast<Bits<PROGRESS_BITS>, ReadsProgress>,
}

impl Logic for ReadTable {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory);
        drive!(self, read_row => read_address.from; read_address.to => memory.read_address;
            memory.read_data => shown_read.from; shown_read.to => outstanding; shown_progress.to => progress);
        self.shown_progress.from.next = bit_cast::<PROGRESS_BITS, READ_BITS>(self.memory.read_data.val());

        drive!(self, write_row => write_address.from; new_read => packed_read.from;
            new_progress => packed_progress.from; write_enable => memory.write_enable;
            write_address.to => memory.write_address);
        self.memory.write_data.next = self.packed_read.to.val();
        if self.write_row.val().of_vi {
            self.memory.write_data.next = bit_cast::<READ_BITS, PROGRESS_BITS>(self.packed_progress.to.val());
        }
    }
}
