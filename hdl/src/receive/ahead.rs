//! Keeps receive descriptors fetched ahead: four for each VI, their first two segments, where they lie, what they say.
//!
//! ```text
//!              ahead ──►┌───────┐──► read_place, read_handle   (a segment, for scatter)
//!     filled, commit ──►│ Ahead │
//!             read_* ──►│       │──► look                      (of look_vi, look_slot)
//! look_vi, look_slot ──►└───────┘──► look_filled
//! ```
//! Contract: fetch writes the eight words of a descriptor with `ahead`. Then `filled` says that it is there and that the VI's
//! receive queue is filled up to `position`. The descriptor at position p is in slot p modulo 4. The block checks the control
//! segment as it comes and does not keep it. A commit of the VI's receive queue (WORK_QUEUE) empties it; fetch has
//! taken that commit before, so nothing of the old queue comes behind.
//!
//! Example: the descriptor at position 5 of VI 3 comes. Its words are written for slot 1, and `filled` has position 6. `look_vi` 3 and
//! `look_slot` 1 then show it in `look` a cycle later, and `look_filled` is 6.
//!
//! Latency: everything read comes one cycle after its address. A slot is read only after it is filled and is written
//! only after it was consumed, so the block RAMs never see both at once; `look_filled` may change any time.
//!
//! Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{AheadWord, Commit, Filled, Position, Vi};
use crate::prims::{LutRam, Number, Ram};
use crate::stream::{FlowSink, Sink};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{control, MAX_SEGMENTS};
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::tables::table;

/// Address of a descriptor: VI and slot.
const SLOT_LOG2: usize = VI_LOG2 + RECEIVE_AHEAD_LOG2;
/// Address of a segment of one.
const SEGMENT_LOG2: usize = SLOT_LOG2 + 1;

/// A descriptor, but for its segments.
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
    /// A table row on the bus; the receive row of a WORK_QUEUE empties the VI's queue here.
    pub commit: Sink<Commit>,
    /// VI of the segment that scatter wants.
    pub read_vi: Signal<In, Vi>,
    /// Slot of the descriptor whose segment scatter wants.
    pub read_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Scatter wants the descriptor's second segment; otherwise the first.
    pub read_second: Signal<In, bool>,
    /// Address of the segment that was asked for in the cycle before.
    pub read_place: Signal<Out, Bits<64>>,
    /// Memory handle and length of the segment that was asked for in the cycle before.
    pub read_handle: Signal<Out, Bits<64>>,
    /// VI whose descriptor the matcher looks at.
    pub look_vi: Signal<In, Vi>,
    /// Slot of the descriptor that the matcher looks at.
    pub look_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// The descriptor at the `look_vi` and `look_slot` of the cycle before, without its segments.
    pub look: Signal<Out, AheadMeta>,
    /// One past the last position of the receive queue of `look_vi` whose descriptor is here.
    pub look_filled: Signal<Out, Position>,
    places: Ram<Bits<64>, SEGMENT_LOG2>,
    handles: Ram<Bits<64>, SEGMENT_LOG2>,
    meta: Ram<AheadMeta, SLOT_LOG2>,
    /// For each VI, what `look_filled` says.
    filled_to: LutRam<Position, VI_LOG2>,
    shown_filled: DFF<Position>,
    segments: DFF<Bits<16>>,
    /// The control segment has an operation or flags that a receive may not have.
    flags_bad: DFF<bool>,
    /// Something in the control segment that must be 0 is not.
    dirty: DFF<bool>,
    word: Signal<Local, Bits<64>>,
    number: Signal<Local, Bits<3>>,
    control_word: Signal<Local, Bits<16>>,
    words_needed: Signal<Local, Bits<4>>,
    segment_address: Signal<Local, Bits<SEGMENT_LOG2>>,
    row: Signal<Local, Bits<16>>,
    /// The commit is of a receive queue.
    wanted: Signal<Local, bool>,
    empties: Signal<Local, bool>,
    target: Number<4, { table::WORK_QUEUE as u64 }>,
    control_mask: Number<16, { (control::RESERVED | control::OP_MASK) as u64 }>,
    most_segments: Number<16, { MAX_SEGMENTS as u64 }>,
}

impl Logic for Ahead {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_filled, segments, flags_bad, dirty);
        clock!(self, clock, places, handles, meta, filled_to);

        // Words 4 to 7: two segments.
        self.number.next = self.ahead.data.val().index;
        self.segment_address.next = (bit_cast::<SEGMENT_LOG2, VI_LOG2>(self.ahead.data.val().vi) << 3)
            | (bit_cast::<SEGMENT_LOG2, RECEIVE_AHEAD_LOG2>(self.ahead.data.val().slot) << 1)
            | bit_cast::<SEGMENT_LOG2, 1>(self.number.val().get_bits::<1>(1));
        self.places.write_enable.next =
            self.ahead.valid.val() & self.number.val().get_bit(2) & !self.number.val().get_bit(0);
        self.places.write_address.next = self.segment_address.val();
        self.places.write_data.next = self.ahead.data.val().data;
        self.handles.write_enable.next =
            self.ahead.valid.val() & self.number.val().get_bit(2) & self.number.val().get_bit(0);
        self.handles.write_address.next = self.segment_address.val();
        self.handles.write_data.next = self.ahead.data.val().data;
        self.places.read_address.next = (bit_cast::<SEGMENT_LOG2, VI_LOG2>(self.read_vi.val()) << 3)
            | (bit_cast::<SEGMENT_LOG2, RECEIVE_AHEAD_LOG2>(self.read_slot.val()) << 1);
        if self.read_second.val() {
            self.places.read_address.next = (bit_cast::<SEGMENT_LOG2, VI_LOG2>(self.read_vi.val()) << 3)
                | (bit_cast::<SEGMENT_LOG2, RECEIVE_AHEAD_LOG2>(self.read_slot.val()) << 1)
                | bits::<SEGMENT_LOG2>(1);
        }
        self.handles.read_address.next = self.places.read_address.val();
        self.read_place.next = self.places.read_data.val();
        self.read_handle.next = self.handles.read_data.val();

        // Words 0 to 3: what the control segment says.
        self.word.next = self.ahead.data.val().data;
        self.control_word.next = self.word.val().get_bits::<16>(48);
        if self.ahead.valid.val() {
            if self.number.val() == bits::<3>(0) {
                self.dirty.d.next = false;
            }
            if self.number.val() == bits::<3>(1) {
                self.segments.d.next = self.word.val().get_bits::<16>(32);
                self.flags_bad.d.next = (self.control_word.val() & self.control_mask.val()).any();
            }
            if (self.number.val() == bits::<3>(2)) & self.word.val().get_bits::<32>(0).any() {
                self.dirty.d.next = true;
            }
            if (self.number.val() == bits::<3>(3)) & self.word.val().get_bits::<32>(32).any() {
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
        self.meta.write_enable.next = self.filled.valid.val();
        self.meta.write_address.next = (bit_cast::<SLOT_LOG2, VI_LOG2>(self.filled.data.val().vi) << 2)
            | bit_cast::<SLOT_LOG2, RECEIVE_AHEAD_LOG2>(self.filled.data.val().slot);
        self.meta.write_data.next.region = self.filled.data.val().region;
        self.meta.write_data.next.offset = self.filled.data.val().offset;
        self.meta.write_data.next.segments = self.segments.q.val().get_bits::<8>(0);
        // WQ-2: a receive's form: its control segment and the first two segments, not its Length.
        self.meta.write_data.next.malformed = self.flags_bad.q.val()
            | self.dirty.q.val()
            | (self.segments.q.val() > self.most_segments.val())
            | (self.filled.data.val().words < self.words_needed.val());
        self.meta.write_data.next.lost = self.filled.data.val().lost;
        self.meta.read_address.next = (bit_cast::<SLOT_LOG2, VI_LOG2>(self.look_vi.val()) << 2)
            | bit_cast::<SLOT_LOG2, RECEIVE_AHEAD_LOG2>(self.look_slot.val());
        self.look.next = self.meta.read_data.val();

        // A row emptied again while the matcher is not ready is no harm; the last time counts.
        self.row.next = self.commit.data.val().row;
        self.wanted.next = self.commit.valid.val()
            & (self.commit.data.val().target == self.target.val())
            & self.row.val().get_bit(0);
        self.empties.next = self.wanted.val() & !self.filled.valid.val();
        self.commit.ready.next = !self.filled.valid.val();
        self.filled_to.write_enable.next = self.filled.valid.val();
        self.filled_to.write_address.next = self.filled.data.val().vi;
        self.filled_to.write_data.next = self.filled.data.val().position;
        // LIFE-1: a receive queue begins with its WORK_QUEUE row.
        if self.empties.val() {
            self.filled_to.write_enable.next = true;
            self.filled_to.write_address.next = self.row.val().get_bits::<VI_LOG2>(1);
            self.filled_to.write_data.next = bits::<14>(0);
        }
        self.filled_to.read_address.next = self.look_vi.val();
        self.shown_filled.d.next = self.filled_to.read_data.val();
        self.look_filled.next = self.shown_filled.q.val();
    }
}
