//! Frames on their way out: VLAN tag in, then to the MAC or round to our own receive side.
//!
//! ```text
//!   frame, frame_loopback, ──►┌────────┐──► tx
//!              frame_vlan     │ Egress │──► loopback
//!                             └────────┘──► count_frame
//! ```
//! Contract: a frame whose `frame_vlan` is not 0 gets these 4 bytes behind byte 12. Frames leave whole and in order,
//! to one side or the other; the receive side drops the tag again.
//!
//! Latency: 1 cycle. Throughput: a beat every cycle; a tagged frame whose last beat has more than 4 bytes has one beat
//! more.
//!
//! How: behind the tag every beat is the upper half of the one before and the lower half of this one.
//!
//! Tests: `tests/send/egress.rs`.

use rust_hdl::prelude::*;

use crate::bus::FrameBeat;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Egress {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// A beat.
    pub frame_valid: Signal<In, bool>,
    /// The beat.
    pub frame: Signal<In, FrameBeat>,
    /// Its frame goes to our own receive side.
    pub frame_loopback: Signal<In, bool>,
    /// Its frame's tag in wire order; 0: none.
    pub frame_vlan: Signal<In, Bits<32>>,
    /// It is taken.
    pub frame_ready: Signal<Out, bool>,
    /// A beat for the MAC.
    pub tx_valid: Signal<Out, bool>,
    /// The beat.
    pub tx: Signal<Out, FrameBeat>,
    /// It is taken.
    pub tx_ready: Signal<In, bool>,
    /// A beat for our own receive side.
    pub loopback_valid: Signal<Out, bool>,
    /// The beat.
    pub loopback: Signal<Out, FrameBeat>,
    /// It is taken.
    pub loopback_ready: Signal<In, bool>,
    /// A frame has left.
    pub count_frame: Signal<Out, bool>,
    to_mac: DFF<bool>,
    to_loopback: DFF<bool>,
    beat: DFF<FrameBeat>,
    /// The upper half of the beat before, once the tag is in.
    over: DFF<Bits<32>>,
    /// Beat of the frame: 0, 1, or more.
    second: DFF<bool>,
    later: DFF<bool>,
    /// One more beat is to leave: the bytes in `over`.
    extra: DFF<bool>,
    extra_count: DFF<Bits<4>>,
    free: Signal<Local, bool>,
    takes: Signal<Local, bool>,
    has_tag: Signal<Local, bool>,
    data: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    count: Signal<Local, Bits<4>>,
    longer: Signal<Local, Bits<4>>,
    shorter: Signal<Local, Bits<4>>,
    spills: Signal<Local, bool>,
}

impl Logic for Egress {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, to_mac, to_loopback, beat, over, second, later, extra, extra_count);
        self.free.next = (!self.to_mac.q.val() | self.tx_ready.val())
            & (!self.to_loopback.q.val() | self.loopback_ready.val());
        self.frame_ready.next = self.free.val() & !self.extra.q.val();
        self.takes.next = self.frame_valid.val() & self.free.val() & !self.extra.q.val();
        self.has_tag.next = self.frame_vlan.val().any();
        self.data.next = self.frame.val().data;
        self.low.next = self.data.val().get_bits::<32>(0);
        self.high.next = self.data.val().get_bits::<32>(32);
        self.count.next = self.frame.val().count;
        self.longer.next = self.count.val() + 4;
        self.shorter.next = self.count.val() - 4;
        self.spills.next = self.frame.val().last & self.has_tag.val() & (self.count.val() > bits::<4>(4));

        if self.free.val() {
            self.to_mac.d.next = self.takes.val() & !self.frame_loopback.val();
            self.to_loopback.d.next = self.takes.val() & self.frame_loopback.val();
            if self.extra.q.val() {
                // The side is that of the beat before.
                self.to_mac.d.next = self.to_mac.q.val();
                self.to_loopback.d.next = self.to_loopback.q.val();
                self.extra.d.next = false;
                self.beat.d.next.data = bit_cast::<64, 32>(self.over.q.val());
                self.beat.d.next.count = self.extra_count.q.val();
                self.beat.d.next.last = true;
            }
        }
        if self.takes.val() {
            self.beat.d.next = self.frame.val();
            self.second.d.next = !self.second.q.val() & !self.later.q.val();
            self.later.d.next = self.second.q.val() | self.later.q.val();
            self.over.d.next = self.high.val();
            if self.has_tag.val() & self.second.q.val() {
                self.beat.d.next.data =
                    bit_cast::<64, 32>(self.low.val()) | (bit_cast::<64, 32>(self.frame_vlan.val()) << 32);
            }
            if self.has_tag.val() & self.later.q.val() {
                self.beat.d.next.data =
                    bit_cast::<64, 32>(self.over.q.val()) | (bit_cast::<64, 32>(self.low.val()) << 32);
            }
            if self.frame.val().last {
                self.second.d.next = false;
                self.later.d.next = false;
                if self.has_tag.val() {
                    self.beat.d.next.count = self.longer.val();
                    if self.spills.val() {
                        self.beat.d.next.count = bits::<4>(8);
                        self.beat.d.next.last = false;
                        self.extra.d.next = true;
                        self.extra_count.d.next = self.shorter.val();
                    }
                }
            }
        }
        self.tx_valid.next = self.to_mac.q.val();
        self.tx.next = self.beat.q.val();
        self.loopback_valid.next = self.to_loopback.q.val();
        self.loopback.next = self.beat.q.val();
        self.count_frame.next = self.beat.q.val().last
            & ((self.to_mac.q.val() & self.tx_ready.val())
                | (self.to_loopback.q.val() & self.loopback_ready.val()));
        if self.reset.val() {
            self.to_mac.d.next = false;
            self.to_loopback.d.next = false;
            self.second.d.next = false;
            self.later.d.next = false;
            self.extra.d.next = false;
        }
    }
}
