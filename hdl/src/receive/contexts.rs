//! Keeps what the receive side knows of each VI.
//!
//! ```text
//!  commit ──►┌──────────┐◄─► lookup
//!    save ──►│ Contexts │◄─► consumed_of
//!            └──────────┘──► saving
//! ```
//! Contract: a RECEIVE row sets the peer and the expected PSN and forgets any message in progress; the receive row of
//! a WORK_QUEUE sets the consumed position to 0. `save` does not come with a row. A message lies in two halves, because block RAM is deeper
//! than there are VIs: the [`NearHalf`] is read first, then the [`FarHalf`]. The far half is written in the cycle after `save` (`saving`),
//! in which the data of `save` stays. A row of RECEIVE leaves the far half as it is: without a message in progress it says nothing. The
//! row being written and the row being read in one cycle must differ, or what is read must not be used: one VI is worked on at a time.
//!
//! Example: `save` of VI 3 writes the near half in that cycle and the far half in the next one, in which `saving` is high.
//! `lookup` of VI 3 then shows the near half a cycle later, and with `far` the far one.
//!
//! Latency: 1 cycle to read; `consumed_of` as well.
//!
//! Tests: `tests/receive/path/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Commit, Position, QueueId, Vi, QUEUE_LOG2};
use crate::prims::{Cast, LutRam, Number, Ram, ShallowRam, Unpack};
use crate::rows::tables::ReceiveRow;
use crate::stream::{FlowSink, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::{service, table};

/// [`Peer::mtu`] of a VI whose service is RAW.
pub const RAW_MTU: u64 = 7;

/// The other end of a VI's connection, from the RECEIVE row.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Peer {
    /// IPv4 address, most significant byte = first on the wire.
    pub ip: Bits<32>,
    /// The service is one of the reliable ones.
    pub reliable: bool,
    /// Path MTU: 256 << MTU bytes, 4096 at most; [`RAW_MTU`] means that the service is RAW.
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
    /// RDMA write: address of its first byte. Send: the [`SendPlace`] to go on at.
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

/// Where a send goes on in its receive descriptor.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SendPlace {
    /// Bytes already filled of the segment to go on with.
    pub position: Bits<32>,
    /// The number of the segment to go on with.
    pub index: Bits<8>,
    /// Not used: 0.
    pub unused: Bits<24>,
}

/// The half of a [`Message`] that is read first.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct NearHalf {
    /// PSN expected next.
    pub psn: Bits<24>,
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// RDMA write: bytes to come.
    pub left: Bits<32>,
    /// Bytes of the message received, modulo 2^22.
    pub received: Bits<22>,
    /// A message is in progress.
    pub active: bool,
    /// The message in progress is an RDMA write.
    pub writing: bool,
    /// The peer may write to the VI's memory.
    pub writable: bool,
    /// The gap in front of the expected PSN has been refused.
    pub refused: bool,
    /// A reliable connection came to its end here.
    pub broken: bool,
    /// Acknowledgements wait until the data is in memory.
    pub reception: bool,
}

/// The other half of a [`Message`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FarHalf {
    /// See [`Message`].
    pub place: Bits<64>,
    /// RDMA write: memory handle.
    pub rkey: Bits<32>,
    /// Bytes of the message received, in units of 2^22.
    pub received: Bits<10>,
    /// Not used.
    pub unused: Bits<2>,
}

/// Bits of a half: as wide as three block RAMs.
const HALF_BITS: usize = 108;

/// Which half of which VI's message. Packed it is a row of the memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct HalfId {
    /// The far half; otherwise the near one.
    pub far: bool,
    /// The VI.
    pub vi: Vi,
}

/// Rows of the memory of halves.
const HALF_LOG2: usize = VI_LOG2 + 1;

/// What is kept of a VI, as it is read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Context {
    /// The VI's peer.
    pub peer: Peer,
    /// If the near half was asked for: that.
    pub near: NearHalf,
    /// If the far half was asked for: that.
    pub far: FarHalf,
    /// Receive descriptors of the VI that are completed.
    pub consumed: Position,
}

/// What [`Delivery`](super::Delivery) saves of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Saved {
    /// The VI.
    pub vi: Vi,
    /// Where its receive side is.
    pub message: Message,
    /// Receive descriptors of it that are completed.
    pub consumed: Position,
}

/// A count of bytes, as the two halves of a message keep it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct ReceivedParts {
    /// What the near half keeps.
    near: Bits<22>,
    /// What the far half keeps.
    far: Bits<10>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Contexts {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A row of RECEIVE or WORK_QUEUE that is written now; from `Commits`.
    pub commit: FlowSink<Commit>,
    /// Answers `Lookup`: what is kept of a VI, with one half of its message, a cycle later.
    pub lookup: Table<HalfId, Context>,
    /// The context to write back, from `Delivery`; it stays for one more cycle.
    pub save: FlowSink<Saved>,
    /// The far half of the message is being written in this cycle, so no table row may be taken.
    pub saving: Signal<Out, bool>,
    /// Answers fetch, which wants the consumed position of a VI.
    pub consumed_of: Table<Vi, Position>,
    peers: Ram<Peer, VI_LOG2>,
    messages: Ram<Bits<HALF_BITS>, HALF_LOG2>,
    read_row: Cast<HalfId, Bits<HALF_LOG2>>,
    read_near: Cast<Bits<HALF_BITS>, NearHalf>,
    read_far: Cast<Bits<HALF_BITS>, FarHalf>,
    write_row: Cast<HalfId, Bits<HALF_LOG2>>,
    write_near: Cast<NearHalf, Bits<HALF_BITS>>,
    write_far: Cast<FarHalf, Bits<HALF_BITS>>,
    /// The far half is written in this cycle.
    far_due: DFF<bool>,
    saved: Signal<Local, Message>,
    received: Cast<Bits<32>, ReceivedParts>,
    /// The row on the bus begins a connection.
    begins: Signal<Local, bool>,
    is_queue: Signal<Local, bool>,
    receive_row: Unpack<Commit, ReceiveRow>,
    given: Signal<Local, ReceiveRow>,
    mtu: Signal<Local, Bits<3>>,
    /// Receive descriptors of each VI that are completed, for `lookup`.
    positions: ShallowRam<Position, VI_LOG2>,
    /// The same positions for fetch, which may ask while they change; so they are not in block RAM.
    shown: LutRam<Position, VI_LOG2>,
    shown_position: DFF<Position>,
    row: Signal<Local, Bits<16>>,
    queue: Cast<Bits<QUEUE_LOG2>, QueueId>,
    delivery: Number<2, { service::RELIABLE_DELIVERY as u64 }>,
    reception: Number<2, { service::RELIABLE_RECEPTION as u64 }>,
    raw: Number<2, { service::RAW as u64 }>,
    largest_mtu: Number<3, 4>,
    raw_mtu: Number<3, RAW_MTU>,
    receive_table: Number<4, { table::RECEIVE as u64 }>,
    queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
}

impl Logic for Contexts {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, shown_position, far_due);
        clock!(self, clock, peers, messages, positions, shown);

        // What is read.
        drive!(self, lookup.index => read_row.from; read_row.to => messages.read_address;
            lookup.index.val().vi => peers.read_address, positions.read_address;
            messages.read_data => read_near.from, read_far.from; consumed_of.index => shown.read_address;
            shown_position.q => consumed_of.row);
        fill!(self, lookup.row, peers.read_data => peer; read_near.to => near; read_far.to => far;
            positions.read_data => consumed);
        self.shown_position.d.next = self.shown.read_data.val();

        // What is committed.
        self.begins.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.receive_table.val());
        self.is_queue.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.queue_table.val());
        drive!(self, commit.data => receive_row.from; receive_row.to => given; commit.data.val().row => row;
            begins => peers.write_enable);
        self.queue.from.next = bit_cast::<QUEUE_LOG2, 16>(self.row.val());
        self.peers.write_address.next = bit_cast::<VI_LOG2, 16>(self.row.val());
        self.peers.write_data.next.ip = self.given.val().peer_ip;
        self.peers.write_data.next.reliable = (self.given.val().service == self.delivery.val())
            | (self.given.val().service == self.reception.val());
        // Codes from 4 on are 4096 bytes; RAW has a code of its own.
        self.mtu.next = self.given.val().mtu;
        if self.mtu.val() > self.largest_mtu.val() {
            self.mtu.next = self.largest_mtu.val();
        }
        if self.given.val().service == self.raw.val() {
            self.mtu.next = self.raw_mtu.val();
        }
        fill!(self, peers.write_data, mtu => mtu; given.val().tag => tag;
            given.val().generation => generation; given.val().rnr_stay => rnr_stay;
            given.val().rnr_timer => rnr_timer);

        // A message's halves: the near one of what is saved, or of a new connection; the far one a cycle after the near one.
        drive!(self, save.data.val().message => saved; saved.val().received => received.from;
            far_due.q => saving);
        self.far_due.d.next = self.save.valid.val();
        fill!(self, write_far.from, saved.val().place => place; saved.val().rkey => rkey;
            received.to.val().far => received);
        self.write_far.from.next.unused = bits::<2>(0);
        // LIFE-2: with a RECEIVE row what came for the VI is forgotten.
        self.write_near.from.next.psn = self.given.val().psn;
        self.write_near.from.next.msn = bits::<24>(0);
        self.write_near.from.next.left = self.saved.val().left;
        self.write_near.from.next.received = bits::<22>(0);
        self.write_near.from.next.active = false;
        self.write_near.from.next.writing = false;
        self.write_near.from.next.writable = self.given.val().rdma_write;
        self.write_near.from.next.refused = false;
        self.write_near.from.next.broken = false;
        self.write_near.from.next.reception = self.given.val().service == self.reception.val();
        if self.save.valid.val() {
            fill!(self, write_near.from, saved.val().psn => psn; saved.val().msn => msn;
                received.to.val().near => received; saved.val().active => active;
                saved.val().writing => writing; saved.val().writable => writable;
                saved.val().refused => refused; saved.val().broken => broken;
                saved.val().reception => reception);
        }
        self.write_row.from.next.vi = self.save.data.val().vi;
        self.write_row.from.next.far = self.far_due.q.val();
        if self.begins.val() {
            self.write_row.from.next.vi = bit_cast::<VI_LOG2, 16>(self.row.val());
        }
        self.messages.write_enable.next = self.save.valid.val() | self.far_due.q.val() | self.begins.val();
        self.messages.write_address.next = self.write_row.to.val();
        self.messages.write_data.next = self.write_near.to.val();
        if self.far_due.q.val() {
            self.messages.write_data.next = self.write_far.to.val();
        }

        // Consumed positions.
        drive!(self, save.valid => positions.write_enable; save.data.val().vi => positions.write_address;
            save.data.val().consumed => positions.write_data);
        if self.is_queue.val() {
            self.positions.write_enable.next = self.queue.to.val().receive;
            self.positions.write_address.next = self.queue.to.val().vi;
            self.positions.write_data.next = bits::<14>(0);
        }
        drive!(self, positions.write_enable => shown.write_enable;
            positions.write_address => shown.write_address; positions.write_data => shown.write_data);
    }
}
