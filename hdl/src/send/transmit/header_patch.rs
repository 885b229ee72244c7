//! Puts a frame's own fields into the headers of its VI's template: lengths, opcode, pad, PSN.
//!
//! ```text
//!  job, index ──►┌─────────────┐──► patch, keep
//!                │ HeaderPatch │──► ip_length
//!                └─────────────┘
//! ```
//! Contract: word `index` of the headers is the template's where `keep` has ones; `patch` has the other bits. The IP header's checksum is
//! not among them, because it needs the template's word: the template has a sum without the length, and [`Seal`](super::seal::Seal) adds
//! `ip_length` to it.
//!
//! Latency: none, but for the lengths: they are those of the job two cycles after it has come, when its VLAN tag has been read.
//!
//! Example: a send of 8 bytes has an IP length of 52. In word 2 the lowest 16 bits of `keep` are 0, and `patch` has 0x3400 there: bytes 16
//! and 17 of the frame are 0x00 and 0x34.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::{bth, BTH_BYTES, ETHERNET_BYTES, HEADER_BYTES, ICRC_BYTES, IPV4_BYTES, UDP_BYTES};

use super::frame_job::FrameJob;
use crate::prims::{Cast, Number, WireOrder};
use crate::rows::wire::Bth;

/// The places of the fields, in bytes of the frame.
const IP_LENGTH_AT: usize = ETHERNET_BYTES + 2;
const UDP_LENGTH_AT: usize = ETHERNET_BYTES + IPV4_BYTES + 4;
const BTH_AT: usize = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;
const _: () = assert!(IP_LENGTH_AT == 16 && UDP_LENGTH_AT == 38 && BTH_AT == 42 && BTH_BYTES == 12);

/// Units of 4 bytes in front of RETH, extension and payload, and behind them.
const UDP_QUADS: u64 = ((UDP_BYTES + BTH_BYTES + ICRC_BYTES) / 4) as u64;
const IP_QUADS: u64 = UDP_QUADS + (IPV4_BYTES / 4) as u64;

/// `width` ones from bit `lo` on.
const fn ones(lo: usize, width: usize) -> u128 {
    ((1 << width) - 1) << lo
}

/// Those bits of the BTH that are the template's, as bytes in the order of the wire.
const BTH_KEPT: u128 = {
    let number = ones(0, 8 * BTH_BYTES)
        & !ones(bth::OPCODE.lo, bth::OPCODE.width)
        & !ones(bth::PAD.lo, bth::PAD.width)
        & !ones(0, bth::ACK_REQUEST.lo + 1);
    number.swap_bytes() >> (128 - 8 * BTH_BYTES)
};

/// Those bits of word `number` of the headers that are the template's.
const fn kept(number: usize) -> u64 {
    let (mut word, mut lane) = (0, 0);
    while lane < 8 {
        let place = 8 * number + lane;
        let byte = match place {
            // Lengths, and the UDP checksum, which is 0.
            IP_LENGTH_AT | 17 | UDP_LENGTH_AT | 39 | 40 | 41 => 0,
            BTH_AT..HEADER_BYTES => (BTH_KEPT >> (8 * (place - BTH_AT))) as u8,
            HEADER_BYTES.. => 0,
            _ => 0xff,
        };
        word |= (byte as u64) << (8 * lane);
        lane += 1;
    }
    word
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct HeaderPatch {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The frame to make; the framer drives this and `index`.
    pub job: Signal<In, FrameJob>,
    /// Number of the word that is made.
    pub index: Signal<In, Bits<10>>,
    /// The bits of the word that are the template's.
    pub keep: Signal<Out, Bits<64>>,
    /// The other bits of the word.
    pub patch: Signal<Out, Bits<64>>,
    /// Bytes of the IP packet.
    pub ip_length: Signal<Out, Bits<16>>,
    /// The IP packet and the UDP datagram in units of 4 bytes.
    ip_quads: DFF<Bits<12>>,
    udp_quads: DFF<Bits<12>>,
    fields: Signal<Local, Bth>,
    bth: Cast<Bth, Bits<{ 8 * BTH_BYTES }>>,
    bth_wire: WireOrder<{ 8 * BTH_BYTES }>,
    ip_wire: WireOrder<16>,
    udp_wire: WireOrder<16>,
    bytes: Signal<Local, Bits<{ 8 * BTH_BYTES }>>,
    whole: Number<64, { u64::MAX }>,
    kept_2: Number<64, { kept(2) }>,
    kept_4: Number<64, { kept(4) }>,
    kept_5: Number<64, { kept(5) }>,
    kept_6: Number<64, { kept(6) }>,
    before_ip: Number<12, IP_QUADS>,
    before_udp: Number<12, UDP_QUADS>,
}

impl Logic for HeaderPatch {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, ip_quads, udp_quads);
        self.ip_quads.d.next = bit_cast::<12, 11>(self.job.val().quads) + self.before_ip.val();
        self.ip_wire.from.next = bit_cast::<16, 12>(self.ip_quads.q.val()) << 2;
        self.ip_length.next = self.ip_wire.from.val();
        self.udp_quads.d.next = bit_cast::<12, 11>(self.job.val().quads) + self.before_udp.val();
        self.udp_wire.from.next = bit_cast::<16, 12>(self.udp_quads.q.val()) << 2;

        self.fields.next.psn = self.job.val().psn;
        self.fields.next.reserved_24 = bits::<7>(0);
        self.fields.next.ack_request = self.job.val().ack_request;
        self.fields.next.queue_pair = bits::<24>(0);
        self.fields.next.reserved_56 = bits::<8>(0);
        self.fields.next.pkey = bits::<16>(0);
        self.fields.next.version = bits::<4>(0);
        fill!(self, fields, job.val().pad => pad; false => migration, solicited; job.val().opcode => opcode);
        drive!(self, fields => bth.from; bth.to => bth_wire.from; bth_wire.to => bytes);

        // The template's word comes late from its memory, so one gate is all that stands in its way. Of word 6 the headers have six bytes.
        self.keep.next = self.whole.val();
        self.patch.next = bits::<64>(0);
        match self.index.val().index() {
            2 => {
                self.keep.next = self.kept_2.val();
                self.patch.next = bit_cast::<64, 16>(self.ip_wire.to.val());
            }
            4 => {
                self.keep.next = self.kept_4.val();
                self.patch.next = bit_cast::<64, 16>(self.udp_wire.to.val()) << 48;
            }
            5 => {
                self.keep.next = self.kept_5.val();
                self.patch.next = bit_cast::<64, 48>(self.bytes.val().get_bits::<48>(0)) << 16;
            }
            6 => {
                self.keep.next = self.kept_6.val();
                self.patch.next = bit_cast::<64, 48>(self.bytes.val().get_bits::<48>(48));
            }
            _ => {}
        }
    }
}
