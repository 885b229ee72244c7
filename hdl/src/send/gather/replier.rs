//! Makes a packet of the answer to a peer's read, between two packets of our own: an access for each part of it.
//!
//! ```text
//!           reply ──►┌─────────┐──► access
//!  resting, wants ──►│ Replier │──► hold, active                   (cut rests)
//!             row ──►│         │──► read_row
//!    packet_ready ──►│ Packet- │──► packet_valid, announces_packet, aeth
//!                    │ Part    │◄─► claim
//!                    └─────────┘
//! ```
//! Contract: the block begins when cut rests and has had its turn since the last reply. `hold` asks cut to rest, and then
//! holds it where it is until the packet is announced and its bytes are asked for; `reply.ready` says so. `hold` does not depend on
//! `resting`, so that none of cut's paths comes back to it. `active` is high from `read_row` on.
//!
//! Example: `reply` offers a packet of 1024 bytes while cut rests. The block reads the VI's GATHER row for its tag, announces
//! the packet, reserves 128 words, and asks `access` for 1024 bytes; then it takes the reply.
//!
//! Latency: 5 cycles from a reply to its first access, 4 from that to the next one.
//!
//! Tests: with the whole of gather, `tests/send/gather/replies.rs`.

use crate::stream::{Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::syndrome;

use super::mark;
use super::packet_part::PacketPart;
use super::room::RoomSource;
use crate::bus::{remote, Access, Reply};
use crate::prims::{Cast, Number};
use crate::rows::handle::MemoryHandle;
use crate::rows::tables::GatherRow;
use crate::rows::wire::Aeth;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum ReplierStep {
    Idle,
    Row,
    Measure,
    Announce,
    Ask,
    Part,
    Claim,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Replier {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops the reply under way.
    pub reset: Signal<In, bool>,
    /// A packet of the answer to a peer's read, from reply/requests.
    pub reply: Sink<Reply>,
    /// Cut is between two packets, or no descriptor is being worked on; gather drives it.
    pub resting: Signal<In, bool>,
    /// Cut has work, so it should have a turn before the next reply; gather drives it.
    pub wants: Signal<In, bool>,
    /// Cut must stay between two packets.
    pub hold: Signal<Out, bool>,
    /// A reply is being made; the ports that cut and the replier share are the replier's.
    pub active: Signal<Out, bool>,
    /// The GATHER row of the reply's VI is to be read.
    pub read_row: Signal<Out, bool>,
    /// The GATHER row, from the inbox, a cycle after `read_row`.
    pub row: Signal<In, Bits<64>>,
    /// A read of the bytes of a part of the packet, which `protect` checks.
    pub access: Source<Access>,
    /// The packet is announced: the reply's fields and `aeth`.
    pub packet_valid: Signal<Out, bool>,
    /// The packet's fields are on show, whether or not there is room for its payload.
    pub announces_packet: Signal<Out, bool>,
    /// AETH of the packet; the other fields of the packet are those of `reply`.
    pub aeth: Signal<Out, Bits<32>>,
    /// The queue of packets takes the packet; that queue, which gather has, drives it.
    pub packet_ready: Signal<In, bool>,
    /// Takes room for the packet's payload, part by part.
    pub claim: RoomSource,
    step: DFF<ReplierStep>,
    /// `access` is offered, from the first cycle of `Ask` on.
    asks: DFF<bool>,
    tag: DFF<Bits<16>>,
    part: PacketPart,
    /// Bytes of the part at hand.
    bytes: DFF<Bits<13>>,
    /// The part at hand is the packet's second.
    second: DFF<bool>,
    /// Cut has not moved since the last reply, so no new one begins.
    waits: DFF<bool>,
    /// `wants` in the cycle before: cut waits for the replier in this one.
    wanted: DFF<bool>,
    length: Signal<Local, Bits<13>>,
    /// Words of the packet, times 8, and likewise of its part at hand.
    words: Signal<Local, Bits<13>>,
    part_words: Signal<Local, Bits<13>>,
    address: Signal<Local, Bits<64>>,
    span: Signal<Local, Bits<32>>,
    /// The number of 2048-byte steps to the part at hand.
    steps: Signal<Local, Bits<1>>,
    high: Signal<Local, Bits<53>>,
    span_high: Signal<Local, Bits<21>>,
    rkey: Cast<Bits<32>, MemoryHandle>,
    gather_row: Cast<Bits<64>, GatherRow>,
    acknowledges: Signal<Local, Aeth>,
    aeth_bits: Cast<Aeth, Bits<32>>,
    claims: Signal<Local, bool>,
    starts: Signal<Local, bool>,
    announces: Signal<Local, bool>,
    ends_packet: Number<8, { mark::ENDS }>,
    goes_on: Number<8, { mark::GOES_ON }>,
    peer_reads: Number<2, { remote::READ }>,
    positive: Number<8, { syndrome::ACK as u64 }>,
}

impl Logic for Replier {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, asks, tag, bytes, second, waits, wanted);
        clock!(self, clock, part);
        drive!(self, reply.data.val().length => length, part.packet.data; reply.data.val().rkey => rkey.from;
            row => gather_row.from; reply.data.val().address => address; reply.data.val().span => span);
        self.words.next = self.length.val() + bits::<13>(7);
        self.part_words.next = self.bytes.q.val() + bits::<13>(7);
        self.claim.packet.next = self.words.val().get_bits::<10>(3);
        self.claim.words.next = self.part_words.val().get_bits::<10>(3);
        self.part.packet.valid.next = self.step.q.val() == ReplierStep::Row;
        self.part.moves.next = self.step.q.val() == ReplierStep::Part;
        if self.part.packet.valid.val() | self.part.moves.val() {
            self.bytes.d.next = self.part.part.val();
            self.second.d.next = self.part.moves.val();
        }
        self.claims.next = (self.step.q.val() == ReplierStep::Idle)
            & self.reply.valid.val()
            & !(self.waits.q.val() & self.wanted.q.val());
        self.starts.next = self.claims.val() & self.resting.val();
        self.wanted.d.next = self.wants.val();
        self.active.next = self.step.q.val() != ReplierStep::Idle;
        self.hold.next = self.claims.val() | (self.step.q.val() != ReplierStep::Idle);
        self.read_row.next = self.step.q.val() == ReplierStep::Row;
        if !self.resting.val() {
            self.waits.d.next = false;
        }

        // `access.ready` comes late in its cycle, so it ends `asks`, and nothing else: the block goes on a cycle later.
        drive!(self, asks.q => access.valid);
        if self.access.ready.val() {
            self.asks.d.next = false;
        }
        fill!(self, access.data, address => address; span => span; bytes.q => length;
            rkey.to.val().index => region; rkey.to.val().key => key;
            tag.q => tag; false => by_offset, system, write, clip; peer_reads => remote; ends_packet => user);
        // The second part is 2048 bytes behind the first.
        self.steps.next = bits::<1>(0);
        if self.second.q.val() {
            self.steps.next = bits::<1>(1);
        }
        self.high.next = self.address.val().get_bits::<53>(11) + bit_cast::<53, 1>(self.steps.val());
        self.span_high.next = self.span.val().get_bits::<21>(11) - bit_cast::<21, 1>(self.steps.val());
        self.access.data.next.address = (bit_cast::<64, 53>(self.high.val()) << bits::<4>(11))
            | bit_cast::<64, 11>(self.address.val().get_bits::<11>(0));
        self.access.data.next.span = (bit_cast::<32, 21>(self.span_high.val()) << bits::<4>(11))
            | bit_cast::<32, 11>(self.span.val().get_bits::<11>(0));
        if self.part.more.val() {
            self.access.data.next.user = self.goes_on.val();
        }

        self.acknowledges.next.msn = self.reply.data.val().msn;
        self.acknowledges.next.syndrome = self.positive.val();
        drive!(self, acknowledges => aeth_bits.from; aeth_bits.to => aeth);
        self.announces_packet.next = self.step.q.val() == ReplierStep::Announce;
        self.packet_valid.next = (self.step.q.val() == ReplierStep::Announce) & self.claim.room.val();
        self.announces.next = self.packet_ready.val() & self.claim.room.val();
        drive!(self, false => claim.take, claim.opens);
        self.reply.ready.next = false;

        match self.step.q.val() {
            ReplierStep::Idle => {
                if self.starts.val() {
                    self.step.d.next = ReplierStep::Row;
                }
            }
            ReplierStep::Row => {
                self.step.d.next = ReplierStep::Measure;
            }
            ReplierStep::Measure => {
                self.tag.d.next = self.gather_row.to.val().tag;
                self.step.d.next = ReplierStep::Announce;
            }
            ReplierStep::Announce => {
                if self.announces.val() {
                    self.claim.take.next = self.length.val().any();
                    self.claim.opens.next = self.length.val().any();
                    self.asks.d.next = self.length.val().any();
                    self.step.d.next = ReplierStep::Ask;
                    if !self.length.val().any() {
                        self.reply.ready.next = true;
                        self.step.d.next = ReplierStep::Idle;
                    }
                }
            }
            ReplierStep::Ask => {
                if !self.asks.q.val() & self.part.more.val() {
                    self.step.d.next = ReplierStep::Part;
                } else if !self.asks.q.val() {
                    self.reply.ready.next = true;
                    self.step.d.next = ReplierStep::Idle;
                }
            }
            ReplierStep::Part => {
                self.step.d.next = ReplierStep::Claim;
            }
            ReplierStep::Claim => {
                if self.claim.room.val() {
                    self.claim.take.next = true;
                    self.asks.d.next = true;
                    self.step.d.next = ReplierStep::Ask;
                }
            }
            _ => {
                self.step.d.next = ReplierStep::Idle;
            }
        }
        if self.reply.ready.val() {
            self.waits.d.next = true;
        }
        if self.reset.val() {
            self.step.d.next = ReplierStep::Idle;
            self.asks.d.next = false;
            self.waits.d.next = false;
        }
    }
}
