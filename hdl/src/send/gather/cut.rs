//! Cuts a checked message into packets, walks its segments, and asks for the bytes of each packet.
//!
//! ```text
//!          message, head ──►┌─────┐──► packet
//!              now, rest ──►│ Cut │──► access
//!             word, late ──►│     │──► step, count
//!                   hold ──►└─────┘──► resting, claim
//! ```
//! Contract: the block takes `message` when all of it is announced and asked for. Each packet has the path MTU, but the last; it is
//! announced when the payload queue has room for it, and then its bytes are asked for, an access for each piece of a segment, of 4096
//! bytes at most. Packets that are acknowledged are cut, and neither announced nor asked for. A message of service RAW is one packet.
//! An RDMA read is one packet without payload, with the packets of its answer counted, 2^20 at most. A message that ends or parks is told
//! in one packet without `send`. If the VI stops being connected the message ends so at its next packet; if the head becomes stale it
//! ends there without a word. `hold` keeps the block between two packets, and `resting` says that it is there.
//!
//! Example: a send of 1500 bytes lies in one segment, and the path MTU is 1024. The block announces a packet of 1024 bytes and asks
//! for them, and then one of 476 bytes, whose access says that it ends the packet.
//!
//! Latency: 4 cycles from `message` to its first access. Throughput: 2 cycles for each access, 2 for each segment (3 for an empty one)
//! and 3 for each packet, skipped or not.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::descriptor::status;

use super::message::CheckedMessage;
use super::mark;
use super::owner::{OwnerNow, ReadsKnown};
use super::packet_count::ReadRest;
use super::room::RoomSource;
use crate::bus::{Access, Packet, SendHead};
use crate::prims::Number;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum CutStep {
    Between,
    Count,
    Address,
    Segment,
    Measure,
    Announce,
    Piece,
    Ask,
    Finish,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Cut {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the message under way.
    pub reset: Signal<In, bool>,
    /// A message to cut, from check; while it is not valid, what is known of the next one.
    pub message: Sink<CheckedMessage>,
    /// The message's head, from the inbox.
    pub head: Signal<In, SendHead>,
    /// What is true of the message's VI.
    pub now: Signal<In, OwnerNow>,
    /// Of a read: what is left of it.
    pub rest: Signal<In, ReadRest>,
    /// `rest` is the message's.
    pub counted: Signal<In, bool>,
    /// To the owner: a read was sent, or the VI is parked.
    pub count: FlowSource<ReadsKnown>,
    /// The word reader is to go on to the next word.
    pub step: Signal<Out, bool>,
    /// The word on show: the second one of a segment, when its first is in `late`.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before.
    pub late: Signal<In, Bits<64>>,
    /// The block must stay between two packets; the replier drives it.
    pub hold: Signal<In, bool>,
    /// The block is between two packets of a message.
    pub resting: Signal<Out, bool>,
    /// A read of payload, for the protection checker.
    pub access: Source<Access>,
    /// A packet that is announced, or the end of a message.
    pub packet: Source<Packet>,
    /// Takes room for a packet's payload.
    pub claim: RoomSource,
    at: DFF<CutStep>,
    /// `access` is offered; high in `Ask`, unless the packet is skipped.
    asks: DFF<bool>,
    /// Bytes of the message in no packet yet.
    left: DFF<Bits<32>>,
    /// Packets still to skip.
    skip: DFF<Bits<24>>,
    first: DFF<bool>,
    last: DFF<bool>,
    /// No packet of the head has been announced.
    fresh: DFF<bool>,
    /// In the midst of a packet: the next segment goes on with it.
    midway: DFF<bool>,
    address: DFF<Bits<64>>,
    region: DFF<Bits<16>>,
    key: DFF<Bits<16>>,
    /// Bytes of the segment not asked for.
    segment_left: DFF<Bits<32>>,
    /// Bytes of the packet not asked for.
    packet_left: DFF<Bits<13>>,
    /// Words of payload of the packet.
    words: DFF<Bits<10>>,
    /// Bytes of the access.
    piece: DFF<Bits<13>>,
    ends_segment: DFF<bool>,
    ends_packet: DFF<bool>,
    /// Error bits of the status, if the message ends in its midst.
    errors: DFF<Bits<9>>,
    /// `left` was not 0 in the cycle before; likewise the two below.
    left_any: DFF<bool>,
    packet_any: DFF<bool>,
    skips: DFF<bool>,
    word_now: Signal<Local, Bits<64>>,
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    mtu: Signal<Local, Bits<13>>,
    /// The message sends nothing.
    none: Signal<Local, bool>,
    /// The segment at hand has no bytes.
    empty: Signal<Local, bool>,
    left_low: Signal<Local, Bits<13>>,
    bytes_up: Signal<Local, Bits<13>>,
    fits: Signal<Local, bool>,
    segment_low: Signal<Local, Bits<13>>,
    /// The segment goes on behind the packet, or ends with it.
    longer: Signal<Local, bool>,
    same: Signal<Local, bool>,
    /// More than 4096 bytes of a segment are in one packet.
    cuts: Signal<Local, bool>,
    moved: Signal<Local, Bits<64>>,
    segment_after: Signal<Local, Bits<32>>,
    packet_after: Signal<Local, Bits<13>>,
    left_after: Signal<Local, Bits<32>>,
    skip_after: Signal<Local, Bits<24>>,
    announced: Signal<Local, bool>,
    asked: Signal<Local, bool>,
    largest_piece: Number<13, 4096>,
    goes_on: Number<8, { mark::GOES_ON }>,
    ends_mark: Number<8, { mark::ENDS }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for Cut {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, asks, left, skip, first, last, fresh, midway, address, region, key);
        dff_setup!(self, clock, segment_left, packet_left, words, piece, ends_segment, ends_packet, errors);
        dff_setup!(self, clock, left_any, packet_any, skips);

        self.word_now.next = self.word.val();
        self.low.next = self.word_now.val().get_bits::<32>(0);
        self.high.next = self.word_now.val().get_bits::<32>(32);
        self.mtu.next = self.message.data.val().mtu;
        self.none.next = self.message.data.val().ends | self.message.data.val().parks;
        self.left_any.d.next = self.left.q.val().any();
        self.packet_any.d.next = self.packet_left.q.val().any();
        self.skips.d.next = self.skip.q.val().any();
        self.empty.next = !self.segment_left.q.val().any();
        // Against 13 bits: carry chains as long as that, not as long as the counters.
        self.left_low.next = self.left.q.val().get_bits::<13>(0);
        self.fits.next =
            !self.left.q.val().get_bits::<19>(13).any() & (self.left_low.val() <= self.mtu.val());
        self.segment_low.next = self.segment_left.q.val().get_bits::<13>(0);
        self.longer.next = self.segment_left.q.val().get_bits::<19>(13).any()
            | (self.segment_low.val() > self.packet_left.q.val());
        self.same.next = !self.segment_left.q.val().get_bits::<19>(13).any()
            & (self.segment_low.val() == self.packet_left.q.val());
        self.cuts.next = self.packet_left.q.val().get_bit(12)
            & self.packet_left.q.val().get_bits::<12>(0).any()
            & (self.segment_left.q.val().get_bits::<19>(13).any()
                | (self.segment_low.val() > self.largest_piece.val()));
        self.moved.next = self.address.q.val() + bit_cast::<64, 13>(self.piece.q.val());
        self.segment_after.next = self.segment_left.q.val() - bit_cast::<32, 13>(self.piece.q.val());
        self.packet_after.next = self.packet_left.q.val() - self.piece.q.val();
        self.left_after.next = self.left.q.val() - bit_cast::<32, 13>(self.packet_left.q.val());
        self.bytes_up.next = self.left_low.val() + bits::<13>(7);
        self.skip_after.next = self.skip.q.val() - 1;

        self.resting.next = (self.at.q.val() == CutStep::Between)
            & self.message.valid.val()
            & !self.none.val()
            & !self.message.data.val().reads;
        self.step.next = (self.at.q.val() == CutStep::Address) | (self.at.q.val() == CutStep::Segment);
        self.message.ready.next = false;
        self.packet.valid.next = false;
        self.claim.words.next = self.words.q.val();
        self.claim.take.next = false;
        self.count.valid.next = false;
        self.count.data.next.sent = self.now.val().sent + 1;
        self.count.data.next.parked = false;
        if self.message.data.val().parks {
            self.count.data.next.sent = self.now.val().sent;
            self.count.data.next.parked = true;
        }
        self.announced.next =
            self.skips.q.val() | (self.now.val().connected & self.claim.room.val() & self.packet.ready.val());
        self.asked.next = self.access.ready.val() | self.skips.q.val();

        match self.at.q.val() {
            CutStep::Between => {
                // WIRE-2: every packet has the path MTU, but the last.
                self.packet_left.d.next = self.mtu.val();
                self.words.d.next = self.mtu.val().get_bits::<10>(3);
                if self.fits.val() {
                    self.words.d.next = self.bytes_up.val().get_bits::<10>(3);
                    self.packet_left.d.next = bit_cast::<13, 32>(self.left.q.val());
                }
                self.last.d.next = self.fits.val();
                if !self.message.valid.val() {
                    // The next message may be there in the next cycle.
                    self.errors.d.next = bits::<9>(0);
                    self.left.d.next = self.message.data.val().length;
                    self.skip.d.next = self.message.data.val().skip;
                    self.first.d.next = true;
                    self.fresh.d.next = true;
                    self.midway.d.next = false;
                    self.address.d.next = self.late.val();
                    self.region.d.next = self.low.val().get_bits::<16>(0);
                    self.key.d.next = self.low.val().get_bits::<16>(16);
                    self.segment_left.d.next = self.high.val();
                } else if self.none.val() {
                    self.packet.valid.next = true;
                    if self.packet.ready.val() {
                        self.count.valid.next = self.message.data.val().parks;
                        self.message.ready.next = true;
                    }
                } else if self.message.data.val().reads {
                    self.packet_left.d.next = bits::<13>(0);
                    self.words.d.next = bits::<10>(0);
                    self.skip.d.next = bits::<24>(0);
                    self.last.d.next = true;
                    self.at.d.next = CutStep::Count;
                } else if !self.hold.val() {
                    self.at.d.next = CutStep::Measure;
                    if self.empty.val() & self.left_any.q.val() {
                        self.at.d.next = CutStep::Address;
                    }
                }
            }
            CutStep::Count => {
                if self.counted.val() {
                    self.at.d.next = CutStep::Measure;
                }
            }
            CutStep::Address => {
                self.at.d.next = CutStep::Segment;
            }
            CutStep::Segment => {
                self.address.d.next = self.late.val();
                self.region.d.next = self.low.val().get_bits::<16>(0);
                self.key.d.next = self.low.val().get_bits::<16>(16);
                self.segment_left.d.next = self.high.val();
                self.at.d.next = CutStep::Between;
                if self.midway.q.val() {
                    self.at.d.next = CutStep::Piece;
                }
            }
            CutStep::Measure => {
                // The payload queue looks for room.
                self.at.d.next = CutStep::Announce;
                if self.rest.val().shrunk {
                    self.errors.d.next = self.transport.val();
                    self.at.d.next = CutStep::Finish;
                } else if self.rest.val().many {
                    // REQ-1: a read has 2^20 PSNs at most.
                    self.errors.d.next = self.length_error.val();
                    self.at.d.next = CutStep::Finish;
                }
            }
            CutStep::Announce => {
                self.packet.valid.next = self.now.val().connected
                    & self.claim.room.val()
                    & !self.now.val().stale
                    & !self.skips.q.val();
                if self.announced.val() {
                    self.count.valid.next = self.message.data.val().reads & !self.now.val().stale;
                    self.claim.take.next =
                        self.packet_any.q.val() & !self.now.val().stale & !self.skips.q.val();
                    self.first.d.next = false;
                    self.fresh.d.next = self.skips.q.val();
                    self.left.d.next = self.left_after.val();
                    self.at.d.next = CutStep::Piece;
                    if !self.packet_any.q.val() {
                        self.message.ready.next = true;
                        self.at.d.next = CutStep::Between;
                        if self.skips.q.val() {
                            self.message.ready.next = false;
                            self.errors.d.next = self.transport.val();
                            self.at.d.next = CutStep::Finish;
                        }
                    }
                }
                if !self.now.val().connected {
                    self.errors.d.next = self.flushed.val();
                    self.at.d.next = CutStep::Finish;
                }
                if self.now.val().stale {
                    self.message.ready.next = true;
                    self.at.d.next = CutStep::Between;
                }
            }
            CutStep::Piece => {
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
                self.at.d.next = CutStep::Ask;
                self.asks.d.next = !self.skips.q.val();
                if self.empty.val() {
                    self.asks.d.next = false;
                    self.at.d.next = CutStep::Address;
                }
            }
            CutStep::Ask => {
                if self.asked.val() {
                    self.asks.d.next = false;
                    self.address.d.next = self.moved.val();
                    self.segment_left.d.next = self.segment_after.val();
                    self.packet_left.d.next = self.packet_after.val();
                    self.midway.d.next = !self.ends_packet.q.val();
                    self.at.d.next = CutStep::Between;
                    if self.ends_segment.q.val() {
                        self.at.d.next = CutStep::Address;
                    } else if !self.ends_packet.q.val() {
                        self.at.d.next = CutStep::Piece;
                    }
                    if self.ends_packet.q.val() & !self.left_any.q.val() {
                        self.message.ready.next = true;
                        self.at.d.next = CutStep::Between;
                        if self.skips.q.val() {
                            // The message was longer before.
                            self.message.ready.next = false;
                            self.errors.d.next = self.transport.val();
                            self.at.d.next = CutStep::Finish;
                        }
                    }
                    if self.ends_packet.q.val() & self.skips.q.val() {
                        self.skip.d.next = self.skip_after.val();
                    }
                }
            }
            CutStep::Finish => {
                self.packet.valid.next = true;
                if self.packet.ready.val() {
                    self.message.ready.next = true;
                    self.at.d.next = CutStep::Between;
                }
            }
            _ => {
                self.at.d.next = CutStep::Between;
            }
        }

        self.access.valid.next = self.asks.q.val();
        self.access.data.next.address = self.address.q.val();
        self.access.data.next.span = bits::<32>(0);
        self.access.data.next.length = self.piece.q.val();
        self.access.data.next.region = self.region.q.val();
        self.access.data.next.key = self.key.q.val();
        self.access.data.next.tag = self.message.data.val().tag;
        self.access.data.next.by_offset = false;
        self.access.data.next.system = false;
        self.access.data.next.write = false;
        self.access.data.next.clip = false;
        // Nobody's but our own: a span is not looked at.
        self.access.data.next.remote = bits::<2>(0);
        self.access.data.next.user = self.goes_on.val();
        if self.ends_packet.q.val() {
            self.access.data.next.user = self.ends_mark.val();
        }

        self.packet.data.next.vi = self.head.val().vi;
        self.packet.data.next.send = self.at.q.val() == CutStep::Announce;
        self.packet.data.next.first = self.first.q.val();
        self.packet.data.next.last =
            self.last.q.val() | (self.at.q.val() == CutStep::Finish) | self.none.val();
        self.packet.data.next.length = self.packet_left.q.val();
        self.packet.data.next.has_immediate =
            self.message.data.val().has_immediate & self.last.q.val() & !self.message.data.val().reads;
        self.packet.data.next.immediate = self.message.data.val().immediate;
        if self.message.data.val().reads {
            self.packet.data.next.immediate = self.rest.val().bytes;
        }
        self.packet.data.next.region = self.head.val().region;
        self.packet.data.next.offset = self.head.val().offset;
        self.packet.data.next.message_length = self.message.data.val().length;
        self.packet.data.next.errors = self.message.data.val().errors | self.errors.q.val();
        self.packet.data.next.lost = self.head.val().lost;
        self.packet.data.next.epoch = self.head.val().epoch;
        self.packet.data.next.restart = self.head.val().restart & self.fresh.q.val();
        self.packet.data.next.psn = self.head.val().psn;
        self.packet.data.next.operation = self.message.data.val().operation;
        self.packet.data.next.remote_address = self.rest.val().address;
        self.packet.data.next.rkey = self.message.data.val().rkey;
        self.packet.data.next.beyond = bit_cast::<24, 20>(self.rest.val().beyond);
        self.packet.data.next.segments = self.message.data.val().segments;
        self.packet.data.next.number = self.now.val().sent;
        self.packet.data.next.parked = self.message.data.val().parks;
        if self.message.data.val().parks {
            self.packet.data.next.number = self.message.data.val().complete;
        }
        self.packet.data.next.reply = false;
        self.packet.data.next.unread = self.message.data.val().unread;
        if self.reset.val() {
            self.at.d.next = CutStep::Between;
            self.asks.d.next = false;
        }
    }
}
