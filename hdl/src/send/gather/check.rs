//! Reads a send descriptor, decides whether its message may be sent, and says what cut has to know of it.
//!
//! ```text
//!  waits, head, hold ──►┌─────────────┐──► load, drop, busy
//!          now, word ──►│    Check    │──► seek, read_row
//!  tail_length, _end ──►│ LengthCheck │──► tail
//!                       └─────────────┘──► message, restart
//! ```
//! Contract: `load` takes the oldest head that waits, and the block works on it until its `message` is taken, or until `drop` says that
//! there is none: the head was stale when its turn came. All segments are read and their lengths summed up before `message` is
//! offered, so a wrong descriptor sends nothing. Segments beyond the first two are read at once, up to 4000 bytes, into the tail memory.
//! While `message` is not offered its data is what is known so far. What it is offered with stands until it is taken; the first
//! segment's words are then the last two that the word reader has shown. A message that may not begin before reads are complete is
//! offered as `parks`; one that is wrong, or of a VI that is not connected, as `ends`, with the reason. A change of state or epoch is
//! heeded a cycle late.
//!
//! Example: a send of 1500 bytes in one segment. The block reads words 1 to 3, and 5 for the segment's length; the VI's GATHER row says
//! that 1500 bytes may be, and `message` is offered with `length` 1500, while the word reader shows words 4 and 5.
//!
//! Latency: 9 cycles from `load` to `message` with one segment, one more with two, one more for RDMA.
//!
//! How: memories take most of a cycle, so their words go straight into registers, and what must be true of a word is
//! looked at in the cycle behind, in `late`. What is known of the VI stands in registers too, from CheckStep::Immediate on.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSink, FlowSource, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::{control, status, MAX_SEGMENTS};
use viaduct_spec::tables::gather;

const _: () = assert!(gather::RAW.lo == 19 && gather::RDMA_READ.lo == 21);

use super::length_check::LengthCheck;
use super::mark;
use super::owner::OwnerNow;
use super::tail::TailEnd;
use crate::bus::{Access, SendHead};
use crate::prims::Number;

/// What check has found out about a message.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CheckedMessage {
    /// Nothing of it is sent: `errors` says why, or the descriptor is lost.
    pub ends: bool,
    /// The message may not begin before a read is complete.
    pub parks: bool,
    /// Error bits 8:1 of the status.
    pub errors: Bits<9>,
    /// With an error: segments of the descriptor could not be read.
    pub unread: bool,
    /// An RDMA read.
    pub reads: bool,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// The message carries immediate data.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// RDMA: virtual address at the peer.
    pub remote_address: Bits<64>,
    /// RDMA: memory handle at the peer.
    pub rkey: Bits<32>,
    /// Protection tag of the VI.
    pub tag: Bits<16>,
    /// Bytes of payload that a packet may have; of service RAW more than any frame has.
    pub mtu: Bits<13>,
    /// log2 of the path MTU.
    pub mtu_log2: Bits<4>,
    /// Packets of the message that are not sent again.
    pub skip: Bits<24>,
    /// Reads of the VI that were complete, modulo 8, when `parks` was decided.
    pub complete: Bits<3>,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum CheckStep {
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
    Limits,
    Verdict,
    Offer,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Check {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the descriptor under way.
    pub reset: Signal<In, bool>,
    /// A head waits in the inbox.
    pub waits: Signal<In, bool>,
    /// The head that was loaded last, from the inbox.
    pub head: Signal<In, SendHead>,
    /// No head must be loaded now; the replier drives it.
    pub hold: Signal<In, bool>,
    /// Pulses when the oldest head that waits is to be loaded.
    pub load: Signal<Out, bool>,
    /// Pulses when the head at hand is done with, and there is no message.
    pub drop: Signal<Out, bool>,
    /// A descriptor is being worked on, here or by cut.
    pub busy: Signal<Out, bool>,
    /// What is true of the head's VI.
    pub now: Signal<In, OwnerNow>,
    /// To the owner: the VI's sends come again, and this many of its reads, modulo 8, count as sent.
    pub restart: FlowSource<Bits<3>>,
    /// Number of the word that is to be read.
    pub seek: FlowSource<Bits<9>>,
    /// The GATHER row of the head's VI is read instead of a word.
    pub read_row: Signal<Out, bool>,
    /// The word on show: the one that was asked for in the cycle before, or the row.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// A read of the descriptor's tail, for the protection checker.
    pub tail: Source<Access>,
    /// Length in bytes of a segment of the tail that has come in.
    pub tail_length: FlowSink<Bits<32>>,
    /// The whole tail has come in.
    pub tail_end: FlowSink<TailEnd>,
    /// A message for cut.
    pub message: Source<CheckedMessage>,
    step: DFF<CheckStep>,
    lengths: LengthCheck,
    /// `tail` is offered.
    asks: DFF<bool>,
    /// Segment 0 is the address segment.
    rdma: DFF<bool>,
    /// The message starts when all reads before it are complete.
    fence: DFF<bool>,
    operation: DFF<Bits<2>>,
    segments: DFF<Bits<8>>,
    has_immediate: DFF<bool>,
    immediate: DFF<Bits<32>>,
    length: DFF<Bits<32>>,
    remote_address: DFF<Bits<64>>,
    rkey: DFF<Bits<32>>,
    tag: DFF<Bits<16>>,
    mtu: DFF<Bits<13>>,
    mtu_log2: DFF<Bits<4>>,
    /// The GATHER row says that the VI's service is RAW.
    raw: DFF<bool>,
    /// The VI may read its peer's memory, and this message may be a read.
    may_read: DFF<bool>,
    malformed: DFF<bool>,
    /// Segments of the descriptor could not be read.
    unread: DFF<bool>,
    /// Reads have to be complete first.
    waits_for_reads: DFF<bool>,
    complete: DFF<Bits<3>>,
    parks: DFF<bool>,
    ends: DFF<bool>,
    errors: DFF<Bits<9>>,
    /// The upper half of `late` is reserved.
    reserves: DFF<bool>,
    /// The upper half of `late` is a segment's length.
    counts: DFF<bool>,
    /// Number behind that of the tail's last word.
    tail_stop: DFF<Bits<10>>,
    word_now: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    late_now: Signal<Local, Bits<64>>,
    late_low: Signal<Local, Bits<32>>,
    late_high: Signal<Local, Bits<32>>,
    count: Signal<Local, Bits<16>>,
    flags: Signal<Local, Bits<16>>,
    kind: Signal<Local, Bits<16>>,
    reading: Signal<Local, bool>,
    outstanding: Signal<Local, Bits<3>>,
    beyond_two: Signal<Local, Bits<8>>,
    tail_line: Signal<Local, Bits<35>>,
    path_mtu: Signal<Local, Bits<13>>,
    op_mask: Number<16, { control::OP_MASK as u64 }>,
    op_send: Number<16, { control::OP_SENDRECV as u64 }>,
    op_write: Number<16, { control::OP_RDMAWRITE as u64 }>,
    op_read: Number<16, { control::OP_RDMAREAD as u64 }>,
    fence_flag: Number<16, { control::QFENCE as u64 }>,
    reserved: Number<16, { control::RESERVED as u64 }>,
    immediate_flag: Number<16, { control::IMMEDIATE as u64 }>,
    no_mtu: Number<13, 8191>,
    max_segments: Number<16, { MAX_SEGMENTS as u64 }>,
    tail_mark: Number<8, { mark::TAIL }>,
    format_error: Number<9, { status::FORMAT_ERROR as u64 }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for Check {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            step,
            asks,
            rdma,
            fence,
            operation,
            segments,
            has_immediate,
            immediate,
            length
        );
        dff_setup!(self, clock, remote_address, rkey, tag, mtu, mtu_log2, raw, may_read, malformed, unread);
        dff_setup!(self, clock, waits_for_reads, complete, parks, ends, errors, reserves, counts, tail_stop);
        clock!(self, clock, lengths);

        self.word_now.next = self.word.val();
        self.low.next = self.word_now.val().get_bits::<32>(0);
        self.high.next = self.word_now.val().get_bits::<32>(32);
        self.late_now.next = self.late.val();
        self.late_low.next = self.late_now.val().get_bits::<32>(0);
        self.late_high.next = self.late_now.val().get_bits::<32>(32);
        self.count.next = self.late_high.val().get_bits::<16>(0);
        self.flags.next = self.late_high.val().get_bits::<16>(16);
        self.kind.next = self.flags.val() & self.op_mask.val();
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

        // The lengths.
        self.counts.d.next =
            (self.step.q.val() == CheckStep::FirstLength) | (self.step.q.val() == CheckStep::SecondLength);
        self.lengths.clear.next = self.step.q.val() == CheckStep::Idle;
        self.lengths.head_length.valid.next = self.counts.q.val();
        self.lengths.head_length.data.next = self.late_high.val();
        FlowSink::<Bits<32>>::link(&mut self.tail_length, &mut self.lengths.tail_length);
        self.lengths.length.next = self.length.q.val();
        self.lengths.limit.next = self.late_high.val();
        // In an address segment the length is reserved, too.
        self.reserves.d.next = (self.step.q.val() == CheckStep::Length)
            | ((self.step.q.val() == CheckStep::FirstLength) & self.rdma.q.val());
        if self.reserves.q.val() & self.late_high.val().any() {
            self.malformed.d.next = true;
        }

        // WQ-5: a fence waits for every read before it. REQ-9: at most READ_DEPTH reads are outstanding.
        self.reading.next = self.operation.q.val() == bits::<2>(2);
        self.outstanding.next = self.now.val().sent - self.now.val().complete;
        self.waits_for_reads.d.next = (self.fence.q.val() & self.outstanding.val().any())
            | (self.reading.val() & (self.outstanding.val() >= self.now.val().depth));

        self.busy.next = self.step.q.val() != CheckStep::Idle;
        self.load.next = false;
        self.drop.next = false;
        self.restart.valid.next = false;
        // All reads that are not complete come again, unless the VI only goes on.
        self.restart.data.next = self.now.val().complete;
        if self.head.val().resume {
            self.restart.data.next = self.now.val().sent;
        }
        self.seek.valid.next = false;
        self.seek.data.next = bits::<9>(1);
        self.read_row.next = false;
        match self.step.q.val() {
            CheckStep::Idle => {
                self.seek.valid.next = true;
                self.malformed.d.next = false;
                self.unread.d.next = false;
                self.parks.d.next = false;
                self.ends.d.next = false;
                self.errors.d.next = bits::<9>(0);
                self.operation.d.next = bits::<2>(0);
                self.rdma.d.next = false;
                if self.waits.val() & !self.hold.val() {
                    self.load.next = true;
                    self.step.d.next = CheckStep::Control;
                }
            }
            CheckStep::Control => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(2);
                self.step.d.next = CheckStep::Immediate;
            }
            CheckStep::Immediate => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(3);
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
                    | (self.head.val().words < bits::<4>(4))
                {
                    self.malformed.d.next = true;
                }
                self.step.d.next = CheckStep::Length;
                if self.head.val().lost {
                    self.ends.d.next = true;
                    self.step.d.next = CheckStep::Offer;
                } else {
                    self.operation.d.next = self.flags.val().get_bits::<2>(0);
                    self.rdma.d.next = self.kind.val() != self.op_send.val();
                }
                if self.now.val().stale {
                    self.drop.next = true;
                    self.step.d.next = CheckStep::Idle;
                } else {
                    self.restart.valid.next = self.head.val().restart;
                }
            }
            CheckStep::Length => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                self.length.d.next = self.low.val();
                // Of the word before.
                if self.late_low.val().any() {
                    self.malformed.d.next = true;
                }
                self.step.d.next = CheckStep::FirstLength;
                if self.rdma.q.val() {
                    self.seek.data.next = bits::<9>(4);
                    self.step.d.next = CheckStep::Remote;
                }
                if !self.segments.q.val().any() {
                    self.read_row.next = true;
                    self.step.d.next = CheckStep::Row;
                }
            }
            CheckStep::Remote => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                self.step.d.next = CheckStep::FirstLength;
            }
            CheckStep::FirstLength => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(7);
                self.rkey.d.next = self.low.val();
                if self.rdma.q.val() {
                    self.remote_address.d.next = self.late.val();
                }
                if self.head.val().words < bits::<4>(6) {
                    self.malformed.d.next = true;
                }
                self.step.d.next = CheckStep::SecondLength;
                if self.segments.q.val() == bits::<8>(1) {
                    self.read_row.next = true;
                    self.step.d.next = CheckStep::Row;
                }
            }
            CheckStep::SecondLength => {
                self.read_row.next = true;
                self.step.d.next = CheckStep::TailRow;
                if self.head.val().words < bits::<4>(8) {
                    self.malformed.d.next = true;
                }
                if self.segments.q.val() == bits::<8>(2) {
                    self.step.d.next = CheckStep::Row;
                }
            }
            CheckStep::TailRow => {
                self.read_row.next = true;
                self.tag.d.next = self.low.val().get_bits::<16>(0);
                self.step.d.next = CheckStep::AskTail;
                self.asks.d.next = true;
                if self.malformed.q.val() | !self.now.val().connected {
                    self.asks.d.next = false;
                    self.step.d.next = CheckStep::Row;
                }
            }
            CheckStep::AskTail => {
                self.read_row.next = true;
                if self.tail.ready.val() {
                    self.asks.d.next = false;
                    self.step.d.next = CheckStep::WaitTail;
                }
            }
            CheckStep::WaitTail => {
                self.read_row.next = true;
                if self.tail_end.valid.val() {
                    self.unread.d.next = self.tail_end.data.val().failed;
                    self.malformed.d.next = self.tail_end.data.val().bad
                        | (self.tail_end.data.val().words != self.tail_stop.q.val());
                    self.step.d.next = CheckStep::Row;
                }
            }
            CheckStep::Row => {
                // The first data segment's words come next, whatever becomes of it.
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(4);
                if self.rdma.q.val() {
                    self.seek.data.next = bits::<9>(6);
                }
                self.tag.d.next = self.low.val().get_bits::<16>(0);
                self.step.d.next = CheckStep::Limits;
            }
            CheckStep::Limits => {
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(5);
                if self.rdma.q.val() {
                    self.seek.data.next = bits::<9>(7);
                }
                self.mtu.d.next = self.path_mtu.val();
                self.mtu_log2.d.next = bits::<4>(8) + bit_cast::<4, 3>(self.late_low.val().get_bits::<3>(16));
                self.raw.d.next = self.late_low.val().get_bit(19);
                self.may_read.d.next = self.late_low.val().get_bit(21)
                    & self.now.val().depth.any()
                    & !self.has_immediate.q.val();
                self.complete.d.next = self.now.val().complete;
                self.step.d.next = CheckStep::Verdict;
            }
            CheckStep::Verdict => {
                // The second segment is the next one to be read.
                self.seek.valid.next = true;
                self.seek.data.next = bits::<9>(6);
                if self.rdma.q.val() {
                    self.seek.data.next = bits::<9>(8);
                }
                self.step.d.next = CheckStep::Offer;
                // WQ-5: what is wrong in itself waits for no read: the checks below overrule this one.
                self.parks.d.next = self.waits_for_reads.q.val();
                // WQ-2, RAW-4: LENGTH_ERROR.
                if self.lengths.unequal.val()
                    | self.lengths.too_long.val()
                    | (self.raw.q.val() & self.lengths.no_frame.val())
                {
                    self.parks.d.next = false;
                    self.ends.d.next = true;
                    self.errors.d.next = self.length_error.val();
                }
                // WQ-2, RAW-4: FORMAT_ERROR goes before it.
                if self.malformed.q.val()
                    | (self.reading.val() & !self.may_read.q.val())
                    | (self.raw.q.val() & (self.rdma.q.val() | self.has_immediate.q.val()))
                {
                    self.parks.d.next = false;
                    self.ends.d.next = true;
                    self.errors.d.next = self.format_error.val();
                }
                // WQ-8: the segments behind the first 64 bytes could not be read.
                if self.unread.q.val() {
                    self.parks.d.next = false;
                    self.ends.d.next = true;
                    self.errors.d.next = self.transport.val();
                }
                if !self.now.val().connected {
                    self.parks.d.next = false;
                    self.ends.d.next = true;
                    self.errors.d.next = self.flushed.val();
                }
            }
            CheckStep::Offer => {
                if self.message.ready.val() {
                    self.step.d.next = CheckStep::Idle;
                }
            }
            _ => {
                self.step.d.next = CheckStep::Idle;
            }
        }

        // The tail: what is behind the first 64 bytes, as many bytes as there are segments.
        self.tail_line.next = bit_cast::<35, 34>(self.head.val().offset) + 1;
        self.beyond_two.next = self.segments.q.val() - 2;
        self.tail_stop.d.next = (bit_cast::<10, 8>(self.segments.q.val()) << 1) + bits::<10>(4);
        self.tail.valid.next = self.asks.q.val();
        self.tail.data.next.address = bit_cast::<64, 35>(self.tail_line.val()) << 6;
        self.tail.data.next.span = bits::<32>(0);
        self.tail.data.next.length = bit_cast::<13, 8>(self.beyond_two.val()) << 4;
        self.tail.data.next.region = self.head.val().region;
        self.tail.data.next.key = bits::<16>(0);
        self.tail.data.next.tag = self.tag.q.val();
        self.tail.data.next.by_offset = true;
        self.tail.data.next.system = false;
        self.tail.data.next.write = false;
        self.tail.data.next.clip = true;
        self.tail.data.next.remote = bits::<2>(0);
        self.tail.data.next.user = self.tail_mark.val();

        self.message.valid.next = self.step.q.val() == CheckStep::Offer;
        self.message.data.next.ends = self.ends.q.val();
        self.message.data.next.parks = self.parks.q.val();
        self.message.data.next.errors = self.errors.q.val();
        self.message.data.next.unread = self.unread.q.val();
        self.message.data.next.reads = self.reading.val();
        self.message.data.next.operation = self.operation.q.val();
        self.message.data.next.length = self.length.q.val();
        self.message.data.next.segments = self.segments.q.val();
        self.message.data.next.has_immediate = self.has_immediate.q.val();
        self.message.data.next.immediate = self.immediate.q.val();
        self.message.data.next.remote_address = self.remote_address.q.val();
        self.message.data.next.rkey = self.rkey.q.val();
        self.message.data.next.tag = self.tag.q.val();
        self.message.data.next.mtu = self.mtu.q.val();
        self.message.data.next.mtu_log2 = self.mtu_log2.q.val();
        self.message.data.next.skip = bits::<24>(0);
        if self.head.val().restart {
            self.message.data.next.skip = self.head.val().skip;
        }
        self.message.data.next.complete = self.complete.q.val();
        if self.reset.val() {
            self.step.d.next = CheckStep::Idle;
            self.asks.d.next = false;
        }
    }
}
