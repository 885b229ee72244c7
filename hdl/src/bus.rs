//! What crosses from one block to the next, each bundle defined once.
//!
//! A bundle travels beside a `valid`; where the receiver may refuse it there is a `ready`, and a
//! transfer happens in a cycle in which both are high.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_spec::profile::{BAR2_BYTES, CQ_LOG2, DOORBELL_SHIFT, READ_TAGS_LOG2, VECTOR_LOG2, VI_LOG2};

/// Index of a virtual interface.
pub type Vi = Bits<VI_LOG2>;
/// log2 of the work queues.
pub const QUEUE_LOG2: usize = VI_LOG2 + 1;
/// Index of a work queue: 2 x VI + (1 for the receive queue).
pub type Queue = Bits<QUEUE_LOG2>;
/// Bits of a store's offset in its BAR.
pub const STORE_LOG2: usize = if BAR2_BYTES > 1 << 20 { BAR2_BYTES.ilog2() as usize } else { 20 };
/// Bits of a doorbell page's number.
pub const PAGE_NUMBER_LOG2: usize = STORE_LOG2 - DOORBELL_SHIFT;
/// Index of a completion queue.
pub type Cq = Bits<CQ_LOG2>;
/// Entries of a completion queue, written or taken, counted modulo 2^18.
pub type CqIndex = Bits<18>;
/// Index of an interrupt vector.
pub type Vector = Bits<VECTOR_LOG2>;
/// Write commands issued or retired, counted modulo 256.
pub type Mark = Bits<8>;
/// Tag of a read in flight.
pub type ReadTag = Bits<READ_TAGS_LOG2>;
/// Position in a ring, counted modulo 2^14.
pub type Position = Bits<14>;

/// Who asks for memory: the values of [`Access`]'s client, of [`DmaCommand::client`] and of
/// [`ReadBeat::client`].
pub mod client {
    /// Work queue fetch: rings and descriptors.
    pub const FETCH: u64 = 0;
    /// Gather: data segments, and the tails of long send descriptors.
    pub const GATHER: u64 = 1;
    /// Scatter: data segments, and the tails of long receive descriptors.
    pub const SCATTER: u64 = 2;
    /// Completion: the last words of descriptors.
    pub const COMPLETE: u64 = 3;
}

/// Kinds of [`AckRequest`]: what a VI has to say.
pub mod word {
    /// Say it.
    pub const SAY: u64 = 0;
    /// Say it, and keep it: the connection has come to its end.
    pub const LAST: u64 = 1;
    /// Say the last word again, if it was said.
    pub const REPEAT: u64 = 2;
    /// Forget it: a new connection begins.
    pub const FORGET: u64 = 3;
}

/// Syndromes of [`Acknowledged`] that no frame brings. Their class is reserved on the wire; bits 2:0 are what
/// `complete/sends` keeps of them.
pub mod local {
    /// An answer came and could not be placed: the rest of the descriptor could not be read, or its segments are too short now.
    pub const FAILURE: u64 = 0x40;
    /// The same: the protection checker refused a segment of ours.
    pub const PROTECTION: u64 = 0x44;
    /// With bits 1:0 of a refusal: a read before the packet that was refused has not been answered, and will not be.
    pub const BEHIND: u64 = 0x44;
}

/// Bits of [`Access`]'s remote rights.
pub mod remote {
    /// The access is of the agent's own program.
    pub const NONE: u64 = 0;
    /// A peer writes.
    pub const WRITE: u64 = 1;
    /// A peer reads.
    pub const READ: u64 = 2;
}

/// One beat of a TLP: see `viaduct_spec::tlp` for the packing.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TlpBeat {
    /// Two double words, the earlier in bits 31:0.
    pub data: Bits<64>,
    /// Which of them are there: 01 or 11; 01 only with `last`.
    pub keep: Bits<2>,
    /// Last beat of the packet.
    pub last: bool,
}

/// One beat of an Ethernet frame, without preamble and FCS.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameBeat {
    /// Eight bytes, the first in bits 7:0.
    pub data: Bits<64>,
    /// How many of them are there, 1 to 8; fewer than 8 only with `last`.
    pub count: Bits<4>,
    /// Last beat of the frame.
    pub last: bool,
    /// With `last`: the MAC found the frame damaged.
    pub bad: bool,
}

/// A store of the host to BAR 0 or BAR 2, at most 8 bytes, in its aligned 8-byte lanes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MmioWrite {
    /// The store is to BAR 2, the doorbell pages.
    pub doorbell: bool,
    /// Byte offset in the BAR, low 3 bits 0.
    pub address: Bits<STORE_LOG2>,
    /// The eight bytes.
    pub data: Bits<64>,
    /// Which of them are written.
    pub enables: Bits<8>,
}

/// A load of the host from BAR 0 or BAR 2, one or two double words, and what its completion needs.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MmioRead {
    /// The load is from BAR 2.
    pub doorbell: bool,
    /// Byte offset in the BAR, low 2 bits 0.
    pub address: Bits<20>,
    /// Two double words are asked for, not one.
    pub pair: bool,
    /// The request cannot be served: answer it as unsupported.
    pub unsupported: bool,
    /// Low 7 bits of the first byte's address.
    pub lower_address: Bits<7>,
    /// Bytes asked for, 1 to 8.
    pub byte_count: Bits<4>,
    /// Tag of the request.
    pub tag: Bits<8>,
    /// Who asked.
    pub requester: Bits<16>,
    /// Traffic class and attributes to repeat: {class 3, attr 2}.
    pub attributes: Bits<5>,
}

/// A table row on its way to the block that owns the table.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Commit {
    /// `viaduct_spec::tables::table`.
    pub target: Bits<4>,
    /// The row.
    pub row: Bits<16>,
    /// Bits 63:0 of the row.
    pub word0: Bits<64>,
    /// Bits 127:64.
    pub word1: Bits<64>,
    /// Bits 191:128.
    pub word2: Bits<64>,
}

/// A VI has changed its state: broadcast, so that every block keeps its own copy.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct StateWrite {
    /// The VI.
    pub vi: Vi,
    /// `viaduct_spec::tables::vi_states`.
    pub state: Bits<2>,
}

/// Something went wrong that no descriptor can report, or that breaks a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Fault {
    /// The VI.
    pub vi: Vi,
    /// `viaduct_spec::register::event_code`; 0: break the VI and report nothing.
    pub code: Bits<8>,
    /// It happened on the receive queue.
    pub receive: bool,
    /// The VI goes into Error if it is connected.
    pub breaks: bool,
}

/// A request to reach host memory. All of them go through the protection checker.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Access {
    /// Virtual address; or, with `by_offset`, bytes from the region's base rounded down to 64.
    pub address: Bits<64>,
    /// Of a remote peer's access (`remote`): bytes from `address` that must all lie in the region, at least `length`. Not looked
    /// at otherwise.
    pub span: Bits<32>,
    /// Bytes to move now, 1 to 4096.
    pub length: Bits<13>,
    /// Region.
    pub region: Bits<16>,
    /// Key; not compared with `by_offset`.
    pub key: Bits<16>,
    /// Tag that the region must have.
    pub tag: Bits<16>,
    /// The address is an offset: descriptors and rings.
    pub by_offset: bool,
    /// The region must be an agent's arena (rings); otherwise it must not be one.
    pub system: bool,
    /// Host memory is written.
    pub write: bool,
    /// Where the region ends early, move what is there instead of refusing (descriptors; `span` is not looked at).
    pub clip: bool,
    /// Rights of remote peers that the region must give, each a bit: see [`remote`]. None for what a peer did not ask.
    pub remote: Bits<2>,
    /// Comes back with the answer.
    pub user: Bits<8>,
}

/// A granted access, or the piece of it that lies in one page. Reads: a refused access comes as a
/// command too, so that its answer stays in order.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DmaCommand {
    /// DMA address of the first byte.
    pub address: Bits<64>,
    /// Bytes, 1 to 4096.
    pub length: Bits<13>,
    /// See [`client`].
    pub client: Bits<2>,
    /// From the access.
    pub user: Bits<8>,
    /// Which of the two drain counters it is counted in.
    pub epoch: bool,
    /// Last piece of the access.
    pub last: bool,
    /// Refused: move nothing, answer with the fault (reads only).
    pub refused: bool,
}

/// Data read from host memory, in order of the accesses of all clients. There is no ready: whoever
/// asks has made room.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadBeat {
    /// See [`client`].
    pub client: Bits<2>,
    /// From the access.
    pub user: Bits<8>,
    /// Eight lanes; memory byte `a` is in lane `a % 8`.
    pub data: Bits<64>,
    /// First lane that counts.
    pub start: Bits<3>,
    /// Lanes that count; 0 with a fault.
    pub count: Bits<4>,
    /// Last beat of the access.
    pub last: bool,
    /// The access was refused; only with `last`.
    pub refused: bool,
    /// The read failed on the bus (unsupported, aborted, poisoned, timed out).
    pub failed: bool,
}

/// Data on its way to host memory. The write engine takes as many bytes as its commands say,
/// whatever the beats' borders.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WriteBeat {
    /// Eight lanes.
    pub data: Bits<64>,
    /// First lane that counts.
    pub start: Bits<3>,
    /// Lanes that count, 1 to 8.
    pub count: Bits<4>,
}

/// Where a descriptor lies.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SendHead {
    /// The VI.
    pub vi: Vi,
    /// Region that holds the descriptor.
    pub region: Bits<16>,
    /// Its offset in the region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Words of the 64 bytes that the region holds, 0 to 8; the rest read as 0.
    pub words: Bits<4>,
    /// The descriptor could not be read: nothing of it is valid and it cannot be completed.
    pub lost: bool,
    /// Epoch of the VI in which it was fetched: see [`EpochWrite`].
    pub epoch: bool,
    /// The first after a rewind: `psn` and `skip` count.
    pub restart: bool,
    /// PSN of its first packet that is sent.
    pub psn: Bits<24>,
    /// Packets of it that are acknowledged and not sent again.
    pub skip: Bits<24>,
    /// With `restart`: nothing is sent again; the VI goes on where it was parked.
    pub resume: bool,
}

/// A VI sends again from where the [`Rewind`] says. What is of the other epoch, between fetch and transmit, is dropped.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct EpochWrite {
    /// The VI.
    pub vi: Vi,
    /// Its epoch from now on.
    pub epoch: bool,
}

/// Sends are to be fetched again.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Rewind {
    /// The VI.
    pub vi: Vi,
    /// The new epoch.
    pub epoch: bool,
    /// Position of the oldest message that is not complete.
    pub position: Position,
    /// Its packets that are acknowledged; not all of them.
    pub skip: Bits<24>,
    /// PSN of the packet behind these.
    pub psn: Bits<24>,
    /// Nothing is sent again: the VI goes on where it was parked.
    pub resume: bool,
}

/// A packet to send, or the end of a message that sends nothing.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Packet {
    /// The VI.
    pub vi: Vi,
    /// There is a packet to send; otherwise only the completion.
    pub send: bool,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message: the completion follows it.
    pub last: bool,
    /// Payload bytes, 0 to 4096.
    pub length: Bits<13>,
    /// The packet carries immediate data.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// With `last`: region of the descriptor.
    pub region: Bits<16>,
    /// With `last`: offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// With `last`: bytes of the whole message.
    pub message_length: Bits<32>,
    /// With `last`: error bits 8:1 of the status known so far.
    pub errors: Bits<9>,
    /// The descriptor cannot be written: complete nothing.
    pub lost: bool,
    /// Epoch of its head.
    pub epoch: bool,
    /// First packet after a rewind: `psn` counts.
    pub restart: bool,
    /// Its PSN.
    pub psn: Bits<24>,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// RDMA: virtual address at the peer.
    pub remote_address: Bits<64>,
    /// RDMA: memory handle at the peer.
    pub rkey: Bits<32>,
    /// RDMA read: packets of the answer, less one. (Bytes of it are in `immediate`.)
    pub beyond: Bits<24>,
    /// RDMA read: segments of the descriptor.
    pub segments: Bits<8>,
    /// RDMA read: its number, see [`ReadSent`]. With `parked`: the reads complete.
    pub number: Bits<3>,
    /// The message may not begin before a read is complete: it, and all behind it, comes again.
    pub parked: bool,
    /// It is of the answer to a peer's read: `immediate` is the AETH, `psn` counts, and nothing of the VI's queue.
    pub reply: bool,
    /// With a transport error: segments of the descriptor could not be read, which it says itself. Otherwise it is not what it was before.
    pub unread: bool,
}

/// A packet of a reliable VI has left, or a message has ended: in order for each VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Sent {
    /// The VI.
    pub vi: Vi,
    /// The message has left, or will never leave. Otherwise a packet that is not its last has left: only `vi`,
    /// `epoch`, `length`, `operation` and `psn` count.
    pub ends: bool,
    /// Epoch in which it left.
    pub epoch: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// Error bits 8:1 of the status.
    pub errors: Bits<9>,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// The message is complete only when `psn` is acknowledged.
    pub acknowledged: bool,
    /// PSN of the packet, or of the message's last.
    pub psn: Bits<24>,
    /// The descriptor cannot be written: complete nothing.
    pub lost: bool,
    /// The message has not begun: it waits for a read to be complete, and comes again.
    pub parked: bool,
    /// With `parked`: reads complete when that was seen, modulo 8.
    pub number: Bits<3>,
}

/// An acknowledgement from the wire, or what stands for one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Acknowledged {
    /// The VI.
    pub vi: Vi,
    /// PSN acknowledged, or refused.
    pub psn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// What the frame itself was, for the counters: bits 6:5 of its syndrome; 2: an answer to a read.
    pub frame: Bits<2>,
}

/// An acknowledgement to send once every write granted before it is out.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AckRequest {
    /// The VI.
    pub vi: Vi,
    /// PSN to acknowledge, or to refuse.
    pub psn: Bits<24>,
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// `viaduct_spec::wire::syndrome`.
    pub syndrome: Bits<8>,
    /// See [`word`].
    pub kind: Bits<2>,
    /// Not before the data is in memory.
    pub reception: bool,
}

/// A descriptor to complete in place, and the acknowledgement that waits for it. Completions of
/// one queue are written in the order in which they come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Completion {
    /// The VI.
    pub vi: Vi,
    /// Receive queue.
    pub receive: bool,
    /// There is a descriptor to write; otherwise only the acknowledgement.
    pub write: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Length to write.
    pub length: Bits<32>,
    /// Low 20 bits of the status to write.
    pub status: Bits<20>,
    /// ImmediateData is written before Length and Status.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// An acknowledgement follows.
    pub acknowledge: bool,
    /// Its PSN.
    pub psn: Bits<24>,
    /// Its MSN.
    pub msn: Bits<24>,
    /// Its syndrome.
    pub syndrome: Bits<8>,
    /// See [`word`].
    pub kind: Bits<2>,
    /// A descriptor of the queue ends with it: the queue's position moves on. Without `write` it is one that could
    /// not be read.
    pub ends: bool,
    /// The acknowledgement waits until the data is in memory (Reliable Reception).
    pub reception: bool,
}

/// A descriptor has ended: for the completion queue of its queue, if that has one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Closed {
    /// The VI.
    pub vi: Vi,
    /// Receive queue.
    pub receive: bool,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Its status is written; otherwise nobody can see that it has ended.
    pub written: bool,
}

/// A completion queue entry on its way to memory.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqEntry {
    /// Region of the ring.
    pub region: Bits<16>,
    /// Tag that it must have.
    pub tag: Bits<16>,
    /// Where the entry goes: bytes from the region's base rounded down to 64.
    pub address: Bits<40>,
    /// The first 8 bytes: a token or an event.
    pub token: Bits<64>,
    /// The VI.
    pub vi: Vi,
    /// Receive queue.
    pub receive: bool,
    /// Phase of the ring's lap.
    pub phase: bool,
}

/// A store to a completion queue's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqStore {
    /// The queue.
    pub cq: Cq,
    /// How many entries the consumer has taken.
    pub index: CqIndex,
    /// It goes to sleep; otherwise it gives room.
    pub arm: bool,
}

/// An event for the error ring: `viaduct_spec::register::event`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Event {
    /// `viaduct_spec::register::event_code`.
    pub code: Bits<8>,
    /// The VI.
    pub vi: Vi,
    /// Receive queue.
    pub receive: bool,
    /// The VI went into Error.
    pub broke: bool,
}

/// What the parser found in a frame that is whole, undamaged and ours.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameInfo {
    /// BTH opcode.
    pub opcode: Bits<8>,
    /// Destination queue pair.
    pub queue_pair: Bits<24>,
    /// PSN.
    pub psn: Bits<24>,
    /// Acknowledge request.
    pub ack_request: bool,
    /// Immediate data or AETH, most significant byte = first on the wire.
    pub extension: Bits<32>,
    /// IPv4 source address, most significant byte = first on the wire.
    pub source_ip: Bits<32>,
    /// Four bytes of immediate data or AETH are in front of the payload.
    pub extended: bool,
    /// A RETH is in front of them.
    pub reth: bool,
    /// The RETH's address.
    pub address: Bits<64>,
    /// Its memory handle.
    pub rkey: Bits<32>,
    /// Its length: bytes of the whole message.
    pub size: Bits<32>,
    /// Payload bytes without pad; of a raw frame all bytes.
    pub length: Bits<13>,
    /// For the raw channel: the whole frame is payload. Of the rest only `queue_pair` counts, which is the raw VI's index, and `opcode`,
    /// which is that of an unreliable send of one packet.
    pub raw: bool,
    /// In the store it has a VLAN tag.
    pub has_tag: bool,
    /// Word of the frame store at which the frame starts.
    pub start: Bits<11>,
    /// Word behind its last.
    pub end: Bits<11>,
}

/// An RDMA read that a peer asks for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadRequest {
    /// The VI.
    pub vi: Vi,
    /// Its PSN is not the one expected, but behind it.
    pub again: bool,
    /// Virtual address of the first byte.
    pub address: Bits<64>,
    /// Memory handle.
    pub rkey: Bits<32>,
    /// Bytes, 0 to 2^31.
    pub length: Bits<32>,
    /// PSN of the first packet of the answer.
    pub psn: Bits<24>,
    /// Messages executed, this one included, modulo 2^24.
    pub msn: Bits<24>,
    /// Its VI is of Reliable Reception.
    pub reception: bool,
}

/// One packet of the answer to an RDMA read, without its bytes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Reply {
    /// The VI.
    pub vi: Vi,
    /// Virtual address of its first byte.
    pub address: Bits<64>,
    /// Memory handle.
    pub rkey: Bits<32>,
    /// Bytes from `address` to the end of the answer.
    pub span: Bits<32>,
    /// Bytes of the packet, 0 to 4096.
    pub length: Bits<13>,
    /// First packet of its answer.
    pub first: bool,
    /// Last packet of its answer.
    pub last: bool,
    /// PSN.
    pub psn: Bits<24>,
    /// Messages executed, modulo 2^24.
    pub msn: Bits<24>,
}

/// An RDMA read that leaves, for who waits for the answer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadSent {
    /// The VI.
    pub vi: Vi,
    /// Which of the VI's reads, counted modulo 8: one that is sent again has its old number.
    pub number: Bits<3>,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Its segments, the address segment included.
    pub segments: Bits<8>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// PSN of the first packet of the answer; of one that is sent again, from which it asks.
    pub psn: Bits<24>,
}

/// An answer from the wire: an acknowledgement, or a packet of the answer to an RDMA read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Answer {
    /// The VI.
    pub vi: Vi,
    /// It answers an RDMA read.
    pub response: bool,
    /// READ_RESPONSE_FIRST or _ONLY.
    pub first: bool,
    /// READ_RESPONSE_LAST or _ONLY.
    pub last: bool,
    /// PSN.
    pub psn: Bits<24>,
    /// Payload bytes.
    pub length: Bits<13>,
    /// `viaduct_spec::wire::syndrome`; a MIDDLE has none.
    pub syndrome: Bits<8>,
}
