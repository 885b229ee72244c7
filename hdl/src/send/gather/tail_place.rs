//! Says where the tail of a descriptor lies, and how long it has to be.
//!
//! ```text
//!           head ──►┌───────────┐──► access
//!       segments ──►│ TailPlace │──► stop
//!            tag ──►└───────────┘
//! ```
//! Contract: `access` reads what lies behind the descriptor's first 64 bytes, 16 bytes for each segment beyond the first two, as far as the
//! region goes. `stop` is the number behind that of the tail's last word. Both have a meaning if there are more than two segments.
//!
//! Latency: none; 1 cycle from `segments` to `stop`.
//!
//! Example: a descriptor at offset 128 has 5 segments. `access` reads 48 bytes at offset 192, and `stop` is 14: words 8 to 13 come.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::mark;
use crate::bus::{Access, SendHead};
use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TailPlace {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The head at hand, from the inbox.
    pub head: Signal<In, SendHead>,
    /// Segments of the descriptor; check drives this and `tag`.
    pub segments: Signal<In, Bits<8>>,
    /// Protection tag of the VI.
    pub tag: Signal<In, Bits<16>>,
    /// The read of the tail, which `protect` checks.
    pub access: Signal<Out, Access>,
    /// Number behind that of the tail's last word.
    pub stop: Signal<Out, Bits<10>>,
    stop_word: DFF<Bits<10>>,
    line: Signal<Local, Bits<35>>,
    beyond_two: Signal<Local, Bits<8>>,
    tail_mark: Number<8, { mark::TAIL }>,
}

impl Logic for TailPlace {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, stop_word);
        self.line.next = bit_cast::<35, 34>(self.head.val().offset) + 1;
        self.beyond_two.next = self.segments.val() - 2;
        self.stop_word.d.next = (bit_cast::<10, 8>(self.segments.val()) << 1) + bits::<10>(4);
        self.stop.next = self.stop_word.q.val();
        self.access.next.address = bit_cast::<64, 35>(self.line.val()) << 6;
        self.access.next.span = bits::<32>(0);
        self.access.next.length = bit_cast::<13, 8>(self.beyond_two.val()) << 4;
        self.access.next.region = self.head.val().region;
        self.access.next.key = bits::<16>(0);
        fill!(self, access, tag => tag; true => by_offset, clip; false => system, write);
        self.access.next.remote = bits::<2>(0);
        self.access.next.user = self.tail_mark.val();
    }
}
