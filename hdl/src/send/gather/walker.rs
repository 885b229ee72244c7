//! Reads a descriptor word by word, checks it, cuts the message into packets and asks for their bytes.
//!
//! ```text
//!  head, connected, epoch   ──►┌────────┐──► access
//!      head_word, tail_word ──►│ Walker │──► packet
//!             room, tail_... ──►└────────┘──► reserve
//! ```
//! Contract: `load` takes the next head; it stays until `head.ready`. A change of state or epoch is heeded a cycle late. All segments are
//! read and their lengths summed up before the first packet, so a wrong descriptor sends nothing. Segments beyond the first two are read
//! at once, up to 4000 bytes, into the tail memory. A message of service RAW is one packet of 14 to 4200 bytes, nothing but a send. An
//! access moves 4096 bytes at most. An RDMA read is one packet without payload, with the packets of its answer counted, 2^20 at most. A
//! message that may not begin before reads are complete is told as `parked`; it and all heads of its VI behind it are done with, until
//! one says `restart`. A head that is `outlived` is done with at once; one of another epoch is done with at once, or at its next packet.
//! Bit 0 of an access's user field says that it reads the tail, bit 1 that it ends a packet.
//!
//! Example: a send of 1500 bytes lies in one segment, and the path MTU is 1024. The walker announces a packet of 1024 bytes and asks
//! for them, and then one of 476 bytes, whose access has bit 1 of `user` set.
//!
//! Latency and throughput: see gather.
//!
//! How: memories take most of a cycle, so their words go straight into registers, and what must be true of a word is
//! looked at in the cycle behind, in `late`. What is known of the VI stands in registers too, from State::Immediate on.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, Pulse, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{control, status, MAX_SEGMENTS};
use viaduct_spec::tables::gather;

const _: () = assert!(gather::RAW.lo == 19 && gather::RDMA_READ.lo == 21);

use crate::bus::{Access, Packet, SendHead};
use crate::prims::Number;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum State {
    Idle,
    Control,
    Immediate,
    Length,
    Remote,
    FirstLength,
    SecondLength,
    TailRow,
    AskTail,
    WaitTail,
    Row,
    Check,
    Verdict,
    Address,
    Segment,
    Scale,
    Rest,
    Park,
    Cut,
    Measure,
    Announce,
    Piece,
    Ask,
    Finish,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Walker {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the descriptor under way.
    pub reset: Signal<In, bool>,
    /// The send descriptor to work on: `valid` says that one waits, `data` is the one loaded last.
    pub head: Sink<SendHead>,
    /// Pulses when the oldest head that waits is to be loaded.
    pub load: Signal<Out, bool>,
    /// A descriptor is being worked on.
    pub busy: Signal<Out, bool>,
    /// The head's VI is connected.
    pub connected: Signal<In, bool>,
    /// Epoch of the head's VI.
    pub epoch: Signal<In, bool>,
    /// The head is of a life of its VI that is over.
    pub outlived: Signal<In, bool>,
    /// The walker must stay between two packets; the replier drives it.
    pub hold: Signal<In, bool>,
    /// The walker is between two packets.
    pub resting: Signal<Out, bool>,
    /// What is known of the reads of the head's VI: how many were sent, modulo 8, and in bit 3 that the VI is parked.
    pub reads_known: Signal<In, Bits<4>>,
    /// Pulses when `count_next` is to replace `reads_known`.
    pub count_write: Pulse,
    /// The new value of `reads_known`.
    pub count_next: Signal<Out, Bits<4>>,
    /// RDMA reads of the head's VI that are complete, modulo 8.
    pub reads_done: Signal<In, Bits<3>>,
    /// RDMA reads that the head's VI may have outstanding.
    pub depth: Signal<In, Bits<3>>,
    /// Word of the descriptor to read; `Inbox` has words 0 to 7, the tail memory the others.
    pub read_index: Signal<Out, Bits<9>>,
    /// The GATHER row of the head's VI is read instead of a word.
    pub read_row: Signal<Out, bool>,
    /// The word at the `read_index` of the cycle before, if that is below 8; or the GATHER row.
    pub head_word: Signal<In, Bits<64>>,
    /// The word at the `read_index` of the cycle before, if that is 8 or more.
    pub tail_word: Signal<In, Bits<64>>,
    /// Pulses when the descriptor's tail has been asked for.
    pub tail_start: Signal<Out, bool>,
    /// Length in bytes of a segment of the tail that has come in.
    pub tail_length: FlowSink<Bits<32>>,
    /// The whole tail has come in.
    pub tail_done: Signal<In, bool>,
    /// With `tail_done`: the tail was refused, or the read failed.
    pub tail_bad: Signal<In, bool>,
    /// With `tail_done`: some of the tail could not be read, though the access was granted.
    pub tail_failed: Signal<In, bool>,
    /// With `tail_done`: the number behind that of the last word that came.
    pub tail_end: Signal<In, Bits<10>>,
    /// A read of payload or of the tail, for the checker.
    pub access: Source<Access>,
    /// A packet that is announced, or the end of a message.
    pub packet: Source<Packet>,
    /// Words of payload that the next packet needs.
    pub reserve_words: Signal<Out, Bits<10>>,
    /// The payload queue has room for `reserve_words`.
    pub room: Signal<In, bool>,
    /// Pulses when `reserve_words` words of the payload queue are taken.
    pub reserve: Signal<Out, bool>,
    state: DFF<State>,
    /// The block asks for an access; high in `Ask` (unless the packet is skipped) and in `AskTail`.
    asks: DFF<bool>,
    /// Number of the word that is on show.
    index: DFF<Bits<9>>,
    segments: DFF<Bits<8>>,
    immediate: DFF<Bits<32>>,
    has_immediate: DFF<bool>,
    operation: DFF<Bits<2>>,
    /// Segment 0 is the address segment.
    rdma: DFF<bool>,
    remote_address: DFF<Bits<64>>,
    rkey: DFF<Bits<32>>,
    /// Bytes of the message, as its control segment says.
    length: DFF<Bits<32>>,
    /// Bytes of the message in no packet yet.
    left: DFF<Bits<32>>,
    /// The word that was on show the cycle before.
    late: DFF<Bits<64>>,
    /// The upper half of `late` is reserved.
    reserves: DFF<bool>,
    /// The upper half of `late` is a segment's length.
    counts: DFF<bool>,
    /// The word on show is in the tail memory.
    from_tail: DFF<bool>,
    /// `connected` of the cycle before.
    is_connected: DFF<bool>,
    /// The head is of another epoch or life, or behind one that is parked.
    stale: DFF<bool>,
    known: DFF<Bits<4>>,
    done: DFF<Bits<3>>,
    its_depth: DFF<Bits<3>>,
    /// `done` when `parks` was decided.
    seen: DFF<Bits<3>>,
    parks: DFF<bool>,
    /// The GATHER row says that the VI's service is RAW.
    raw: DFF<bool>,
    /// The GATHER row has RDMA_READ: the VI may read its peer's memory.
    may_read: DFF<bool>,
    /// The message's length is not the sum of its segments.
    unequal: DFF<bool>,
    /// The message is longer than any may be.
    too_long: DFF<bool>,
    /// The message is of service RAW, and no frame has its length.
    no_frame: DFF<bool>,
    /// `left` was not 0 in the cycle before; likewise the three below.
    left_any: DFF<bool>,
    packet_any: DFF<bool>,
    segment_any: DFF<bool>,
    skips: DFF<bool>,
    /// Number behind that of the tail's last word.
    tail_stop: DFF<Bits<10>>,
    /// In the midst of a packet: the next segment goes on with it.
    midway: DFF<bool>,
    /// The segment at hand has no bytes.
    empty: Signal<Local, bool>,
    late_low: Signal<Local, Bits<32>>,
    late_high: Signal<Local, Bits<32>>,
    cuts: Signal<Local, bool>,
    /// Sum of the segments' lengths, in bytes.
    sum: DFF<Bits<32>>,
    /// The sum has more than 32 bits.
    over: DFF<bool>,
    malformed: DFF<bool>,
    /// Segments of the descriptor could not be read.
    unread: DFF<bool>,
    /// Error bits of the message's status.
    errors: DFF<Bits<9>>,
    first: DFF<bool>,
    last: DFF<bool>,
    /// The message starts when all reads before it are complete.
    fence: DFF<bool>,
    /// RDMA read: packets of its answer, less one.
    beyond: DFF<Bits<24>>,
    reading: Signal<Local, bool>,
    issued: Signal<Local, Bits<3>>,
    next_read: Signal<Local, Bits<3>>,
    outstanding: Signal<Local, Bits<3>>,
    parked: Signal<Local, bool>,
    exact: Signal<Local, bool>,
    borrow: Signal<Local, Bits<25>>,
    others: Signal<Local, Bits<25>>,
    beyond_now: Signal<Local, Bits<24>>,
    /// Packets still to skip.
    skip: DFF<Bits<24>>,
    /// No packet of the head has been announced.
    fresh: DFF<bool>,
    address: DFF<Bits<64>>,
    region: DFF<Bits<16>>,
    key: DFF<Bits<16>>,
    /// Bytes of the segment not asked for.
    segment_left: DFF<Bits<32>>,
    /// Bytes of the packet not asked for.
    packet_left: DFF<Bits<13>>,
    /// Bytes of the access.
    piece: DFF<Bits<13>>,
    ends_segment: DFF<bool>,
    /// Words of payload of the packet.
    words: DFF<Bits<10>>,
    ends_packet: DFF<bool>,
    word: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    count: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<16>>,
    kind: Signal<Local, Bits<16>>,
    next_index: Signal<Local, Bits<9>>,
    shows_row: Signal<Local, bool>,
    tag: DFF<Bits<16>>,
    mtu: DFF<Bits<13>>,
    addend: Signal<Local, Bits<32>>,
    total: Signal<Local, Bits<33>>,
    adds: Signal<Local, bool>,
    moved: Signal<Local, Bits<64>>,
    offset_address: Signal<Local, Bits<64>>,
    beyond_two: Signal<Local, Bits<8>>,
    tail_bytes: Signal<Local, Bits<13>>,
    stop: Signal<Local, Bits<10>>,
    path_mtu: Signal<Local, Bits<13>>,
    bytes_up: Signal<Local, Bits<13>>,
    left_low: Signal<Local, Bits<13>>,
    length_low: Signal<Local, Bits<13>>,
    fits: Signal<Local, bool>,
    segment_low: Signal<Local, Bits<13>>,
    /// The segment goes on behind the packet, or ends with it.
    longer: Signal<Local, bool>,
    same: Signal<Local, bool>,
    segment_after: Signal<Local, Bits<32>>,
    packet_after: Signal<Local, Bits<13>>,
    left_after: Signal<Local, Bits<32>>,
    announced: Signal<Local, bool>,
    asked: Signal<Local, bool>,
    skip_after: Signal<Local, Bits<24>>,
    op_mask: Number<16, { control::OP_MASK as u64 }>,
    op_send: Number<16, { control::OP_SENDRECV as u64 }>,
    op_read: Number<16, { control::OP_RDMAREAD as u64 }>,
    fence_flag: Number<16, { control::QFENCE as u64 }>,
    op_write: Number<16, { control::OP_RDMAWRITE as u64 }>,
    reserved: Number<16, { control::RESERVED as u64 }>,
    immediate_flag: Number<16, { control::IMMEDIATE as u64 }>,
    no_mtu: Number<13, 8191>,
    largest_piece: Number<13, 4096>,
    least_frame: Number<13, 14>,
    largest_frame: Number<13, 4200>,
    max_segments: Number<16, { MAX_SEGMENTS as u64 }>,
    format_error: Number<9, { status::FORMAT_ERROR as u64 }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for Walker {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            state,
            asks,
            words,
            tag,
            mtu,
            index,
            segments,
            immediate,
            has_immediate,
            operation,
            rdma,
            fence,
            beyond,
            remote_address,
            rkey,
            length,
            left,
            sum,
            over,
            malformed,
            unread,
            errors,
            first,
            last,
            skip,
            fresh,
            address,
            region,
            key,
            segment_left,
            packet_left,
            piece,
            ends_segment,
            ends_packet
        );
        dff_setup!(self, clock, late, reserves, counts, from_tail, is_connected, stale, known, done);
        dff_setup!(self, clock, its_depth, seen, parks, raw, may_read, unequal, too_long, no_frame);
        dff_setup!(self, clock, left_any, packet_any, segment_any, skips, tail_stop, midway);

        // The word on show: beyond the first 64 bytes it comes from the tail memory.
        self.word.next = self.head_word.val();
        if self.from_tail.q.val() {
            self.word.next = self.tail_word.val();
        }
        self.late.d.next = self.word.val();
        self.late_low.next = self.late.q.val().get_bits::<32>(0);
        self.late_high.next = self.late.q.val().get_bits::<32>(32);
        self.low.next = self.word.val().get_bits::<32>(0);
        self.high.next = self.word.val().get_bits::<32>(32);
        self.count.next = self.late_high.val().get_bits::<16>(0);
        self.flags.next = self.late_high.val().get_bits::<16>(16);
        self.kind.next = self.flags.val() & self.op_mask.val();

        self.next_index.next = self.index.q.val();
        self.shows_row.next = false;
        self.is_connected.d.next = self.connected.val();
        // What comes behind a message that is parked comes again.
        self.parked.next = self.reads_known.val().get_bit(3);
        self.stale.d.next = (self.head.data.val().epoch != self.epoch.val())
            | (self.parked.val() & !self.head.data.val().restart)
            | self.outlived.val();
        self.known.d.next = self.reads_known.val();
        self.done.d.next = self.reads_done.val();
        self.its_depth.d.next = self.depth.val();
        // A GATHER row, when it was the row that was on show.
        self.path_mtu.next = bits::<13>(4096);
        match self.late_low.val().get_bits::<3>(16).index() {
            0 => {
                self.path_mtu.next = bits::<13>(256);
            }
            1 => {
                self.path_mtu.next = bits::<13>(512);
            }
            2 => {
                self.path_mtu.next = bits::<13>(1024);
            }
            3 => {
                self.path_mtu.next = bits::<13>(2048);
            }
            _ => {}
        }
        if self.late_low.val().get_bit(19) {
            self.path_mtu.next = self.no_mtu.val();
        }
        self.too_long.d.next = self.length.q.val() > self.late_high.val();
        self.unequal.d.next = (self.sum.q.val() != self.length.q.val()) | self.over.q.val();
        self.length_low.next = self.length.q.val().get_bits::<13>(0);
        // RAW-4: 14 to 4200 bytes.
        self.no_frame.d.next = self.length.q.val().get_bits::<19>(13).any()
            | (self.length_low.val() < self.least_frame.val())
            | (self.length_low.val() > self.largest_frame.val());
        self.left_any.d.next = self.left.q.val().any();
        self.packet_any.d.next = self.packet_left.q.val().any();
        self.segment_any.d.next = self.segment_left.q.val().any();
        self.skips.d.next = self.skip.q.val().any();
        self.empty.next = !self.segment_left.q.val().any();
        // Against 13 bits: carry chains as long as that, not as long as the counters.
        self.left_low.next = self.left.q.val().get_bits::<13>(0);
        self.fits.next =
            !self.left.q.val().get_bits::<19>(13).any() & (self.left_low.val() <= self.mtu.q.val());
        self.segment_low.next = self.segment_left.q.val().get_bits::<13>(0);
        self.longer.next = self.segment_left.q.val().get_bits::<19>(13).any()
            | (self.segment_low.val() > self.packet_left.q.val());
        self.same.next = !self.segment_left.q.val().get_bits::<19>(13).any()
            & (self.segment_low.val() == self.packet_left.q.val());

        // More than 4096 bytes of a segment in one packet.
        self.cuts.next = self.packet_left.q.val().get_bit(12)
            & self.packet_left.q.val().get_bits::<12>(0).any()
            & (self.segment_left.q.val().get_bits::<19>(13).any()
                | (self.segment_low.val() > self.largest_piece.val()));

        // The sum of the segments' lengths.
        self.addend.next = self.late_high.val();
        if self.state.q.val() == State::WaitTail {
            self.addend.next = self.tail_length.data.val();
        }
        self.total.next = bit_cast::<33, 32>(self.sum.q.val()) + bit_cast::<33, 32>(self.addend.val());
        self.counts.d.next =
            (self.state.q.val() == State::FirstLength) | (self.state.q.val() == State::SecondLength);
        self.adds.next =
            self.counts.q.val() | (self.tail_length.valid.val() & (self.state.q.val() == State::WaitTail));
        if self.adds.val() {
            self.sum.d.next = self.total.val().get_bits::<32>(0);
            self.over.d.next = self.over.q.val() | self.total.val().get_bit(32);
        }
        // In an address segment the length is reserved, too.
        self.reserves.d.next = (self.state.q.val() == State::Length)
            | ((self.state.q.val() == State::FirstLength) & self.rdma.q.val());
        if self.reserves.q.val() & self.late_high.val().any() {
            self.malformed.d.next = true;
        }

        self.moved.next = self.address.q.val() + bit_cast::<64, 13>(self.piece.q.val());
        self.offset_address.next = bit_cast::<64, 34>(self.head.data.val().offset) << 6;
        self.beyond_two.next = self.segments.q.val() - 2;
        self.tail_bytes.next = bit_cast::<13, 8>(self.beyond_two.val()) << 4;
        self.stop.next = (bit_cast::<10, 8>(self.segments.q.val()) << 1) + bits::<10>(4);
        self.tail_stop.d.next = self.stop.val();
        self.segment_after.next = self.segment_left.q.val() - bit_cast::<32, 13>(self.piece.q.val());
        self.packet_after.next = self.packet_left.q.val() - self.piece.q.val();
        self.left_after.next = self.left.q.val() - bit_cast::<32, 13>(self.packet_left.q.val());
        self.bytes_up.next = self.left_low.val() + bits::<13>(7);
        self.reserve_words.next = self.words.q.val();

        self.busy.next = self.state.q.val() != State::Idle;
        self.load.next = false;
        self.head.ready.next = false;
        self.tail_start.next = false;
        self.reserve.next = false;
        self.packet.valid.next = false;
        self.issued.next = self.known.q.val().get_bits::<3>(0);
        self.next_read.next = self.issued.val() + 1;
        self.outstanding.next = self.issued.val() - self.done.q.val();
        self.reading.next = self.operation.q.val() == bits::<2>(2);
        // WQ-5: a fence waits for every read before it. REQ-9: at most READ_DEPTH reads are outstanding.
        self.parks.d.next = (self.fence.q.val() & self.outstanding.val().any())
            | (self.reading.val() & (self.outstanding.val() >= self.its_depth.q.val()));
        self.count_write.next = false;
        self.count_next.next = bit_cast::<4, 3>(self.next_read.val());
        self.resting.next = (self.state.q.val() == State::Idle) | (self.state.q.val() == State::Cut);
        // Packets of the whole answer less one, then of what is asked for.
        // One subtraction: the one less is a borrow from below.
        self.exact.next = !self.over.q.val() & self.segment_any.q.val();
        self.borrow.next = bits::<25>(0);
        if self.exact.val() {
            self.borrow.next = bits::<25>(1);
        }
        self.others.next = (bit_cast::<25, 24>(self.segment_left.q.val().get_bits::<24>(0)) << 1)
            - ((bit_cast::<25, 24>(self.skip.q.val()) << 1) | self.borrow.val());
        self.beyond_now.next = self.others.val().get_bits::<24>(1);
        self.skip_after.next = self.skip.q.val() - 1;
        self.announced.next =
            self.skips.q.val() | (self.is_connected.q.val() & self.room.val() & self.packet.ready.val());
        self.asked.next = self.access.ready.val() | self.skips.q.val();
        self.access.valid.next = self.asks.q.val();
        self.access.data.next.address = self.address.q.val();
        self.access.data.next.span = bits::<32>(0);
        self.access.data.next.length = self.piece.q.val();
        self.access.data.next.region = self.region.q.val();
        self.access.data.next.key = self.key.q.val();
        self.access.data.next.tag = self.tag.q.val();
        self.access.data.next.by_offset = self.state.q.val() == State::AskTail;
        self.access.data.next.system = false;
        self.access.data.next.write = false;
        self.access.data.next.clip = self.state.q.val() == State::AskTail;
        // Nobody's but our own: a span is not looked at.
        self.access.data.next.remote = bits::<2>(0);
        self.access.data.next.user = bits::<8>(0);
        if self.state.q.val() == State::AskTail {
            self.access.data.next.user = bits::<8>(1);
        } else if self.ends_packet.q.val() {
            self.access.data.next.user = bits::<8>(2);
        }

        self.packet.data.next.vi = self.head.data.val().vi;
        self.packet.data.next.send = self.state.q.val() == State::Announce;
        self.packet.data.next.first = self.first.q.val();
        self.packet.data.next.last =
            self.last.q.val() | (self.state.q.val() == State::Finish) | (self.state.q.val() == State::Park);
        self.packet.data.next.length = self.packet_left.q.val();
        self.packet.data.next.has_immediate = self.has_immediate.q.val() & self.last.q.val();
        self.packet.data.next.immediate = self.immediate.q.val();
        self.packet.data.next.region = self.head.data.val().region;
        self.packet.data.next.offset = self.head.data.val().offset;
        self.packet.data.next.message_length = self.length.q.val();
        self.packet.data.next.errors = self.errors.q.val();
        self.packet.data.next.lost = self.head.data.val().lost;
        self.packet.data.next.epoch = self.head.data.val().epoch;
        self.packet.data.next.restart = self.head.data.val().restart & self.fresh.q.val();
        self.packet.data.next.psn = self.head.data.val().psn;
        self.packet.data.next.operation = self.operation.q.val();
        self.packet.data.next.remote_address = self.remote_address.q.val();
        self.packet.data.next.rkey = self.rkey.q.val();
        self.packet.data.next.beyond = self.beyond.q.val();
        self.packet.data.next.segments = self.segments.q.val();
        self.packet.data.next.number = self.issued.val();
        self.packet.data.next.parked = self.state.q.val() == State::Park;
        self.packet.data.next.reply = false;
        self.packet.data.next.unread = self.unread.q.val();
        if self.state.q.val() == State::Park {
            self.packet.data.next.number = self.seen.q.val();
        }

        match self.state.q.val() {
            State::Idle => {
                self.next_index.next = bits::<9>(1);
                self.sum.d.next = bits::<32>(0);
                self.over.d.next = false;
                self.malformed.d.next = false;
                self.unread.d.next = false;
                self.errors.d.next = bits::<9>(0);
                self.first.d.next = true;
                self.fresh.d.next = true;
                self.operation.d.next = bits::<2>(0);
                self.rdma.d.next = false;
                self.beyond.d.next = bits::<24>(0);
                self.piece.d.next = bits::<13>(64);
                if self.head.valid.val() & !self.hold.val() {
                    self.load.next = true;
                    self.state.d.next = State::Control;
                }
            }
            State::Control => {
                self.next_index.next = bits::<9>(2);
                self.skip.d.next = bits::<24>(0);
                if self.head.data.val().restart {
                    self.skip.d.next = self.head.data.val().skip;
                }
                self.region.d.next = self.head.data.val().region;
                self.address.d.next = self.offset_address.val();
                self.state.d.next = State::Immediate;
            }
            State::Immediate => {
                self.next_index.next = bits::<9>(3);
                self.immediate.d.next = self.high.val();
                self.segments.d.next = self.count.val().get_bits::<8>(0);
                self.has_immediate.d.next = (self.flags.val() & self.immediate_flag.val()).any();
                self.fence.d.next = (self.flags.val() & self.fence_flag.val()).any();
                // WQ-2: the form of the control segment.
                // An RDMA read, when there are any, is told apart here, and has to look at the GATHER row.
                if (self.count.val() > self.max_segments.val())
                    | (self.flags.val() & self.reserved.val()).any()
                    | ((self.kind.val() != self.op_send.val())
                        & (self.kind.val() != self.op_write.val())
                        & (self.kind.val() != self.op_read.val()))
                    | ((self.kind.val() != self.op_send.val()) & !self.count.val().any())
                    | (self.head.data.val().words < bits::<4>(4))
                {
                    self.malformed.d.next = true;
                }
                self.address.d.next = self.moved.val();
                self.state.d.next = State::Length;
                if self.head.data.val().lost {
                    self.state.d.next = State::Finish;
                } else {
                    self.operation.d.next = self.flags.val().get_bits::<2>(0);
                    self.rdma.d.next = self.kind.val() != self.op_send.val();
                }
                if self.stale.q.val() {
                    self.head.ready.next = true;
                    self.state.d.next = State::Idle;
                } else if self.head.data.val().restart {
                    // All reads that are not complete come again, unless it only goes on.
                    self.count_write.next = true;
                    self.count_next.next = bit_cast::<4, 3>(self.done.q.val());
                    if self.head.data.val().resume {
                        self.count_next.next = bit_cast::<4, 3>(self.issued.val());
                    }
                }
            }
            State::Length => {
                self.next_index.next = bits::<9>(5);
                self.length.d.next = self.low.val();
                self.left.d.next = self.low.val();
                // Of the word before.
                if self.late_low.val().any() {
                    self.malformed.d.next = true;
                }
                self.state.d.next = State::FirstLength;
                if self.rdma.q.val() {
                    self.next_index.next = bits::<9>(4);
                    self.state.d.next = State::Remote;
                }
                if !self.segments.q.val().any() {
                    self.shows_row.next = true;
                    self.state.d.next = State::Row;
                }
            }
            State::Remote => {
                self.next_index.next = bits::<9>(5);
                self.state.d.next = State::FirstLength;
            }
            State::FirstLength => {
                self.next_index.next = bits::<9>(7);
                self.rkey.d.next = self.low.val();
                if self.rdma.q.val() {
                    self.remote_address.d.next = self.late.q.val();
                }
                if self.head.data.val().words < bits::<4>(6) {
                    self.malformed.d.next = true;
                }
                self.state.d.next = State::SecondLength;
                if self.segments.q.val() == bits::<8>(1) {
                    self.shows_row.next = true;
                    self.state.d.next = State::Row;
                }
            }
            State::SecondLength => {
                self.next_index.next = bits::<9>(0);
                self.shows_row.next = true;
                self.piece.d.next = self.tail_bytes.val();
                self.state.d.next = State::TailRow;
                if self.head.data.val().words < bits::<4>(8) {
                    self.malformed.d.next = true;
                }
                if self.segments.q.val() == bits::<8>(2) {
                    self.state.d.next = State::Row;
                }
            }
            State::TailRow => {
                self.shows_row.next = true;
                self.tag.d.next = self.low.val().get_bits::<16>(0);
                self.state.d.next = State::AskTail;
                self.asks.d.next = true;
                if self.malformed.q.val() | !self.is_connected.q.val() {
                    self.asks.d.next = false;
                    self.state.d.next = State::Row;
                }
            }
            State::AskTail => {
                self.shows_row.next = true;
                if self.access.ready.val() {
                    self.asks.d.next = false;
                    self.tail_start.next = true;
                    self.state.d.next = State::WaitTail;
                }
            }
            State::WaitTail => {
                self.shows_row.next = true;
                if self.tail_done.val() {
                    self.unread.d.next = self.tail_failed.val();
                    self.malformed.d.next =
                        self.tail_bad.val() | (self.tail_end.val() != self.tail_stop.q.val());
                    self.state.d.next = State::Row;
                }
            }
            State::Row => {
                // The first data segment's address comes next, whatever becomes of it.
                self.next_index.next = bits::<9>(4);
                if self.rdma.q.val() {
                    self.next_index.next = bits::<9>(6);
                }
                self.tag.d.next = self.low.val().get_bits::<16>(0);
                self.state.d.next = State::Check;
            }
            State::Check => {
                self.next_index.next = self.index.q.val() + 1;
                self.mtu.d.next = self.path_mtu.val();
                self.raw.d.next = self.late_low.val().get_bit(19);
                self.may_read.d.next = self.late_low.val().get_bit(21)
                    & self.its_depth.q.val().any()
                    & !self.has_immediate.q.val();
                self.words.d.next = bits::<10>(8) + bit_cast::<10, 3>(self.late_low.val().get_bits::<3>(16));
                self.packet_left.d.next = bits::<13>(0);
                self.midway.d.next = false;
                self.seen.d.next = self.done.q.val();
                self.state.d.next = State::Verdict;
            }
            State::Verdict => {
                self.next_index.next = self.index.q.val() + 1;
                self.address.d.next = self.late.q.val();
                self.region.d.next = self.low.val().get_bits::<16>(0);
                self.key.d.next = self.low.val().get_bits::<16>(16);
                self.segment_left.d.next = self.high.val();
                self.state.d.next = State::Cut;
                if self.reading.val() {
                    // Bytes become packets, and packets to skip bytes, a shift at a time.
                    self.segment_left.d.next = self.length.q.val();
                    self.sum.d.next = bit_cast::<32, 24>(self.skip.q.val());
                    self.over.d.next = false;
                    self.state.d.next = State::Scale;
                }
                // WQ-5: what is wrong in itself waits for no read: the checks below overrule this one.
                if self.parks.q.val() {
                    self.state.d.next = State::Park;
                }
                // WQ-2, RAW-4: LENGTH_ERROR.
                if self.unequal.q.val() | self.too_long.q.val() | (self.raw.q.val() & self.no_frame.q.val()) {
                    self.errors.d.next = self.length_error.val();
                    self.state.d.next = State::Finish;
                }
                // WQ-2, RAW-4: FORMAT_ERROR goes before it.
                if self.malformed.q.val()
                    | (self.reading.val() & !self.may_read.q.val())
                    | (self.raw.q.val() & (self.rdma.q.val() | self.has_immediate.q.val()))
                {
                    self.errors.d.next = self.format_error.val();
                    self.state.d.next = State::Finish;
                }
                // WQ-8: the segments behind the first 64 bytes could not be read.
                if self.unread.q.val() {
                    self.errors.d.next = self.transport.val();
                    self.state.d.next = State::Finish;
                }
                if !self.is_connected.q.val() {
                    self.errors.d.next = self.flushed.val();
                    self.state.d.next = State::Finish;
                }
            }
            State::Scale => {
                self.sum.d.next = self.sum.q.val() << 1;
                self.segment_left.d.next = self.segment_left.q.val() >> 1;
                self.over.d.next = self.over.q.val() | self.segment_left.q.val().get_bit(0);
                self.words.d.next = self.words.q.val() - 1;
                if !self.words.q.val().any() {
                    self.sum.d.next = self.sum.q.val();
                    self.segment_left.d.next = self.segment_left.q.val();
                    self.over.d.next = self.over.q.val();
                    self.words.d.next = bits::<10>(0);
                    self.state.d.next = State::Rest;
                }
            }
            State::Rest => {
                self.beyond.d.next = self.beyond_now.val();
                // REQ-8: a read goes on from its first missing byte.
                self.immediate.d.next = self.length.q.val() - self.sum.q.val();
                self.has_immediate.d.next = false;
                self.remote_address.d.next =
                    self.remote_address.q.val() + bit_cast::<64, 32>(self.sum.q.val());
                self.skip.d.next = bits::<24>(0);
                self.last.d.next = true;
                self.state.d.next = State::Measure;
            }
            State::Park => {
                self.packet.valid.next = true;
                self.count_next.next = self.known.q.val() | bits::<4>(8);
                if self.packet.ready.val() {
                    self.count_write.next = true;
                    self.head.ready.next = true;
                    self.state.d.next = State::Idle;
                }
            }
            State::Address => {
                self.next_index.next = self.index.q.val() + 1;
                self.state.d.next = State::Segment;
            }
            State::Segment => {
                self.next_index.next = self.index.q.val() + 1;
                self.address.d.next = self.late.q.val();
                self.region.d.next = self.low.val().get_bits::<16>(0);
                self.key.d.next = self.low.val().get_bits::<16>(16);
                self.segment_left.d.next = self.high.val();
                self.state.d.next = State::Cut;
                if self.midway.q.val() {
                    self.state.d.next = State::Piece;
                }
            }
            State::Cut => {
                // WIRE-2: every packet has the path MTU, but the last.
                self.packet_left.d.next = self.mtu.q.val();
                self.words.d.next = self.mtu.q.val().get_bits::<10>(3);
                if self.fits.val() {
                    self.words.d.next = self.bytes_up.val().get_bits::<10>(3);
                    self.packet_left.d.next = bit_cast::<13, 32>(self.left.q.val());
                }
                self.last.d.next = self.fits.val();
                if !self.hold.val() {
                    self.state.d.next = State::Measure;
                    if self.empty.val() & self.left_any.q.val() {
                        self.state.d.next = State::Address;
                    }
                }
            }
            State::Measure => {
                // The sink looks for room.
                self.state.d.next = State::Announce;
                if self.beyond.q.val().get_bit(23) {
                    // It was longer before.
                    self.errors.d.next = self.transport.val();
                    self.state.d.next = State::Finish;
                } else if self.beyond.q.val().get_bits::<3>(20).any() {
                    // REQ-1: a read has 2^20 PSNs at most.
                    // READ_DEPTH of the largest, and what else may be in flight, stay below 2^23 PSNs.
                    self.errors.d.next = self.length_error.val();
                    self.state.d.next = State::Finish;
                }
            }
            State::Announce => {
                self.packet.valid.next =
                    self.is_connected.q.val() & self.room.val() & !self.stale.q.val() & !self.skips.q.val();
                if self.announced.val() {
                    self.count_write.next = self.reading.val() & !self.stale.q.val();
                    self.reserve.next = self.packet_any.q.val() & !self.stale.q.val() & !self.skips.q.val();
                    self.first.d.next = false;
                    self.fresh.d.next = self.skips.q.val();
                    self.left.d.next = self.left_after.val();
                    self.state.d.next = State::Piece;
                    if !self.packet_any.q.val() {
                        self.head.ready.next = true;
                        self.state.d.next = State::Idle;
                        if self.skips.q.val() {
                            self.head.ready.next = false;
                            self.errors.d.next = self.transport.val();
                            self.state.d.next = State::Finish;
                        }
                    }
                }
                if !self.is_connected.q.val() {
                    self.errors.d.next = self.flushed.val();
                    self.state.d.next = State::Finish;
                }
                if self.stale.q.val() {
                    self.head.ready.next = true;
                    self.state.d.next = State::Idle;
                }
            }
            State::Piece => {
                self.midway.d.next = true;
                self.piece.d.next = self.packet_left.q.val();
                self.ends_packet.d.next = self.longer.val() | self.same.val();
                self.ends_segment.d.next = !self.longer.val();
                if !self.longer.val() {
                    self.piece.d.next = self.segment_low.val();
                }
                // Only a raw frame has more.
                if self.cuts.val() {
                    self.piece.d.next = self.largest_piece.val();
                    self.ends_packet.d.next = false;
                    self.ends_segment.d.next = false;
                }
                self.state.d.next = State::Ask;
                self.asks.d.next = !self.skips.q.val();
                if self.empty.val() {
                    self.asks.d.next = false;
                    self.state.d.next = State::Address;
                }
            }
            State::Ask => {
                if self.asked.val() {
                    self.asks.d.next = false;
                    self.address.d.next = self.moved.val();
                    self.segment_left.d.next = self.segment_after.val();
                    self.packet_left.d.next = self.packet_after.val();
                    self.midway.d.next = !self.ends_packet.q.val();
                    self.state.d.next = State::Cut;
                    if self.ends_segment.q.val() {
                        self.state.d.next = State::Address;
                    } else if !self.ends_packet.q.val() {
                        self.state.d.next = State::Piece;
                    }
                    if self.ends_packet.q.val() & !self.left_any.q.val() {
                        self.head.ready.next = true;
                        self.state.d.next = State::Idle;
                        if self.skips.q.val() {
                            // It was longer before.
                            self.head.ready.next = false;
                            self.errors.d.next = self.transport.val();
                            self.state.d.next = State::Finish;
                        }
                    }
                    if self.ends_packet.q.val() & self.skips.q.val() {
                        self.skip.d.next = self.skip_after.val();
                    }
                }
            }
            State::Finish => {
                self.packet.valid.next = true;
                if self.packet.ready.val() {
                    self.head.ready.next = true;
                    self.state.d.next = State::Idle;
                }
            }
            _ => {}
        }
        self.index.d.next = self.next_index.val();
        self.from_tail.d.next = self.next_index.val().get_bits::<6>(3).any();
        self.read_index.next = self.next_index.val();
        self.read_row.next = self.shows_row.val();
        if self.reset.val() {
            self.state.d.next = State::Idle;
            self.asks.d.next = false;
        }
    }
}
