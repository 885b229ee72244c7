//! Puts the IP header's checksum and the ICRC into a frame, and cuts its last word to length.
//!
//! ```text
//!             word ──►┌────────────────────────┐──► frame
//!  ip_length, vlan ──►│ A ──► B ──► C          │──► frame_loopback, frame_vlan
//!                     │ └► Crc32 ──┘           │──► busy
//!                     └────────────────────────┘
//! ```
//! Contract: words go in, and the same words leave as beats, sealed. Stage A holds the word before it goes into the CRC, stage B while the
//! CRC that includes it is there, stage C with its ICRC. The ICRC covers 8 bytes ff, then the frame from byte 14 on with the fields that
//! change on the way as ff; so the CRC's words begin at byte 6 of each frame word, and the first of them, all ff, is in its start value.
//! The last word of a frame has 6 bytes if the quads behind the headers are odd, otherwise 2. A raw frame has no checksum and no
//! ICRC, and its last word as many bytes as `over` says (0: 8).
//!
//! Latency: 3 cycles. Throughput: a word every cycle.
//!
//! Example: word 3 of a frame goes in with `checks` high. Its lowest two bytes leave as the checksum of the IP header.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use crate::bus::FrameBeat;
use crate::prims::{Crc32, Number, WireOrder, ICRC_START};

/// A word of a frame that is to be sealed.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameWord {
    /// The eight bytes, the first on the wire in bits 7:0.
    pub data: Bits<64>,
    /// The frame's first word.
    pub first: bool,
    /// The frame's last word.
    pub last: bool,
    /// The frame's last word but one.
    pub next_last: bool,
    /// The quads behind the headers are odd.
    pub odd: bool,
    /// The payload is the frame.
    pub raw: bool,
    /// Low three bits of a raw frame's length in bytes.
    pub over: Bits<3>,
    /// The frame turns round inside the NIC.
    pub loopback: bool,
    /// The lowest two bytes are the sum of the template's IP header without its length, to be made the checksum.
    pub checks: bool,
    /// The word and the two bytes before it go into the CRC.
    pub feed: bool,
    /// The CRC is to begin.
    pub preset: bool,
    /// For the CRC the lowest two bytes are ff.
    pub mask_low: bool,
    /// For the CRC the byte before the highest is ff.
    pub mask_six: bool,
    /// For the CRC the highest byte is ff.
    pub mask_seven: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Seal {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the words that it holds.
    pub reset: Signal<In, bool>,
    /// A word of a frame, from the framer.
    pub word: Sink<FrameWord>,
    /// Bytes of the IP packet that the word in stage A is of, from `HeaderPatch`.
    pub ip_length: Signal<In, Bits<16>>,
    /// VLAN tag of the frame whose first word is in stage B, from the framer.
    pub vlan: Signal<In, Bits<32>>,
    /// A beat of a frame, for egress.
    pub frame: Source<FrameBeat>,
    /// The frame turns round inside the NIC.
    pub frame_loopback: Signal<Out, bool>,
    /// VLAN tag of the frame in wire order; 0: the frame has none.
    pub frame_vlan: Signal<Out, Bits<32>>,
    /// The block holds a word.
    pub busy: Signal<Out, bool>,
    crc: Crc32,
    // Stage A: the word, before the CRC.
    a_valid: DFF<bool>,
    a: DFF<FrameWord>,
    /// The two bytes of the word before, masked.
    a_before: DFF<Bits<16>>,
    /// The word's first two bytes, masked.
    a_low: DFF<Bits<16>>,
    // Stage B: the word, beside the CRC that includes it.
    b_valid: DFF<bool>,
    b: DFF<FrameWord>,
    // Stage C: the word with its ICRC.
    c_valid: DFF<bool>,
    c: DFF<FrameBeat>,
    c_loopback: DFF<bool>,
    c_vlan: DFF<Bits<32>>,
    moves: Signal<Local, bool>,
    data: Signal<Local, Bits<64>>,
    a_data: Signal<Local, Bits<64>>,
    template_sum: WireOrder<16>,
    sum: Signal<Local, Bits<17>>,
    folded: Signal<Local, Bits<16>>,
    checksum: WireOrder<16>,
    icrc: Signal<Local, Bits<32>>,
    b_data: Signal<Local, Bits<64>>,
    /// The word has a part of the ICRC.
    sealed: Signal<Local, Bits<64>>,
    crc_start: Number<32, { ICRC_START as u64 }>,
    but_checksum: Number<64, 0xffff_ffff_ffff_0000>,
}

impl Logic for Seal {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, a_valid, a, a_before, a_low, b_valid, b, c_valid, c, c_loopback, c_vlan);
        clock!(self, clock, crc);
        self.crc.reset.next = self.reset.val();
        self.moves.next = self.frame.ready.val() | !self.c_valid.q.val();
        self.word.ready.next = self.moves.val();

        // Stage A, and the CRC's words: two bytes of the word before, six of this one.
        drive!(self, word.data.val().data => data; a.q.val().data => a_data; a.q.val().last => crc.in_half);
        if self.moves.val() {
            self.a_valid.d.next = self.word.valid.val();
            self.a.d.next = self.word.data.val();
            self.a_low.d.next = self.data.val().get_bits::<16>(0);
            if self.word.data.val().mask_low {
                self.a_low.d.next = bits::<16>(0xffff);
            }
            self.a_before.d.next = self.a_data.val().get_bits::<16>(48);
            if self.a.q.val().mask_six {
                self.a_before.d.next = self.a_data.val().get_bits::<16>(48) | bits::<16>(0xff);
            }
            if self.a.q.val().mask_seven {
                self.a_before.d.next = self.a_data.val().get_bits::<16>(48) | bits::<16>(0xff00);
            }
        }
        self.crc.sink.valid.next = self.a_valid.q.val() & self.a.q.val().feed & self.moves.val();
        self.crc.sink.data.next = bit_cast::<64, 16>(self.a_before.q.val())
            | (bit_cast::<64, 16>(self.a_low.q.val()) << 16)
            | (bit_cast::<64, 32>(self.a_data.val().get_bits::<32>(16)) << 32);
        // The preset is repeated while the word waits: no word is fed meanwhile, and `moves` stays out of the CRC's gates.
        self.crc.preset.next = self.a_valid.q.val() & self.a.q.val().preset;
        self.crc.preset_value.next = self.crc_start.val();

        // Stage B: the CRC, which leaves the checksum out, includes the word now.
        self.template_sum.from.next = self.a_data.val().get_bits::<16>(0);
        self.sum.next =
            bit_cast::<17, 16>(self.template_sum.to.val()) + bit_cast::<17, 16>(self.ip_length.val());
        self.folded.next =
            self.sum.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.sum.val().get_bits::<1>(16));
        self.checksum.from.next = !self.folded.val();
        if self.moves.val() {
            self.b_valid.d.next = self.a_valid.q.val();
            self.b.d.next = self.a.q.val();
            if self.a.q.val().checks {
                self.b.d.next.data = (self.a_data.val() & self.but_checksum.val())
                    | bit_cast::<64, 16>(self.checksum.to.val());
            }
        }
        self.icrc.next = !self.crc.value.val();
        self.b_data.next = self.b.q.val().data;
        self.sealed.next = self.b_data.val();
        if self.b.q.val().last & self.b.q.val().odd & !self.b.q.val().raw {
            self.sealed.next = self.b_data.val() | (bit_cast::<64, 32>(self.icrc.val()) << 16);
        }
        if self.b.q.val().next_last & !self.b.q.val().odd & !self.b.q.val().raw {
            self.sealed.next = self.b_data.val() | (bit_cast::<64, 32>(self.icrc.val()) << 48);
        }
        if self.b.q.val().last & !self.b.q.val().odd & !self.b.q.val().raw {
            self.sealed.next = self.b_data.val() | bit_cast::<64, 16>(self.icrc.val().get_bits::<16>(16));
        }

        // Stage C: out.
        if self.moves.val() {
            self.c_valid.d.next = self.b_valid.q.val();
            self.c.d.next.data = self.sealed.val();
            self.c.d.next.last = self.b.q.val().last;
            self.c.d.next.bad = false;
            self.c.d.next.count = bits::<4>(8);
            if self.b.q.val().last {
                self.c.d.next.count = bits::<4>(2);
                if self.b.q.val().odd {
                    self.c.d.next.count = bits::<4>(6);
                }
                if self.b.q.val().raw {
                    self.c.d.next.count = bit_cast::<4, 3>(self.b.q.val().over);
                    if !self.b.q.val().over.any() {
                        self.c.d.next.count = bits::<4>(8);
                    }
                }
            }
            if self.b.q.val().first {
                self.c_loopback.d.next = self.b.q.val().loopback;
                self.c_vlan.d.next = self.vlan.val();
                if self.b.q.val().raw {
                    self.c_vlan.d.next = bits::<32>(0);
                }
            }
        }
        drive!(self, c_valid.q => frame.valid; c.q => frame.data; c_loopback.q => frame_loopback;
            c_vlan.q => frame_vlan);
        self.busy.next = self.a_valid.q.val() | self.b_valid.q.val() | self.c_valid.q.val();

        if self.reset.val() {
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
        }
    }
}
