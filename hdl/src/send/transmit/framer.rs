//! Builds one frame at a time from its header template, its job and the payload queue.
//!
//! ```text
//!         job ──►┌─────────────────────────────────────────┐
//!  template_* ──►│ template, patch, payload ─► A ─► B ─► C │──► frame, frame_vlan, frame_loopback
//!     payload ──►│                       Crc32 └──► icrc   │──► running, busy
//!                └─────────────────────────────────────────┘
//! ```
//! Contract: the payload of a job is in the payload queue when the job is given: a frame that has begun pauses only
//! for `frame_ready`. Behind the payload's last byte its last word is 0.
//!
//! Example: a send of 8 bytes has no RETH, no extension header and no pad, so q is 2. The last word is number 8 and has 2 bytes: 66
//! bytes are 54 of headers, 8 of payload and 4 of ICRC.
//!
//! Latency: 6 cycles from a job to its frame's first beat. A job waits for the frame before it without holding up `Transmit`.
//! Throughput: a beat every cycle, and 1 cycle between frames, in which the VLAN tag is read.
//!
//! How: a frame is headers (54 bytes), a RETH (16 bytes) or none, an extension header of 0 or 4 bytes, payload and pad,
//! the ICRC. From byte 48 on the words are cut from a stream that lies 2 or 6 bytes off. With q = (RETH + extension +
//! payload + pad) / 4 the last word is number 7 + q / 2 and has 6 bytes for odd q, 2 for even q. The ICRC covers 8 bytes ff, then the
//! frame from byte 14 on with the fields that change on the way as ff; so its words begin at byte 6 of each frame word, and the
//! first of them, all ff, is in the CRC's start value.
//!
//! A raw frame is its payload: word n is word n of it, and the last one has as many bytes as `over` says (0: 8). With the payload's words
//! as q / 2 the last word is number q / 2 - 1; there are two at least.
//!
//! Tests: with the whole of transmit, `tests/send/transmit/`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;

use crate::bus::{FrameBeat, Vi};
use crate::prims::{Crc32, Number, Ram};

/// Rows of the template memory, as log2: 8 words for each VI.
pub const TEMPLATE_LOG2: usize = VI_LOG2 + 3;

/// CRC-32 register after 8 bytes ff.
const CRC_START: u64 = {
    let (mut crc, mut bit) = (0xffff_ffff_u32, 0);
    while bit < 64 {
        let feedback = (crc ^ 1) & 1;
        crc = (crc >> 1) ^ (feedback * 0xedb8_8320);
        bit += 1;
    }
    crc as u64
};

/// What makes a frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub(super) struct Job {
    pub(super) vi: Vi,
    pub(super) opcode: Bits<8>,
    pub(super) psn: Bits<24>,
    pub(super) ack_request: bool,
    /// Bytes of pad.
    pub(super) pad: Bits<2>,
    /// An extension header is there.
    pub(super) extended: bool,
    /// The extension header, first byte on the wire in bits 7:0.
    pub(super) extension: Bits<32>,
    /// A RETH is there: `reth_address` and `reth_rest` are its words, first byte on the wire in bits 7:0.
    pub(super) reth: bool,
    pub(super) reth_address: Bits<64>,
    pub(super) reth_rest: Bits<64>,
    /// Words of payload.
    pub(super) words: Bits<10>,
    /// RETH, extension, payload and pad in units of 4 bytes.
    pub(super) quads: Bits<11>,
    pub(super) loopback: bool,
    /// The payload is the frame.
    pub(super) raw: bool,
    /// Low three bits of the raw frame's length in bytes.
    pub(super) over: Bits<3>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub(super) struct Framer {
    /// Rising edge.
    pub(super) clock: Signal<In, Clock>,
    /// While high, the block drops the frame under way.
    pub(super) reset: Signal<In, bool>,
    /// `Transmit` gives a job.
    pub(super) job_valid: Signal<In, bool>,
    /// The frame to make: its header fields, and the size of its payload.
    pub(super) job: Signal<In, Job>,
    /// The block takes the job.
    pub(super) job_ready: Signal<Out, bool>,
    /// A word of a template is written; not while `running`.
    pub(super) template_write: Signal<In, bool>,
    /// Which word to write: the VI, and the word's number, 0 to 7.
    pub(super) template_row: Signal<In, Bits<{ TEMPLATE_LOG2 }>>,
    /// The eight bytes to write, first byte on the wire in bits 7:0.
    pub(super) template_word: Signal<In, Bits<64>>,
    /// The word of payload that is next in the queue.
    pub(super) payload: Signal<In, Bits<64>>,
    /// Pulses when the block takes the word of payload.
    pub(super) payload_ready: Signal<Out, bool>,
    /// A beat of the frame is offered.
    pub(super) frame_valid: Signal<Out, bool>,
    /// The beat of the frame.
    pub(super) frame: Signal<Out, FrameBeat>,
    /// The frame turns round inside the NIC.
    pub(super) frame_loopback: Signal<Out, bool>,
    /// VLAN tag of the frame in wire order; 0: the frame has none.
    pub(super) frame_vlan: Signal<Out, Bits<32>>,
    /// Egress takes the beat.
    pub(super) frame_ready: Signal<In, bool>,
    /// A job still needs its template or its payload.
    pub(super) running: Signal<Out, bool>,
    /// A frame has not left completely.
    pub(super) busy: Signal<Out, bool>,
    templates: Ram<Bits<64>, { TEMPLATE_LOG2 }>,
    crc: Crc32,
    /// The job that waits while `current` is made; valid with `pending`.
    next_job: DFF<Job>,
    pending: DFF<bool>,
    /// The job whose frame is being made; valid with `active`.
    current: DFF<Job>,
    active: DFF<bool>,
    /// The VLAN tag is on show, not a word of the frame.
    tag_turn: DFF<bool>,
    /// Number of the word of the frame that is being made.
    index: DFF<Bits<10>>,
    /// Number of the frame's last word but one.
    before_last: DFF<Bits<10>>,
    /// The word being made is the frame's last; the flags below say whether it is number 6, 7 or 8.
    at_last: DFF<bool>,
    at_six: DFF<bool>,
    at_seven: DFF<bool>,
    at_eight: DFF<bool>,
    /// The end of the word being made comes from RETH, extension header or payload.
    in_tail: DFF<bool>,
    /// There are words of payload left.
    words_any: DFF<bool>,
    /// Length of the IP packet in units of 4 bytes.
    ip_quads: DFF<Bits<12>>,
    /// Length of the UDP datagram in units of 4 bytes.
    udp_quads: DFF<Bits<12>>,
    words_left: DFF<Bits<10>>,
    carry: DFF<Bits<48>>,
    vlan: DFF<Bits<32>>,
    // Stage A: the word, before the CRC.
    a_valid: DFF<bool>,
    a_word: DFF<Bits<64>>,
    a_first: DFF<bool>,
    a_last: DFF<bool>,
    a_odd: DFF<bool>,
    a_next_last: DFF<bool>,
    /// The word has the IP header's checksum, without the length.
    a_checks: DFF<bool>,
    a_raw: DFF<bool>,
    a_over: DFF<Bits<3>>,
    a_loopback: DFF<bool>,
    a_feed: DFF<bool>,
    a_preset: DFF<bool>,
    a_mask_six: DFF<bool>,
    a_mask_seven: DFF<bool>,
    /// The two bytes of the word before, masked.
    a_before: DFF<Bits<16>>,
    /// The word's first two bytes, masked.
    a_low: DFF<Bits<16>>,
    // Stage B: the word, beside the CRC that includes it.
    b_valid: DFF<bool>,
    b_word: DFF<Bits<64>>,
    b_first: DFF<bool>,
    b_last: DFF<bool>,
    b_odd: DFF<bool>,
    b_next_last: DFF<bool>,
    b_raw: DFF<bool>,
    b_over: DFF<Bits<3>>,
    b_loopback: DFF<bool>,
    // Stage C: the word with its ICRC.
    c_valid: DFF<bool>,
    c_word: DFF<Bits<64>>,
    c_last: DFF<bool>,
    c_count: DFF<Bits<4>>,
    c_loopback: DFF<bool>,
    c_vlan: DFF<Bits<32>>,
    moves: Signal<Local, bool>,
    accept: Signal<Local, bool>,
    at_before: Signal<Local, bool>,
    steps: Signal<Local, bool>,
    frees: Signal<Local, bool>,
    ends: Signal<Local, bool>,
    odd: Signal<Local, bool>,
    half_quads: Signal<Local, Bits<10>>,
    next_index: Signal<Local, Bits<10>>,
    raw: Signal<Local, bool>,
    to_last: Signal<Local, Bits<10>>,
    row: Signal<Local, Bits<3>>,
    row_vi: Signal<Local, Vi>,
    template: Signal<Local, Bits<64>>,
    field_pad: Signal<Local, Bits<2>>,
    field_quads: Signal<Local, Bits<11>>,
    field_psn: Signal<Local, Bits<24>>,
    ip_length: Signal<Local, Bits<16>>,
    ip_length_wire: Signal<Local, Bits<16>>,
    udp_length: Signal<Local, Bits<16>>,
    udp_length_wire: Signal<Local, Bits<16>>,
    rest: Signal<Local, Bits<16>>,
    rest_host: Signal<Local, Bits<16>>,
    sum: Signal<Local, Bits<17>>,
    folded: Signal<Local, Bits<16>>,
    checksum: Signal<Local, Bits<16>>,
    checksum_wire: Signal<Local, Bits<16>>,
    psn_wire: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<8>>,
    /// The bits of the template that go into the word, and what else does.
    keep: Signal<Local, Bits<64>>,
    patch: Signal<Local, Bits<64>>,
    checked: Signal<Local, Bits<64>>,
    at_extension: Signal<Local, bool>,
    at_reth: Signal<Local, bool>,
    consumes: Signal<Local, bool>,
    source: Signal<Local, Bits<64>>,
    base: Signal<Local, Bits<64>>,
    word: Signal<Local, Bits<64>>,
    over: Signal<Local, Bits<48>>,
    mask_low: Signal<Local, bool>,
    icrc: Signal<Local, Bits<32>>,
    finished: Signal<Local, Bits<64>>,
    crc_start: Number<32, { CRC_START }>,
    one_word: Number<10, 1>,
    whole: Number<64, 0xffff_ffff_ffff_ffff>,
    but_length: Number<64, 0xffff_ffff_ffff_0000>,
    but_datagram: Number<64, 0x0000_ffff_ffff_ffff>,
    but_opcode: Number<64, 0xffff_ffff_cf00_0000>,
    but_psn: Number<64, 0xffff>,
    ack_bit: Number<64, 0x80_0000>,
}

impl Logic for Framer {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            current,
            next_job,
            pending,
            before_last,
            at_last,
            at_six,
            at_seven,
            at_eight,
            in_tail,
            words_any,
            ip_quads,
            udp_quads,
            a_checks,
            active,
            tag_turn,
            index,
            words_left,
            carry,
            vlan,
            a_valid,
            a_word,
            a_first,
            a_last,
            a_odd,
            a_next_last,
            a_raw,
            a_over,
            a_loopback,
            a_feed,
            a_preset,
            a_low,
            a_mask_six,
            a_mask_seven,
            a_before,
            b_valid,
            b_word,
            b_first,
            b_last,
            b_odd,
            b_next_last,
            b_raw,
            b_over,
            b_loopback,
            c_valid,
            c_word,
            c_last,
            c_count,
            c_loopback,
            c_vlan
        );
        clock!(self, clock, templates, crc);
        self.crc.reset.next = self.reset.val();
        self.moves.next = self.frame_ready.val() | !self.c_valid.q.val();

        // Which word is made, and which row of the template is read for the next.
        self.field_quads.next = self.current.q.val().quads;
        self.odd.next = self.field_quads.val().get_bit(0);
        self.half_quads.next = self.field_quads.val().get_bits::<10>(1);
        self.raw.next = self.current.q.val().raw;
        self.to_last.next = bits::<10>(6);
        if self.raw.val() {
            self.to_last.next = bits::<10>(1022);
        }
        if self.tag_turn.q.val() {
            self.before_last.d.next = self.half_quads.val() + self.to_last.val();
        }
        self.at_before.next = self.index.q.val() == self.before_last.q.val();
        self.ends.next = self.active.q.val() & self.at_last.q.val() & self.moves.val();
        self.frees.next = !self.active.q.val() | self.ends.val();
        self.job_ready.next = !self.pending.q.val();
        self.accept.next = self.pending.q.val() & self.frees.val();
        if !self.pending.q.val() {
            self.next_job.d.next = self.job.val();
            self.pending.d.next = self.job_valid.val();
        }
        self.steps.next = self.moves.val() & !self.tag_turn.q.val();
        self.next_index.next = self.index.q.val();
        if self.steps.val() {
            self.next_index.next = self.index.q.val() + 1;
            self.at_last.d.next = self.at_before.val();
            self.at_six.d.next = self.index.q.val() == bits::<10>(5);
            self.at_seven.d.next = self.at_six.q.val();
            self.at_eight.d.next = self.at_seven.q.val();
            if self.index.q.val() == bits::<10>(5) {
                self.in_tail.d.next = true;
            }
        }
        self.row.next = self.next_index.val().get_bits::<3>(0);
        self.row_vi.next = self.current.q.val().vi;
        if self.tag_turn.q.val() & !self.moves.val() {
            self.row.next = bits::<3>(7);
        }
        if self.frees.val() {
            self.row.next = bits::<3>(7);
            self.row_vi.next = self.next_job.q.val().vi;
        }
        self.index.d.next = self.next_index.val();
        if self.moves.val() & self.tag_turn.q.val() {
            self.tag_turn.d.next = false;
            self.in_tail.d.next = self.raw.val();
        }
        if self.ends.val() {
            self.active.d.next = false;
        }
        if self.accept.val() {
            self.pending.d.next = false;
            self.active.d.next = true;
            self.tag_turn.d.next = true;
            self.index.d.next = bits::<10>(0);
            self.at_last.d.next = false;
            self.at_six.d.next = false;
            self.at_seven.d.next = false;
            self.at_eight.d.next = false;
            self.in_tail.d.next = false;
            self.current.d.next = self.next_job.q.val();
        }
        self.templates.write_enable.next = self.template_write.val();
        self.templates.write_address.next = self.template_row.val();
        self.templates.write_data.next = self.template_word.val();
        self.templates.read_address.next = (bit_cast::<{ TEMPLATE_LOG2 }, { VI_LOG2 }>(self.row_vi.val())
            << 3)
            | bit_cast::<{ TEMPLATE_LOG2 }, 3>(self.row.val());
        self.template.next = self.templates.read_data.val();
        if self.tag_turn.q.val() {
            self.vlan.d.next = self.template.val().get_bits::<32>(0);
        }

        // The fields to patch, most significant byte first on the wire.
        self.ip_quads.d.next = bit_cast::<12, 11>(self.field_quads.val()) + bits::<12>(11);
        self.ip_length.next = bit_cast::<16, 12>(self.ip_quads.q.val()) << 2;
        self.ip_length_wire.next = (self.ip_length.val() << 8) | (self.ip_length.val() >> 8);
        self.udp_quads.d.next = bit_cast::<12, 11>(self.field_quads.val()) + bits::<12>(6);
        self.udp_length.next = bit_cast::<16, 12>(self.udp_quads.q.val()) << 2;
        self.udp_length_wire.next = (self.udp_length.val() << 8) | (self.udp_length.val() >> 8);
        self.rest.next = self.a_word.q.val().get_bits::<16>(0);
        self.rest_host.next = (self.rest.val() << 8) | (self.rest.val() >> 8);
        self.sum.next = bit_cast::<17, 16>(self.rest_host.val()) + bit_cast::<17, 16>(self.ip_length.val());
        self.folded.next =
            self.sum.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.sum.val().get_bits::<1>(16));
        self.checksum.next = !self.folded.val();
        self.checksum_wire.next = (self.checksum.val() << 8) | (self.checksum.val() >> 8);
        self.field_pad.next = self.current.q.val().pad;
        self.flags.next = bit_cast::<8, 2>(self.field_pad.val()) << 4;
        self.field_psn.next = self.current.q.val().psn;
        self.psn_wire.next = bit_cast::<16, 8>(self.field_psn.val().get_bits::<8>(8))
            | (bit_cast::<16, 8>(self.field_psn.val().get_bits::<8>(0)) << 8);

        // The header word of the template, patched; word 6 ends with its sixth byte. The memory's word goes through one
        // gate; what else is in the word is ready by then. The checksum follows in stage A.
        self.keep.next = self.whole.val();
        self.patch.next = bits::<64>(0);
        match self.index.q.val().index() {
            2 => {
                self.keep.next = self.but_length.val();
                self.patch.next = bit_cast::<64, 16>(self.ip_length_wire.val());
            }
            4 => {
                self.keep.next = self.but_datagram.val();
                self.patch.next = bit_cast::<64, 16>(self.udp_length_wire.val()) << 48;
            }
            5 => {
                self.keep.next = self.but_opcode.val();
                self.patch.next = (bit_cast::<64, 8>(self.current.q.val().opcode) << 16)
                    | (bit_cast::<64, 8>(self.flags.val()) << 24);
            }
            6 => {
                self.keep.next = self.but_psn.val();
                self.patch.next = (bit_cast::<64, 8>(self.field_psn.val().get_bits::<8>(16)) << 24)
                    | (bit_cast::<64, 16>(self.psn_wire.val()) << 32);
                if self.current.q.val().ack_request {
                    self.patch.next = (bit_cast::<64, 8>(self.field_psn.val().get_bits::<8>(16)) << 24)
                        | (bit_cast::<64, 16>(self.psn_wire.val()) << 32)
                        | self.ack_bit.val();
                }
            }
            _ => {}
        }

        // From byte 48 on: what is over from the word before, then RETH, extension or payload.
        self.at_reth.next = (self.at_six.q.val() | self.at_seven.q.val()) & self.current.q.val().reth;
        self.at_extension.next = self.at_six.q.val() & self.current.q.val().extended;
        if self.current.q.val().reth {
            self.at_extension.next = self.at_eight.q.val() & self.current.q.val().extended;
        }
        self.consumes.next = self.active.q.val()
            & self.in_tail.q.val()
            & !self.at_reth.val()
            & !self.at_extension.val()
            & self.words_any.q.val();
        self.payload_ready.next = self.consumes.val() & self.moves.val();
        if self.consumes.val() & self.moves.val() {
            self.words_left.d.next = self.words_left.q.val() - 1;
            self.words_any.d.next = self.words_left.q.val() != self.one_word.val();
        }
        if self.accept.val() {
            self.words_left.d.next = self.next_job.q.val().words;
            self.words_any.d.next = self.next_job.q.val().words.any();
        }
        self.source.next = bits::<64>(0);
        if self.consumes.val() {
            self.source.next = self.payload.val();
        }
        if self.at_extension.val() {
            self.source.next = bit_cast::<64, 32>(self.current.q.val().extension);
        }
        if self.at_reth.val() {
            self.source.next = self.current.q.val().reth_address;
            if self.at_seven.q.val() {
                self.source.next = self.current.q.val().reth_rest;
            }
        }
        self.base.next = self.patch.val();
        if self.in_tail.q.val() & !self.at_six.q.val() {
            self.keep.next = bits::<64>(0);
            self.base.next = bit_cast::<64, 48>(self.carry.q.val());
        }
        // RETH and extension header, and payload without the latter, lie 6 bytes off; payload behind it 2 bytes.
        if self.current.q.val().extended & !self.at_extension.val() & !self.at_reth.val() {
            self.word.next = self.base.val() | (self.source.val() << 16);
            self.over.next = bit_cast::<48, 64>(self.source.val() >> 48);
        } else {
            self.word.next = self.base.val() | (self.source.val() << 48);
            self.over.next = bit_cast::<48, 64>(self.source.val() >> 16);
        }
        if self.raw.val() {
            self.keep.next = bits::<64>(0);
            self.word.next = self.source.val();
        }
        if self.moves.val() {
            self.carry.d.next = self.over.val();
        }

        // Stage A, and the CRC's words: two bytes of the word before, six of this one.
        self.mask_low.next = (self.index.q.val() == bits::<10>(3)) | (self.index.q.val() == bits::<10>(5));
        if self.moves.val() {
            self.a_valid.d.next = self.active.q.val() & !self.tag_turn.q.val();
            self.a_word.d.next = self.word.val() | (self.template.val() & self.keep.val());
            self.a_checks.d.next = (self.index.q.val() == bits::<10>(3)) & !self.raw.val();
            self.a_first.d.next = !self.index.q.val().any();
            self.a_last.d.next = self.at_last.q.val();
            self.a_odd.d.next = self.odd.val();
            self.a_next_last.d.next = self.at_before.val();
            self.a_raw.d.next = self.raw.val();
            self.a_over.d.next = self.current.q.val().over;
            self.a_loopback.d.next = self.current.q.val().loopback;
            self.a_feed.d.next =
                (self.index.q.val() >= bits::<10>(2)) & !(self.at_last.q.val() & !self.odd.val());
            self.a_preset.d.next = self.index.q.val() == bits::<10>(1);
            self.a_low.d.next = self.word.val().get_bits::<16>(0)
                | (self.template.val().get_bits::<16>(0) & self.keep.val().get_bits::<16>(0));
            if self.mask_low.val() {
                self.a_low.d.next = bits::<16>(0xffff);
            }
            self.a_mask_six.d.next =
                (self.index.q.val() == bits::<10>(2)) | (self.index.q.val() == bits::<10>(5));
            self.a_mask_seven.d.next = self.index.q.val() == bits::<10>(1);
            self.a_before.d.next = self.a_word.q.val().get_bits::<16>(48);
            if self.a_mask_six.q.val() {
                self.a_before.d.next = self.a_word.q.val().get_bits::<16>(48) | bits::<16>(0xff);
            }
            if self.a_mask_seven.q.val() {
                self.a_before.d.next = self.a_word.q.val().get_bits::<16>(48) | bits::<16>(0xff00);
            }
        }
        self.crc.sink.valid.next = self.a_valid.q.val() & self.a_feed.q.val() & self.moves.val();
        self.crc.sink.data.next = bit_cast::<64, 16>(self.a_before.q.val())
            | (bit_cast::<64, 16>(self.a_low.q.val()) << 16)
            | (bit_cast::<64, 32>(self.a_word.q.val().get_bits::<32>(16)) << 32);
        self.crc.in_half.next = self.a_last.q.val();
        // As often as the word stands there: nothing is fed meanwhile, and `moves` stays out of the CRC's gates.
        self.crc.preset.next = self.a_valid.q.val() & self.a_preset.q.val();
        self.crc.preset_value.next = self.crc_start.val();

        // Stage B: the CRC, which leaves the checksum out, includes the word now.
        self.checked.next = self.a_word.q.val();
        if self.a_checks.q.val() {
            self.checked.next =
                (self.a_word.q.val() & self.but_length.val()) | bit_cast::<64, 16>(self.checksum_wire.val());
        }
        if self.moves.val() {
            self.b_valid.d.next = self.a_valid.q.val();
            self.b_word.d.next = self.checked.val();
            self.b_first.d.next = self.a_first.q.val();
            self.b_last.d.next = self.a_last.q.val();
            self.b_odd.d.next = self.a_odd.q.val();
            self.b_next_last.d.next = self.a_next_last.q.val();
            self.b_raw.d.next = self.a_raw.q.val();
            self.b_over.d.next = self.a_over.q.val();
            self.b_loopback.d.next = self.a_loopback.q.val();
        }
        self.icrc.next = !self.crc.value.val();
        self.finished.next = self.b_word.q.val();
        if self.b_last.q.val() & self.b_odd.q.val() & !self.b_raw.q.val() {
            self.finished.next = self.b_word.q.val() | (bit_cast::<64, 32>(self.icrc.val()) << 16);
        }
        if self.b_next_last.q.val() & !self.b_odd.q.val() & !self.b_raw.q.val() {
            self.finished.next = self.b_word.q.val() | (bit_cast::<64, 32>(self.icrc.val()) << 48);
        }
        if self.b_last.q.val() & !self.b_odd.q.val() & !self.b_raw.q.val() {
            self.finished.next = self.b_word.q.val() | bit_cast::<64, 16>(self.icrc.val().get_bits::<16>(16));
        }

        // Stage C: out.
        if self.moves.val() {
            self.c_valid.d.next = self.b_valid.q.val();
            self.c_word.d.next = self.finished.val();
            self.c_last.d.next = self.b_last.q.val();
            self.c_count.d.next = bits::<4>(8);
            if self.b_last.q.val() {
                self.c_count.d.next = bits::<4>(2);
                if self.b_odd.q.val() {
                    self.c_count.d.next = bits::<4>(6);
                }
                if self.b_raw.q.val() {
                    self.c_count.d.next = bit_cast::<4, 3>(self.b_over.q.val());
                    if !self.b_over.q.val().any() {
                        self.c_count.d.next = bits::<4>(8);
                    }
                }
            }
            if self.b_first.q.val() {
                self.c_loopback.d.next = self.b_loopback.q.val();
                self.c_vlan.d.next = self.vlan.q.val();
                if self.b_raw.q.val() {
                    self.c_vlan.d.next = bits::<32>(0);
                }
            }
        }
        self.frame_valid.next = self.c_valid.q.val();
        self.frame.next.data = self.c_word.q.val();
        self.frame.next.count = self.c_count.q.val();
        self.frame.next.last = self.c_last.q.val();
        self.frame.next.bad = false;
        self.frame_loopback.next = self.c_loopback.q.val();
        self.frame_vlan.next = self.c_vlan.q.val();
        self.running.next = self.active.q.val() | self.pending.q.val();
        self.busy.next = self.active.q.val()
            | self.pending.q.val()
            | self.a_valid.q.val()
            | self.b_valid.q.val()
            | self.c_valid.q.val();

        if self.reset.val() {
            self.active.d.next = false;
            self.pending.d.next = false;
            self.tag_turn.d.next = false;
            self.a_valid.d.next = false;
            self.b_valid.d.next = false;
            self.c_valid.d.next = false;
        }
    }
}
