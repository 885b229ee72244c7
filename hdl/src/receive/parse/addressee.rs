//! Tells who a frame is for: us, the raw channel, or somebody else.
//!
//! ```text
//!  at, data, number, count ──►┌───────────┐──► foreign
//!                  mac, ip ──►│ Addressee │──► wanted
//!                    raw_* ──►└───────────┘──► marked
//! ```
//! Contract: a frame is `foreign` if its MAC address is not `mac`, if it is not IPv4 with 20 header bytes, if it is a fragment, if it is
//! not UDP, if its IP address is not `ip`, or if its UDP port is not RoCE's. Of a frame that has been cut, only the fields count that it
//! has whole.
//!
//! Example: our MAC address and IP address fit, but the UDP port is 53: the frame is `foreign`.
//!
//! Latency: 1 from the beat. Tests: with `Parse`, `tests/receive/parse/`.

use super::beats::{Beat0, Beat1, Beat2, Beat3, Beat4, BeatAt, MacAddress};
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::UDP_PORT;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Addressee {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one. `Parse` drives this and the other inputs.
    pub at: Signal<In, BeatAt>,
    /// The beat's bytes, the first in bits 7:0.
    pub data: Signal<In, Bits<64>>,
    /// The same bytes as one number, the first on top.
    pub number: Signal<In, Bits<64>>,
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
    /// The frame is not a RoCE frame to us; `Parse` listens to all outputs.
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
    beat_0: Cast<Bits<64>, Beat0>,
    beat_1: Cast<Bits<64>, Beat1>,
    beat_2: Cast<Bits<64>, Beat2>,
    beat_3: Cast<Bits<64>, Beat3>,
    beat_4: Cast<Bits<64>, Beat4>,
    ether: Signal<Local, Beat0>,
    network: Signal<Local, Beat1>,
    second: Signal<Local, Beat2>,
    fourth: Signal<Local, Beat4>,
    /// The frame's destination is the station's own MAC address.
    to_us: Signal<Local, bool>,
    address: Cast<Bits<48>, MacAddress>,
    ipv4: Number<16, 0x0800>,
    /// Version 4, and a header of 5 words.
    plain_header: Number<8, 0x45>,
    udp: Number<8, 17>,
    port: Number<16, { UDP_PORT as u64 }>,
}

impl Logic for Addressee {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, other, raw, congested, other_net);
        drive!(self, other.q => foreign; raw.q => wanted; congested.q => marked);
        // FRAME-5: of a frame that has been cut a field counts that it has whole.
        self.has_8.next = self.count.val().get_bit(3);
        self.has_7.next = self.count.val().get_bit(3) | self.count.val().get_bits::<3>(0).all();
        self.has_6.next = self.count.val().get_bit(3) | self.count.val().get_bits::<2>(1).all();
        self.has_2.next = self.count.val().get_bits::<3>(1).any();
        self.beat_0.from.next = self.data.val();
        self.beat_1.from.next = self.number.val();
        self.beat_2.from.next = self.number.val();
        self.beat_3.from.next = self.number.val();
        self.beat_4.from.next = self.number.val();
        self.ether.next = self.beat_0.to.val();
        self.network.next = self.beat_1.to.val();
        self.second.next = self.beat_2.to.val();
        self.fourth.next = self.beat_4.to.val();
        self.address.from.next = self.ether.val().destination;
        self.to_us.next = self.ether.val().destination == self.mac.val();
        self.is_broadcast.next = self.ether.val().destination.all();
        self.is_multicast.next = self.address.to.val().group;
        if self.at.val().beat_0 {
            // FRAME-5: another MAC address. RAW-1: the channel's filter.
            self.other.d.next = !self.to_us.val();
            self.raw.d.next = self.raw_open.val()
                & (self.raw_any.val()
                    | self.to_us.val()
                    | (self.is_broadcast.val() & self.raw_broadcast.val())
                    | (self.is_multicast.val() & !self.is_broadcast.val() & self.raw_multicast.val()));
        }
        if self.at.val().beat_1
            & ((self.network.val().ether_type != self.ipv4.val())
                | (self.has_7.val() & (self.network.val().version != self.plain_header.val())))
        {
            self.other.d.next = true;
        }
        if self.at.val().beat_1 {
            self.congested.d.next = self.network.val().ecn.all();
        }
        // FRAME-5: a fragment, or not UDP.
        if self.at.val().beat_2
            & ((self.has_6.val() & self.second.val().fragment.any())
                | (self.has_8.val() & (self.second.val().protocol != self.udp.val())))
        {
            self.other.d.next = true;
        }
        if self.at.val().beat_3 {
            self.other_net.d.next = self.beat_3.to.val().destination_high != self.ip.val().get_bits::<16>(16);
        }
        if self.at.val().beat_4
            & ((self.has_2.val()
                & (self.other_net.q.val()
                    | (self.fourth.val().destination_low != self.ip.val().get_bits::<16>(0))))
                | (self.has_6.val() & (self.fourth.val().destination_port != self.port.val())))
        {
            self.other.d.next = true;
        }
    }
}
