//! Cuts the next access out of what is left of a segment and of a packet.
//!
//! ```text
//!  segment ──►┌──────────────┐──► piece
//!   packet ──►│ SegmentPiece │──► ends_segment, ends_packet
//!             └──────────────┘
//! ```
//! Contract: `piece` is the least of `segment`, `packet` and 4096, which is the most that one access moves. `ends_segment` says that the
//! piece is the rest of the segment, `ends_packet` that it is the rest of the packet. The user subtracts the piece from both numbers and
//! goes on.
//!
//! Example: a packet of 1024 bytes begins in a segment of 1000. The first piece has 1000 bytes, and `ends_segment` is high. 24 bytes of the
//! packet are left, and the next segment has 500: the second piece has 24 bytes, and `ends_packet` is high.
//!
//! Latency: none, no state. Only a raw frame has more than 4096 bytes. Tests: `tests/arithmetic/bytes.rs`; proof:
//! `formal/segment_piece.sv`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::Portion;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SegmentPiece {
    /// Bytes of the segment that are not moved yet.
    pub segment: Signal<In, Bits<32>>,
    /// Bytes of the packet that are not moved yet.
    pub packet: Signal<In, Bits<13>>,
    /// Bytes that the next access moves.
    pub piece: Signal<Out, Bits<13>>,
    /// The segment ends with this piece.
    pub ends_segment: Signal<Out, bool>,
    /// The packet ends with this piece.
    pub ends_packet: Signal<Out, bool>,
    whole: Portion,
    portion: Signal<Local, Bits<13>>,
    /// One access would move more than 4096 bytes.
    cut: Signal<Local, bool>,
}

impl Logic for SegmentPiece {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, segment => whole.bytes; packet => whole.room; whole.portion => portion);
        self.cut.next = self.portion.val().get_bit(12) & self.portion.val().get_bits::<12>(0).any();
        self.piece.next = self.portion.val();
        self.ends_segment.next = self.whole.ends_bytes.val() & !self.cut.val();
        self.ends_packet.next = self.whole.ends_room.val() & !self.cut.val();
        if self.cut.val() {
            self.piece.next = bits::<13>(4096);
        }
    }
}
