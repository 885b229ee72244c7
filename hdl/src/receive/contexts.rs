//! Keeps what the receive side knows of each VI.
//!
//! ```text
//!  commit, commit_allowed ──►┌──────────┐──► commit_wanted
//!       read_vi, read_far ──►│ Contexts │──► peer, message, received_high, consumed   (of read_vi)
//!           save, save_vi ──►│          │──► saving
//!                            └──────────┘◄─► consumed_of
//! ```
//! Contract: a RECEIVE row sets the peer and the expected PSN and forgets any message in progress; the receive row of
//! a WORK_QUEUE sets the consumed position to 0. Rows are taken only with `commit_allowed`, and
//! `save` does not come with it. A message lies in two halves, because block RAM is deeper than there are VIs: the
//! near half is read first (everything but `place`, `rkey` and the high bits of `received`), then the far one (only
//! these). The far half is written in the cycle after `save` (`saving`), in which `save_vi` and the far half's fields of
//! `save.data` stay. A row of RECEIVE leaves the far half as it is: without a message in progress it says nothing. The row being written
//! and the row being read in one cycle must differ, or what is read must not be used: the matcher works on one VI at a time.
//!
//! Example: `save` with `save_vi` 3 writes the near half in that cycle and the far half in the next one, in which `saving` is high.
//! `read_vi` 3 then shows the near half a cycle later, and with `read_far` the far one.
//!
//! Latency: 1 cycle to read; `consumed_of` as well.
//!
//! Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Commit, Position, Vi};
use crate::prims::{LutRam, Number, Ram};
use crate::stream::{FlowSink, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{receive, table};

/// The other end of a VI's connection, from the RECEIVE row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Peer {
    /// IPv4 address, most significant byte = first on the wire.
    pub ip: Bits<32>,
    /// The service is one of the reliable ones.
    pub reliable: bool,
    /// Path MTU: 256 << MTU bytes, 4096 at most; 7 means that the service is RAW.
    pub mtu: Bits<3>,
    /// Tag of the VI.
    pub tag: Bits<16>,
    /// Generation that the queue pair number must carry.
    pub generation: Bits<14>,
    /// A message that finds no receive is refused and the VI stays; otherwise it breaks.
    pub rnr_stay: bool,
    /// Timer code of that refusal.
    pub rnr_timer: Bits<5>,
}

/// Where a VI's receive side is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Message {
    /// PSN expected next.
    pub psn: Bits<24>,
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// A message is in progress: a send has the descriptor at the consumed position.
    pub active: bool,
    /// The message in progress is an RDMA write.
    pub writing: bool,
    /// The peer may write to the VI's memory: the row's, kept here where there is room.
    pub writable: bool,
    /// The gap in front of the expected PSN has been refused: once is enough.
    pub refused: bool,
    /// A reliable connection came to its end here: nothing more is taken.
    pub broken: bool,
    /// RDMA write: address of its first byte. Send: bytes already filled of the segment to go on with, and in bits
    /// 39:32 its index.
    pub place: Bits<64>,
    /// RDMA write: memory handle.
    pub rkey: Bits<32>,
    /// RDMA write: bytes to come.
    pub left: Bits<32>,
    /// Bytes of the message received.
    pub received: Bits<32>,
    /// Acknowledgements wait until the data is in memory: the row's, like `writable`.
    pub reception: bool,
}

/// What [`Delivery`](super::Delivery) saves of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Saved {
    /// Where its receive side is.
    pub message: Message,
    /// Receive descriptors of it that are completed.
    pub consumed: Position,
}

/// Half of a [`Message`], as wide as three block RAMs.
///
/// | | `wide` | `narrow` | `rest` |
/// |---|---|---|---|
/// | near | `psn`, `msn`, `received` 15:0 | `left` | the six flags in their order, `received` 21:16 |
/// | far | `place` | `rkey` | `received` 31:22 |
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Half {
    wide: Bits<64>,
    narrow: Bits<32>,
    rest: Bits<12>,
}

/// VI, and which half: rows of the memory.
const HALF_LOG2: usize = VI_LOG2 + 1;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Contexts {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A table row on the bus. `Matcher` takes it when this block and its others allow that.
    pub commit: FlowSink<Commit>,
    /// The row on the bus may be taken now; `Matcher` drives it.
    pub commit_allowed: Signal<In, bool>,
    /// The row on the bus is one of the tables that are kept here.
    pub commit_wanted: Signal<Out, bool>,
    /// VI whose context is read.
    pub read_vi: Signal<In, Vi>,
    /// Peer of the `read_vi` of the cycle before.
    pub peer: Signal<Out, Peer>,
    /// The far half of the message is read; otherwise the near one.
    pub read_far: Signal<In, bool>,
    /// The half of the message that was asked for in the cycle before; the other half's fields mean nothing.
    pub message: Signal<Out, Message>,
    /// With the far half: bits 31:22 of the message's `received`.
    pub received_high: Signal<Out, Bits<10>>,
    /// Consumed position of the `read_vi` of the cycle before.
    pub consumed: Signal<Out, Position>,
    /// The context to write back: the message, and the consumed position; from `Delivery`.
    pub save: FlowSink<Saved>,
    /// VI whose context `save` writes; it stays for the cycle behind `save`.
    pub save_vi: Signal<In, Vi>,
    /// The far half of the message is being written in this cycle.
    pub saving: Signal<Out, bool>,
    /// Answers fetch, which wants the consumed position of a VI.
    pub consumed_of: Table<Vi, Position>,
    peers: Ram<Peer, VI_LOG2>,
    messages: Ram<Half, HALF_LOG2>,
    /// The far half is written in this cycle.
    far_due: DFF<bool>,
    wide: Signal<Local, Bits<64>>,
    rest: Signal<Local, Bits<12>>,
    saved: Signal<Local, Message>,
    received: Signal<Local, Bits<32>>,
    commits: Signal<Local, bool>,
    flags: Signal<Local, Bits<6>>,
    near_flags: Signal<Local, Bits<6>>,
    service: Signal<Local, Bits<2>>,
    // Two copies for two readers: in block RAM the narrow table would take a whole one.
    positions: LutRam<Position, VI_LOG2>,
    position: DFF<Position>,
    shown: LutRam<Position, VI_LOG2>,
    shown_position: DFF<Position>,
    word_0: Signal<Local, Bits<64>>,
    word_1: Signal<Local, Bits<64>>,
    row: Signal<Local, Bits<16>>,
    is_receive: Signal<Local, bool>,
    is_queue: Signal<Local, bool>,
    receive_table: Number<4, { table::RECEIVE as u64 }>,
    queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
}

// The numbers in `update` are these fields'.
const _: () = {
    assert!(receive::PEER_IP.lo == 0 && receive::PEER_IP.width == 32);
    assert!(receive::PSN.lo == 32 && receive::PSN.width == 24);
    assert!(receive::SERVICE.lo == 56 && receive::SERVICE.width == 2);
    assert!(receive::MTU.lo == 58 && receive::MTU.width == 3);
    assert!(receive::TAG.lo == 64 && receive::TAG.width == 16);
    assert!(receive::GENERATION.lo == 80 && receive::GENERATION.width == 14);
    assert!(receive::RDMA_WRITE.lo == 96 && receive::RNR_STAY.lo == 98);
    assert!(receive::RNR_TIMER.lo == 99 && receive::RNR_TIMER.width == 5);
};

impl Logic for Contexts {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, position, shown_position, far_due);
        clock!(self, clock, peers, messages, positions, shown);
        self.saved.next = self.save.data.val().message;
        self.peers.read_address.next = self.read_vi.val();
        self.messages.read_address.next = bit_cast::<HALF_LOG2, VI_LOG2>(self.read_vi.val()) << 1;
        if self.read_far.val() {
            self.messages.read_address.next =
                (bit_cast::<HALF_LOG2, VI_LOG2>(self.read_vi.val()) << 1) | bits::<HALF_LOG2>(1);
        }
        self.positions.read_address.next = self.read_vi.val();
        self.shown.read_address.next = self.consumed_of.index.val();
        self.peer.next = self.peers.read_data.val();
        self.wide.next = self.messages.read_data.val().wide;
        self.rest.next = self.messages.read_data.val().rest;
        self.message.next.psn = self.wide.val().get_bits::<24>(0);
        self.message.next.msn = self.wide.val().get_bits::<24>(24);
        self.message.next.active = self.rest.val().get_bit(0);
        self.message.next.writing = self.rest.val().get_bit(1);
        self.message.next.writable = self.rest.val().get_bit(2);
        self.message.next.refused = self.rest.val().get_bit(3);
        self.message.next.broken = self.rest.val().get_bit(4);
        self.message.next.reception = self.rest.val().get_bit(5);
        self.message.next.place = self.wide.val();
        self.message.next.rkey = self.messages.read_data.val().narrow;
        self.message.next.left = self.messages.read_data.val().narrow;
        self.message.next.received = bit_cast::<32, 16>(self.wide.val().get_bits::<16>(48))
            | (bit_cast::<32, 6>(self.rest.val().get_bits::<6>(6)) << 16);
        self.received_high.next = self.rest.val().get_bits::<10>(0);
        self.position.d.next = self.positions.read_data.val();
        self.consumed.next = self.position.q.val();
        self.shown_position.d.next = self.shown.read_data.val();
        self.consumed_of.row.next = self.shown_position.q.val();

        self.is_receive.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.receive_table.val());
        self.is_queue.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.queue_table.val());
        self.commit_wanted.next = self.is_receive.val() | self.is_queue.val();
        self.word_0.next = self.commit.data.val().word0;
        self.word_1.next = self.commit.data.val().word1;
        self.row.next = self.commit.data.val().row;

        self.peers.write_enable.next = self.is_receive.val() & self.commit_allowed.val();
        self.peers.write_address.next = self.row.val().get_bits::<VI_LOG2>(0);
        self.peers.write_data.next.ip = self.word_0.val().get_bits::<32>(0);
        self.service.next = self.word_0.val().get_bits::<2>(56);
        self.peers.write_data.next.reliable = self.service.val().get_bit(0) ^ self.service.val().get_bit(1);
        self.peers.write_data.next.mtu = self.word_0.val().get_bits::<3>(58);
        if self.word_0.val().get_bit(60) {
            self.peers.write_data.next.mtu = bits::<3>(4);
        }
        if self.service.val().all() {
            self.peers.write_data.next.mtu = bits::<3>(7);
        }
        self.peers.write_data.next.tag = self.word_1.val().get_bits::<16>(0);
        self.peers.write_data.next.generation = self.word_1.val().get_bits::<14>(16);
        self.peers.write_data.next.rnr_stay = self.word_1.val().get_bit(34);
        self.peers.write_data.next.rnr_timer = self.word_1.val().get_bits::<5>(35);

        // LIFE-2: with a RECEIVE row what came for the VI is forgotten.
        // A new connection; the far half, behind the near one; the near half, which is known last and so passes one choice only.
        self.commits.next = self.is_receive.val() & self.commit_allowed.val();
        self.messages.write_enable.next = self.save.valid.val() | self.far_due.q.val() | self.commits.val();
        self.messages.write_address.next =
            bit_cast::<HALF_LOG2, VI_LOG2>(self.row.val().get_bits::<VI_LOG2>(0)) << 1;
        self.flags.next = bits::<6>(0);
        self.flags.next = self.flags.val().replace_bit(2, self.word_1.val().get_bit(32));
        self.flags.next =
            self.flags.val().replace_bit(5, self.word_0.val().get_bit(57) & !self.word_0.val().get_bit(56));
        self.messages.write_data.next.wide = bit_cast::<64, 24>(self.word_0.val().get_bits::<24>(32));
        self.messages.write_data.next.narrow = self.saved.val().rkey;
        self.messages.write_data.next.rest = bit_cast::<12, 6>(self.flags.val());
        self.received.next = self.saved.val().received;
        self.far_due.d.next = self.save.valid.val();
        self.saving.next = self.far_due.q.val();
        if self.far_due.q.val() {
            self.messages.write_address.next =
                (bit_cast::<HALF_LOG2, VI_LOG2>(self.save_vi.val()) << 1) | bits::<HALF_LOG2>(1);
            self.messages.write_data.next.wide = self.saved.val().place;
            self.messages.write_data.next.rest = bit_cast::<12, 10>(self.received.val().get_bits::<10>(22));
        }
        self.near_flags.next = bits::<6>(0);
        self.near_flags.next = self.near_flags.val().replace_bit(0, self.saved.val().active);
        self.near_flags.next = self.near_flags.val().replace_bit(1, self.saved.val().writing);
        self.near_flags.next = self.near_flags.val().replace_bit(2, self.saved.val().writable);
        self.near_flags.next = self.near_flags.val().replace_bit(3, self.saved.val().refused);
        self.near_flags.next = self.near_flags.val().replace_bit(4, self.saved.val().broken);
        self.near_flags.next = self.near_flags.val().replace_bit(5, self.saved.val().reception);
        if self.save.valid.val() {
            self.messages.write_address.next = bit_cast::<HALF_LOG2, VI_LOG2>(self.save_vi.val()) << 1;
            self.messages.write_data.next.wide = (bit_cast::<64, 16>(self.received.val().get_bits::<16>(0))
                << 48)
                | (bit_cast::<64, 24>(self.saved.val().msn) << 24)
                | bit_cast::<64, 24>(self.saved.val().psn);
            self.messages.write_data.next.narrow = self.saved.val().left;
            self.messages.write_data.next.rest = (bit_cast::<12, 6>(self.received.val().get_bits::<6>(16))
                << 6)
                | bit_cast::<12, 6>(self.near_flags.val());
        }

        self.positions.write_enable.next = self.save.valid.val();
        self.positions.write_address.next = self.save_vi.val();
        self.positions.write_data.next = self.save.data.val().consumed;
        if self.is_queue.val() & self.commit_allowed.val() {
            self.positions.write_enable.next = self.row.val().get_bit(0);
            self.positions.write_address.next = self.row.val().get_bits::<VI_LOG2>(1);
            self.positions.write_data.next = bits::<14>(0);
        }
        self.shown.write_enable.next = self.positions.write_enable.val();
        self.shown.write_address.next = self.positions.write_address.val();
        self.shown.write_data.next = self.positions.write_data.val();
    }
}
