//! Tells how far the IP packet in a frame reaches, and whether its lengths agree.
//!
//! ```text
//!  valid, at, number, count ──►┌──────────────┐──► length, malformed
//!                              │ PacketExtent │──► in_packet, final_beat, half, ended
//!                              └──────────────┘
//! ```
//! Contract: `length` is the IP header's. The frame is `malformed` if that is too short for the headers, longer than the longest packet,
//! or no multiple of 4; if the UDP header has another length; or if the frame ends before the packet does. Beats `in_packet` have bytes
//! of the packet; the last of them (`final_beat`) has 2 or 6 (`half`: 2).
//!
//! Example: an IP packet of 52 bytes is a send of 8 bytes: with 14 bytes of Ethernet it ends behind byte 65. So beat 8 is the
//! `final_beat`, and `half` is high.
//!
//! Latency: 0 to `in_packet` and `final_beat`, 1 to the others. Tests: with `Parse`, `tests/receive/parse/`.

use super::beats::{Beat2, Beat4, BeatAt};
use super::{HEADERS, LONGEST};
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::{IPV4_BYTES, MAX_MTU};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketExtent {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A beat is here; `Parse` drives this and the other inputs.
    pub valid: Signal<In, bool>,
    /// Which beat of the frame is here, in one-hot: bit n is beat n, bit 7 every later one.
    pub at: Signal<In, BeatAt>,
    /// The beat that is here is the fifth or a later one.
    pub late: Signal<In, bool>,
    /// The beat's bytes as one number, the first on top.
    pub number: Signal<In, Bits<64>>,
    /// How many bytes the beat has, 1 to 8.
    pub count: Signal<In, Bits<4>>,
    /// Length of the IP packet in bytes, as its header says; `Parse` listens to all outputs.
    pub length: Signal<Out, Bits<16>>,
    /// The lengths in the frame are wrong: see the contract.
    pub malformed: Signal<Out, bool>,
    /// The beat that is here has bytes of the IP packet.
    pub in_packet: Signal<Out, bool>,
    /// The beat that is here has the last bytes of the IP packet.
    pub final_beat: Signal<Out, bool>,
    /// The IP packet ends with 2 bytes of its last beat, not with 6.
    pub half: Signal<Out, bool>,
    /// The IP packet has ended.
    pub ended: Signal<Out, bool>,
    wrong: DFF<bool>,
    over: DFF<bool>,
    total: DFF<Bits<16>>,
    /// Beats until the one with the IP packet's last byte, from beat 4 on.
    left: DFF<Bits<10>>,
    halved: DFF<bool>,
    packet_end: Signal<Local, Bits<16>>,
    end_beat: Signal<Local, Bits<10>>,
    beat_2: Cast<Bits<64>, Beat2>,
    beat_4: Cast<Bits<64>, Beat4>,
    udp_end: Signal<Local, Bits<16>>,
    is_final: Signal<Local, bool>,
    short: Signal<Local, bool>,
    /// The frame ends 14 bytes behind what the IP length says; less 2, because words for the ICRC begin at byte 6.
    ethernet_to_end: Number<16, 12>,
    udp_to_ip: Number<16, { IPV4_BYTES as u64 }>,
    least: Number<16, { HEADERS }>,
    most: Number<16, { HEADERS + LONGEST + MAX_MTU as u64 }>,
}

impl Logic for PacketExtent {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, wrong, over, total, left, halved);
        drive!(self, total.q => length; wrong.q => malformed; halved.q => half; over.q => ended;
            number => beat_2.from, beat_4.from);
        self.in_packet.next = self.valid.val() & (!self.over.q.val() | self.at.val().beat_0);
        if self.at.val().beat_0 {
            self.wrong.d.next = false;
            self.over.d.next = false;
        }
        self.packet_end.next = self.total.q.val() + self.ethernet_to_end.val();
        self.end_beat.next = self.packet_end.val().get_bits::<10>(3);
        if self.at.val().beat_2 {
            self.total.d.next = self.beat_2.to.val().total_length;
        }
        if self.at.val().beat_3 {
            self.left.d.next = self.end_beat.val() - 4;
            self.halved.d.next = !self.packet_end.val().get_bit(2);
            // FRAME-6: the IP length by itself.
            if (self.total.q.val() < self.least.val())
                | (self.total.q.val() > self.most.val())
                | self.total.q.val().get_bits::<2>(0).any()
            {
                self.wrong.d.next = true;
            }
        }
        // FRAME-6: the UDP length.
        self.udp_end.next = self.beat_4.to.val().udp_length + self.udp_to_ip.val();
        if self.at.val().beat_4 & (self.udp_end.val() != self.total.q.val()) {
            self.wrong.d.next = true;
        }

        if self.late.val() & self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        // FRAME-2: what is behind the IP packet is padding. FRAME-6: the frame must hold all of it.
        self.is_final.next = self.at.val().later & !self.over.q.val() & !self.left.q.val().any();
        self.short.next =
            (self.count.val() < bits::<4>(2)) | (!self.halved.q.val() & (self.count.val() < bits::<4>(6)));
        if self.is_final.val() {
            self.over.d.next = true;
            if self.short.val() {
                self.wrong.d.next = true;
            }
        }
        self.final_beat.next = self.is_final.val();
    }
}
