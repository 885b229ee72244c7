//! Tells whether a frame is a ping for our address, and whether all of it is there.
//!
//! ```text
//!                rx, index ──►┌─────────────┐──► fits
//!           begins, broken ──►│ PingRequest │──► whole
//!                  address ──►└─────────────┘──► sender
//! ```
//! Contract: in the cycle after a beat, `fits` is high if the frame may still be an ICMP echo request in an IPv4 packet for `address`, with
//! a header of 20 bytes and no fragment; after the last beat it is the verdict. `whole` says three cycles after the last beat that the
//! packet's length is that of an echo request at least, and the frame's at most. `begins` says of the first beat that such a frame may
//! begin so, and `broken` of any that the frame is none. `sender` is the sender's IPv4 address, in the cycle of the fourth beat only.
//!
//! Latency: 1 cycle after a beat; 3 after the last beat for `whole`.
//!
//! Example: a ping of 98 bytes comes with 84 as its packet's length: `fits` and `whole` are high. With 85 `fits` is high, and `whole` is
//! not.
//!
//! Tests: with `Echo`, `tests/mac/echo.rs`.

use super::beats::{IpAddresses, IpMiddle, IpStart, PingStart, SplitIp};
use crate::bus::FrameBeat;
use crate::mac::ethernet::IPV4_TYPE;
use crate::prims::{Cast, Number};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PingRequest {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// Number of the beat at `rx` in its frame, up to 7; `Question` drives this and the next three ports.
    pub index: Signal<In, Bits<3>>,
    /// The frame is for us, and its sender is no group.
    pub begins: Signal<In, bool>,
    /// The frame is damaged or too short.
    pub broken: Signal<In, bool>,
    /// Our IPv4 address.
    pub address: Signal<In, SplitIp>,
    /// The frame may still be a ping for us; `Question` listens to this and the other outputs.
    pub fits: Signal<Out, bool>,
    /// All of the packet is in the frame.
    pub whole: Signal<Out, bool>,
    /// IPv4 address of the asker, in the fourth beat.
    pub sender: Signal<Out, Bits<32>>,
    /// `fits`.
    holds: DFF<bool>,
    /// Bytes of the frame so far.
    length: DFF<Bits<16>>,
    /// Bytes of the packet, from its header.
    total: DFF<Bits<16>>,
    /// Bytes that the frame must have for the packet.
    needed: DFF<Bits<16>>,
    /// `whole`.
    there: DFF<bool>,
    start: Cast<Bits<64>, IpStart>,
    middle: Cast<Bits<64>, IpMiddle>,
    addresses: Cast<Bits<64>, IpAddresses>,
    ping: Cast<Bits<64>, PingStart>,
    ipv4: Number<16, { IPV4_TYPE }>,
    /// Version 4, header of 5 words.
    version: Number<8, 0x45>,
    icmp: Number<8, 1>,
    /// More fragments, and the offset; not "don't fragment".
    fragment_mask: Number<16, 0xffbf>,
    /// Type 8, code 0.
    echo_request: Number<16, 0x0008>,
    link_header: Number<16, 14>,
    /// The least that an echo's packet has.
    least: Number<16, 28>,
}

impl Logic for PingRequest {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, holds, length, total, needed, there);
        drive!(self, rx.data.val().data => start.from, middle.from, addresses.from, ping.from;
            holds.q => fits; addresses.to.val().source => sender);

        if self.rx.valid.val() {
            self.length.d.next = self.length.q.val() + bit_cast::<16, 4>(self.rx.data.val().count);
            match self.index.val().index() {
                0 => {
                    self.length.d.next = bit_cast::<16, 4>(self.rx.data.val().count);
                    self.holds.d.next = self.begins.val();
                }
                1 => {
                    if (self.start.to.val().ethertype != self.ipv4.val())
                        | (self.start.to.val().version != self.version.val())
                    {
                        self.holds.d.next = false;
                    }
                }
                2 => {
                    self.total.d.next = (bit_cast::<16, 8>(self.middle.to.val().total_high) << 8)
                        | bit_cast::<16, 8>(self.middle.to.val().total_low);
                    if (self.middle.to.val().fragment & self.fragment_mask.val()).any()
                        | (self.middle.to.val().protocol != self.icmp.val())
                    {
                        self.holds.d.next = false;
                    }
                }
                3 => {
                    if self.addresses.to.val().destination_first != self.address.val().first {
                        self.holds.d.next = false;
                    }
                }
                4 => {
                    if (self.ping.to.val().destination_rest != self.address.val().rest)
                        | (self.ping.to.val().kind != self.echo_request.val())
                    {
                        self.holds.d.next = false;
                    }
                }
                _ => {}
            }
        }
        if self.broken.val() {
            self.holds.d.next = false;
        }

        self.needed.d.next = self.total.q.val() + self.link_header.val();
        self.there.d.next = (self.length.q.val() >= self.needed.q.val())
            & (self.total.q.val() >= self.least.val())
            & (self.needed.q.val() > self.link_header.val());
        self.whole.next = self.there.q.val();
    }
}
