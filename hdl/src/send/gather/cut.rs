//! Cuts a checked message into packets, walks its segments, and asks for the bytes of each packet.
//!
//! ```text
//!           message, head ──►┌────────────────────────────┐──► packet
//!                prepares ──►│                            │
//!      now, rest, counted ──►│ MessageRest ──► PacketLabel│──► access
//!              word, late ──►│  └─► PacketPart            │──► step, count
//!                    hold ──►│        └─► SegmentCursor   │──► resting, claim
//!                            └────────────────────────────┘
//! ```
//! Contract: the block takes `message` when all of it is announced and asked for. Each packet has the path MTU, but the last; it is
//! announced when the payload queue has room for its first part ([`PacketPart`]), and then its bytes are asked for part by part, as there is
//! room, an access for each piece of a segment. Packets that are acknowledged are cut, and neither announced nor asked for. A message of service RAW is one packet. An
//! RDMA read is one packet without payload; it says how many packets its answer has, 2^20 at most. A message that ends or parks is told
//! in one packet without `send`. If the VI stops being connected the message ends in the same way at its next packet; if the head becomes
//! stale it ends there and nobody is told. `hold` keeps the block between two packets, and `resting` says that it is there.
//!
//! Example: a send of 1500 bytes lies in one segment, and the path MTU is 1024. The block announces a packet of 1024 bytes and asks
//! for them, and then one of 476 bytes, whose access says that it ends the packet.
//!
//! Latency: 2 cycles from `message` to its first access. Throughput: 3 cycles for each access, 2 for each segment (3 for an empty one),
//! 1 more for each packet, skipped or not, and for each further part of it; 4 from one part's access to the next one's.
//!
//! Tests: alone `tests/send/gather/latency.rs`; with the whole of gather the others there.

use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::status;

use super::mark;
use super::message::CheckedMessage;
use super::message_rest::MessageRest;
use super::owner::{OwnerNow, ReadsKnown};
use super::packet_count::ReadRest;
use super::packet_label::PacketLabel;
use super::packet_part::PacketPart;
use super::room::RoomSource;
use super::segment_cursor::SegmentCursor;
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
    Part,
    Claim,
    Finish,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Cut {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the message under way.
    pub reset: Signal<In, bool>,
    /// A message to cut, from check; while it is not valid, its data is what is known of the next one.
    pub message: Sink<CheckedMessage>,
    /// No message is offered: the inverse of `message.valid`, from a register of its own in check.
    pub prepares: Signal<In, bool>,
    /// The message's head, from the inbox.
    pub head: Signal<In, SendHead>,
    /// State and reads of the message's VI, and whether its head is stale, from the owner.
    pub now: Signal<In, OwnerNow>,
    /// The part of a read that is still to be read, from the packet count.
    pub rest: Signal<In, ReadRest>,
    /// `rest` is that of the message at hand; the packet count drives both.
    pub counted: Signal<In, bool>,
    /// To the owner: a read was sent, or the VI is parked.
    pub count: FlowSource<ReadsKnown>,
    /// The word reader is to go on to the next word.
    pub step: Signal<Out, bool>,
    /// The word on show: the second one of a segment, when its first is in `late`; from the word reader.
    pub word: Signal<In, Bits<64>>,
    /// The word that was on show in the cycle before, from the word reader.
    pub late: Signal<In, Bits<64>>,
    /// The block must stay between two packets; the replier drives it.
    pub hold: Signal<In, bool>,
    /// The block is between two packets of a message.
    pub resting: Signal<Out, bool>,
    /// A read of payload, which `protect` checks.
    pub access: Source<Access>,
    /// A packet that is announced, or the end of a message, for send/transmit.
    pub packet: Source<Packet>,
    /// Takes room for a packet's payload, part by part.
    pub claim: RoomSource,
    at: DFF<CutStep>,
    message_rest: MessageRest,
    part: PacketPart,
    cursor: SegmentCursor,
    label: PacketLabel,
    /// `access` is offered, from the first cycle of `Ask` on, unless the packet is skipped.
    asks: DFF<bool>,
    /// In the midst of a packet: the next segment goes on with it.
    midway: DFF<bool>,
    /// Error bits of the status, if the message ends in its midst.
    errors: DFF<Bits<9>>,
    /// Cut is between two packets, or between two messages.
    between: Signal<Local, bool>,
    /// The message sends nothing.
    none: Signal<Local, bool>,
    /// Packets are still to be skipped.
    skips: Signal<Local, bool>,
    announced: Signal<Local, bool>,
    asked: Signal<Local, bool>,
    /// The packet ends with the piece.
    ends_packet: Signal<Local, bool>,
    part_words: Signal<Local, Bits<13>>,
    /// The next piece is taken out of segment and part, or the next segment, if nothing is left of this one.
    begins_piece: Signal<Local, bool>,
    /// The packet that is announced takes room for its first part.
    opens: Signal<Local, bool>,
    goes_on: Number<8, { mark::GOES_ON }>,
    ends_mark: Number<8, { mark::ENDS }>,
    length_error: Number<9, { status::LENGTH_ERROR as u64 }>,
    flushed: Number<9, { status::DESC_FLUSHED_ERROR as u64 }>,
    transport: Number<9, { status::TRANSPORT_ERROR as u64 }>,
}

impl Logic for Cut {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, at, asks, midway, errors);
        clock!(self, clock, message_rest, part, cursor);
        self.between.next = self.at.q.val() == CutStep::Between;
        self.none.next = self.message.data.val().ends | self.message.data.val().parks;
        self.skips.next = self.message_rest.skips.val();
        self.announced.next =
            self.skips.val() | (self.now.val().connected & self.claim.room.val() & self.packet.ready.val());
        // `access.ready` comes late in its cycle, so it ends `asks`, and nothing else: the block goes on a cycle later.
        self.asked.next = !self.asks.q.val();
        if self.access.ready.val() {
            self.asks.d.next = false;
        }

        // The rest of the message, of the packet, and of its part and the segment.
        drive!(self, message.valid => message_rest.message.valid; message.data => message_rest.message.data;
            between => message_rest.between, part.packet.valid; part.bytes => message_rest.bytes;
            message_rest.size => part.packet.data; part.part => cursor.part.data;
            word => cursor.word; late => cursor.late);
        self.message_rest.reading.next =
            self.message.valid.val() & !self.none.val() & self.message.data.val().reads;
        self.message_rest.announced.next = (self.at.q.val() == CutStep::Announce) & self.announced.val();
        self.cursor.opens.next =
            (self.between.val() & self.prepares.val()) | (self.at.q.val() == CutStep::Segment);
        if self.message_rest.reading.val() {
            self.part.packet.data.next = bits::<13>(0);
        }
        self.part.moves.next = self.at.q.val() == CutStep::Part;
        self.cursor.part.valid.next = self.between.val() | self.part.moves.val();
        self.cursor.measures.next = (self.at.q.val() == CutStep::Announce)
            | (self.at.q.val() == CutStep::Piece)
            | (self.at.q.val() == CutStep::Claim);
        self.cursor.moves.next = (self.at.q.val() == CutStep::Ask) & self.asked.val();
        self.ends_packet.next = self.cursor.piece.val().ends_part & !self.part.more.val();
        self.message_rest.skipped.next = self.cursor.moves.val() & self.ends_packet.val() & self.skips.val();
        self.part_words.next = self.cursor.bytes.val() + bits::<13>(7);
        self.claim.words.next = self.part_words.val().get_bits::<10>(3);

        self.opens.next = self.cursor.some.val() & !self.now.val().stale & !self.skips.val();

        self.resting.next =
            self.between.val() & self.message.valid.val() & !self.none.val() & !self.message.data.val().reads;
        self.step.next = (self.at.q.val() == CutStep::Address) | (self.at.q.val() == CutStep::Segment);
        drive!(self, false => message.ready, packet.valid, claim.take, claim.opens, count.valid, begins_piece;
            message_rest.words => claim.packet);
        self.count.data.next.sent = self.now.val().sent + 1;
        self.count.data.next.parked = false;
        if self.message.data.val().parks {
            self.count.data.next.sent = self.now.val().sent;
            self.count.data.next.parked = true;
        }

        match self.at.q.val() {
            CutStep::Between => {
                if !self.message.valid.val() {
                    // The next message may be there in the next cycle.
                    self.errors.d.next = bits::<9>(0);
                    self.midway.d.next = false;
                } else if self.none.val() {
                    self.packet.valid.next = true;
                    if self.packet.ready.val() {
                        self.count.valid.next = self.message.data.val().parks;
                        self.message.ready.next = true;
                    }
                } else if self.message.data.val().reads {
                    self.at.d.next = CutStep::Count;
                } else if !self.hold.val() {
                    self.at.d.next = CutStep::Announce;
                    if self.cursor.empty.val() & self.message_rest.more.val() {
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
                self.at.d.next = CutStep::Between;
                if self.midway.q.val() {
                    self.at.d.next = CutStep::Piece;
                }
            }
            CutStep::Measure => {
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
                    & !self.skips.val();
                if self.announced.val() {
                    self.count.valid.next = self.message.data.val().reads & !self.now.val().stale;
                    drive!(self, opens => claim.take, claim.opens);
                    self.begins_piece.next = self.now.val().connected & !self.now.val().stale;
                    if !self.cursor.some.val() {
                        self.begins_piece.next = false;
                        self.message.ready.next = true;
                        self.at.d.next = CutStep::Between;
                        if self.skips.val() {
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
                self.begins_piece.next = true;
            }
            CutStep::Ask => {
                if self.asked.val() {
                    self.midway.d.next = !self.ends_packet.val();
                    self.at.d.next = CutStep::Between;
                    if self.cursor.piece.val().ends_part & self.part.more.val() {
                        self.at.d.next = CutStep::Part;
                    } else if self.cursor.piece.val().ends_segment {
                        self.at.d.next = CutStep::Address;
                    } else if !self.ends_packet.val() {
                        self.at.d.next = CutStep::Piece;
                    }
                    if self.ends_packet.val() & self.message_rest.place.val().last {
                        self.message.ready.next = true;
                        self.at.d.next = CutStep::Between;
                        if self.skips.val() {
                            // Packets are left to skip: the message was longer when it was sent first.
                            self.message.ready.next = false;
                            self.errors.d.next = self.transport.val();
                            self.at.d.next = CutStep::Finish;
                        }
                    }
                }
            }
            CutStep::Part => {
                self.at.d.next = CutStep::Claim;
            }
            CutStep::Claim => {
                if self.claim.room.val() | self.skips.val() {
                    self.claim.take.next = !self.skips.val();
                    self.begins_piece.next = true;
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
        if self.begins_piece.val() {
            self.midway.d.next = true;
            self.at.d.next = CutStep::Ask;
            self.asks.d.next = !self.skips.val();
            if self.cursor.empty.val() {
                self.asks.d.next = false;
                self.at.d.next = CutStep::Address;
            }
        }

        self.access.valid.next = self.asks.q.val();
        self.access.data.next.address = self.cursor.piece.val().address;
        self.access.data.next.span = bits::<32>(0);
        fill!(self, access.data, cursor.piece.val().bytes => length; cursor.piece.val().region => region;
            cursor.piece.val().key => key; message.data.val().tag => tag;
            false => by_offset, system, write, clip);
        // The access is our own, not a peer's, so nobody looks at its span.
        self.access.data.next.remote = bits::<2>(0);
        self.access.data.next.user = self.goes_on.val();
        if self.ends_packet.val() {
            self.access.data.next.user = self.ends_mark.val();
        }

        drive!(self, head => label.head; message.data => label.message; now => label.now; rest => label.rest;
            message_rest.place => label.place; part.bytes => label.bytes; errors.q => label.errors;
            label.packet => packet.data);
        self.label.announces.next = self.at.q.val() == CutStep::Announce;
        self.label.ends.next = (self.at.q.val() == CutStep::Finish) | self.none.val();
        if self.reset.val() {
            self.at.d.next = CutStep::Between;
            self.asks.d.next = false;
        }
    }
}
