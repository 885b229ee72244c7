//! Makes packets and their payload from send descriptors.
//!
//! ```text
//!   head, word ──►┌──────────────────────────────┐──► access
//!   head_taken ◄──│ Inbox ──► Walker ──► packets │──► packet
//!       commit ──►│             ▲ │              │
//! state, epoch ──►│        tail │ ▼ reserve      │──► payload
//!         beat ──►│           Payload            │──► whole
//!        reply ──►│ Replier                      │◄─► reads
//!                 └──────────────────────────────┘──► busy
//! ```
//! Contract: descriptors are taken and their packets leave in order. A message whose descriptor is wrong, or whose
//! VI is not connected when its turn comes, sends nothing: one `packet` without `send` says why. A VI that stops
//! being connected in mid-message ends it at the next packet in the same way. A head of an epoch that is not its VI's
//! is taken and gives nothing, or nothing more. The packets that a head says to skip are cut and not announced, and
//! none of their bytes is asked for; a message that ends among them says so in one `packet` without `send`. Packets are announced before
//! their payload is there: `whole` comes, once for each packet with payload and in order, when the last word has left for
//! the payload queue. Its `refused` or `failed` says that bytes are missing, and the words that are there end with
//! `last` all the same (there is at least one). Accesses are asked for ahead of the data: room in the payload queue is taken before a
//! packet's first access, so the answers are never refused. Packets of answers to peers' reads come between those of descriptors, in turn.
//!
//! A TRANSMIT row begins a VI anew: its heads that wait are done with without a word, and the row is taken when every packet
//! that the VI had announced has been taken. Until its work queue is committed behind that, no head of it comes.
//!
//! Example: a head says a send of 8 bytes in one segment. 13 cycles later `access` asks for 8 bytes, and `packet` announces one packet.
//! When the bytes are there, `payload` gives one word, and `whole` comes.
//!
//! Latency: 13 cycles from a head to its first access. Throughput: a message of one packet and one segment every 13
//! cycles; otherwise 2 cycles for each access, 2 for each segment (3 for an empty one) and 3 for each packet, skipped or
//! not. A packet's payload is at the far side of the queue 6 cycles after its last beat.
//!
//! Tests: `tests/send/gather/`.

mod inbox;
mod payload;
mod replier;
mod walker;

use crate::stream::{FlowSink, FlowSource, LookUp, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{table, transmit, vi_states};

const _: () = assert!(transmit::READ_DEPTH.lo == 28 && transmit::READ_DEPTH.width == 4);

use crate::bus::{
    Access, Commit, EpochWrite, Packet, PayloadWord, ReadBeat, Reply, SendHead, StateWrite, Vi, Whole,
};
use crate::prims::{FifoSlice, LutRam, Number};
use inbox::Inbox;
use payload::Payload;
use replier::Replier;
use walker::Walker;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Gather {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block drops all descriptors and packets.
    pub reset: Signal<In, bool>,
    /// A send descriptor, whole: where it lies, and how many of its words are there. There is room for 8 that are not done with.
    pub head: FlowSink<SendHead>,
    /// A word of a descriptor's first 64 bytes; it comes before its head or with it.
    pub word: FlowSink<Bits<64>>,
    /// Pulses when a head is done with, so there is room for one more; fetch listens.
    pub head_taken: Signal<Out, bool>,
    /// A table row on the bus; the block takes the GATHER rows, and of the TRANSMIT rows the READ_DEPTH.
    pub commit: Sink<Commit>,
    /// A VI changes its state: its number, and the new state.
    pub state: FlowSink<StateWrite>,
    /// A VI changes its epoch: its number, and the new epoch.
    pub epoch: FlowSink<EpochWrite>,
    /// A packet of the answer to a peer's read, from reply/requests.
    pub reply: Sink<Reply>,
    /// Asks complete/sends how many RDMA reads of a VI are complete, modulo 8.
    pub reads: LookUp<Vi, Bits<3>>,
    /// Eight bytes that a read brought, of any client; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// A read of host memory, for the checker: payload, or the segments beyond a descriptor's first 64 bytes.
    pub access: Source<Access>,
    /// A packet that is announced, or the end of a message.
    pub packet: Source<Packet>,
    /// Eight bytes of payload, for transmit.
    pub payload: Source<PayloadWord>,
    /// Says that the payload of the next packet that has any is all there, or that bytes of it are missing.
    pub whole: Source<Whole>,
    /// Descriptors, packets or payload are held.
    pub busy: Signal<Out, bool>,
    inbox: Inbox,
    walker: Walker,
    payload_queue: Payload,
    replier: Replier,
    /// A head was done with in the last cycle.
    taken: DFF<bool>,
    /// The walker gave a new number of reads in the cycle before.
    counting: DFF<bool>,
    count_vi: DFF<Vi>,
    count_value: DFF<Bits<4>>,
    /// For each VI: reads sent, modulo 8, and in bit 3 that the VI is parked.
    counts: LutRam<Bits<4>, { VI_LOG2 }>,
    /// For each VI: how many RDMA reads it may have outstanding.
    depths: LutRam<Bits<3>, { VI_LOG2 }>,
    row0: Signal<Local, Bits<64>>,
    depth: Signal<Local, Bits<4>>,
    opens: Signal<Local, bool>,
    closes: Signal<Local, bool>,
    takes_commit: Signal<Local, bool>,
    /// Packets that were announced before the VI was closed and are not taken, less one.
    behind: DFF<Bits<6>>,
    /// The VI was closed in the cycle before.
    is_closed: DFF<bool>,
    level: Signal<Local, Bits<5>>,
    /// All packets that the VI had announced have been taken.
    passed: Signal<Local, bool>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
    packets: FifoSlice<Packet, 4, 5>,
    states: LutRam<Bits<2>, { VI_LOG2 }>,
    epochs: LutRam<bool, { VI_LOG2 }>,
    vi: Signal<Local, Vi>,
    connected: Number<2, { vi_states::CONNECTED as u64 }>,
}

impl Logic for Gather {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, taken, counting, count_vi, count_value, behind, is_closed);
        clock!(self, clock, inbox, walker, payload_queue, replier, packets, states, epochs, counts, depths);
        self.replier.reset.next = self.reset.val();
        self.inbox.reset.next = self.reset.val();
        self.walker.reset.next = self.reset.val();
        self.payload_queue.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();

        FlowSink::<SendHead>::link(&mut self.head, &mut self.inbox.head);
        FlowSink::<Bits<64>>::link(&mut self.word, &mut self.inbox.word);
        self.inbox.load.next = self.walker.load.val();
        self.inbox.held.next = self.walker.busy.val();
        self.inbox.free.next = self.walker.head.ready.val();
        self.taken.d.next = self.walker.head.ready.val();
        self.head_taken.next = self.taken.q.val();
        self.inbox.read_index.next = self.walker.read_index.val().get_bits::<3>(0);
        self.inbox.read_row.next = self.walker.read_row.val();
        self.inbox.reply_row.next = self.replier.read_row.val();
        self.inbox.reply_waits.next = self.replier.hold.val();
        self.inbox.reply_vi.next = self.reply.data.val().vi;
        self.replier.row.next = self.inbox.read_word.val();
        self.walker.head.valid.next = self.inbox.waits.val();
        self.walker.head.data.next = self.inbox.current.val();
        self.walker.head_word.next = self.inbox.read_word.val();
        self.vi.next = self.inbox.current.val().vi;

        self.inbox.commit.valid.next = self.commit.valid.val();
        self.inbox.commit.data.next = self.commit.data.val();

        // A TRANSMIT row begins the VI anew. It goes on to those behind when what was announced before has gone on to them.
        self.closes.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.transmit_table.val());
        self.inbox.closes.next = self.closes.val();
        self.walker.outlived.next = self.inbox.outlived.val();
        self.level.next = self.packets.level.val();
        self.is_closed.d.next = self.closes.val() & self.inbox.closed.val();
        if !self.is_closed.q.val() {
            self.behind.d.next = bit_cast::<6, 5>(self.level.val());
        } else if self.packet.ready.val() & !self.behind.q.val().get_bit(5) {
            self.behind.d.next = self.behind.q.val() - 1;
        }
        self.passed.next =
            self.is_closed.q.val() & (self.behind.q.val().get_bit(5) | !self.packets.held.val());
        self.takes_commit.next = self.inbox.commit.ready.val();
        if self.closes.val() {
            self.takes_commit.next = self.passed.val() & !self.counting.q.val();
        }
        self.commit.ready.next = self.takes_commit.val();

        // Reads: how many each VI has sent, and may have outstanding. The walker decides late,
        // so its number waits a cycle in a register: two cycles before it can look at it.
        self.counting.d.next = self.walker.count_write.val();
        self.count_vi.d.next = self.vi.val();
        self.count_value.d.next = self.walker.count_next.val();
        self.opens.next = self.closes.val() & self.passed.val();
        self.counts.write_enable.next = self.counting.q.val() | self.opens.val();
        self.counts.write_address.next = self.count_vi.q.val();
        self.counts.write_data.next = self.count_value.q.val();
        if !self.counting.q.val() {
            self.counts.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
            self.counts.write_data.next = bits::<4>(0);
        }
        self.counts.read_address.next = self.vi.val();
        self.walker.reads_known.next = self.counts.read_data.val();
        self.row0.next = self.commit.data.val().word0;
        self.depth.next = self.row0.val().get_bits::<4>(28);
        self.depths.write_enable.next = self.closes.val();
        self.depths.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
        self.depths.write_data.next = self.depth.val().get_bits::<3>(0);
        if self.depth.val() > bits::<4>(4) {
            self.depths.write_data.next = bits::<3>(4);
        }
        self.depths.read_address.next = self.vi.val();
        self.walker.depth.next = self.depths.read_data.val();
        self.reads.index.next = self.vi.val();
        self.walker.reads_done.next = self.reads.row.val();

        self.states.write_enable.next = self.state.valid.val();
        self.states.write_address.next = self.state.data.val().vi;
        self.states.write_data.next = self.state.data.val().state;
        self.states.read_address.next = self.vi.val();
        self.walker.connected.next = self.states.read_data.val() == self.connected.val();

        self.epochs.write_enable.next = self.epoch.valid.val();
        self.epochs.write_address.next = self.epoch.data.val().vi;
        self.epochs.write_data.next = self.epoch.data.val().epoch;
        self.epochs.read_address.next = self.vi.val();
        self.walker.epoch.next = self.epochs.read_data.val();

        // Replies, between packets.
        Sink::<Reply>::link(&mut self.reply, &mut self.replier.reply);
        self.replier.resting.next = self.walker.resting.val();
        self.replier.wants.next = self.inbox.waits.val() | self.walker.busy.val();
        self.walker.hold.next = self.replier.hold.val();
        self.replier.access.ready.next = self.access.ready.val();
        self.replier.packet_ready.next = self.packets.sink.ready.val();
        self.replier.room.next = self.payload_queue.room.val();

        self.access.valid.next = self.walker.access.valid.val() | self.replier.access.valid.val();
        self.access.data.next = self.walker.access.data.val();
        if self.replier.access.valid.val() {
            self.access.data.next = self.replier.access.data.val();
        }
        // Only a peer's access has one.
        self.access.data.next.span = self.replier.access.data.val().span;
        self.walker.access.ready.next = self.access.ready.val();

        self.packets.sink.valid.next = self.walker.packet.valid.val() | self.replier.packet_valid.val();
        self.packets.sink.data.next = self.walker.packet.data.val();
        if self.replier.announces_packet.val() {
            // What only a message has stays the walker's: transmit does not look at it.
            self.packets.sink.data.next.vi = self.reply.data.val().vi;
            self.packets.sink.data.next.send = true;
            self.packets.sink.data.next.first = self.reply.data.val().first;
            self.packets.sink.data.next.last = self.reply.data.val().last;
            self.packets.sink.data.next.length = self.reply.data.val().length;
            self.packets.sink.data.next.has_immediate =
                self.reply.data.val().first | self.reply.data.val().last;
            self.packets.sink.data.next.immediate = self.replier.aeth.val();
            self.packets.sink.data.next.restart = false;
            self.packets.sink.data.next.psn = self.reply.data.val().psn;
            self.packets.sink.data.next.operation = bits::<2>(0);
            self.packets.sink.data.next.reply = true;
        }
        self.walker.packet.ready.next = self.packets.sink.ready.val();
        Source::<Packet>::link(&mut self.packet, &mut self.packets.source);

        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.payload_queue.beat);
        self.payload_queue.reserve_words.next = self.walker.reserve_words.val();
        if self.replier.active.val() {
            self.payload_queue.reserve_words.next = self.replier.reserve_words.val();
        }
        self.payload_queue.reserve.next = self.walker.reserve.val() | self.replier.reserve.val();
        self.walker.room.next = self.payload_queue.room.val();
        self.payload_queue.tail_start.next = self.walker.tail_start.val();
        self.payload_queue.tail_index.next = self.walker.read_index.val();
        self.walker.tail_word.next = self.payload_queue.tail_word.val();
        FlowSource::<Bits<32>>::join(&mut self.payload_queue.tail_length, &mut self.walker.tail_length);
        self.walker.tail_done.next = self.payload_queue.tail_done.val();
        self.walker.tail_failed.next = self.payload_queue.tail_failed.val();
        self.walker.tail_bad.next = self.payload_queue.tail_bad.val();
        self.walker.tail_end.next = self.payload_queue.tail_end.val();

        Source::<PayloadWord>::link(&mut self.payload, &mut self.payload_queue.payload);
        Source::<Whole>::link(&mut self.whole, &mut self.payload_queue.whole);
        self.busy.next = self.replier.hold.val()
            | self.inbox.waits.val()
            | self.walker.busy.val()
            | self.taken.q.val()
            | self.packets.held.val()
            | self.payload_queue.busy.val();
        if self.reset.val() {
            self.is_closed.d.next = false;
            self.taken.d.next = false;
            self.counting.d.next = false;
        }
    }
}
