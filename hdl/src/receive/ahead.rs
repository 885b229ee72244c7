//! Keeps the receive descriptors fetched ahead, RECEIVE_AHEAD for each VI: their first two segments, where they lie, and whether they are good.
//!
//! ```text
//!   ahead ──►┌───────┐◄─► segment   (scatter's)
//!  filled ──►│ Ahead │◄─► look      (Lookup's)
//!  commit ──►└───────┘
//! ```
//! Contract: fetch writes the eight words of a descriptor with `ahead`. Then `filled` says that it is there and that the VI's
//! receive queue is filled up to `position`. The descriptor at position p is in slot p modulo RECEIVE_AHEAD. The block checks the control
//! segment as it comes and does not keep it. A commit of the VI's receive queue (WORK_QUEUE) empties it. Fetch has
//! taken that commit before, so no descriptor of the old queue comes later.
//!
//! Example: the descriptor at position 5 of VI 3 comes. Its words are written for slot 1, and `filled` has position 6. `look` at slot 1 of
//! VI 3 then shows it a cycle later, with `filled` 6.
//!
//! Latency: everything read comes one cycle after its address. A slot is read only after it is filled and is written
//! only after it was consumed, so the block RAMs never see both at once; `filled` of `look` may change any time.
//!
//! Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{AheadWord, Commit, Filled, Position, Queue, QueueId, Vi, QUEUE_LOG2};
use crate::prims::{Cast, LutRam, Number, Ram};
use crate::rows::descriptor::{ControlSegment, DataSegment};
use crate::stream::{FlowSink, Sink, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::{control, MAX_SEGMENTS};
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::tables::table;

/// Address of a descriptor: VI and slot.
const SLOT_LOG2: usize = VI_LOG2 + RECEIVE_AHEAD_LOG2;
/// Address of a segment of one.
const SEGMENT_LOG2: usize = SLOT_LOG2 + 1;

/// Where a descriptor is kept. Packed it is a row of the memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SlotId {
    /// Its position modulo the slots of a VI.
    pub slot: Bits<RECEIVE_AHEAD_LOG2>,
    /// The VI.
    pub vi: Vi,
}

/// Where a segment of such a descriptor is kept. Packed it is a row of the memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SegmentId {
    /// The descriptor's second segment; otherwise the first.
    pub second: bool,
    /// Slot of the descriptor.
    pub slot: Bits<RECEIVE_AHEAD_LOG2>,
    /// The VI.
    pub vi: Vi,
}

/// A descriptor without its segments.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AheadMeta {
    /// Region that the descriptor lies in.
    pub region: Bits<16>,
    /// Offset of the descriptor in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// How many segments the descriptor has.
    pub segments: Bits<8>,
    /// Its control segment has what it may not have, or says more segments than the region holds.
    pub malformed: bool,
    /// The descriptor could not be read.
    pub lost: bool,
}

/// A descriptor without its segments, and how far its VI's receive queue is here.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AheadRow {
    /// The descriptor.
    pub descriptor: AheadMeta,
    /// One past the last position of the VI's receive queue whose descriptor is here.
    pub filled: Position,
}

/// The number of a word of a descriptor's first 64 bytes, by what the word is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct WordNumber {
    /// Of a segment: handle and length; otherwise the address.
    extent: bool,
    /// Of a segment: the second one.
    second: bool,
    /// The word is of a segment, otherwise of the control segment.
    of_segment: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ahead {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The block does not use it: a commit empties each queue.
    pub reset: Signal<In, bool>,
    /// A word of a receive descriptor, with its VI, slot and number, from fetch.
    pub ahead: FlowSink<AheadWord>,
    /// A receive descriptor, whole: its VI and slot, and where it lies; from fetch.
    pub filled: FlowSink<Filled>,
    /// A table row on the bus, from `Commits`; the receive row of a WORK_QUEUE empties the VI's queue here.
    pub commit: Sink<Commit>,
    /// Answers scatter: a segment of a descriptor, a cycle later.
    pub segment: Table<SegmentId, DataSegment>,
    /// Answers `Lookup`: a descriptor and how far the VI's queue is here, a cycle later.
    pub look: Table<SlotId, AheadRow>,
    /// Words 4 and 6 of the descriptors: addresses.
    addresses: Ram<Bits<64>, SEGMENT_LOG2>,
    /// Words 5 and 7 of the descriptors: handles and lengths.
    extents: Ram<Bits<64>, SEGMENT_LOG2>,
    shown_segment: Cast<Bits<128>, DataSegment>,
    written_segment: Cast<SegmentId, Bits<SEGMENT_LOG2>>,
    read_segment: Cast<SegmentId, Bits<SEGMENT_LOG2>>,
    written_slot: Cast<SlotId, Bits<SLOT_LOG2>>,
    read_slot: Cast<SlotId, Bits<SLOT_LOG2>>,
    meta: Ram<AheadMeta, SLOT_LOG2>,
    /// For each VI, one past the last position whose descriptor is here.
    filled_to: LutRam<Position, VI_LOG2>,
    shown_filled: DFF<Position>,
    segments: DFF<Bits<16>>,
    /// The control segment has an operation or flags that a receive may not have.
    flags_bad: DFF<bool>,
    /// Something in the control segment that must be 0 is not.
    dirty: DFF<bool>,
    word: Signal<Local, Bits<64>>,
    number: Signal<Local, Bits<3>>,
    which: Cast<Bits<3>, WordNumber>,
    words_needed: Signal<Local, Bits<4>>,
    /// The control segment, if the word that is here is its word 1; likewise the two below.
    word_1: Cast<Bits<256>, ControlSegment>,
    word_2: Cast<Bits<256>, ControlSegment>,
    word_3: Cast<Bits<256>, ControlSegment>,
    /// The queue whose row is committed.
    queue: Cast<Queue, QueueId>,
    /// The commit is of a receive queue.
    wanted: Signal<Local, bool>,
    empties: Signal<Local, bool>,
    target: Number<4, { table::WORK_QUEUE as u64 }>,
    control_mask: Number<16, { (control::RESERVED | control::OP_MASK) as u64 }>,
    most_segments: Number<16, { MAX_SEGMENTS as u64 }>,
}

impl Logic for Ahead {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_filled, segments, flags_bad, dirty);
        clock!(self, clock, addresses, extents, meta, filled_to);

        // Words 4 to 7: two segments.
        drive!(self, ahead.data.val().index => number; number => which.from;
            written_segment.to => addresses.write_address, extents.write_address;
            ahead.data.val().data => addresses.write_data, extents.write_data;
            segment.index => read_segment.from;
            read_segment.to => addresses.read_address, extents.read_address; shown_segment.to => segment.row);
        fill!(self, written_segment.from, ahead.data.val().vi => vi; ahead.data.val().slot => slot;
            which.to.val().second => second);
        self.addresses.write_enable.next =
            self.ahead.valid.val() & self.which.to.val().of_segment & !self.which.to.val().extent;
        self.extents.write_enable.next =
            self.ahead.valid.val() & self.which.to.val().of_segment & self.which.to.val().extent;
        self.shown_segment.from.next = (bit_cast::<128, 64>(self.extents.read_data.val()) << 64)
            | bit_cast::<128, 64>(self.addresses.read_data.val());

        // Words 0 to 3: what the control segment says.
        drive!(self, ahead.data.val().data => word; filled.valid => meta.write_enable;
            written_slot.to => meta.write_address);
        self.word_1.from.next = bit_cast::<256, 64>(self.word.val()) << 64;
        self.word_2.from.next = bit_cast::<256, 64>(self.word.val()) << 128;
        self.word_3.from.next = bit_cast::<256, 64>(self.word.val()) << 192;
        if self.ahead.valid.val() {
            if self.number.val() == bits::<3>(0) {
                self.dirty.d.next = false;
            }
            if self.number.val() == bits::<3>(1) {
                self.segments.d.next = self.word_1.to.val().seg_count;
                self.flags_bad.d.next = (self.word_1.to.val().control & self.control_mask.val()).any();
            }
            if (self.number.val() == bits::<3>(2)) & self.word_2.to.val().reserved.any() {
                self.dirty.d.next = true;
            }
            if (self.number.val() == bits::<3>(3)) & self.word_3.to.val().status.any() {
                self.dirty.d.next = true;
            }
        }
        self.words_needed.next = bits::<4>(8);
        if self.segments.q.val() == bits::<16>(1) {
            self.words_needed.next = bits::<4>(6);
        }
        if self.segments.q.val() == bits::<16>(0) {
            self.words_needed.next = bits::<4>(4);
        }
        self.written_slot.from.next.vi = self.filled.data.val().vi;
        self.written_slot.from.next.slot = self.filled.data.val().slot;
        self.meta.write_data.next.region = self.filled.data.val().region;
        self.meta.write_data.next.offset = self.filled.data.val().offset;
        self.meta.write_data.next.segments = bit_cast::<8, 16>(self.segments.q.val());
        // WQ-2: a receive's form: its control segment and the first two segments, not its Length.
        self.meta.write_data.next.malformed = self.flags_bad.q.val()
            | self.dirty.q.val()
            | (self.segments.q.val() > self.most_segments.val())
            | (self.filled.data.val().words < self.words_needed.val());
        self.meta.write_data.next.lost = self.filled.data.val().lost;
        self.read_slot.from.next = self.look.index.val();
        self.meta.read_address.next = self.read_slot.to.val();
        self.look.row.next.descriptor = self.meta.read_data.val();

        // While other blocks do not take the commit yet, the queue is emptied again in each cycle, which does no harm.
        self.queue.from.next = bit_cast::<QUEUE_LOG2, 16>(self.commit.data.val().row);
        self.wanted.next = self.commit.valid.val()
            & (self.commit.data.val().target == self.target.val())
            & self.queue.to.val().receive;
        self.empties.next = self.wanted.val() & !self.filled.valid.val();
        self.commit.ready.next = !self.filled.valid.val();
        drive!(self, filled.valid => filled_to.write_enable; filled.data.val().vi => filled_to.write_address;
            filled.data.val().position => filled_to.write_data);
        // LIFE-1: a receive queue begins with its WORK_QUEUE row.
        if self.empties.val() {
            self.filled_to.write_enable.next = true;
            self.filled_to.write_address.next = self.queue.to.val().vi;
            self.filled_to.write_data.next = bits::<14>(0);
        }
        self.filled_to.read_address.next = self.look.index.val().vi;
        self.shown_filled.d.next = self.filled_to.read_data.val();
        self.look.row.next.filled = self.shown_filled.q.val();
    }
}
