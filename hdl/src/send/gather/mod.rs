//! From send descriptors to packets and their payload.
//!
//! ```text
//!   head, word ──►┌──────────────────────────────┐──► access
//!   head_taken ◄──│ Inbox ──► Walker ──► packets │──► packet
//!       commit ──►│             ▲ │              │
//! state, epoch ──►│        tail │ ▼ reserve      │──► payload
//!         beat ──►│            Sink              │──► whole
//!        reply ──►│ Replier                      │
//!                 └──────────────────────────────┘──► busy
//! ```
//! Contract: descriptors are taken and their packets leave in order. A message whose descriptor is wrong, or whose
//! VI is not connected when its turn comes, sends nothing: one `packet` without `send` says why. A VI that stops
//! being connected in mid-message ends it at the next packet in the same way. A head of an epoch that is not its VI's
//! is taken and gives nothing, or nothing more. The packets that a head says to skip are cut and not announced, and
//! none of their bytes is asked for; a message that ends among them says so in one `packet` without `send`. Packets are announced before their
//! payload is there: `whole` comes, once for each packet with payload and in order, when the last word has left for
//! the payload queue; `whole_refused` or `whole_failed` say that bytes are missing, and the words that are there end
//! with `payload_last` all the same (there is at least one). Accesses are asked for ahead of the data: room in the
//! payload queue is taken before a packet's first access, so the answers are never refused. Packets of answers to peers' reads come
//! between those of descriptors, in turn.
//!
//! A TRANSMIT row begins a VI anew: its heads that wait are done with without a word, and the row is taken when every packet
//! that the VI had announced has been taken. Until its work queue is committed behind that, no head of it comes.
//!
//! Latency: 13 cycles from a head to its first access. Throughput: a message of one packet and one segment every 13
//! cycles; otherwise 2 cycles for each access, 2 for each segment (3 for an empty one) and 3 for each packet, skipped or
//! not. A packet's payload is at the far side of the queue 6 cycles after its last beat.
//!
//! Tests: `tests/send/gather/`.

mod inbox;
mod replier;
mod sink;
mod walker;

use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{table, transmit, vi_states};

const _: () = assert!(transmit::READ_DEPTH.lo == 28 && transmit::READ_DEPTH.width == 4);

use crate::bus::{Access, Commit, EpochWrite, Packet, ReadBeat, Reply, SendHead, StateWrite, Vi};
use crate::prims::{FifoSlice, LutRam, Number};
use inbox::Inbox;
use replier::Replier;
use sink::Sink;
use walker::Walker;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Gather {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops everything.
    pub reset: Signal<In, bool>,
    /// A descriptor is there; there is room for 8 that are not taken.
    pub head_valid: Signal<In, bool>,
    /// Where it lies.
    pub head: Signal<In, SendHead>,
    /// A word of its first 64 bytes is there, before its head or with it.
    pub word_valid: Signal<In, bool>,
    /// The word.
    pub word: Signal<In, Bits<64>>,
    /// A head is done with: room for one more.
    pub head_taken: Signal<Out, bool>,
    /// A table row.
    pub commit_valid: Signal<In, bool>,
    /// GATHER rows are ours, and the READ_DEPTH of TRANSMIT rows.
    pub commit: Signal<In, Commit>,
    /// It is taken: not while the VI has the descriptor at hand; a TRANSMIT row when all packets of the VI have left.
    pub commit_ready: Signal<Out, bool>,
    /// A VI changes its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// A VI changes its epoch.
    pub epoch_valid: Signal<In, bool>,
    /// Which, and to what.
    pub epoch: Signal<In, EpochWrite>,
    /// A packet of the answer to a peer's read.
    pub reply_valid: Signal<In, bool>,
    /// Which.
    pub reply: Signal<In, Reply>,
    /// It is announced, and its bytes are asked for.
    pub reply_ready: Signal<Out, bool>,
    /// VI whose reads are looked up.
    pub reads_vi: Signal<Out, Vi>,
    /// Reads of it that are complete, modulo 8.
    pub reads_done: Signal<In, Bits<3>>,
    /// Data read from host memory.
    pub beat_valid: Signal<In, bool>,
    /// Answers to our accesses among them.
    pub beat: Signal<In, ReadBeat>,
    /// Memory to read.
    pub access_valid: Signal<Out, bool>,
    /// Payload, or the segments beyond a descriptor's first 64 bytes.
    pub access: Signal<Out, Access>,
    /// It is taken.
    pub access_ready: Signal<In, bool>,
    /// A packet is announced, or a message's end.
    pub packet_valid: Signal<Out, bool>,
    /// The packet.
    pub packet: Signal<Out, Packet>,
    /// It is taken.
    pub packet_ready: Signal<In, bool>,
    /// Eight payload bytes.
    pub payload_valid: Signal<Out, bool>,
    /// First byte in bits 7:0; behind a packet's last byte 0.
    pub payload: Signal<Out, Bits<64>>,
    /// Last word of its packet.
    pub payload_last: Signal<Out, bool>,
    /// It is taken.
    pub payload_ready: Signal<In, bool>,
    /// The payload of the next packet that has any is whole.
    pub whole_valid: Signal<Out, bool>,
    /// An access was refused.
    pub whole_refused: Signal<Out, bool>,
    /// A read failed on the bus.
    pub whole_failed: Signal<Out, bool>,
    /// It is taken.
    pub whole_ready: Signal<In, bool>,
    /// Work is held.
    pub busy: Signal<Out, bool>,
    inbox: Inbox,
    walker: Walker,
    sink: Sink,
    replier: Replier,
    /// A head was done with in the last cycle.
    taken: DFF<bool>,
    /// The walker's new number of reads sent, of the cycle before.
    counting: DFF<bool>,
    count_vi: DFF<Vi>,
    count_value: DFF<Bits<4>>,
    counts: LutRam<Bits<4>, { VI_LOG2 }>,
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
        clock!(self, clock, inbox, walker, sink, replier, packets, states, epochs, counts, depths);
        self.replier.reset.next = self.reset.val();
        self.inbox.reset.next = self.reset.val();
        self.walker.reset.next = self.reset.val();
        self.sink.reset.next = self.reset.val();
        self.packets.reset.next = self.reset.val();

        self.inbox.head_valid.next = self.head_valid.val();
        self.inbox.head.next = self.head.val();
        self.inbox.word_valid.next = self.word_valid.val();
        self.inbox.word.next = self.word.val();
        self.inbox.load.next = self.walker.load.val();
        self.inbox.held.next = self.walker.busy.val();
        self.inbox.free.next = self.walker.head_ready.val();
        self.taken.d.next = self.walker.head_ready.val();
        self.head_taken.next = self.taken.q.val();
        self.inbox.read_index.next = self.walker.read_index.val().get_bits::<3>(0);
        self.inbox.read_row.next = self.walker.read_row.val();
        self.inbox.reply_row.next = self.replier.read_row.val();
        self.inbox.reply_waits.next = self.replier.hold.val();
        self.inbox.reply_vi.next = self.reply.val().vi;
        self.replier.row.next = self.inbox.read_word.val();
        self.walker.head_valid.next = self.inbox.waits.val();
        self.walker.head.next = self.inbox.current.val();
        self.walker.head_word.next = self.inbox.read_word.val();
        self.vi.next = self.inbox.current.val().vi;

        self.inbox.commit_valid.next = self.commit_valid.val();
        self.inbox.commit.next = self.commit.val();

        // A TRANSMIT row begins the VI anew. It goes on to those behind when what was announced before has gone on to them.
        self.closes.next = self.commit_valid.val() & (self.commit.val().target == self.transmit_table.val());
        self.inbox.closes.next = self.closes.val();
        self.walker.outlived.next = self.inbox.outlived.val();
        self.level.next = self.packets.level.val();
        self.is_closed.d.next = self.closes.val() & self.inbox.closed.val();
        if !self.is_closed.q.val() {
            self.behind.d.next = bit_cast::<6, 5>(self.level.val());
        } else if self.packet_ready.val() & !self.behind.q.val().get_bit(5) {
            self.behind.d.next = self.behind.q.val() - 1;
        }
        self.passed.next =
            self.is_closed.q.val() & (self.behind.q.val().get_bit(5) | !self.packets.held.val());
        self.takes_commit.next = self.inbox.commit_ready.val();
        if self.closes.val() {
            self.takes_commit.next = self.passed.val() & !self.counting.q.val();
        }
        self.commit_ready.next = self.takes_commit.val();

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
            self.counts.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
            self.counts.write_data.next = bits::<4>(0);
        }
        self.counts.read_address.next = self.vi.val();
        self.walker.reads_known.next = self.counts.read_data.val();
        self.row0.next = self.commit.val().word0;
        self.depth.next = self.row0.val().get_bits::<4>(28);
        self.depths.write_enable.next = self.closes.val();
        self.depths.write_address.next = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
        self.depths.write_data.next = self.depth.val().get_bits::<3>(0);
        if self.depth.val() > bits::<4>(4) {
            self.depths.write_data.next = bits::<3>(4);
        }
        self.depths.read_address.next = self.vi.val();
        self.walker.depth.next = self.depths.read_data.val();
        self.reads_vi.next = self.vi.val();
        self.walker.reads_done.next = self.reads_done.val();

        self.states.write_enable.next = self.state_valid.val();
        self.states.write_address.next = self.state.val().vi;
        self.states.write_data.next = self.state.val().state;
        self.states.read_address.next = self.vi.val();
        self.walker.connected.next = self.states.read_data.val() == self.connected.val();

        self.epochs.write_enable.next = self.epoch_valid.val();
        self.epochs.write_address.next = self.epoch.val().vi;
        self.epochs.write_data.next = self.epoch.val().epoch;
        self.epochs.read_address.next = self.vi.val();
        self.walker.epoch.next = self.epochs.read_data.val();

        // Replies, between packets.
        self.replier.reply_valid.next = self.reply_valid.val();
        self.replier.reply.next = self.reply.val();
        self.reply_ready.next = self.replier.reply_ready.val();
        self.replier.resting.next = self.walker.resting.val();
        self.replier.wants.next = self.inbox.waits.val() | self.walker.busy.val();
        self.walker.hold.next = self.replier.hold.val();
        self.replier.access_ready.next = self.access_ready.val();
        self.replier.packet_ready.next = self.packets.in_ready.val();
        self.replier.room.next = self.sink.room.val();

        self.access_valid.next = self.walker.access_valid.val() | self.replier.access_valid.val();
        self.access.next = self.walker.access.val();
        if self.replier.access_valid.val() {
            self.access.next = self.replier.access.val();
        }
        // Only a peer's access has one.
        self.access.next.span = self.replier.access.val().span;
        self.walker.access_ready.next = self.access_ready.val();

        self.packets.in_valid.next = self.walker.packet_valid.val() | self.replier.packet_valid.val();
        self.packets.in_data.next = self.walker.packet.val();
        if self.replier.announces_packet.val() {
            // What only a message has stays the walker's: transmit does not look at it.
            self.packets.in_data.next.vi = self.reply.val().vi;
            self.packets.in_data.next.send = true;
            self.packets.in_data.next.first = self.reply.val().first;
            self.packets.in_data.next.last = self.reply.val().last;
            self.packets.in_data.next.length = self.reply.val().length;
            self.packets.in_data.next.has_immediate = self.reply.val().first | self.reply.val().last;
            self.packets.in_data.next.immediate = self.replier.aeth.val();
            self.packets.in_data.next.restart = false;
            self.packets.in_data.next.psn = self.reply.val().psn;
            self.packets.in_data.next.operation = bits::<2>(0);
            self.packets.in_data.next.reply = true;
        }
        self.walker.packet_ready.next = self.packets.in_ready.val();
        self.packet_valid.next = self.packets.out_valid.val();
        self.packet.next = self.packets.out_data.val();
        self.packets.out_ready.next = self.packet_ready.val();

        self.sink.beat_valid.next = self.beat_valid.val();
        self.sink.beat.next = self.beat.val();
        self.sink.reserve_words.next = self.walker.reserve_words.val();
        if self.replier.active.val() {
            self.sink.reserve_words.next = self.replier.reserve_words.val();
        }
        self.sink.reserve.next = self.walker.reserve.val() | self.replier.reserve.val();
        self.walker.room.next = self.sink.room.val();
        self.sink.tail_start.next = self.walker.tail_start.val();
        self.sink.tail_index.next = self.walker.read_index.val();
        self.walker.tail_word.next = self.sink.tail_word.val();
        self.walker.tail_length_valid.next = self.sink.tail_length_valid.val();
        self.walker.tail_length.next = self.sink.tail_length.val();
        self.walker.tail_done.next = self.sink.tail_done.val();
        self.walker.tail_failed.next = self.sink.tail_failed.val();
        self.walker.tail_bad.next = self.sink.tail_bad.val();
        self.walker.tail_end.next = self.sink.tail_end.val();

        self.payload_valid.next = self.sink.payload_valid.val();
        self.payload.next = self.sink.payload.val();
        self.payload_last.next = self.sink.payload_last.val();
        self.sink.payload_ready.next = self.payload_ready.val();
        self.whole_valid.next = self.sink.whole_valid.val();
        self.whole_refused.next = self.sink.whole_refused.val();
        self.whole_failed.next = self.sink.whole_failed.val();
        self.sink.whole_ready.next = self.whole_ready.val();
        self.busy.next = self.replier.hold.val()
            | self.inbox.waits.val()
            | self.walker.busy.val()
            | self.taken.q.val()
            | self.packets.held.val()
            | self.sink.busy.val();
        if self.reset.val() {
            self.is_closed.d.next = false;
            self.taken.d.next = false;
            self.counting.d.next = false;
        }
    }
}
