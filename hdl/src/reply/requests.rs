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
//!   allows wait for their answers; none is (`answer_denied`) where the row does not allow RDMA reads. One that comes `again` is kept if its PSNs lie within those of a request that is still in
//!   its slot; its own address, handle and length count from then on. What waits behind it is forgotten: it is asked for again too.
//! - VIs with answers to give take turns, packet by packet; a VI's answers come in the order of its requests.
//! - `held` of a VI is high from its request until the last packet of its answers has left, or was dropped (`gone`). Then `free` comes.
//! - `failed` is a packet that could not be read; it counts as `gone` too. Its VI's requests are forgotten, and `word` is the NAK, which
//!   is the connection's last word. Transmit drops the VI's packets that are behind it, and breaks the VI.
//! - A commit of RECEIVE forgets the VI's requests. It is taken when no packet is on its way.
//!
//! Latency: 9 to 14 cycles from a new request to its answer, 5 more to its first reply; a reply every 8 cycles; 4 from
//! the last `gone` to `free`, when nothing else is under way.
//!
//! How: a request has two rows of one memory. Its end is next PSN plus bytes left in packets. The columns that move on
//! with each packet are written with each packet, the others with the request:
//!
//! | row | `moving` | `fixed` |
//! |---|---|---|
//! | 0 | address | handle |
//! | 1 | next PSN, bytes left, first of its answer, MSN 23:9 | PSN of the original's first packet, MSN 8:0 |
//!
//! Tests: `tests/reply/requests.rs`.

use crate::bus::{AckRequest, Commit, Mark, ReadRequest, Reply, Vi};
use crate::prims::{Fifo, LutRam, Ram, RunQueue};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{READ_DEPTH, READ_DEPTH_LOG2, VI_LOG2};
use viaduct_spec::tables::receive;

/// log2 of the slots of all VIs.
const SLOT_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2;
/// log2 of the memory's rows.
const ROW_LOG2: usize = SLOT_LOG2 + 1;
// Slots are the bits of `Queue::pending`, and shifts are plain numbers below.
const _: () = assert!(READ_DEPTH == 4 && READ_DEPTH_LOG2 == 2);
const _: () = {
    assert!(receive::MTU.lo == 58 && receive::MTU.width == 3);
    assert!(receive::RDMA_READ.lo == 97);
    assert!(receive::READ_DEPTH.lo == 104 && receive::READ_DEPTH.width == 4);
};

/// What is known of a VI.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Queue {
    /// Slot of the next new request: the oldest.
    oldest: Bits<2>,
    /// Slots whose requests wait for their answers.
    pending: Bits<4>,
    /// Slots in use, since the connection began.
    used: Bits<4>,
    /// Most requests that may wait: 0 to 4.
    depth: Bits<3>,
    /// Path MTU: 256 << MTU bytes.
    mtu: Bits<3>,
    /// `begun` when the last packet of its answers began.
    mark: Bits<8>,
}

/// Where a request stands.
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
    /// Move on, and the queue.
    Move,
    /// Write the first row.
    Shift,
    /// Write the second row.
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
    /// The peer has no right to read.
    pub answer_denied: Signal<Out, bool>,
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
    /// The NAK that says so.
    pub failed: Signal<In, AckRequest>,
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
    /// It is taken.
    pub free_ready: Signal<In, bool>,
    /// A request was kept.
    pub count_request: Signal<Out, bool>,
    /// Answers wait, or are on their way.
    pub busy: Signal<Out, bool>,
    queues: LutRam<Queue, VI_LOG2>,
    holds: LutRam<bool, VI_LOG2>,
    /// The memory's columns: what moves on with a packet, and what stays as the request brought it.
    moving: Ram<Bits<72>, ROW_LOG2>,
    fixed: Ram<Bits<36>, ROW_LOG2>,
    turn: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    tails: Fifo<Tail, 4, 5>,
    step: DFF<Step>,
    vi: DFF<Vi>,
    slot: DFF<Bits<2>>,
    /// Slots still to look at.
    tries: DFF<Bits<2>>,
    at: DFF<Progress>,
    /// The mark of the request's writes; valid in Wait.
    mark: DFF<Mark>,
    /// Packets, while being counted: bytes, shifts to come, something shifted out.
    scaled: DFF<Bits<24>>,
    shifts: DFF<Bits<3>>,
    sticky: DFF<bool>,
    packets: DFF<Bits<24>>,
    /// PSN behind the request's, and behind the slot's.
    request_end: DFF<Bits<24>>,
    slot_end: DFF<Bits<24>>,
    offered: DFF<bool>,
    offer: DFF<Reply>,
    /// Replies taken and not gone, modulo 256 each.
    begun: DFF<Mark>,
    ended: DFF<Mark>,
    failure: DFF<AckRequest>,
    told: DFF<bool>,
    kept: DFF<bool>,
    denied: DFF<bool>,
    /// The row of the VI at hand; in `known` since a cycle after `vi` names it.
    queue: Signal<Local, Queue>,
    known: DFF<Queue>,
    /// As many of its requests wait as may.
    full: DFF<bool>,
    /// Size of its packets.
    mtu: DFF<Bits<13>>,
    /// The oldest answer that is on its way has left.
    left_tail: DFF<bool>,
    /// Its VI has more to answer.
    holding: DFF<bool>,
    /// That is known.
    weighed: DFF<bool>,
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
    since: Signal<Local, Mark>,
    past: Signal<Local, Mark>,
    next_slot: Signal<Local, Bits<2>>,
    round_up: Signal<Local, Bits<1>>,
    counted: Signal<Local, Bits<24>>,
    length: Signal<Local, Bits<32>>,
    left: Signal<Local, Bits<32>>,
    distance: Signal<Local, Bits<24>>,
    reach: Signal<Local, Bits<24>>,
    room: Signal<Local, Bits<24>>,
    covered: Signal<Local, bool>,
    is_last: Signal<Local, bool>,
    piece: Signal<Local, Bits<13>>,
    row: Signal<Local, Bits<ROW_LOG2>>,
    moving_row: Signal<Local, Bits<72>>,
    fixed_row: Signal<Local, Bits<36>>,
    place: Signal<Local, Bits<64>>,
    new_msn: Signal<Local, Bits<24>>,
    start: Signal<Local, Bits<24>>,
    psn: Signal<Local, Bits<24>>,
    msn: Signal<Local, Bits<24>>,
    rest: Signal<Local, Bits<32>>,
    begins: Signal<Local, Bits<1>>,
    word0: Signal<Local, Bits<64>>,
    word1: Signal<Local, Bits<64>>,
    depth: Signal<Local, Bits<4>>,
}

impl Logic for Requests {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, slot, tries, at, mark, scaled, shifts, sticky, packets);
        dff_setup!(self, clock, offered, offer, begun, ended, failure, told, kept, denied);
        dff_setup!(self, clock, request_end, slot_end, known, full, mtu, left_tail, holding, weighed);
        clock!(self, clock, queues, holds, moving, fixed, turn, tails);
        self.turn.reset.next = self.reset.val();
        self.tails.reset.next = self.reset.val();

        // The VI at hand.
        self.queues.read_address.next = self.vi.q.val();
        self.queue.next = self.queues.read_data.val();
        self.known.d.next = self.queue.val();
        self.stored.next = self.queue.val();
        self.stores.next = false;
        self.pending.next = self.known.q.val().pending;
        self.used.next = self.known.q.val().used;
        self.one.next = bits::<4>(1) << self.slot.q.val();
        self.waits.next = (self.pending.val() & self.one.val()).any();
        self.in_use.next = (self.used.val() & self.one.val()).any();
        // In order the slots are next, next + 1, ... Behind `slot` are those up to next - 1.
        self.next_slot.next = self.slot.q.val() + 1;
        self.behind.next = bits::<4>(0);
        match self.slot.q.val().index() {
            0 => match self.known.q.val().oldest.index() {
                1 => {
                    self.behind.next = bits::<4>(0);
                }
                2 => {
                    self.behind.next = bits::<4>(2);
                }
                3 => {
                    self.behind.next = bits::<4>(6);
                }
                _ => {
                    self.behind.next = bits::<4>(14);
                }
            },
            1 => match self.known.q.val().oldest.index() {
                2 => {
                    self.behind.next = bits::<4>(0);
                }
                3 => {
                    self.behind.next = bits::<4>(4);
                }
                0 => {
                    self.behind.next = bits::<4>(12);
                }
                _ => {
                    self.behind.next = bits::<4>(13);
                }
            },
            2 => match self.known.q.val().oldest.index() {
                3 => {
                    self.behind.next = bits::<4>(0);
                }
                0 => {
                    self.behind.next = bits::<4>(8);
                }
                1 => {
                    self.behind.next = bits::<4>(9);
                }
                _ => {
                    self.behind.next = bits::<4>(11);
                }
            },
            _ => match self.known.q.val().oldest.index() {
                0 => {
                    self.behind.next = bits::<4>(0);
                }
                1 => {
                    self.behind.next = bits::<4>(1);
                }
                2 => {
                    self.behind.next = bits::<4>(3);
                }
                _ => {
                    self.behind.next = bits::<4>(7);
                }
            },
        }
        self.waiting.next = bit_cast::<3, 1>(self.pending.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(3));
        self.full.d.next = self.waiting.val() >= self.known.q.val().depth;

        // Packets of so many bytes: a shift at a time, rounded up.
        self.length.next = self.request.val().length;
        self.left.next = self.at.q.val().left;
        self.round_up.next = bits::<1>(0);
        if self.sticky.q.val() {
            self.round_up.next = bits::<1>(1);
        }
        self.counted.next = self.scaled.q.val() + bit_cast::<24, 1>(self.round_up.val());
        // PSNs of a request and of a slot. Both ends are known the cycle before they are compared, and wait in
        // registers: sums of three are dear.
        self.request_end.d.next = self.request.val().psn + self.packets.q.val();
        self.slot_end.d.next = self.at.q.val().psn + self.counted.val();
        self.distance.next = self.request.val().psn - self.at.q.val().start;
        self.reach.next = self.request_end.q.val() - self.at.q.val().start;
        self.room.next = self.slot_end.q.val() - self.request_end.q.val();
        self.covered.next =
            !self.distance.val().get_bit(23) & !self.room.val().get_bit(23) & !self.reach.val().get_bit(23);

        // The packet at hand.
        self.mtu.d.next = bits::<13>(256);
        if self.known.q.val().mtu == bits::<3>(1) {
            self.mtu.d.next = bits::<13>(512);
        }
        if self.known.q.val().mtu == bits::<3>(2) {
            self.mtu.d.next = bits::<13>(1024);
        }
        if self.known.q.val().mtu == bits::<3>(3) {
            self.mtu.d.next = bits::<13>(2048);
        }
        if self.known.q.val().mtu == bits::<3>(4) {
            self.mtu.d.next = bits::<13>(4096);
        }
        self.is_last.next = !self.left.val().get_bits::<19>(13).any()
            & (self.left.val().get_bits::<13>(0) <= self.mtu.q.val());
        self.piece.next = self.mtu.q.val();
        if self.is_last.val() {
            self.piece.next = self.left.val().get_bits::<13>(0);
        }
        self.reply_valid.next = self.offered.q.val();
        self.reply.next = self.offer.q.val();
        if self.reply_ready.val() {
            self.offered.d.next = false;
        }
        if self.gone.val() {
            self.ended.d.next = self.ended.q.val() + 1;
        }

        // The memory: rows {VI, slot, 0} and {VI, slot, 1}.
        self.moving_row.next = self.moving.read_data.val();
        self.fixed_row.next = self.fixed.read_data.val();
        self.row.next = (bit_cast::<ROW_LOG2, VI_LOG2>(self.vi.q.val()) << 3)
            | (bit_cast::<ROW_LOG2, 2>(self.slot.q.val()) << 1);
        self.moving.read_address.next = self.row.val();
        self.fixed.read_address.next = self.row.val();
        if (self.step.q.val() == Step::Search) | (self.step.q.val() == Step::Place) {
            self.moving.read_address.next = self.row.val() | bits::<ROW_LOG2>(1);
            self.fixed.read_address.next = self.row.val() | bits::<ROW_LOG2>(1);
        }
        self.moving.write_address.next = self.row.val();
        self.fixed.write_address.next = self.row.val();
        self.moving.write_enable.next = false;
        self.fixed.write_enable.next = false;
        // A request is written as it came, and a reply moved on. The first packet of an answer is so marked.
        self.new_msn.next = self.request.val().msn;
        self.place.next = self.offer.q.val().address + bit_cast::<64, 13>(self.offer.q.val().length);
        self.psn.next = self.at.q.val().psn + 1;
        self.msn.next = self.at.q.val().msn;
        self.rest.next = self.at.q.val().left - bit_cast::<32, 13>(self.offer.q.val().length);
        self.begins.next = bits::<1>(0);
        if (self.step.q.val() == Step::Keep) | (self.step.q.val() == Step::Note) {
            self.place.next = self.request.val().address;
            self.psn.next = self.request.val().psn;
            self.msn.next = self.request.val().msn;
            self.rest.next = self.request.val().length;
            self.begins.next = bits::<1>(1);
        }
        self.moving.write_data.next = bit_cast::<72, 64>(self.place.val());
        if (self.step.q.val() == Step::Note) | (self.step.q.val() == Step::Store) {
            self.moving.write_address.next = self.row.val() | bits::<ROW_LOG2>(1);
            self.moving.write_data.next = (bit_cast::<72, 15>(self.msn.val().get_bits::<15>(9)) << 57)
                | (bit_cast::<72, 1>(self.begins.val()) << 56)
                | (bit_cast::<72, 32>(self.rest.val()) << 24)
                | bit_cast::<72, 24>(self.psn.val());
        }
        self.start.next = self.request.val().psn;
        if self.request.val().again {
            self.start.next = self.at.q.val().start;
        }
        self.fixed.write_data.next = bit_cast::<36, 32>(self.request.val().rkey);
        if self.step.q.val() == Step::Note {
            self.fixed.write_address.next = self.row.val() | bits::<ROW_LOG2>(1);
            self.fixed.write_data.next = (bit_cast::<36, 9>(self.new_msn.val().get_bits::<9>(0)) << 24)
                | bit_cast::<36, 24>(self.start.val());
        }

        if (self.step.q.val() == Step::Fetch) | (self.step.q.val() == Step::Progress) {
            self.at.d.next.start = self.fixed_row.val().get_bits::<24>(0);
            self.at.d.next.psn = self.moving_row.val().get_bits::<24>(0);
            self.at.d.next.msn = (bit_cast::<24, 15>(self.moving_row.val().get_bits::<15>(57)) << 9)
                | bit_cast::<24, 9>(self.fixed_row.val().get_bits::<9>(24));
            self.at.d.next.left = self.moving_row.val().get_bits::<32>(24);
            self.at.d.next.first = self.moving_row.val().get_bit(56);
        }

        // Commits.
        self.word0.next = self.commit.val().word0;
        self.word1.next = self.commit.val().word1;
        self.depth.next = self.word1.val().get_bits::<4>(40);
        self.commit_ready.next = false;

        // Who is held.
        self.holds.read_address.next = self.held_vi.val();
        self.held.next = self.holds.read_data.val();
        self.holds.write_enable.next = false;
        self.holds.write_address.next = self.vi.q.val();
        self.holds.write_data.next = false;
        self.past.next = self.ended.q.val() - self.tails.out_data.val().mark;
        self.left_tail.d.next =
            self.tails.out_valid.val() & !self.past.val().get_bit(7) & (self.step.q.val() != Step::Free);
        self.tails.in_valid.next = false;
        self.tails.in_data.next.vi = self.vi.q.val();
        self.tails.in_data.next.mark = self.begun.q.val();
        self.tails.out_ready.next = false;
        self.free_valid.next = false;
        self.free_vi.next = self.tails.out_data.val().vi;
        self.holding.d.next =
            self.queue.val().pending.any() | (self.queue.val().mark != self.tails.out_data.val().mark);
        // In Free it comes a cycle later.
        self.weighed.d.next = false;

        self.turn.push_valid.next = false;
        self.turn.push_id.next = self.vi.q.val();
        self.turn.pop_ready.next = false;
        self.since.next = self.retired.val() - self.mark.q.val();
        self.failed_ready.next = false;
        self.word_valid.next = self.step.q.val() == Step::Say;
        self.word.next = self.failure.q.val();
        self.told.d.next = false;
        self.answer_valid.next = self.told.q.val();
        self.answer_ok.next = self.kept.q.val();
        self.answer_denied.next = self.denied.q.val();
        self.answer_packets.next = self.packets.q.val();
        self.count_request.next = self.told.q.val() & self.kept.q.val();
        self.busy.next = (self.step.q.val() != Step::Idle)
            | self.turn.pop_valid.val()
            | self.tails.out_valid.val()
            | self.offered.q.val()
            | (self.begun.q.val() != self.ended.q.val());

        match self.step.q.val() {
            Step::Idle => {
                self.mark.d.next = self.issued.val();
                if self.failed_valid.val() {
                    self.vi.d.next = self.failed.val().vi;
                    self.failure.d.next = self.failed.val();
                    self.step.d.next = Step::Fail;
                } else if self.left_tail.q.val() {
                    self.vi.d.next = self.tails.out_data.val().vi;
                    self.step.d.next = Step::Free;
                } else if self.request_valid.val() & !self.told.q.val() {
                    self.vi.d.next = self.request.val().vi;
                    self.step.d.next = Step::Wait;
                } else if self.commit_valid.val() {
                    self.vi.d.next = bit_cast::<VI_LOG2, 16>(self.commit.val().row);
                    if (self.begun.q.val() == self.ended.q.val())
                        & !self.tails.out_valid.val()
                        & !self.offered.q.val()
                        & !self.turn.busy.val()
                        & (self.vi.q.val() == bit_cast::<VI_LOG2, 16>(self.commit.val().row))
                    {
                        self.stored.next.oldest = bits::<2>(0);
                        self.stored.next.pending = bits::<4>(0);
                        self.stored.next.used = bits::<4>(0);
                        self.stored.next.depth = self.depth.val().get_bits::<3>(0);
                        if self.depth.val() > bits::<4>(4) {
                            self.stored.next.depth = bits::<3>(4);
                        }
                        if !self.word1.val().get_bit(33) {
                            self.stored.next.depth = bits::<3>(0);
                        }
                        self.stored.next.mtu = self.word0.val().get_bits::<3>(58);
                        self.stores.next = true;
                        self.holds.write_enable.next = true;
                        self.commit_ready.next = true;
                    }
                } else if self.turn.pop_valid.val() & !self.offered.q.val() & self.tails.in_ready.val() {
                    self.turn.pop_ready.next = true;
                    self.vi.d.next = self.turn.pop_id.val();
                    self.step.d.next = Step::Pick;
                }
                self.tries.d.next = bits::<2>(3);
            }
            // A request.
            Step::Wait => {
                self.scaled.d.next = self.length.val().get_bits::<24>(8);
                self.sticky.d.next = self.length.val().get_bits::<8>(0).any();
                self.shifts.d.next = self.queue.val().mtu;
                self.slot.d.next = self.queue.val().oldest;
                if !self.since.val().get_bit(7) {
                    self.step.d.next = Step::Count;
                }
            }
            Step::Count => {
                self.packets.d.next = self.counted.val();
                if !self.counted.val().any() {
                    self.packets.d.next = bits::<24>(1);
                }
                if !self.shifts.q.val().any() {
                    self.step.d.next = Step::Sort;
                }
            }
            Step::Sort => {
                self.denied.d.next = !self.known.q.val().depth.any();
                if self.request.val().again {
                    self.step.d.next = Step::Search;
                } else if self.full.q.val() {
                    self.kept.d.next = false;
                    self.told.d.next = true;
                    self.step.d.next = Step::Idle;
                } else {
                    self.step.d.next = Step::Keep;
                }
            }
            Step::Search => {
                self.step.d.next = Step::Fetch;
            }
            Step::Fetch => {
                self.step.d.next = Step::Measure;
                self.shifts.d.next = bits::<3>(7);
            }
            Step::Measure => {
                // First the bytes go in; 7 says so.
                if self.shifts.q.val().all() {
                    self.scaled.d.next = self.left.val().get_bits::<24>(8);
                    self.sticky.d.next = self.left.val().get_bits::<8>(0).any();
                    // An answer of no bytes that waits has its packet still to come.
                    if self.waits.val() & !self.left.val().any() {
                        self.sticky.d.next = true;
                    }
                    self.shifts.d.next = self.queue.val().mtu;
                } else if !self.shifts.q.val().any() {
                    self.step.d.next = Step::Compare;
                }
            }
            Step::Compare => {
                self.tries.d.next = self.tries.q.val() - 1;
                if self.in_use.val() & self.covered.val() {
                    self.step.d.next = Step::Keep;
                } else {
                    self.slot.d.next = self.next_slot.val();
                    self.step.d.next = Step::Search;
                    if !self.tries.q.val().any() {
                        self.kept.d.next = false;
                        self.told.d.next = true;
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Keep => {
                self.moving.write_enable.next = true;
                self.fixed.write_enable.next = true;
                self.step.d.next = Step::Note;
            }
            Step::Note => {
                self.stored.next.pending = self.pending.val() | self.one.val();
                self.stored.next.used = self.used.val() | self.one.val();
                if self.request.val().again {
                    self.stored.next.pending = (self.pending.val() & !self.behind.val()) | self.one.val();
                } else {
                    self.stored.next.oldest = self.next_slot.val();
                }
                if !self.turn.busy.val() {
                    self.moving.write_enable.next = true;
                    self.fixed.write_enable.next = true;
                    self.stores.next = true;
                    self.holds.write_enable.next = true;
                    self.holds.write_data.next = true;
                    self.turn.push_valid.next = true;
                    self.kept.d.next = true;
                    self.told.d.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            // A reply.
            Step::Pick => {
                self.slot.d.next = self.queue.val().oldest;
                self.step.d.next = Step::Place;
                if !self.queue.val().pending.any() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Place => {
                // The row is asked for, if it is this slot's.
                if self.waits.val() {
                    self.step.d.next = Step::Progress;
                } else {
                    self.slot.d.next = self.next_slot.val();
                }
            }
            Step::Progress => {
                self.step.d.next = Step::Give;
            }
            Step::Give => {
                self.offered.d.next = true;
                self.offer.d.next.vi = self.vi.q.val();
                self.offer.d.next.address = self.moving_row.val().get_bits::<64>(0);
                self.offer.d.next.rkey = self.fixed_row.val().get_bits::<32>(0);
                self.offer.d.next.span = self.left.val();
                self.offer.d.next.length = self.piece.val();
                self.offer.d.next.first = self.at.q.val().first;
                self.offer.d.next.last = self.is_last.val();
                self.offer.d.next.psn = self.at.q.val().psn;
                self.offer.d.next.msn = self.at.q.val().msn;
                self.begun.d.next = self.begun.q.val() + 1;
                self.step.d.next = Step::Move;
            }
            Step::Move => {
                if self.offer.q.val().last {
                    self.stored.next.pending = self.pending.val() & !self.one.val();
                    self.stores.next = true;
                    if self.pending.val() == self.one.val() {
                        self.stored.next.mark = self.begun.q.val();
                        self.tails.in_valid.next = true;
                    }
                }
                self.step.d.next = Step::Shift;
            }
            Step::Shift => {
                self.moving.write_enable.next = true;
                self.step.d.next = Step::Store;
            }
            Step::Store => {
                self.moving.write_enable.next = true;
                self.turn.push_valid.next = self.pending.val().any();
                self.step.d.next = Step::Idle;
            }
            // An answer is out; if another request came meanwhile, its answer brings this again.
            Step::Free => {
                self.weighed.d.next = true;
                self.free_valid.next = self.weighed.q.val() & !self.holding.q.val();
                if self.weighed.q.val() & (self.holding.q.val() | self.free_ready.val()) {
                    self.holds.write_enable.next = !self.holding.q.val();
                    self.tails.out_ready.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Fail => {
                self.failed_ready.next = true;
                self.stored.next.pending = bits::<4>(0);
                self.stored.next.used = bits::<4>(0);
                self.stores.next = true;
                self.holds.write_enable.next = true;
                self.step.d.next = Step::Say;
            }
            Step::Say => {
                if self.word_ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        // The counting itself.
        if ((self.step.q.val() == Step::Count) | (self.step.q.val() == Step::Measure))
            & self.shifts.q.val().any()
            & !self.shifts.q.val().all()
        {
            self.scaled.d.next = self.scaled.q.val() >> 1;
            self.sticky.d.next = self.sticky.q.val() | self.scaled.q.val().get_bit(0);
            self.shifts.d.next = self.shifts.q.val() - 1;
        }

        self.queues.write_enable.next = self.stores.val();
        self.queues.write_address.next = self.vi.q.val();
        self.queues.write_data.next = self.stored.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.offered.d.next = false;
            self.told.d.next = false;
            self.begun.d.next = bits::<8>(0);
            self.ended.d.next = bits::<8>(0);
        }
    }
}
