//! Knows where in a segment and in a part of a packet cut is, and takes the next access out of both.
//!
//! ```text
//!  word, late, opens ──►┌───────────────┐──► piece
//!               part ──►│ SegmentCursor │──► empty
//!    measures, moves ──►└───────────────┘──► bytes, some
//! ```
//! Contract: `opens` takes the segment whose words are in `late` and on show, and `part` the size of a part. `measures` takes the next
//! piece: as much as the segment and the part both have. `moves` goes on behind that piece. `bytes` is what is
//! left of the part; `some`, that this is not 0.
//!
//! Latency: 1 cycle.
//!
//! Example: a segment of 1000 bytes at 0x5000 is opened, and a part has 1024. `measures`: `piece` has 1000 bytes at 0x5000 and
//! `ends_segment`. `moves`, and the next segment, of 500 bytes at 0x9000, is opened. `measures`: `piece` has 24 bytes at 0x9000 and
//! `ends_part`.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use crate::arithmetic::SegmentPiece;
use crate::prims::Cast;
use crate::rows::descriptor::DataSegment;
use crate::rows::handle::MemoryHandle;

/// The bytes that one access is to move.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AccessPiece {
    /// Virtual address of the first byte.
    pub address: Bits<64>,
    /// Region of the segment.
    pub region: Bits<16>,
    /// Key of the segment.
    pub key: Bits<16>,
    /// Bytes of the piece, 2048 at most.
    pub bytes: Bits<13>,
    /// The segment ends with the piece.
    pub ends_segment: bool,
    /// The part of the packet ends with the piece.
    pub ends_part: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SegmentCursor {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The word on show: the second one of a segment, when its first is in `late`; from the word reader.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before, from the word reader.
    pub late: Signal<In, Bits<64>>,
    /// The segment on show is taken; cut drives this and the inputs below.
    pub opens: Signal<In, bool>,
    /// Bytes of the part that is next.
    pub part: FlowSink<Bits<13>>,
    /// The next piece is taken out of segment and part.
    pub measures: Signal<In, bool>,
    /// The piece is asked for, or skipped.
    pub moves: Signal<In, bool>,
    /// The piece that the next access is to move.
    pub piece: Signal<Out, AccessPiece>,
    /// Nothing is left of the segment.
    pub empty: Signal<Out, bool>,
    /// Bytes of the part not asked for.
    pub bytes: Signal<Out, Bits<13>>,
    /// `bytes` is not 0.
    pub some: Signal<Out, bool>,
    address: DFF<Bits<64>>,
    region: DFF<Bits<16>>,
    key: DFF<Bits<16>>,
    /// Bytes of the segment not asked for.
    segment_left: DFF<Bits<32>>,
    part_left: DFF<Bits<13>>,
    /// Bytes of the access.
    size: DFF<Bits<13>>,
    ends_segment: DFF<bool>,
    ends_part: DFF<bool>,
    shown: Cast<Bits<128>, DataSegment>,
    handle: Cast<Bits<32>, MemoryHandle>,
    next_piece: SegmentPiece,
    moved: Signal<Local, Bits<64>>,
    segment_after: Signal<Local, Bits<32>>,
    part_after: Signal<Local, Bits<13>>,
}

impl Logic for SegmentCursor {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, address, region, key, segment_left, part_left);
        dff_setup!(self, clock, size, ends_segment, ends_part);
        self.shown.from.next =
            bit_cast::<128, 64>(self.late.val()) | (bit_cast::<128, 64>(self.word.val()) << 64);
        drive!(self, shown.to.val().handle => handle.from; segment_left.q => next_piece.segment;
            part_left.q => next_piece.packet);
        self.moved.next = self.address.q.val() + bit_cast::<64, 13>(self.size.q.val());
        self.segment_after.next = self.segment_left.q.val() - bit_cast::<32, 13>(self.size.q.val());
        self.part_after.next = self.part_left.q.val() - self.size.q.val();

        if self.opens.val() {
            self.address.d.next = self.shown.to.val().address;
            self.region.d.next = self.handle.to.val().index;
            self.key.d.next = self.handle.to.val().key;
            self.segment_left.d.next = self.shown.to.val().length;
        }
        if self.part.valid.val() {
            self.part_left.d.next = self.part.data.val();
        }
        if self.measures.val() {
            self.size.d.next = self.next_piece.piece.val();
            self.ends_segment.d.next = self.next_piece.ends_segment.val();
            self.ends_part.d.next = self.next_piece.ends_packet.val();
        }
        if self.moves.val() {
            self.address.d.next = self.moved.val();
            self.segment_left.d.next = self.segment_after.val();
            self.part_left.d.next = self.part_after.val();
        }
        fill!(self, piece, address.q => address; region.q => region; key.q => key; size.q => bytes;
            ends_segment.q => ends_segment; ends_part.q => ends_part);
        self.empty.next = !self.segment_left.q.val().any();
        drive!(self, part_left.q => bytes);
        self.some.next = self.part_left.q.val().any();
    }
}
