//! Tells who a frame is for: us, the raw channel, or somebody else.
//!
//! ```text
//!  at, data, count ──►┌───────────┐──► foreign
//!          mac, ip ──►│ Addressee │──► wanted
//!            raw_* ──►└───────────┘──► marked
//! ```
//! Contract: a frame is `foreign` that has another MAC address than `mac`, or is not IPv4 with 20 header bytes, a fragment, not
//! UDP, for another address than `ip` or another UDP port than RoCE's. Of a frame that has been cut, those fields count that it has
//! whole.
//!
//! Example: our MAC address and IP address fit, but the UDP port is 53: the frame is `foreign`.
//!
//! Latency: 1 from the beat. Tests: with the whole, `tests/receive/parse/`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::wire::UDP_PORT;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Addressee {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, Bits<8>>,
    /// The beat's bytes, the first in bits 7:0.
    pub data: Signal<In, Bits<64>>,
    /// How many bytes the beat has, 1 to 8.
    pub count: Signal<In, Bits<4>>,
    /// Own MAC address, first byte in bits 7:0.
    pub mac: Signal<In, Bits<48>>,
    /// Own IPv4 address, most significant byte = first on the wire.
    pub ip: Signal<In, Bits<32>>,
    /// The raw channel is open.
    pub raw_open: Signal<In, bool>,
    /// The raw channel takes broadcast frames.
    pub raw_broadcast: Signal<In, bool>,
    /// The raw channel takes multicast frames.
    pub raw_multicast: Signal<In, bool>,
    /// The raw channel takes frames to any address.
    pub raw_any: Signal<In, bool>,
    /// The frame is not a RoCE frame to us.
    pub foreign: Signal<Out, bool>,
    /// The raw channel takes the frame, by its MAC address.
    pub wanted: Signal<Out, bool>,
    /// A router has marked the frame: congestion experienced.
    pub marked: Signal<Out, bool>,
    other: DFF<bool>,
    raw: DFF<bool>,
    congested: DFF<bool>,
    /// The first half of the IP address, which ends a beat, is not ours.
    other_net: DFF<bool>,
    /// The beat has its first 2, 6, 7, 8 bytes.
    has_2: Signal<Local, bool>,
    has_6: Signal<Local, bool>,
    has_7: Signal<Local, bool>,
    has_8: Signal<Local, bool>,
    is_broadcast: Signal<Local, bool>,
    is_multicast: Signal<Local, bool>,
    /// EtherType 0800, version 4 and 5 words of header, as they lie in a beat.
    ip_type: Number<24, 0x45_0008>,
    port: Number<16, { UDP_PORT.swap_bytes() as u64 }>,
    /// More-fragments and offset, as they lie in a beat.
    fragment: Number<16, 0xff3f>,
}

impl Logic for Addressee {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, other, raw, congested, other_net);
        self.foreign.next = self.other.q.val();
        self.wanted.next = self.raw.q.val();
        self.marked.next = self.congested.q.val();
        // FRAME-5: of a frame that has been cut a field counts that it has whole.
        self.has_8.next = self.count.val().get_bit(3);
        self.has_7.next = self.count.val().get_bit(3) | self.count.val().get_bits::<3>(0).all();
        self.has_6.next = self.count.val().get_bit(3) | self.count.val().get_bits::<2>(1).all();
        self.has_2.next = self.count.val().get_bits::<3>(1).any();
        self.is_broadcast.next = self.data.val().get_bits::<48>(0).all();
        self.is_multicast.next = self.data.val().get_bit(0);
        if self.at.val().get_bit(0) {
            // FRAME-5: another MAC address. RAW-1: the channel's filter.
            self.other.d.next = self.data.val().get_bits::<48>(0) != self.mac.val();
            self.raw.d.next = self.raw_open.val()
                & (self.raw_any.val()
                    | (self.data.val().get_bits::<48>(0) == self.mac.val())
                    | (self.is_broadcast.val() & self.raw_broadcast.val())
                    | (self.is_multicast.val() & !self.is_broadcast.val() & self.raw_multicast.val()));
        }
        if self.at.val().get_bit(1)
            & ((self.data.val().get_bits::<16>(32) != self.ip_type.val().get_bits::<16>(0))
                | (self.has_7.val()
                    & (self.data.val().get_bits::<8>(48) != self.ip_type.val().get_bits::<8>(16))))
        {
            self.other.d.next = true;
        }
        // Bits 1:0 of the type of service.
        if self.at.val().get_bit(1) {
            self.congested.d.next = self.data.val().get_bits::<2>(56).all();
        }
        // FRAME-5: a fragment, or not UDP.
        if self.at.val().get_bit(2)
            & ((self.has_6.val() & (self.data.val().get_bits::<16>(32) & self.fragment.val()).any())
                | (self.has_8.val() & (self.data.val().get_bits::<8>(56) != bits::<8>(17))))
        {
            self.other.d.next = true;
        }
        if self.at.val().get_bit(3) {
            self.other_net.d.next = (self.data.val().get_bits::<8>(48) != self.ip.val().get_bits::<8>(24))
                | (self.data.val().get_bits::<8>(56) != self.ip.val().get_bits::<8>(16));
        }
        if self.at.val().get_bit(4)
            & ((self.has_2.val()
                & (self.other_net.q.val()
                    | (self.data.val().get_bits::<8>(0) != self.ip.val().get_bits::<8>(8))
                    | (self.data.val().get_bits::<8>(8) != self.ip.val().get_bits::<8>(0))))
                | (self.has_6.val() & (self.data.val().get_bits::<16>(32) != self.port.val())))
        {
            self.other.d.next = true;
        }
    }
}
