//! Receive descriptors fetched ahead: four for each VI, their first 64 bytes and where they lie.
//!
//! ```text
//!  ahead_*  ──►┌───────┐──► read_data
//!  filled_* ──►│       │──► look_filled
//!  commit   ──►│ Ahead │──► look_region, look_offset, look_words, look_lost
//!  look_*   ──►│       │
//!  read_*   ──►└───────┘
//! ```
//! Contract: fetch writes the eight words of a descriptor, then `filled` says that it is there and that the VI's
//! receive queue is filled up to `filled_position`; the descriptor at position p is in slot p modulo 4. A commit of
//! the VI's receive queue (WORK_QUEUE) empties it; fetch has taken that commit before, so nothing of the old queue
//! comes behind. The matcher looks with `look_*`; while `read_valid` is high, the words are scatter's instead, which
//! reads only while the matcher waits for it.
//!
//! Latency: everything read comes one cycle after its address. A slot is read only after it is filled and is written
//! only after it was consumed, so the block RAMs never see both at once; `look_filled` may change any time.
//!
//! Tests: `tests/receive/path.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Commit, Position, Vi};
use crate::prims::{LutRam, Number, Ram};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::tables::table;

/// Address of a descriptor: VI and slot.
const SLOT_LOG2: usize = VI_LOG2 + RECEIVE_AHEAD_LOG2;
/// Address of a word of one.
const WORD_LOG2: usize = SLOT_LOG2 + 3;

/// Where a descriptor lies.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AheadMeta {
    /// Region.
    pub region: Bits<16>,
    /// Offset in the region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Words of the 64 bytes that the region holds.
    pub words: Bits<4>,
    /// It could not be read.
    pub lost: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Ahead {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Unused: a commit empties each queue.
    pub reset: Signal<In, bool>,
    /// A word of a descriptor.
    pub ahead_valid: Signal<In, bool>,
    /// Its VI.
    pub ahead_vi: Signal<In, Vi>,
    /// Its slot.
    pub ahead_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Its place in the descriptor.
    pub ahead_word: Signal<In, Bits<3>>,
    /// The word.
    pub ahead_data: Signal<In, Bits<64>>,
    /// A descriptor is there.
    pub filled_valid: Signal<In, bool>,
    /// Its VI.
    pub filled_vi: Signal<In, Vi>,
    /// Its slot.
    pub filled_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Region it lies in.
    pub filled_region: Signal<In, Bits<16>>,
    /// Its offset there, in units of 64 bytes.
    pub filled_offset: Signal<In, Bits<34>>,
    /// Words of its first 64 bytes that the region holds.
    pub filled_words: Signal<In, Bits<4>>,
    /// It could not be read.
    pub filled_lost: Signal<In, bool>,
    /// One past its position.
    pub filled_position: Signal<In, Position>,
    /// A table row is on the bus.
    pub commit_valid: Signal<In, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// It is taken, if it is a receive row of WORK_QUEUE; the others are no business of this block.
    pub commit_ready: Signal<Out, bool>,
    /// Scatter reads `read_data`.
    pub read_valid: Signal<In, bool>,
    /// Of this VI.
    pub read_vi: Signal<In, Vi>,
    /// And this slot.
    pub read_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// This word.
    pub read_word: Signal<In, Bits<3>>,
    /// VI that the matcher looks at.
    pub look_vi: Signal<In, Vi>,
    /// Slot, for the descriptor's place, and for `read_data` unless scatter reads.
    pub look_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Word, likewise.
    pub look_word: Signal<In, Bits<3>>,
    /// The word.
    pub read_data: Signal<Out, Bits<64>>,
    /// Up to where the receive queue of `look_vi` is filled.
    pub look_filled: Signal<Out, Position>,
    /// Region of the descriptor.
    pub look_region: Signal<Out, Bits<16>>,
    /// Its offset, in units of 64 bytes.
    pub look_offset: Signal<Out, Bits<34>>,
    /// Words of its first 64 bytes that the region holds.
    pub look_words: Signal<Out, Bits<4>>,
    /// It could not be read.
    pub look_lost: Signal<Out, bool>,
    words: Ram<Bits<64>, WORD_LOG2>,
    meta: Ram<AheadMeta, SLOT_LOG2>,
    filled: LutRam<Position, VI_LOG2>,
    shown_filled: DFF<Position>,
    row: Signal<Local, Bits<16>>,
    wanted: Signal<Local, bool>,
    empties: Signal<Local, bool>,
    target: Number<8, { table::WORK_QUEUE as u64 }>,
}

impl Logic for Ahead {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_filled);
        clock!(self, clock, words, meta, filled);

        self.words.write_enable.next = self.ahead_valid.val();
        self.words.write_address.next = (bit_cast::<WORD_LOG2, VI_LOG2>(self.ahead_vi.val()) << 5)
            | (bit_cast::<WORD_LOG2, RECEIVE_AHEAD_LOG2>(self.ahead_slot.val()) << 3)
            | bit_cast::<WORD_LOG2, 3>(self.ahead_word.val());
        self.words.write_data.next = self.ahead_data.val();
        self.words.read_address.next = (bit_cast::<WORD_LOG2, VI_LOG2>(self.look_vi.val()) << 5)
            | (bit_cast::<WORD_LOG2, RECEIVE_AHEAD_LOG2>(self.look_slot.val()) << 3)
            | bit_cast::<WORD_LOG2, 3>(self.look_word.val());
        if self.read_valid.val() {
            self.words.read_address.next = (bit_cast::<WORD_LOG2, VI_LOG2>(self.read_vi.val()) << 5)
                | (bit_cast::<WORD_LOG2, RECEIVE_AHEAD_LOG2>(self.read_slot.val()) << 3)
                | bit_cast::<WORD_LOG2, 3>(self.read_word.val());
        }
        self.read_data.next = self.words.read_data.val();

        self.meta.write_enable.next = self.filled_valid.val();
        self.meta.write_address.next = (bit_cast::<SLOT_LOG2, VI_LOG2>(self.filled_vi.val()) << 2)
            | bit_cast::<SLOT_LOG2, RECEIVE_AHEAD_LOG2>(self.filled_slot.val());
        self.meta.write_data.next.region = self.filled_region.val();
        self.meta.write_data.next.offset = self.filled_offset.val();
        self.meta.write_data.next.words = self.filled_words.val();
        self.meta.write_data.next.lost = self.filled_lost.val();
        self.meta.read_address.next = (bit_cast::<SLOT_LOG2, VI_LOG2>(self.look_vi.val()) << 2)
            | bit_cast::<SLOT_LOG2, RECEIVE_AHEAD_LOG2>(self.look_slot.val());
        self.look_region.next = self.meta.read_data.val().region;
        self.look_offset.next = self.meta.read_data.val().offset;
        self.look_words.next = self.meta.read_data.val().words;
        self.look_lost.next = self.meta.read_data.val().lost;

        // A row emptied again while the matcher is not ready is no harm; the last time counts.
        self.row.next = self.commit.val().row;
        self.wanted.next = self.commit_valid.val()
            & (self.commit.val().target == self.target.val())
            & self.row.val().get_bit(0);
        self.empties.next = self.wanted.val() & !self.filled_valid.val();
        self.commit_ready.next = !self.filled_valid.val();
        self.filled.write_enable.next = self.filled_valid.val();
        self.filled.write_address.next = self.filled_vi.val();
        self.filled.write_data.next = self.filled_position.val();
        if self.empties.val() {
            self.filled.write_enable.next = true;
            self.filled.write_address.next = self.row.val().get_bits::<VI_LOG2>(1);
            self.filled.write_data.next = bits::<14>(0);
        }
        self.filled.read_address.next = self.look_vi.val();
        self.shown_filled.d.next = self.filled.read_data.val();
        self.look_filled.next = self.shown_filled.q.val();
    }
}
