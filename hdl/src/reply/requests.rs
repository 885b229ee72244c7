//! Keeps the RDMA reads that peers ask for, and gives out the answers, a packet of one VI at a time.
//!
//! ```text
//!  request ──►┌──────────┐──► reply ◄── reply_ready       (to send/gather)
//!   answer ◄──│ Requests │◄── gone, failed                (from send/transmit)
//!   commit ──►│          │──► word                        (a refusal, to send/ack)
//!  retired ──►└──────────┘──► held, free                  (send/ack holds what is behind an answer)
//! ```
//! Contract: docs/semantics.md, "Reliable service: the responder".
//! - A request stays on show until `answer_valid`; `answer_ok` says that it is kept, `answer_packets` how many PSNs its answer
//!   has. It is looked at when the writes granted before it have left the edge, so a read finds what was written
//!   before.
//! - A VI has READ_DEPTH slots, used in turn. A new request goes into the oldest; it is not kept if as many as the VI's RECEIVE row
//!   allows wait for their answers. One that comes `again` is kept if its PSNs lie within those of a request that is still in
//!   its slot; its own address, handle and length count from then on. What waits behind it is forgotten: it is asked for again too.
//! - VIs with answers to give take turns, packet by packet; a VI's answers come in the order of its requests.
//! - `held` of a VI is high from its request until the last packet of its answers has left, or was dropped (`gone`). Then `free`
//!   comes, with the PSN of that packet.
//! - `failed` is a packet that could not be read; it counts as `gone` too. Its VI's requests are forgotten, and `word` is the NAK, which
//!   is the connection's last word. Transmit drops the VI's packets that are behind it, and breaks the VI.
//! - A commit of RECEIVE forgets the VI's requests. It is taken when no packet is on its way.
//!
//! Latency: 9 to 14 cycles from a new request to its answer, 5 more to its first reply; a reply every 9 cycles.
//!
//! How: a request has two rows of one memory, {address, handle} and {first PSN of the original, next PSN, MSN, bytes left}; both
//! move on with each packet. Its end is next PSN plus bytes left in packets.
//!
//! Tests: `tests/reply/requests.rs`.

use crate::bus::{word, AckRequest, Commit, Mark, ReadRequest, Reply, Vi};
use crate::prims::{Fifo, LutRam, Number, Ram, RunQueue};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{READ_DEPTH, READ_DEPTH_LOG2, VI_LOG2};
use viaduct_spec::tables::receive;
use viaduct_spec::wire::syndrome;

/// log2 of the slots of all VIs.
const SLOT_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2;
/// log2 of the memory's rows.
const ROW_LOG2: usize = SLOT_LOG2 + 1;
// Slots are the bits of `Queue::pending`, and shifts are plain numbers below.
const _: () = assert!(READ_DEPTH == 4 && READ_DEPTH_LOG2 == 2);
const _: () = {
    assert!(receive::MTU.lo == 58 && receive::MTU.width == 3);
    assert!(receive::READ_DEPTH.lo == 104 && receive::READ_DEPTH.width == 4);
};

/// What is known of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Queue {
    /// Slot of the next new request: the oldest.
    next: Bits<2>,
    /// Slots whose requests wait for their answers.
    pending: Bits<4>,
    /// Slots in use, since the connection began.
    used: Bits<4>,
    /// Most requests that may wait: 0 to 4.
    depth: Bits<3>,
    /// Path MTU: 256 << MTU bytes.
    mtu: Bits<3>,
}

/// First row of a slot: where.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Place {
    address: Bits<64>,
    rkey: Bits<32>,
    spare: Bits<9>,
}

/// Second row of a slot: how far.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Progress {
    /// PSN of the original's first packet.
    start: Bits<24>,
    /// PSN of the next packet.
    psn: Bits<24>,
    msn: Bits<24>,
    left: Bits<32>,
    /// The next packet is the first of its answer.
    first: bool,
}

/// An answer whose last packet is on its way.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Tail {
    vi: Vi,
    psn: Bits<24>,
    mark: Bits<8>,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Nothing.
    Idle,
    /// The writes before a request are not out yet.
    Wait,
    /// Count the request's packets.
    Count,
    /// Is it new?
    Sort,
    /// Look for it, slot by slot.
    Search,
    /// The slot's row comes.
    Fetch,
    /// Count the slot's packets.
    Measure,
    /// Compare.
    Compare,
    /// Write the first row.
    Keep,
    /// Write the second row, and the queue.
    Note,
    /// Find the oldest slot that waits.
    Pick,
    /// Its first row comes.
    Place,
    /// Its second row comes.
    Progress,
    /// The reply.
    Give,
    /// Move the first row on.
    Move,
    /// Move the second row on, and the queue.
    Store,
    /// An answer is out.
    Free,
    /// A packet could not be read.
    Fail,
    /// Say so.
    Say,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Requests {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is under way; the queues stay until their rows are committed.
    pub reset: Signal<In, bool>,
    /// A peer reads.
    pub request_valid: Signal<In, bool>,
    /// What.
    pub request: Signal<In, ReadRequest>,
    /// Pulse: it is looked at.
    pub answer_valid: Signal<Out, bool>,
    /// It is kept.
    pub answer_ok: Signal<Out, bool>,
    /// PSNs of its answer, at least 1.
    pub answer_packets: Signal<Out, Bits<24>>,
    /// Write commands issued.
    pub issued: Signal<In, Mark>,
    /// Write commands retired.
    pub retired: Signal<In, Mark>,
    /// A table row.
    pub commit_valid: Signal<In, bool>,
    /// RECEIVE rows are ours.
    pub commit: Signal<In, Commit>,
    /// It is taken.
    pub commit_ready: Signal<Out, bool>,
    /// A packet to send.
    pub reply_valid: Signal<Out, bool>,
    /// Which.
    pub reply: Signal<Out, Reply>,
    /// It is taken.
    pub reply_ready: Signal<In, bool>,
    /// Pulse: the oldest packet taken has left, or was dropped.
    pub gone: Signal<In, bool>,
    /// One could not be read.
    pub failed_valid: Signal<In, bool>,
    /// Its VI.
    pub failed_vi: Signal<In, Vi>,
    /// Its PSN.
    pub failed_psn: Signal<In, Bits<24>>,
    /// The peer may not read there; otherwise the read failed on the bus.
    pub failed_refused: Signal<In, bool>,
    /// It is taken.
    pub failed_ready: Signal<Out, bool>,
    /// A refusal to send.
    pub word_valid: Signal<Out, bool>,
    /// Which.
    pub word: Signal<Out, AckRequest>,
    /// It is taken.
    pub word_ready: Signal<In, bool>,
    /// VI whose acknowledgement is to leave.
    pub held_vi: Signal<In, Vi>,
    /// An answer of it comes first.
    pub held: Signal<Out, bool>,
    /// The answers of a VI are out.
    pub free_valid: Signal<Out, bool>,
    /// Which VI's.
    pub free_vi: Signal<Out, Vi>,
    /// PSN of the last packet.
    pub free_psn: Signal<Out, Bits<24>>,
    /// It is taken.
    pub free_ready: Signal<In, bool>,
    /// A request was kept.
    pub count_request: Signal<Out, bool>,
    /// Answers wait, or are on their way.
    pub busy: Signal<Out, bool>,
    queues: LutRam<Queue, VI_LOG2>,
    holds: LutRam<bool, VI_LOG2>,
    places: Ram<Bits<108>, ROW_LOG2>,
    turn: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    tails: Fifo<Tail, 4, 5>,
    step: DFF<Step>,
    vi: DFF<Vi>,
    slot: DFF<Bits<2>>,
    /// Slots still to look at.
    tries: DFF<Bits<2>>,
    at: DFF<Progress>,
    place: DFF<Place>,
    /// The mark of the request's writes; valid in Wait.
    mark: DFF<Mark>,
    /// Packets, while being counted: bytes, shifts to come, something shifted out.
    scaled: DFF<Bits<32>>,
    shifts: DFF<Bits<3>>,
    sticky: DFF<bool>,
    packets: DFF<Bits<24>>,
    offered: DFF<bool>,
    offer: DFF<Reply>,
    /// Replies taken and not gone, modulo 256 each.
    begun: DFF<Mark>,
    ended: DFF<Mark>,
    failure: DFF<AckRequest>,
    told: DFF<bool>,
    kept: DFF<bool>,
    queue: Signal<Local, Queue>,
    stored: Signal<Local, Queue>,
    stores: Signal<Local, bool>,
    pending: Signal<Local, Bits<4>>,
    used: Signal<Local, Bits<4>>,
    waits: Signal<Local, bool>,
    in_use: Signal<Local, bool>,
    one: Signal<Local, Bits<4>>,
    /// Slots behind the one at hand, in the order of the requests.
    behind: Signal<Local, Bits<4>>,
    waiting: Signal<Local, Bits<3>>,
    full: Signal<Local, bool>,
    since: Signal<Local, Mark>,
    past: Signal<Local, Mark>,
    left_tail: Signal<Local, bool>,
    next_slot: Signal<Local, Bits<2>>,
    counted: Signal<Local, Bits<24>>,
    low: Signal<Local, Bits<8>>,
    length: Signal<Local, Bits<32>>,
    left: Signal<Local, Bits<32>>,
    distance: Signal<Local, Bits<24>>,
    slot_end: Signal<Local, Bits<24>>,
    request_end: Signal<Local, Bits<24>>,
    room: Signal<Local, Bits<24>>,
    inside: Signal<Local, bool>,
    mtu: Signal<Local, Bits<13>>,
    is_last: Signal<Local, bool>,
    piece: Signal<Local, Bits<13>>,
    row: Signal<Local, Bits<108>>,
    word0: Signal<Local, Bits<64>>,
    word1: Signal<Local, Bits<64>>,
    depth: Signal<Local, Bits<4>>,
    holding: Signal<Local, bool>,
    most_tails: Number<5, 16>,
    zero_tails: Number<5, 0>,
    nak_access: Number<8, { syndrome::NAK_ACCESS as u64 }>,
    nak_operational: Number<8, { syndrome::NAK_OPERATIONAL as u64 }>,
    last_word: Number<2, { word::LAST }>,
}
