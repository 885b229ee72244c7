//! Who a frame is for, and whether it is whole: every check that needs no table.
//!
//! ```text
//!               frame ──►┌───────┐──► keep, drop, info
//!  mac, ip, pkey, raw_* ►│ Parse │──► endless
//!         store_ready ──►└───────┘──► count_*
//! ```
//! Contract: an untagged frame's beats go in; the store gets the frame by itself ([`Delay`](super::Delay)). When the frame has ended there is
//! one pulse, `keep` with `info` (`start` and `end` are the store's) or `drop`, and with a drop one of the counts. The first reason counts:
//!
//! 1. `count_malformed`: the MAC found damage; or fewer than 14 or more than 4224 bytes, the tag not among them. `endless` is high from there to the
//!    frame's end.
//! 2. `count_not_ours`: another MAC address, not IPv4 with 20 header bytes, a fragment, not UDP, another IP address,
//!    another UDP port.
//! 3. `count_malformed`: cut short, lengths that disagree or leave no room for the headers or the pad, more
//!    than the extension headers of RDMA and 4096 bytes behind the BTH, a wrong IP header checksum. Bytes behind the IP packet are padding, and harmless.
//! 4. `count_icrc`.
//! 5. `count_bth`: BTH version, P_Key (15 bits), an opcode that is none of ours.
//! 6. `count_congestion`: a congestion notification. It also counts a frame that is kept and marked congestion experienced.
//!
//! A frame for which reason 2 would count, and that `raw_*` want, is kept raw; and so is one of queue pair 1 with none of the
//! reasons against it, for which alone there is a datagram's opcode too, if it has room for a DETH, and congestion notifications are none.
//!
//! The UDP checksum is not looked at: the ICRC covers more.
//!
//! Latency: `keep` comes 4 cycles after the last beat was taken. Throughput: one beat every cycle, frames back to back.
//!
//! Tests: `tests/receive/parse.rs`, on frames that Linux made and on what becomes of them when a byte changes.

use super::Icrc;
use crate::bus::{FrameBeat, FrameInfo};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::wire::{
    reth, BTH_BYTES, EXTENSION_BYTES, ICRC_BYTES, IPV4_BYTES, MAX_MTU, RETH_BYTES, UDP_BYTES, UDP_PORT,
};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Parse {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets the frame under way.
    pub reset: Signal<In, bool>,
    /// A beat is offered.
    pub frame_valid: Signal<In, bool>,
    /// It is taken.
    pub frame_ready: Signal<Out, bool>,
    /// The beat.
    pub frame: Signal<In, FrameBeat>,
    /// With the frame's last beat: it had a tag.
    pub frame_tagged: Signal<In, bool>,
    /// Own MAC address, first byte in bits 7:0.
    pub mac: Signal<In, Bits<48>>,
    /// Own IPv4 address, most significant byte = first on the wire.
    pub ip: Signal<In, Bits<32>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<In, Bits<16>>,
    /// The raw channel is open: RAW_CHANNEL's fields.
    pub raw_open: Signal<In, bool>,
    /// It takes broadcast frames.
    pub raw_broadcast: Signal<In, bool>,
    /// It takes multicast frames.
    pub raw_multicast: Signal<In, bool>,
    /// It takes frames to any address.
    pub raw_any: Signal<In, bool>,
    /// Its VI.
    pub raw_vi: Signal<In, Bits<10>>,
    /// The store takes two more words at least.
    pub store_ready: Signal<In, bool>,
    /// The frame is too long: no more of it is stored.
    pub endless: Signal<Out, bool>,
    /// The frame is good: `info` describes it.
    pub keep: Signal<Out, bool>,
    /// The frame is not taken.
    pub drop: Signal<Out, bool>,
    /// With `keep`.
    pub info: Signal<Out, FrameInfo>,
    /// A frame is under way.
    pub busy: Signal<Out, bool>,
    /// See the module's description.
    pub count_malformed: Signal<Out, bool>,
    /// The ICRC is wrong.
    pub count_icrc: Signal<Out, bool>,
    /// See the module's description.
    pub count_not_ours: Signal<Out, bool>,
    /// See the module's description.
    pub count_bth: Signal<Out, bool>,
    /// See the module's description.
    pub count_congestion: Signal<Out, bool>,
    icrc: Icrc,
    /// Number of the next beat, 7 for every later one.
    next_index: DFF<Bits<3>>,
    valid: DFF<bool>,
    index: DFF<Bits<3>>,
    beat: DFF<FrameBeat>,
    beat_tagged: DFF<bool>,
    data: Signal<Local, Bits<64>>,
    count: Signal<Local, Bits<4>>,
    last: Signal<Local, bool>,
    at: [Signal<Local, bool>; 8],
    whole: Signal<Local, bool>,

    // What is known of the frame whose beat is in `beat`.
    foreign: DFF<bool>,
    malformed: DFF<bool>,
    bth: DFF<bool>,
    /// A router found congestion.
    marked: DFF<bool>,
    damaged: DFF<bool>,
    ended: DFF<bool>,
    ip_length: DFF<Bits<16>>,
    /// Beats until the one with the IP packet's last byte, from beat 4 on.
    left: DFF<Bits<10>>,
    half: DFF<bool>,
    fields: DFF<FrameInfo>,
    pad: DFF<Bits<2>>,
    /// The next beat is the eighth, ninth or tenth: bytes 56, 64 or 72 on.
    eighth: DFF<bool>,
    ninth: DFF<bool>,
    tenth: DFF<bool>,

    // The IP header's one's complement sum.
    word_0: Signal<Local, Bits<18>>,
    word_1: Signal<Local, Bits<18>>,
    word_2: Signal<Local, Bits<18>>,
    word_3: Signal<Local, Bits<18>>,
    sum: DFF<Bits<20>>,
    part: DFF<Bits<18>>,
    fold_low: Signal<Local, Bits<17>>,
    fold_high: Signal<Local, Bits<17>>,
    folded: DFF<Bits<17>>,

    // Payload bytes: IP length less headers, less pad.
    extended: Signal<Local, bool>,
    reth: Signal<Local, bool>,
    known: Signal<Local, bool>,
    headers: Signal<Local, Bits<14>>,
    rest: DFF<Bits<14>>,
    length: DFF<Bits<14>>,

    packet_end: Signal<Local, Bits<16>>,
    end_beat: Signal<Local, Bits<10>>,
    udp_length: Signal<Local, Bits<16>>,
    udp_end: Signal<Local, Bits<16>>,
    length_16: Signal<Local, Bits<16>>,
    final_beat: Signal<Local, bool>,
    in_packet: Signal<Local, bool>,
    short: Signal<Local, bool>,
    pkey_difference: Signal<Local, Bits<16>>,
    opcode: Signal<Local, Bits<8>>,

    deciding: DFF<bool>,
    lengths_bad: Signal<Local, bool>,
    known_deciding: DFF<bool>,
    known_foreign: DFF<bool>,
    known_malformed: DFF<bool>,
    known_bth: DFF<bool>,
    known_notice: DFF<bool>,
    known_marked: DFF<bool>,
    kept: DFF<bool>,
    dropped: DFF<bool>,
    counted_malformed: DFF<bool>,
    counted_icrc: DFF<bool>,
    counted_not_ours: DFF<bool>,
    counted_bth: DFF<bool>,
    counted_congestion: DFF<bool>,

    // The raw channel: who the frame is to, how long it is, and that once more a cycle and two cycles later.
    wanted: DFF<bool>,
    has_tag: DFF<bool>,
    tagged_now: Signal<Local, bool>,
    is_broadcast: Signal<Local, bool>,
    is_multicast: Signal<Local, bool>,
    /// Beats in front of the one in `beat`.
    beats: DFF<Bits<10>>,
    so_far: Signal<Local, Bits<10>>,
    too_long: DFF<bool>,
    runt: DFF<bool>,
    tail_bytes: Signal<Local, Bits<13>>,
    bytes: DFF<Bits<13>>,
    known_bytes: DFF<Bits<13>>,
    kept_bytes: DFF<Bits<13>>,
    known_tagged: DFF<bool>,
    kept_tagged: DFF<bool>,
    /// For queue pair 1.
    agents: Signal<Local, bool>,
    datagram: Signal<Local, bool>,
    known_wanted: DFF<bool>,
    known_agents: DFF<bool>,
    kept_raw: DFF<bool>,

    /// The frame ends 14 bytes behind what the IP length says; less 2, because words for the ICRC begin at byte 6.
    ethernet_to_end: Number<16, 12>,
    udp_to_ip: Number<16, { IPV4_BYTES as u64 }>,
    least: Number<16, { HEADERS }>,
    most: Number<16, { HEADERS + LONGEST + MAX_MTU as u64 }>,
    plain_headers: Number<14, { HEADERS }>,
    extended_headers: Number<14, { HEADERS + EXTENSION_BYTES as u64 }>,
    reth_headers: Number<14, { HEADERS + RETH_BYTES as u64 }>,
    both_headers: Number<14, { HEADERS + (RETH_BYTES + EXTENSION_BYTES) as u64 }>,
    datagram_headers: Number<14, { HEADERS + DETH_BYTES as u64 }>,
    longest_beats: Number<10, { (LONGEST_FRAME / 8) as u64 }>,
    /// EtherType 0800, version 4 and 5 words of header, as they lie in a beat.
    ip_type: Number<24, 0x45_0008>,
    port: Number<16, { UDP_PORT.swap_bytes() as u64 }>,
    /// More-fragments and offset, as they lie in a beat.
    fragment: Number<16, 0xff3f>,
    pkey_mask: Number<16, 0x7fff>,
    all_ones: Number<17, 0xffff>,
    congestion: Number<8, { viaduct_spec::wire::opcode::CONGESTION as u64 }>,
    acknowledge: Number<8, { viaduct_spec::wire::opcode::RC_ACKNOWLEDGE as u64 }>,
    read_request: Number<8, { viaduct_spec::wire::opcode::RC_READ_REQUEST as u64 }>,
    response_only: Number<8, { viaduct_spec::wire::opcode::RC_READ_RESPONSE_ONLY as u64 }>,
    datagram_opcode: Number<8, { viaduct_spec::wire::opcode::UD_SEND_ONLY as u64 }>,
    raw_opcode: Number<8, { viaduct_spec::wire::opcode::UC_SEND_ONLY as u64 }>,
    agents_pair: Number<24, 1>,
}

const _: () = assert!(LONGEST_FRAME % 8 == 0);

/// Bytes of the headers and the ICRC that an IP packet's length counts.
const HEADERS: u64 = (IPV4_BYTES + UDP_BYTES + BTH_BYTES + ICRC_BYTES) as u64;

/// Bytes of a DETH.
const DETH_BYTES: usize = 8;

/// Bytes of the longest frame, without FCS and tag.
const LONGEST_FRAME: usize = 4224;

const _: () = assert!(RETH_BYTES == (reth::ADDRESS.lo + reth::ADDRESS.width) / 8);

/// Bytes of the longest extension headers before a payload: RETH and immediate data.
const LONGEST: u64 = (RETH_BYTES + EXTENSION_BYTES) as u64;

impl Logic for Parse {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, next_index, valid, index, beat);
        dff_setup!(self, clock, foreign, malformed, bth, damaged, ended, ip_length);
        dff_setup!(
            self, clock, left, half, fields, pad, eighth, ninth, tenth, sum, part, folded, rest, length
        );
        dff_setup!(self, clock, deciding, kept, dropped, wanted, has_tag, beats, too_long, runt, bytes);
        dff_setup!(self, clock, known_bytes, kept_bytes, known_tagged, kept_tagged, known_wanted);
        dff_setup!(self, clock, known_agents, kept_raw, beat_tagged);
        dff_setup!(self, clock, counted_malformed, counted_icrc, counted_not_ours, counted_bth);
        dff_setup!(self, clock, known_deciding, known_foreign, known_malformed, known_bth, known_notice);
        dff_setup!(self, clock, marked, known_marked, counted_congestion);
        clock!(self, clock, icrc);
        self.icrc.reset.next = self.reset.val();

        // First register: the beat and its number.
        self.frame_ready.next = self.store_ready.val();
        self.valid.d.next = self.frame_valid.val() & self.store_ready.val();
        if self.frame_valid.val() & self.store_ready.val() {
            self.beat.d.next = self.frame.val();
            self.beat_tagged.d.next = self.frame_tagged.val();
            self.index.d.next = self.next_index.q.val();
            if self.next_index.q.val() != bits::<3>(7) {
                self.next_index.d.next = self.next_index.q.val() + 1;
            }
            if self.frame.val().last {
                self.next_index.d.next = bits::<3>(0);
            }
        }
        self.data.next = self.beat.q.val().data;
        self.count.next = self.beat.q.val().count;
        self.last.next = self.beat.q.val().last;
        self.whole.next = self.count.val() == bits::<4>(8);
        self.at[0].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(0));
        self.at[1].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(1));
        self.at[2].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(2));
        self.at[3].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(3));
        self.at[4].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(4));
        self.at[5].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(5));
        self.at[6].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(6));
        self.at[7].next = self.valid.q.val() & (self.index.q.val() == bits::<3>(7));

        self.is_broadcast.next = self.data.val().get_bits::<48>(0).all();
        self.is_multicast.next = self.data.val().get_bit(0);
        // Addresses and protocols. A beat that is not whole says nothing: the frame is too short anyway.
        if self.at[0].val() {
            self.foreign.d.next = self.data.val().get_bits::<48>(0) != self.mac.val();
            self.wanted.d.next = self.raw_open.val()
                & (self.raw_any.val()
                    | (self.data.val().get_bits::<48>(0) == self.mac.val())
                    | (self.is_broadcast.val() & self.raw_broadcast.val())
                    | (self.is_multicast.val() & !self.is_broadcast.val() & self.raw_multicast.val()));
            self.malformed.d.next = false;
            self.runt.d.next = self.last.val();
            self.bth.d.next = false;
            self.ended.d.next = false;
        }
        if self.at[1].val()
            & ((self.data.val().get_bits::<16>(32) != self.ip_type.val().get_bits::<16>(0))
                | (self.whole.val()
                    & (self.data.val().get_bits::<8>(48) != self.ip_type.val().get_bits::<8>(16))))
        {
            self.foreign.d.next = true;
        }
        // Too short for anything, or too long: whoever it is for.
        if self.at[1].val() & (self.count.val() < bits::<4>(6)) {
            self.runt.d.next = true;
        }
        self.so_far.next = self.beats.q.val();
        if self.at[0].val() {
            self.so_far.next = bits::<10>(0);
        }
        if self.valid.q.val() {
            self.beats.d.next = self.so_far.val() + 1;
            if self.so_far.val() == self.longest_beats.val() {
                self.beats.d.next = self.so_far.val();
                self.too_long.d.next = true;
            }
        }
        self.endless.next = self.too_long.q.val();
        // Bytes of the whole frame, if this beat is its last.
        self.tagged_now.next = self.beat_tagged.q.val();
        self.tail_bytes.next = bit_cast::<13, 4>(self.count.val());
        if self.tagged_now.val() {
            self.tail_bytes.next = bit_cast::<13, 4>(self.count.val()) + 4;
        }
        if self.valid.q.val() {
            self.bytes.d.next = (bit_cast::<13, 10>(self.so_far.val()) << 3) + self.tail_bytes.val();
            self.has_tag.d.next = self.tagged_now.val();
        }
        // Bits 1:0 of the type of service.
        if self.at[1].val() {
            self.marked.d.next = self.data.val().get_bits::<2>(56).all();
        }
        if self.at[2].val()
            & self.whole.val()
            & ((self.data.val().get_bits::<16>(32) & self.fragment.val()).any()
                | (self.data.val().get_bits::<8>(56) != bits::<8>(17)))
        {
            self.foreign.d.next = true;
        }
        if self.at[3].val()
            & self.whole.val()
            & ((self.data.val().get_bits::<8>(48) != self.ip.val().get_bits::<8>(24))
                | (self.data.val().get_bits::<8>(56) != self.ip.val().get_bits::<8>(16)))
        {
            self.foreign.d.next = true;
        }
        if self.at[4].val()
            & self.whole.val()
            & ((self.data.val().get_bits::<8>(0) != self.ip.val().get_bits::<8>(8))
                | (self.data.val().get_bits::<8>(8) != self.ip.val().get_bits::<8>(0))
                | (self.data.val().get_bits::<16>(32) != self.port.val()))
        {
            self.foreign.d.next = true;
        }
        if self.valid.q.val() {
            self.damaged.d.next = self.beat.q.val().bad;
        }

        // Lengths.
        self.length_16.next = (bit_cast::<16, 8>(self.data.val().get_bits::<8>(0)) << 8)
            | bit_cast::<16, 8>(self.data.val().get_bits::<8>(8));
        self.udp_length.next = (bit_cast::<16, 8>(self.data.val().get_bits::<8>(48)) << 8)
            | bit_cast::<16, 8>(self.data.val().get_bits::<8>(56));
        self.packet_end.next = self.ip_length.q.val() + self.ethernet_to_end.val();
        self.end_beat.next = self.packet_end.val().get_bits::<10>(3);
        if self.at[2].val() {
            self.ip_length.d.next = self.length_16.val();
        }
        if self.at[3].val() {
            self.left.d.next = self.end_beat.val() - 4;
            self.half.d.next = !self.packet_end.val().get_bit(2);
            if (self.ip_length.q.val() < self.least.val())
                | (self.ip_length.q.val() > self.most.val())
                | self.ip_length.q.val().get_bits::<2>(0).any()
            {
                self.malformed.d.next = true;
            }
        }
        self.udp_end.next = self.udp_length.val() + self.udp_to_ip.val();
        if self.at[4].val() & (self.udp_end.val() != self.ip_length.q.val()) {
            self.malformed.d.next = true;
        }

        if (self.valid.q.val() & (self.index.q.val() > bits::<3>(3))) & self.left.q.val().any() {
            self.left.d.next = self.left.q.val() - 1;
        }
        self.final_beat.next = self.at[7].val() & !self.ended.q.val() & !self.left.q.val().any();
        self.short.next =
            (self.count.val() < bits::<4>(2)) | (!self.half.q.val() & (self.count.val() < bits::<4>(6)));
        if self.final_beat.val() {
            self.ended.d.next = true;
            if self.short.val() {
                self.malformed.d.next = true;
            }
        }

        // The IP header's checksum, in the byte order of the beats: the sum does not mind.
        self.word_0.next = bit_cast::<18, 16>(self.data.val().get_bits::<16>(0));
        self.word_1.next = bit_cast::<18, 16>(self.data.val().get_bits::<16>(16));
        self.word_2.next = bit_cast::<18, 16>(self.data.val().get_bits::<16>(32));
        self.word_3.next = bit_cast::<18, 16>(self.data.val().get_bits::<16>(48));
        if self.valid.q.val() {
            self.part.d.next =
                (self.word_0.val() + self.word_1.val()) + (self.word_2.val() + self.word_3.val());
            self.sum.d.next = self.sum.q.val() + bit_cast::<20, 18>(self.part.q.val());
        }
        if self.at[1].val() {
            self.part.d.next = self.word_3.val();
            self.sum.d.next = bits::<20>(0);
        }
        if self.at[4].val() {
            self.part.d.next = self.word_0.val();
        }
        self.fold_low.next = bit_cast::<17, 16>(self.sum.q.val().get_bits::<16>(0));
        self.fold_high.next = bit_cast::<17, 4>(self.sum.q.val().get_bits::<4>(16));
        if self.at[6].val() {
            self.folded.d.next = self.fold_low.val() + self.fold_high.val();
        }

        // Base transport header and extension.
        if self.at[3].val() {
            self.fields.d.next.source_ip = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(40));
        }
        self.pkey_difference.next = ((bit_cast::<16, 8>(self.data.val().get_bits::<8>(32)) << 8)
            | bit_cast::<16, 8>(self.data.val().get_bits::<8>(40)))
            ^ self.pkey.val();
        if self.at[5].val() {
            self.fields.d.next.opcode = self.data.val().get_bits::<8>(16);
            self.pad.d.next = self.data.val().get_bits::<2>(28);
            self.bth.d.next = self.data.val().get_bits::<4>(24).any()
                | (self.pkey_difference.val() & self.pkey_mask.val()).any();
            self.fields.d.next.queue_pair = bit_cast::<24, 8>(self.data.val().get_bits::<8>(56)) << 16;
        }
        if self.at[6].val() {
            self.fields.d.next.queue_pair = self.fields.q.val().queue_pair
                | (bit_cast::<24, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<24, 8>(self.data.val().get_bits::<8>(8));
            self.fields.d.next.ack_request = self.data.val().get_bit(23);
            self.fields.d.next.psn = (bit_cast::<24, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<24, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<24, 8>(self.data.val().get_bits::<8>(40));
            self.fields.d.next.extension = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
        }
        if self.at[7].val() & self.eighth.q.val() {
            self.fields.d.next.extension = self.fields.q.val().extension
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
        }
        // With a RETH: its address in bytes 54 to 61, handle to 65, length to 69, immediate data to 73.
        if self.at[6].val() {
            self.fields.d.next.address = (bit_cast::<64, 8>(self.data.val().get_bits::<8>(48)) << 56)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(56)) << 48);
        }
        if self.at[7].val() & self.eighth.q.val() {
            self.fields.d.next.address = self.fields.q.val().address
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(0)) << 40)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(8)) << 32)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<64, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<64, 8>(self.data.val().get_bits::<8>(40));
            self.fields.d.next.rkey = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
        }
        if self.at[7].val() & self.ninth.q.val() {
            self.fields.d.next.rkey = self.fields.q.val().rkey
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
            self.fields.d.next.size = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(16)) << 24)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(24)) << 16)
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(32)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(40));
            if self.reth.val() {
                self.fields.d.next.extension = (bit_cast::<32, 8>(self.data.val().get_bits::<8>(48)) << 24)
                    | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(56)) << 16);
            }
        }
        if self.at[7].val() & self.tenth.q.val() & self.reth.val() {
            self.fields.d.next.extension = self.fields.q.val().extension
                | (bit_cast::<32, 8>(self.data.val().get_bits::<8>(0)) << 8)
                | bit_cast::<32, 8>(self.data.val().get_bits::<8>(8));
        }
        if self.valid.q.val() {
            self.eighth.d.next = self.at[6].val();
            self.ninth.d.next = self.eighth.q.val() & self.at[7].val();
            self.tenth.d.next = self.ninth.q.val() & self.at[7].val();
        }
        self.opcode.next = self.fields.q.val().opcode;
        // Sends 0 to 5, RDMA writes 6 to 11; bit 5: unreliable. Immediate data in 3, 5, 9 and 11, RETH in 6, 10 and 11.
        // RDMA read: request 12 with RETH, answers 13 to 16 with AETH but 14; reliable only.
        self.extended.next = (self.opcode.val() == self.acknowledge.val())
            | (self.opcode.val() == self.response_only.val())
            | (self.opcode.val().get_bit(0)
                & !self.opcode.val().get_bit(4)
                & (self.opcode.val().get_bit(3)
                    | (self.opcode.val().get_bit(2) ^ self.opcode.val().get_bit(1))));
        self.reth.next = (self.opcode.val() == self.read_request.val())
            | (!self.opcode.val().get_bit(4)
                & self.opcode.val().get_bit(1)
                & ((self.opcode.val().get_bit(3) & !self.opcode.val().get_bit(2))
                    | (!self.opcode.val().get_bit(3)
                        & self.opcode.val().get_bit(2)
                        & !self.opcode.val().get_bit(0))));
        self.agents.next = self.fields.q.val().queue_pair == self.agents_pair.val();
        self.datagram.next = self.opcode.val() == self.datagram_opcode.val();
        self.known.next = (self.datagram.val() & self.agents.val())
            | (self.opcode.val() == self.acknowledge.val())
            | (self.opcode.val() == self.response_only.val())
            | (!self.opcode.val().get_bits::<2>(6).any()
                & !self.opcode.val().get_bit(4)
                & !(self.opcode.val().get_bit(5)
                    & self.opcode.val().get_bit(3)
                    & self.opcode.val().get_bit(2)));
        self.headers.next = self.plain_headers.val();
        if self.extended.val() {
            self.headers.next = self.extended_headers.val();
        }
        if self.reth.val() {
            self.headers.next = self.reth_headers.val();
            if self.extended.val() {
                self.headers.next = self.both_headers.val();
            }
        }
        if self.datagram.val() {
            self.headers.next = self.datagram_headers.val();
        }
        self.rest.d.next = self.ip_length.q.val().get_bits::<14>(0) - self.headers.val();
        self.length.d.next = self.rest.q.val() - bit_cast::<14, 2>(self.pad.q.val());

        // The IP packet's beats: the sum runs over all of them.
        self.in_packet.next = self.valid.q.val() & (!self.ended.q.val() | self.at[0].val());
        self.icrc.in_valid.next = self.in_packet.val();
        self.icrc.in_index.next = self.index.q.val();
        self.icrc.in_data.next = self.data.val();
        self.icrc.in_half.next = self.final_beat.val() & self.half.q.val();

        // Second register: what becomes of the frame.
        // One cycle for what is known of the frame, before the next one's first beat changes it; one more for the ICRC.
        self.deciding.d.next = self.valid.q.val() & self.last.val();
        self.lengths_bad.next = self.malformed.q.val()
            | !self.ended.q.val()
            | self.length.q.val().get_bit(13)
            | (self.folded.q.val() != self.all_ones.val());
        self.known_deciding.d.next = self.deciding.q.val();
        self.known_foreign.d.next = self.foreign.q.val();
        self.known_malformed.d.next = self.damaged.q.val()
            | self.runt.q.val()
            | self.too_long.q.val()
            | (!self.foreign.q.val() & self.lengths_bad.val());
        if self.deciding.q.val() {
            self.too_long.d.next = false;
        }
        self.known_wanted.d.next = self.wanted.q.val();
        self.known_agents.d.next = self.wanted.q.val() & self.agents.val();
        self.known_bytes.d.next = self.bytes.q.val();
        self.kept_bytes.d.next = self.known_bytes.q.val();
        self.known_tagged.d.next = self.has_tag.q.val();
        self.kept_tagged.d.next = self.known_tagged.q.val();
        self.known_marked.d.next = self.marked.q.val();
        self.known_notice.d.next = self.opcode.val() == self.congestion.val();
        self.known_bth.d.next =
            self.bth.q.val() | !(self.known.val() | (self.opcode.val() == self.congestion.val()));
        self.kept.d.next = false;
        self.kept_raw.d.next = false;
        self.dropped.d.next = self.known_deciding.q.val();
        self.counted_malformed.d.next = false;
        self.counted_not_ours.d.next = false;
        self.counted_icrc.d.next = false;
        self.counted_bth.d.next = false;
        self.counted_congestion.d.next = false;
        if self.known_deciding.q.val() {
            if self.known_malformed.q.val() {
                self.counted_malformed.d.next = true;
            } else if self.known_foreign.q.val() {
                self.kept.d.next = self.known_wanted.q.val();
                self.kept_raw.d.next = self.known_wanted.q.val();
                self.dropped.d.next = !self.known_wanted.q.val();
                self.counted_not_ours.d.next = !self.known_wanted.q.val();
            } else if !self.icrc.good.val() {
                self.counted_icrc.d.next = true;
            } else if self.known_bth.q.val() {
                self.counted_bth.d.next = true;
            } else if self.known_agents.q.val() {
                self.kept.d.next = true;
                self.kept_raw.d.next = true;
                self.dropped.d.next = false;
            } else if self.known_notice.q.val() {
                self.counted_congestion.d.next = true;
            } else {
                self.kept.d.next = true;
                self.dropped.d.next = false;
                self.counted_congestion.d.next = self.known_marked.q.val();
            }
        }
        self.busy.next = self.next_index.q.val().any()
            | self.valid.q.val()
            | self.deciding.q.val()
            | self.known_deciding.q.val()
            | self.kept.q.val();
        self.keep.next = self.kept.q.val();
        self.drop.next = self.dropped.q.val();
        self.info.next = self.fields.q.val();
        self.info.next.extended = self.extended.val();
        self.info.next.reth = self.reth.val();
        self.info.next.length = self.length.q.val().get_bits::<13>(0);
        self.info.next.raw = self.kept_raw.q.val();
        self.info.next.has_tag = self.kept_tagged.q.val();
        if self.kept_raw.q.val() {
            self.info.next.opcode = self.raw_opcode.val();
            self.info.next.queue_pair = bit_cast::<24, 10>(self.raw_vi.val());
            self.info.next.extended = false;
            self.info.next.reth = false;
            self.info.next.length = self.kept_bytes.q.val();
        }
        self.count_malformed.next = self.counted_malformed.q.val();
        self.count_not_ours.next = self.counted_not_ours.q.val();
        self.count_icrc.next = self.counted_icrc.q.val();
        self.count_bth.next = self.counted_bth.q.val();
        self.count_congestion.next = self.counted_congestion.q.val();
        if self.reset.val() {
            self.next_index.d.next = bits::<3>(0);
            self.valid.d.next = false;
            self.deciding.d.next = false;
            self.known_deciding.d.next = false;
            self.kept.d.next = false;
            self.dropped.d.next = false;
            self.too_long.d.next = false;
            self.counted_malformed.d.next = false;
            self.counted_not_ours.d.next = false;
            self.counted_icrc.d.next = false;
            self.counted_bth.d.next = false;
            self.counted_congestion.d.next = false;
        }
    }
}
