//! Makes packets and their payload from send descriptors.
//!
//! ```text
//!   head, word ──►┌──────────────────────────────────────────┐──► access
//!   head_taken ◄──│ Inbox ──► Check ── message ──► Cut       │
//!       commit ──►│   │       ▲  │  └─► PacketCount ▲ └─► packets ──► packet
//! state, epoch ──►│   │ Owner ┘  │tail    WordReader┘         │
//!         beat ──►│   └──────► Tail       Payload ───────────│──► payload, whole
//!        reply ──►│ Replier                                  │◄─► reads
//!                 └──────────────────────────────────────────┘──► busy
//! ```
//! Contract:
//! - The block takes descriptors, and their packets leave, in order. A message whose descriptor is wrong, or whose VI is not connected
//!   when its turn comes, sends nothing: one `packet` without `send` says why. If a VI stops being connected in mid-message, the message
//!   ends at its next packet in the same way.
//! - A head of an epoch that is not its VI's is taken and gives no packet, or no more. The packets that a head says to skip are cut and
//!   not announced, and none of their bytes is asked for; a message that ends among them says so in one `packet` without `send`.
//! - Packets are announced before their payload is there: `whole` comes, once for each packet with payload and in order, when the last
//!   word has left for the payload queue. Its `refused` or `failed` says that bytes are missing; the words that are there end with `last`
//!   all the same (there is at least one).
//! - Accesses are asked for ahead of the data: room in the payload queue is taken before the accesses of each part of a packet, of 2048
//!   bytes at most, so the answers always find room.
//! - Packets of answers to peers' reads come between those of descriptors, in turn.
//! - A TRANSMIT row begins a VI anew: the block drops the VI's heads that wait and tells nobody, and takes the row when every packet that
//!   the VI had announced has been taken. No head of the VI comes behind that until its work queue is committed.
//!
//! Example: a head says a send of 8 bytes in one segment. 7 cycles later `access` asks for 8 bytes, and `packet` announces one packet.
//! When the bytes are there, `payload` gives one word, and `whole` comes.
//!
//! Latency: 7 cycles from a head to its first access. Throughput: a message of one packet and one segment every 8
//! cycles; otherwise as cut. A packet's payload is at the far side of the queue 6 cycles after its last beat.
//!
//! Tests: `tests/send/gather/`.

mod check;
mod check_steps;
mod cut;
mod descriptor_inbox;
mod extensions;
mod head_check;
mod last_packets;
mod length_check;
mod mark;
mod message;
mod message_judge;
mod message_rest;
mod owner;
mod packet_count;
mod packet_label;
mod packet_part;
mod payload;
mod read_gate;
mod replier;
mod room;
mod segment_cursor;
mod send_limits;
mod tail;
mod tail_place;
mod word_reader;

pub use check::Check;
pub use cut::Cut;
pub use head_check::{DescriptorRequest, HeadCheck, HeadFindings};
pub use length_check::{LengthCheck, LengthFaults};
pub use message::CheckedMessage;
pub use message_judge::{MessageJudge, MessageVerdict};
pub use message_rest::{MessageRest, PacketPlace};
pub use owner::{Owner, OwnerNow, ReadsKnown};
pub use packet_count::{PacketCount, ReadRest};
pub use word_reader::WordReader;

use crate::stream::{FlowSink, FlowSource, LookUp, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::table;

use crate::bus::{
    Access, Commit, EpochWrite, Packet, PayloadWord, ReadBeat, Reply, SendHead, StateWrite, Vi, Whole,
};
use crate::prims::{FifoSlice, Number};
use descriptor_inbox::DescriptorInbox;
use last_packets::LastPackets;
use payload::Payload;
use replier::Replier;
use tail::{Tail, TailEnd};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Gather {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all descriptors and packets.
    pub reset: Signal<In, bool>,
    /// A whole send descriptor, from fetch: where it lies, and how many of its words are there. The block has room for 8 at a time.
    pub head: FlowSink<SendHead>,
    /// A word of a descriptor's first 64 bytes, from fetch; it comes before its head or with it.
    pub word: FlowSink<Bits<64>>,
    /// Pulses when a head is done with, so there is room for one more; fetch listens.
    pub head_taken: Signal<Out, bool>,
    /// A table row, from `admin/broadcast`; the block takes the GATHER rows, and of the TRANSMIT rows the READ_DEPTH.
    pub commit: Sink<Commit>,
    /// The VI that changes its state in this cycle, and the new state, from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// The VI that changes its epoch in this cycle, and the new epoch, from complete/sends.
    pub epoch: FlowSink<EpochWrite>,
    /// A packet of the answer to a peer's read, from reply/requests.
    pub reply: Sink<Reply>,
    /// Asks complete/sends how many RDMA reads of a VI are complete, modulo 8.
    pub reads: LookUp<Vi, Bits<3>>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// A read of host memory, which `protect` checks: payload, or the segments beyond a descriptor's first 64 bytes.
    pub access: Source<Access>,
    /// A packet that is announced, or the end of a message, for send/transmit.
    pub packet: Source<Packet>,
    /// Up to eight bytes of payload, for send/transmit.
    pub payload: Source<PayloadWord>,
    /// Says that the next packet with payload has all of it in the payload queue, or that bytes are missing; for send/transmit.
    pub whole: Source<Whole>,
    /// Descriptors, packets or payload are held; `quiet` hears it.
    pub busy: Signal<Out, bool>,
    inbox: DescriptorInbox,
    owner: Owner,
    word_reader: WordReader,
    check: Check,
    packet_count: PacketCount,
    cut: Cut,
    replier: Replier,
    tail: Tail,
    payload_queue: Payload,
    packets: FifoSlice<Packet, 4, 5>,
    last_packets: LastPackets,
    /// A head was done with in the last cycle.
    taken: DFF<bool>,
    /// The head at hand is done with.
    done: Signal<Local, bool>,
    /// A TRANSMIT row waits to be taken.
    closes: Signal<Local, bool>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
}

impl Logic for Gather {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, taken);
        clock!(
            self,
            clock,
            inbox,
            owner,
            word_reader,
            check,
            packet_count,
            cut,
            replier,
            tail,
            payload_queue
        );
        clock!(self, clock, packets, last_packets);
        drive!(self, reset => inbox.reset, owner.reset, check.reset, cut.reset, replier.reset, tail.reset,
            payload_queue.reset, packets.reset, last_packets.reset);

        // Heads, and what is known of their VIs.
        FlowSink::<SendHead>::link(&mut self.head, &mut self.inbox.head);
        FlowSink::<Bits<64>>::link(&mut self.word, &mut self.inbox.word);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.owner.state);
        FlowSink::<EpochWrite>::link(&mut self.epoch, &mut self.owner.epoch);
        LookUp::<Vi, Bits<3>>::link(&mut self.reads, &mut self.owner.reads);
        join!(self, FlowSource<Bits<3>>, check.restart => owner.restart);
        join!(self, FlowSource<ReadsKnown>, cut.count => owner.count);
        drive!(self, inbox.current => owner.head, check.head, cut.head; inbox.outlived => owner.outlived;
            inbox.found => check.found; inbox.waits => check.waits; owner.now => check.now, cut.now; check.load => inbox.load;
            check.busy => inbox.held);
        self.done.next = self.check.drop.val() | self.cut.message.ready.val();
        drive!(self, done => inbox.free; taken.q => head_taken);
        self.taken.d.next = self.done.val();

        // Words of descriptors.
        join!(self, FlowSource<Bits<9>>, check.seek => word_reader.seek);
        drive!(self, check.tail.valid => tail.start; cut.step => word_reader.step; check.read_row => inbox.read_row;
            inbox.read_word => word_reader.head_word; word_reader.index => tail.index;
            tail.word => word_reader.tail_word; word_reader.word => cut.word;
            word_reader.late => check.late, cut.late);
        self.inbox.read_index.next = bit_cast::<3, 9>(self.word_reader.index.val());
        join!(self, FlowSource<Bits<32>>, tail.length => check.tail_length);
        join!(self, FlowSource<TailEnd>, tail.ended => check.tail_end);

        // Messages. What check says of one stands until cut is done with it.
        drive!(self, check.message.valid => cut.message.valid, packet_count.message.valid;
            check.message.data => cut.message.data, packet_count.message.data;
            check.prepares => cut.prepares; cut.message.ready => check.message.ready; packet_count.rest => cut.rest;
            packet_count.done => cut.counted);

        // A TRANSMIT row begins the VI anew. It is taken when transmit has all packets announced before it.
        self.closes.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.transmit_table.val());
        drive!(self, commit.valid => inbox.commit.valid; commit.data => inbox.commit.data, owner.row;
            closes => inbox.closes, owner.closes; packets.level => last_packets.level;
            packets.held => last_packets.held; packet.ready => last_packets.taken);
        self.last_packets.closed.next = self.closes.val() & self.inbox.closed.val();
        self.owner.opens.next = self.closes.val() & self.last_packets.passed.val();
        self.commit.ready.next = self.inbox.commit.ready.val();
        if self.closes.val() {
            self.commit.ready.next = self.last_packets.passed.val() & !self.owner.counting.val();
        }

        // Replies, between packets.
        Sink::<Reply>::link(&mut self.reply, &mut self.replier.reply);
        drive!(self, replier.read_row => inbox.reply_row;
            replier.hold => inbox.reply_waits, check.hold, cut.hold; reply.data.val().vi => inbox.reply_vi;
            inbox.read_word => replier.row);
        self.replier.resting.next = self.cut.resting.val() | !self.check.busy.val();
        self.replier.wants.next = self.inbox.waits.val() | self.check.busy.val();

        // Accesses: of check, of cut, or of the replier.
        self.access.valid.next =
            self.check.tail.valid.val() | self.cut.access.valid.val() | self.replier.access.valid.val();
        self.access.data.next = self.cut.access.data.val();
        if self.check.tail.valid.val() {
            self.access.data.next = self.check.tail.data.val();
        }
        if self.replier.access.valid.val() {
            self.access.data.next = self.replier.access.data.val();
        }
        // Only an access for a peer has a span.
        self.access.data.next.span = self.replier.access.data.val().span;
        drive!(self, access.ready => check.tail.ready, cut.access.ready, replier.access.ready);

        // Packets: of cut, or of the replier.
        self.packets.sink.valid.next = self.cut.packet.valid.val() | self.replier.packet_valid.val();
        self.packets.sink.data.next = self.cut.packet.data.val();
        if self.replier.announces_packet.val() {
            // The other fields stay cut's: of an answer transmit does not look at them.
            fill!(self, packets.sink.data, reply.data.val().vi => vi; true => send;
                reply.data.val().first => first; reply.data.val().last => last;
                reply.data.val().length => length);
            self.packets.sink.data.next.has_immediate =
                self.reply.data.val().first | self.reply.data.val().last;
            fill!(self, packets.sink.data, replier.aeth => immediate; false => restart;
                reply.data.val().psn => psn);
            self.packets.sink.data.next.operation = bits::<2>(0);
            self.packets.sink.data.next.reply = true;
        }
        drive!(self, packets.sink.ready => cut.packet.ready, replier.packet_ready);
        Source::<Packet>::link(&mut self.packet, &mut self.packets.source);

        // Payload.
        drive!(self, beat.valid => tail.beat.valid; beat.data => tail.beat.data;
            payload_queue.claim.room => cut.claim.room, replier.claim.room);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.payload_queue.beat);
        drive!(self, cut.claim.words => payload_queue.claim.words; cut.claim.packet => payload_queue.claim.packet);
        if self.replier.active.val() {
            self.payload_queue.claim.words.next = self.replier.claim.words.val();
            self.payload_queue.claim.packet.next = self.replier.claim.packet.val();
        }
        self.payload_queue.claim.opens.next = self.cut.claim.opens.val() | self.replier.claim.opens.val();
        self.payload_queue.claim.take.next = self.cut.claim.take.val() | self.replier.claim.take.val();
        Source::<PayloadWord>::link(&mut self.payload, &mut self.payload_queue.payload);
        Source::<Whole>::link(&mut self.whole, &mut self.payload_queue.whole);
        self.busy.next = self.replier.hold.val()
            | self.inbox.waits.val()
            | self.check.busy.val()
            | self.taken.q.val()
            | self.packets.held.val()
            | self.payload_queue.busy.val();
        if self.reset.val() {
            self.taken.d.next = false;
        }
    }
}
