//! Looks at the frames that come: which of them are questions for us?
//!
//! ```text
//!              rx ──►┌──────────┐──► decided, keep
//! station, address ─►│ Question │──► asked
//!                    └──────────┘
//! ```
//! Contract: a question is a good frame, without VLAN tag, from an address that is no group, that is
//! - an ARP request (Ethernet, IPv4) for `address`, to us or to everybody, whose sender is who sends the frame, or
//! - an ICMP echo request in an IPv4 packet for `address`, to us: header of 20 bytes with a right sum, no fragment, all of it there.
//!
//! Four cycles behind a frame's last beat `decided` is high for one cycle, `keep` says whether it is one, and `asked` what the answer needs.
//! The next frame's first beat comes later than that: between two frames a MAC has 20 byte times. `station` and `address` have their
//! first byte in bits 7:0.
//!
//! The answer's sums are those of the question with what changes taken out and put in (RFC 1624): so what was damaged behind the FCS's
//! back stays damaged.
//!
//! Latency: 4 cycles.
//!
//! Example: an ARP request for `address` to everybody, with a good FCS: 4 cycles behind its last beat `decided` and `keep` are high, and `asked`
//! has the sender's two addresses.
//!
//! Tests: `tests/mac/echo.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::FrameBeat;
use crate::prims::Number;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// What the answer to a question needs.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Asked {
    /// The question is an echo request; otherwise an ARP request.
    pub echo: bool,
    /// Who asks: Ethernet address.
    pub peer: Bits<48>,
    /// Who asks: IPv4 address.
    pub peer_address: Bits<32>,
    /// Echo: the answer's header sum.
    pub header_sum: Bits<16>,
    /// Echo: the answer's ICMP sum.
    pub echo_sum: Bits<16>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Question {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the frame under way.
    pub reset: Signal<In, bool>,
    /// A beat of a frame received, from the MAC.
    pub rx: FlowSink<FrameBeat>,
    /// Our Ethernet address, first byte in bits 7:0.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
    /// A frame is over and judged, in this cycle only.
    pub decided: Signal<Out, bool>,
    /// With `decided`: that frame is a question.
    pub keep: Signal<Out, bool>,
    /// With `keep`: what the answer to the question needs.
    pub asked: Signal<Out, Asked>,
    /// Beats of the frame so far, up to 7.
    index: DFF<Bits<3>>,
    /// Bytes of the frame so far.
    length: DFF<Bits<16>>,
    /// The frame may still be an ARP request for us.
    arp: DFF<bool>,
    /// The frame may still be an echo request for us.
    echo: DFF<bool>,
    /// `asked`, as far as it is known.
    asked_kept: DFF<Asked>,
    /// Bytes of the packet, from its header.
    total: DFF<Bits<16>>,
    /// Time to live and protocol.
    life: DFF<Bits<16>>,
    /// Check sum of the question's IPv4 header.
    header_sum: DFF<Bits<16>>,
    /// Check sum of the question's ICMP message.
    echo_sum: DFF<Bits<16>>,
    /// Sum of the header's 16-bit words in one beat.
    part: DFF<Bits<20>>,
    /// Sum of the header's 16-bit words in all beats.
    sum: DFF<Bits<20>>,
    /// Steps behind the last beat.
    closing: DFF<Bits<4>>,
    /// All of the packet is in the frame.
    fits: DFF<bool>,
    /// The header's check sum is right.
    summed: DFF<bool>,
    data: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<16>>,
    second: Signal<Local, Bits<16>>,
    third: Signal<Local, Bits<16>>,
    high: Signal<Local, Bits<16>>,
    low48: Signal<Local, Bits<48>>,
    fragment: Signal<Local, Bits<16>>,
    peer: Signal<Local, Bits<48>>,
    peer_address: Signal<Local, Bits<32>>,
    own: Signal<Local, Bits<32>>,
    part_low: Signal<Local, Bits<20>>,
    part_high: Signal<Local, Bits<20>>,
    // The sums, a step each: the last beat is three behind the fields they are made of.
    /// Bytes that the frame must have for the packet.
    needed: DFF<Bits<16>>,
    /// `sum`, its carries added once.
    folded: DFF<Bits<20>>,
    folded_twice: Signal<Local, Bits<20>>,
    old_sum: Signal<Local, Bits<16>>,
    old_life: Signal<Local, Bits<16>>,
    /// The answer's header sum with its carries.
    new_header: DFF<Bits<20>>,
    /// The answer's header sum, its carries added once.
    new_header_folded: DFF<Bits<20>>,
    new_header_sum: Signal<Local, Bits<16>>,
    old_echo: Signal<Local, Bits<16>>,
    /// The answer's ICMP sum with its carries.
    new_echo: DFF<Bits<20>>,
    new_echo_folded: Signal<Local, Bits<20>>,
    new_echo_sum: Signal<Local, Bits<16>>,
    broadcast: Number<48, 0xffff_ffff_ffff>,
    arp_type: Number<16, 0x0608>,
    ethernet: Number<16, 0x0100>,
    /// IPv4 addresses of 4 bytes, Ethernet addresses of 6, request.
    arp_request: Number<48, 0x0100_0406_0008>,
    ip_type: Number<16, 0x0008>,
    /// Version 4, header of 5 words.
    version: Number<8, 0x45>,
    icmp: Number<8, 1>,
    /// More fragments, and the offset; not "don't fragment".
    fragment_mask: Number<16, 0xffbf>,
    echo_request: Number<16, 0x0008>,
    /// Type 8 taken out.
    without_request: Number<20, 0xfff7>,
    /// Time to live 64, ICMP.
    new_life: Number<20, 0x0140>,
    full: Number<16, 0xffff>,
    link_header: Number<16, 14>,
    /// The least that an echo's packet has.
    least: Number<16, 28>,
}

impl Logic for Question {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, index, length, arp, echo, asked_kept, total, life, header_sum, echo_sum);
        dff_setup!(self, clock, part, sum, closing, fits, summed);
        dff_setup!(self, clock, needed, folded, new_header, new_header_folded, new_echo);
        self.data.next = self.rx.data.val().data;
        self.low.next = self.data.val().get_bits::<16>(0);
        self.second.next = self.data.val().get_bits::<16>(16);
        self.third.next = self.data.val().get_bits::<16>(32);
        self.high.next = self.data.val().get_bits::<16>(48);
        self.low48.next = self.data.val().get_bits::<48>(0);
        self.fragment.next = self.third.val() & self.fragment_mask.val();
        self.peer.next = self.asked_kept.q.val().peer;
        self.peer_address.next = self.asked_kept.q.val().peer_address;
        self.own.next = self.address.val();

        // The sum of the header.
        self.part.d.next = bits::<20>(0);
        self.part_low.next = bit_cast::<20, 16>(self.low.val()) + bit_cast::<20, 16>(self.second.val());
        self.part_high.next = bit_cast::<20, 16>(self.third.val()) + bit_cast::<20, 16>(self.high.val());
        self.sum.d.next = self.sum.q.val() + self.part.q.val();

        if self.rx.valid.val() {
            self.length.d.next = self.length.q.val() + bit_cast::<16, 4>(self.rx.data.val().count);
            if self.index.q.val() != bits::<3>(7) {
                self.index.d.next = self.index.q.val() + 1;
            }
            match self.index.q.val().index() {
                0 => {
                    self.length.d.next = bit_cast::<16, 4>(self.rx.data.val().count);
                    self.sum.d.next = bits::<20>(0);
                    self.echo.d.next = self.low48.val() == self.station.val();
                    self.arp.d.next =
                        (self.low48.val() == self.station.val()) | (self.low48.val() == self.broadcast.val());
                    if self.high.val().get_bit(0) {
                        self.echo.d.next = false;
                        self.arp.d.next = false;
                    }
                    self.asked_kept.d.next.peer = bit_cast::<48, 16>(self.high.val());
                }
                1 => {
                    self.asked_kept.d.next.peer =
                        self.peer.val() | (bit_cast::<48, 32>(self.data.val().get_bits::<32>(0)) << 16);
                    if (self.third.val() != self.arp_type.val()) | (self.high.val() != self.ethernet.val()) {
                        self.arp.d.next = false;
                    }
                    if (self.third.val() != self.ip_type.val())
                        | (self.high.val().get_bits::<8>(0) != self.version.val())
                    {
                        self.echo.d.next = false;
                    }
                    self.part.d.next = bit_cast::<20, 16>(self.high.val());
                }
                2 => {
                    if (self.low48.val() != self.arp_request.val())
                        | (self.high.val() != self.peer.val().get_bits::<16>(0))
                    {
                        self.arp.d.next = false;
                    }
                    self.total.d.next = (bit_cast::<16, 8>(self.low.val().get_bits::<8>(0)) << 8)
                        | bit_cast::<16, 8>(self.low.val().get_bits::<8>(8));
                    self.life.d.next = self.high.val();
                    if self.fragment.val().any() | (self.high.val().get_bits::<8>(8) != self.icmp.val()) {
                        self.echo.d.next = false;
                    }
                    self.part.d.next = self.part_low.val() + self.part_high.val();
                }
                3 => {
                    self.header_sum.d.next = self.low.val();
                    if self.echo.q.val() {
                        self.asked_kept.d.next.peer_address = self.data.val().get_bits::<32>(16);
                    } else {
                        self.asked_kept.d.next.peer_address = self.data.val().get_bits::<32>(32);
                    }
                    if self.data.val().get_bits::<32>(0) != self.peer.val().get_bits::<32>(16) {
                        self.arp.d.next = false;
                    }
                    if self.high.val() != self.own.val().get_bits::<16>(0) {
                        self.echo.d.next = false;
                    }
                    self.part.d.next = self.part_low.val() + self.part_high.val();
                }
                4 => {
                    self.echo_sum.d.next = self.third.val();
                    if self.high.val() != self.own.val().get_bits::<16>(0) {
                        self.arp.d.next = false;
                    }
                    if (self.low.val() != self.own.val().get_bits::<16>(16))
                        | (self.second.val() != self.echo_request.val())
                    {
                        self.echo.d.next = false;
                    }
                    self.part.d.next = bit_cast::<20, 16>(self.low.val());
                }
                5 => {
                    if self.low.val() != self.own.val().get_bits::<16>(16) {
                        self.arp.d.next = false;
                    }
                }
                _ => {}
            }
            if self.rx.data.val().last {
                self.index.d.next = bits::<3>(0);
                // No good frame is shorter than 60 bytes.
                if self.rx.data.val().bad | (self.index.q.val() != bits::<3>(7)) {
                    self.arp.d.next = false;
                    self.echo.d.next = false;
                }
            }
        }

        // Behind the last beat.
        self.closing.d.next = self.closing.q.val() << 1;
        if self.rx.valid.val() & self.rx.data.val().last {
            self.closing.d.next = (self.closing.q.val() << 1) | bits::<4>(1);
        }
        self.needed.d.next = self.total.q.val() + self.link_header.val();
        self.fits.d.next = (self.length.q.val() >= self.needed.q.val())
            & (self.total.q.val() >= self.least.val())
            & (self.needed.q.val() > self.link_header.val());
        self.folded.d.next =
            bit_cast::<20, 16>(self.sum.q.val().get_bits::<16>(0)) + (self.sum.q.val() >> 16);
        self.folded_twice.next =
            bit_cast::<20, 16>(self.folded.q.val().get_bits::<16>(0)) + (self.folded.q.val() >> 16);
        self.summed.d.next = self.folded_twice.val().get_bits::<16>(0) == self.full.val();
        self.old_sum.next = !self.header_sum.q.val();
        self.old_life.next = !self.life.q.val();
        self.new_header.d.next = bit_cast::<20, 16>(self.old_sum.val())
            + bit_cast::<20, 16>(self.old_life.val())
            + self.new_life.val();
        self.new_header_folded.d.next =
            bit_cast::<20, 16>(self.new_header.q.val().get_bits::<16>(0)) + (self.new_header.q.val() >> 16);
        self.new_header_sum.next = self.new_header_folded.q.val().get_bits::<16>(0)
            + bit_cast::<16, 20>(self.new_header_folded.q.val() >> 16);
        self.old_echo.next = !self.echo_sum.q.val();
        self.new_echo.d.next = bit_cast::<20, 16>(self.old_echo.val()) + self.without_request.val();
        self.new_echo_folded.next =
            bit_cast::<20, 16>(self.new_echo.q.val().get_bits::<16>(0)) + (self.new_echo.q.val() >> 16);
        self.new_echo_sum.next = self.new_echo_folded.val().get_bits::<16>(0);
        if self.closing.q.val().get_bit(1) {
            self.asked_kept.d.next.echo = self.echo.q.val();
            self.asked_kept.d.next.header_sum = !self.new_header_sum.val();
            self.asked_kept.d.next.echo_sum = !self.new_echo_sum.val();
        }
        self.decided.next = self.closing.q.val().get_bit(3);
        self.keep.next = self.arp.q.val() | (self.echo.q.val() & self.fits.q.val() & self.summed.q.val());
        self.asked.next = self.asked_kept.q.val();
        if self.reset.val() {
            self.index.d.next = bits::<3>(0);
            self.closing.d.next = bits::<4>(0);
        }
    }
}
