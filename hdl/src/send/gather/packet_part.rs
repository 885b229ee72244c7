//! Takes a packet apart: half of a queue's largest packet at a time is asked for.
//!
//! ```text
//!  packet ──►┌────────────┐──► part, more
//!   moves ──►│ PacketPart │──► bytes
//!            └────────────┘
//! ```
//! Contract: `packet` takes a packet of that many bytes, and `part` is its first part in that cycle: 2048 bytes, or all if it has no more.
//! `moves` goes on, and `part` is the next part in that cycle. `more` says that parts are behind the one that was taken last. `bytes` is the
//! size of the whole packet.
//!
//! Why: the payload queue holds two packets of 4096 bytes, and one of them leaves while the next one comes. The one behind that is asked for
//! half by half as the first one leaves: if all of it had to find room at once, the bus would rest for a round trip.
//!
//! Latency: none for `part`, otherwise 1 cycle.
//!
//! Example: a raw frame of 4200 bytes has parts of 2048, 2048 and 104 bytes.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use crate::prims::Number;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketPart {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Bytes of a packet, 4200 at most; cut or the replier drives this and `moves`.
    pub packet: FlowSink<Bits<13>>,
    /// The next part is taken; it does not come with `packet`.
    pub moves: Signal<In, bool>,
    /// Bytes of the part that is taken in this cycle.
    pub part: Signal<Out, Bits<13>>,
    /// There are parts behind the last one.
    pub more: Signal<Out, bool>,
    /// Bytes of the packet.
    pub bytes: Signal<Out, Bits<13>>,
    /// Bytes of the packet behind the last part.
    rest: DFF<Bits<13>>,
    size: DFF<Bits<13>>,
    whole: Signal<Local, Bits<13>>,
    high: Signal<Local, Bits<2>>,
    low: Signal<Local, Bits<11>>,
    /// The high bits of `behind`.
    high_behind: Signal<Local, Bits<2>>,
    /// What is left behind the part.
    behind: Signal<Local, Bits<13>>,
    /// All that is left is one part.
    fits: Signal<Local, bool>,
    most: Number<13, 2048>,
}

impl Logic for PacketPart {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, rest, size);
        self.whole.next = self.rest.q.val();
        if self.packet.valid.val() {
            self.whole.next = self.packet.data.val();
            self.size.d.next = self.packet.data.val();
        }
        self.high.next = self.whole.val().get_bits::<2>(11);
        self.low.next = self.whole.val().get_bits::<11>(0);
        self.fits.next = !self.high.val().any() | ((self.high.val() == bits::<2>(1)) & !self.low.val().any());
        // A part of 2048 bytes leaves the low bits as they are.
        self.part.next = self.most.val();
        self.high_behind.next = self.high.val() - 1;
        self.behind.next =
            (bit_cast::<13, 2>(self.high_behind.val()) << 11) | bit_cast::<13, 11>(self.low.val());
        if self.fits.val() {
            self.part.next = self.whole.val();
            self.behind.next = bits::<13>(0);
        }
        if self.packet.valid.val() | self.moves.val() {
            self.rest.d.next = self.behind.val();
        }
        self.more.next = self.rest.q.val().any();
        drive!(self, size.q => bytes);
    }
}
