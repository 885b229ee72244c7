//! Finds the frames that are questions for us among those that come.
//!
//! ```text
//!                    ┌─────────────────────────────────┐──► verdict
//!               rx ─►│ Question                        │
//!                    │  ArpRequest PingRequest PingSums │──► fields
//! station, address ─►└─────────────────────────────────┘
//! ```
//! Contract: a question is a good frame, without VLAN tag, from an address that is no group, that is
//! - an ARP request (Ethernet, IPv4) for `address`, to us or to everybody, whose sender is the frame's sender, or
//! - an ICMP echo request in an IPv4 packet for `address`, to us: header of 20 bytes with a right sum, no fragment, all of it there.
//!
//! Four cycles after a frame's last beat `verdict` says whether it is one, and then `fields` is what the answer needs. The next frame's
//! first beat comes later than that: between two frames a MAC has 20 byte times. `station` and `address` have their first byte in bits 7:0.
//!
//! Latency: 4 cycles.
//!
//! Example: an ARP request for `address` to everybody, with a good FCS: 4 cycles after its last beat `verdict` is true, and `fields` has
//! the sender's two addresses.
//!
//! Tests: `tests/mac/echo.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::beats::SplitIp;
use super::{ArpRequest, PingRequest, PingSums};
use crate::bus::FrameBeat;
use crate::mac::ethernet::{AddressBeat, SplitAddress, TypeBeat, BROADCAST};
use crate::prims::{Cast, Number};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What the answer to a question needs.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AnswerFields {
    /// The question is an echo request; otherwise an ARP request.
    pub echo: bool,
    /// Ethernet address of the asker.
    pub peer: Bits<48>,
    /// IPv4 address of the asker.
    pub peer_address: Bits<32>,
    /// Echo: the answer's header sum.
    pub header_sum: Bits<16>,
    /// Echo: the answer's ICMP sum.
    pub echo_sum: Bits<16>,
}

/// How far the block is behind a frame's last beat: one of these, or none.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct BehindLast {
    first: bool,
    second: bool,
    third: bool,
    fourth: bool,
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
    /// Our Ethernet address, first byte in bits 7:0; the user of `Echo` drives this and `address`.
    pub station: Signal<In, Bits<48>>,
    /// Our IPv4 address, first byte in bits 7:0.
    pub address: Signal<In, Bits<32>>,
    /// A frame is over and judged: whether it is a question; for `Answerer`.
    pub verdict: FlowSource<bool>,
    /// With `verdict`: what the answer to the question needs.
    pub fields: Signal<Out, AnswerFields>,
    arp: ArpRequest,
    ping: PingRequest,
    sums: PingSums,
    /// Number of the frame's next beat, up to 7.
    index: DFF<Bits<3>>,
    /// Ethernet address of the frame's sender, as far as it is known.
    peer: DFF<SplitAddress>,
    peer_bits: Cast<SplitAddress, Bits<48>>,
    /// IPv4 address of the asker.
    peer_address: DFF<Bits<32>>,
    /// The frame is a ping.
    echo: DFF<bool>,
    /// The sums of the answer to a ping.
    header_sum: DFF<Bits<16>>,
    echo_sum: DFF<Bits<16>>,
    /// Steps behind the last beat.
    closing: DFF<BehindLast>,
    first: Cast<Bits<64>, AddressBeat>,
    second: Cast<Bits<64>, TypeBeat>,
    own: Cast<Bits<32>, SplitIp>,
    /// The first beat: the frame is for us; it is for everybody; a group sends it.
    to_us: Signal<Local, bool>,
    to_all: Signal<Local, bool>,
    from_group: Signal<Local, bool>,
    broken: Signal<Local, bool>,
    broadcast: Number<48, { BROADCAST }>,
    /// The bit that a group's address has in its first byte.
    group_bit: Number<16, 1>,
}

impl Logic for Question {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, index, peer, peer_address, echo, header_sum, echo_sum, closing);
        clock!(self, clock, arp, ping, sums);
        drive!(self, rx.data.val().data => first.from, second.from; address => own.from);

        // A beat.
        self.to_us.next = self.first.to.val().destination == self.station.val();
        self.to_all.next = self.first.to.val().destination == self.broadcast.val();
        self.from_group.next = (self.first.to.val().source_first & self.group_bit.val()).any();
        self.broken.next = false;
        if self.rx.valid.val() {
            if self.index.q.val() != bits::<3>(7) {
                self.index.d.next = self.index.q.val() + 1;
            }
            if self.index.q.val() == bits::<3>(0) {
                self.peer.d.next.first = self.first.to.val().source_first;
            }
            if self.index.q.val() == bits::<3>(1) {
                self.peer.d.next.rest = self.second.to.val().source_rest;
            }
            if self.index.q.val() == bits::<3>(3) {
                self.peer_address.d.next = self.arp.sender.val();
                if self.ping.fits.val() {
                    self.peer_address.d.next = self.ping.sender.val();
                }
            }
            if self.rx.data.val().last {
                self.index.d.next = bits::<3>(0);
                // No good frame is shorter than 60 bytes.
                self.broken.next = self.rx.data.val().bad | (self.index.q.val() != bits::<3>(7));
            }
        }

        // What the frame may be: an ARP request or a ping.
        FlowSink::<FrameBeat>::link(&mut self.rx, &mut self.arp.rx);
        drive!(self, index.q => arp.index, ping.index, sums.index; broken => arp.broken, ping.broken;
            peer.q => arp.peer; own.to => arp.address, ping.address);
        self.arp.begins.next = (self.to_us.val() | self.to_all.val()) & !self.from_group.val();
        FlowSink::<FrameBeat>::link(&mut self.rx, &mut self.ping.rx);
        self.ping.begins.next = self.to_us.val() & !self.from_group.val();
        FlowSink::<FrameBeat>::link(&mut self.rx, &mut self.sums.rx);

        // Behind the last beat.
        self.closing.d.next.first = self.rx.valid.val() & self.rx.data.val().last;
        self.closing.d.next.second = self.closing.q.val().first;
        self.closing.d.next.third = self.closing.q.val().second;
        self.closing.d.next.fourth = self.closing.q.val().third;
        if self.closing.q.val().second {
            self.echo.d.next = self.ping.fits.val();
            self.header_sum.d.next = self.sums.header_sum.val();
            self.echo_sum.d.next = self.sums.echo_sum.val();
        }
        drive!(self, closing.q.val().fourth => verdict.valid; peer.q => peer_bits.from);
        self.verdict.data.next =
            self.arp.fits.val() | (self.ping.fits.val() & self.ping.whole.val() & self.sums.right.val());
        fill!(self, fields, echo.q => echo; peer_bits.to => peer; peer_address.q => peer_address;
            header_sum.q => header_sum; echo_sum.q => echo_sum);
        if self.reset.val() {
            self.index.d.next = bits::<3>(0);
            self.closing.d.next.first = false;
            self.closing.d.next.second = false;
            self.closing.d.next.third = false;
            self.closing.d.next.fourth = false;
        }
    }
}
