//! The way out: inserts the VLAN tag and sends a frame to the MAC, or back to our own receive side.
//!
//! ```text
//!                       frame ──►┌────────┐──► tx
//!  frame_loopback, frame_vlan ──►│ Egress │──► loopback
//!                                └────────┘──► count_frame
//! ```
//! Contract: `frame_loopback` and `frame_vlan` stay the same for a whole frame. In a frame for the MAC a tag that is not 0 goes in
//! behind the source address, four bytes; loopback frames stay untagged. A frame once begun pauses only when its
//! receiver does. Padding to 60 bytes and FCS are the MAC's.
//!
//! Example: a frame of 64 bytes with a tag: bytes 0 to 11 leave as they came, then the four bytes of the tag, then bytes 12 to 63.
//! Eight beats come in, and nine leave; the last one has 4 bytes.
//!
//! Latency: 1 cycle; a tagged frame of 8n+5 to 8n+8 bytes takes one cycle more than it has beats.
//!
//! Tests: `tests/complete/egress.rs`.

use crate::bus::FrameBeat;
use crate::prims::Number;
use crate::stream::{Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Which beat of its frame comes.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum ComingBeat {
    First,
    /// Its lower half ends with the source address: the tag goes in behind that.
    Second,
    Later,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Egress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the frame under way.
    pub reset: Signal<In, bool>,
    /// Up to eight bytes of an untagged frame, from send/transmit.
    pub frame: Sink<FrameBeat>,
    /// The frame goes back to our own receive side, not to the MAC; transmit drives it.
    pub frame_loopback: Signal<In, bool>,
    /// VLAN tag of the frame in wire order, first byte in bits 7:0; 0: the frame has none. Transmit drives it.
    pub frame_vlan: Signal<In, Bits<32>>,
    /// A beat for the MAC, through send/eth_transmit.
    pub tx: Source<FrameBeat>,
    /// A beat for our own receive side, receive/ingress.
    pub loopback: Source<FrameBeat>,
    /// Pulses when a frame has left, to either side; `admin/counters` counts it.
    pub count_frame: Pulse,
    held_valid: DFF<bool>,
    /// The beat that waits to go on.
    held: DFF<FrameBeat>,
    /// The beat in `held` goes to our own receive side.
    held_loopback: DFF<bool>,
    coming: DFF<ComingBeat>,
    /// The high half of the beat before, which the tag has pushed back.
    pushed: DFF<Bits<32>>,
    /// Bytes of `pushed` that are left when the frame has ended; 0: none.
    tail: DFF<Bits<4>>,
    /// A beat leaves, or none is there: the next one may come.
    advance: Signal<Local, bool>,
    with_tag: Signal<Local, bool>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    longer: Signal<Local, Bits<4>>,
    left: Signal<Local, Bits<4>>,
    four: Number<4, 4>,
}

impl Logic for Egress {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held_valid, held, held_loopback, coming, pushed, tail);
        self.tx.valid.next = self.held_valid.q.val() & !self.held_loopback.q.val();
        drive!(self, held.q => tx.data, loopback.data);
        self.loopback.valid.next = self.held_valid.q.val() & self.held_loopback.q.val();
        self.advance.next = !self.held_valid.q.val()
            | (self.held_loopback.q.val() & self.loopback.ready.val())
            | (!self.held_loopback.q.val() & self.tx.ready.val());
        self.frame.ready.next = self.advance.val() & !self.tail.q.val().any();
        self.count_frame.next = self.held_valid.q.val() & self.advance.val() & self.held.q.val().last;

        self.with_tag.next = self.frame_vlan.val().any() & !self.frame_loopback.val();
        self.low.next = bit_cast::<32, 64>(self.frame.data.val().data);
        self.high.next = bit_cast::<32, 64>(self.frame.data.val().data >> 32);
        self.longer.next = self.frame.data.val().count + self.four.val();
        self.left.next = self.frame.data.val().count - self.four.val();

        if self.advance.val() {
            self.held_valid.d.next = false;
            if self.tail.q.val().any() {
                self.held_valid.d.next = true;
                self.held.d.next.data = bit_cast::<64, 32>(self.pushed.q.val());
                self.held.d.next.count = self.tail.q.val();
                self.held.d.next.last = true;
                self.tail.d.next = bits::<4>(0);
            } else if self.frame.valid.val() {
                self.held_valid.d.next = true;
                self.held.d.next = self.frame.data.val();
                self.held_loopback.d.next = self.frame_loopback.val();
                self.pushed.d.next = self.high.val();
                if self.with_tag.val() & (self.coming.q.val() != ComingBeat::First) {
                    if self.coming.q.val() == ComingBeat::Later {
                        self.held.d.next.data = (bit_cast::<64, 32>(self.low.val()) << 32)
                            | bit_cast::<64, 32>(self.pushed.q.val());
                    } else {
                        self.held.d.next.data = (bit_cast::<64, 32>(self.frame_vlan.val()) << 32)
                            | bit_cast::<64, 32>(self.low.val());
                    }
                    if self.frame.data.val().last {
                        if self.frame.data.val().count > self.four.val() {
                            self.held.d.next.count = bits::<4>(8);
                            self.held.d.next.last = false;
                            self.tail.d.next = self.left.val();
                        } else {
                            self.held.d.next.count = self.longer.val();
                        }
                    }
                }
                self.coming.d.next = ComingBeat::Later;
                if self.coming.q.val() == ComingBeat::First {
                    self.coming.d.next = ComingBeat::Second;
                }
                if self.frame.data.val().last {
                    self.coming.d.next = ComingBeat::First;
                }
            }
        }
        if self.reset.val() {
            self.held_valid.d.next = false;
            self.coming.d.next = ComingBeat::First;
            self.tail.d.next = bits::<4>(0);
        }
    }
}
