//! Keeps the RDMA reads that peers ask for, and gives out the answers, a packet of one VI at a time.
//!
//! ```text
//!  request ──►┌──────────────┐──► reply           (to send/gather)
//!   answer ◄──│   Requests   │◄── gone, failed    (from send/transmit)
//!   commit ──►│ Slots  Count │──► word            (a refusal, to send/ack)
//!  issued, ──►│  Departures  │──► held, free      (send/ack holds what is behind an answer)
//!  retired,   │  Behind      │
//!  settled    └──────────────┘
//! ```
//! Contract: docs/semantics.md, RSP-1, RSP-6 and RSP-7.
//! - A request stays on show until `answer`: its `ok` says that the request is kept, its `packets` how many PSNs the answer
//!   has. The block looks at a request when the writes granted before it have left the edge, so a read finds what was written
//!   before; at one of Reliable Reception when all that was received before is in memory (`settled`), for its answer acknowledges that.
//! - A VI has READ_DEPTH slots, used in turn. A new request goes into the oldest. It is not kept if as many as the VI's RECEIVE row
//!   allows wait for their answers. None is kept where the row does not allow RDMA reads; `answer` then says `denied`. A request that
//!   comes `again` is kept if its PSNs lie within those of a request that is still in its slot; its own address, handle and length count
//!   from then on. The block forgets what waits behind it, since the peer asks for that again too.
//! - VIs with answers to give take turns, packet by packet; a VI's answers come in the order of its requests.
//! - `held` of a VI is high from its request until the last packet of its answers has left, or was dropped (`gone`). Then `free` comes.
//! - `failed` reports a packet that could not be read; it counts as `gone` too. The block forgets the VI's requests and gives the NAK to
//!   `word`; it is the connection's last word. Transmit drops the VI's packets that are behind it, and breaks the VI.
//! - A commit of RECEIVE forgets the VI's requests. It is taken when no packet is on its way.
//!
//! Example: a peer reads 2049 bytes of a VI with a path MTU of 1024 bytes, from PSN 100 on. `answer` says `ok` and 3 packets. `reply`
//! gives three packets, of 1024, 1024 and 1 bytes, with PSNs 100 to 102. When all three are `gone`, `free` names the VI.
//!
//! Latency: 9 to 14 cycles from a new request to its answer, 5 more to its first reply; a reply every 8 cycles; 4 from
//! the last `gone` to `free`, when nothing else is under way.
//!
//! Tests: `tests/reply/requests/`.

use super::behind::Behind;
use super::count::Count;
use super::departures::Departures;
use super::slots::{Progress, Slots};
use crate::bus::{AckRequest, Admission, Commit, Mark, ReadRequest, Reply, Vi};
use crate::prims::{LutRam, RunQueue};
use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{READ_DEPTH, VI_LOG2};
use viaduct_spec::tables::receive;

// Slots are the bits of `Queue::pending`.
const _: () = assert!(READ_DEPTH == 4);
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
    /// How many packets had been given out when the last of its answers began.
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
    /// Find out whether the request is new.
    Sort,
    /// Look for the original request, slot by slot.
    Search,
    /// The slot's row comes.
    Fetch,
    /// Count the slot's packets.
    Measure,
    /// Compare the request with the slot.
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
    /// Give the NAK to send/ack.
    Say,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Requests {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what is under way; the queues stay until their rows are committed.
    pub reset: Signal<In, bool>,
    /// An RDMA read that a peer asks for, from receive/delivery. It stays on show until `answer`.
    pub request: FlowSink<ReadRequest>,
    /// What becomes of the request: whether it is kept, whether it is denied, and how many PSNs its answer takes.
    pub answer: FlowSource<Admission>,
    /// Write commands that the write engine has been given, modulo 256.
    pub issued: Signal<In, Mark>,
    /// Write commands whose bytes have left the edge, modulo 256.
    pub retired: Signal<In, Mark>,
    /// Everything that was received before is in memory, status included; the top drives it.
    pub settled: Signal<In, bool>,
    /// A table row on the bus; the block takes the RECEIVE rows.
    pub commit: Sink<Commit>,
    /// A packet of an answer, without its bytes, for send/gather.
    pub reply: Source<Reply>,
    /// Pulses when the oldest packet taken has left, or was dropped; transmit drives it.
    pub gone: Signal<In, bool>,
    /// The NAK for a packet whose bytes could not be read, from transmit.
    pub failed: Sink<AckRequest>,
    /// A refusal to send, for send/ack: the NAK of a failed answer.
    pub word: Source<AckRequest>,
    /// Tells send/ack whether the acknowledgements of a VI are held behind its answers.
    pub held: Table<Vi, bool>,
    /// A VI whose answers have all left, for send/ack.
    pub free: Source<Vi>,
    /// Pulses when a request is kept.
    pub count_request: Pulse,
    /// Answers wait, or are on their way.
    pub busy: Signal<Out, bool>,
    queues: LutRam<Queue, VI_LOG2>,
    /// The requests themselves.
    slots: Slots,
    count: Count,
    behind: Behind,
    departures: Departures,
    turn: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    step: DFF<Step>,
    /// The VI at hand.
    vi: DFF<Vi>,
    /// The slot at hand.
    slot: DFF<Bits<2>>,
    /// Slots still to look at.
    tries: DFF<Bits<2>>,
    /// How far the request in the slot at hand is.
    at: DFF<Progress>,
    /// The mark of the request's writes; valid in Wait.
    mark: DFF<Mark>,
    /// The progress in `at` has just come from memory.
    fresh: DFF<bool>,
    packets: DFF<Bits<24>>,
    /// PSN behind the request's, and behind the slot's.
    request_end: DFF<Bits<24>>,
    slot_end: DFF<Bits<24>>,
    offered: DFF<bool>,
    offer: DFF<Reply>,
    failure: DFF<AckRequest>,
    /// `answer` is given in this cycle.
    told: DFF<bool>,
    /// With `told`: the request is kept.
    kept: DFF<bool>,
    /// With `told`: the VI gives its peer no right to read.
    denied: DFF<bool>,
    /// The row of the VI at hand; in `known` since a cycle after `vi` names it.
    queue: Signal<Local, Queue>,
    known: DFF<Queue>,
    /// As many requests of the VI wait as its row allows.
    full: DFF<bool>,
    /// Size of its packets.
    mtu: DFF<Bits<13>>,
    /// The VI whose answer is out has more to answer.
    holding: DFF<bool>,
    /// `holding` is valid.
    weighed: DFF<bool>,
    stored: Signal<Local, Queue>,
    stores: Signal<Local, bool>,
    pending: Signal<Local, Bits<4>>,
    used: Signal<Local, Bits<4>>,
    waits: Signal<Local, bool>,
    in_use: Signal<Local, bool>,
    one: Signal<Local, Bits<4>>,
    waiting: Signal<Local, Bits<3>>,
    since: Signal<Local, Mark>,
    /// `settled` in the cycle before.
    rests: DFF<bool>,
    next_slot: Signal<Local, Bits<2>>,
    left: Signal<Local, Bits<32>>,
    distance: Signal<Local, Bits<24>>,
    reach: Signal<Local, Bits<24>>,
    room: Signal<Local, Bits<24>>,
    covered: Signal<Local, bool>,
    is_last: Signal<Local, bool>,
    piece: Signal<Local, Bits<13>>,
    place: Signal<Local, Bits<64>>,
    psn: Signal<Local, Bits<24>>,
    rest: Signal<Local, Bits<32>>,
    keeps: Signal<Local, bool>,
    word0: Signal<Local, Bits<64>>,
    word1: Signal<Local, Bits<64>>,
    depth: Signal<Local, Bits<4>>,
}

impl Logic for Requests {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, slot, tries, at, mark, fresh, packets);
        dff_setup!(self, clock, offered, offer, failure, told, kept, denied, rests);
        dff_setup!(self, clock, request_end, slot_end, known, full, mtu, holding, weighed);
        clock!(self, clock, queues, slots, count, departures, turn);
        self.turn.reset.next = self.reset.val();
        self.departures.reset.next = self.reset.val();

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
        self.next_slot.next = self.slot.q.val() + 1;
        self.behind.slot.next = self.slot.q.val();
        self.behind.oldest.next = self.known.q.val().oldest;
        self.waiting.next = bit_cast::<3, 1>(self.pending.val().get_bits::<1>(0))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(1))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(2))
            + bit_cast::<3, 1>(self.pending.val().get_bits::<1>(3));
        // RSP-6: as many reads wait as READ_DEPTH allows.
        self.full.d.next = self.waiting.val() >= self.known.q.val().depth;

        // Packets of a request, and then of each slot.
        self.left.next = self.at.q.val().left;
        self.fresh.d.next = self.step.q.val() == Step::Fetch;
        self.count.load.next = (self.step.q.val() == Step::Wait) | self.fresh.q.val();
        self.count.mtu.next = self.queue.val().mtu;
        self.count.bytes.next = self.request.data.val().length;
        self.count.some.next = false;
        if self.fresh.q.val() {
            self.count.bytes.next = self.left.val();
            // The packet of an answer of no bytes is still to come, also if the answer was forgotten.
            self.count.some.next = self.at.q.val().first & !self.left.val().any();
        }
        // PSNs of a request and of a slot. Both ends are known the cycle before they are compared, and wait in
        // registers: sums of three are dear.
        self.request_end.d.next = self.request.data.val().psn + self.packets.q.val();
        self.slot_end.d.next = self.at.q.val().psn + self.count.packets.val();
        self.distance.next = self.request.data.val().psn - self.at.q.val().start;
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
        self.reply.valid.next = self.offered.q.val();
        self.reply.data.next = self.offer.q.val();
        if self.reply.ready.val() {
            self.offered.d.next = false;
        }

        // What is kept: a request as it came, then as each reply moves it on. The first packet of an answer is so marked.
        self.slots.vi.next = self.vi.q.val();
        self.slots.slot.next = self.slot.q.val();
        self.slots.second.next = (self.step.q.val() == Step::Search) | (self.step.q.val() == Step::Place);
        self.slots.write.next = false;
        self.slots.write_second.next = (self.step.q.val() == Step::Note) | (self.step.q.val() == Step::Store);
        self.keeps.next = (self.step.q.val() == Step::Keep) | (self.step.q.val() == Step::Note);
        self.slots.whole.next = self.keeps.val();
        self.place.next = self.offer.q.val().address + bit_cast::<64, 13>(self.offer.q.val().length);
        self.psn.next = self.at.q.val().psn + 1;
        self.rest.next = self.at.q.val().left - bit_cast::<32, 13>(self.offer.q.val().length);
        self.slots.new_handle.next = self.request.data.val().rkey;
        self.slots.new_place.next = self.place.val();
        self.slots.new_progress.next.psn = self.psn.val();
        self.slots.new_progress.next.msn = self.at.q.val().msn;
        self.slots.new_progress.next.left = self.rest.val();
        self.slots.new_progress.next.first = false;
        self.slots.new_progress.next.start = self.request.data.val().psn;
        if self.request.data.val().again {
            self.slots.new_progress.next.start = self.at.q.val().start;
        }
        if self.keeps.val() {
            self.slots.new_place.next = self.request.data.val().address;
            self.slots.new_progress.next.psn = self.request.data.val().psn;
            self.slots.new_progress.next.msn = self.request.data.val().msn;
            self.slots.new_progress.next.left = self.request.data.val().length;
            self.slots.new_progress.next.first = true;
        }
        if (self.step.q.val() == Step::Fetch) | (self.step.q.val() == Step::Progress) {
            self.at.d.next = self.slots.progress.val();
        }

        // Commits.
        self.word0.next = self.commit.data.val().word0;
        self.word1.next = self.commit.data.val().word1;
        self.depth.next = self.word1.val().get_bits::<4>(40);
        self.commit.ready.next = false;

        // Who is held.
        self.departures.vi.next = self.vi.q.val();
        self.departures.gone.next = self.gone.val();
        self.departures.begins.next = self.step.q.val() == Step::Give;
        self.departures.looks.next = self.step.q.val() == Step::Free;
        self.departures.ends.next = false;
        self.departures.done.next = false;
        self.departures.hold.next = false;
        self.departures.free.next = false;
        Table::<Vi, bool>::link(&mut self.held, &mut self.departures.held);
        self.free.valid.next = false;
        self.free.data.next = self.departures.out_vi.val();
        self.holding.d.next =
            self.queue.val().pending.any() | (self.queue.val().mark != self.departures.out_mark.val());
        // In Free it comes a cycle later.
        self.weighed.d.next = false;

        self.turn.push.valid.next = false;
        self.turn.push.data.next = self.vi.q.val();
        self.turn.pop.ready.next = false;
        self.rests.d.next = self.settled.val();
        self.since.next = self.retired.val() - self.mark.q.val();
        self.failed.ready.next = false;
        self.word.valid.next = self.step.q.val() == Step::Say;
        self.word.data.next = self.failure.q.val();
        self.told.d.next = false;
        self.answer.valid.next = self.told.q.val();
        self.answer.data.next.ok = self.kept.q.val();
        self.answer.data.next.denied = self.denied.q.val();
        self.answer.data.next.packets = self.packets.q.val();
        self.count_request.next = self.told.q.val() & self.kept.q.val();
        self.busy.next = (self.step.q.val() != Step::Idle)
            | self.turn.held.val()
            | self.departures.waits.val()
            | self.offered.q.val()
            | self.departures.under_way.val();

        match self.step.q.val() {
            Step::Idle => {
                self.mark.d.next = self.issued.val();
                if self.failed.valid.val() {
                    self.vi.d.next = self.failed.data.val().vi;
                    self.failure.d.next = self.failed.data.val();
                    self.step.d.next = Step::Fail;
                } else if self.departures.out.val() {
                    self.vi.d.next = self.departures.out_vi.val();
                    self.step.d.next = Step::Free;
                } else if self.request.valid.val() & !self.told.q.val() {
                    self.vi.d.next = self.request.data.val().vi;
                    self.step.d.next = Step::Wait;
                } else if self.commit.valid.val() {
                    self.vi.d.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    if !self.departures.under_way.val()
                        & !self.departures.waits.val()
                        & !self.offered.q.val()
                        & !self.turn.busy.val()
                        & (self.vi.q.val() == bit_cast::<VI_LOG2, 16>(self.commit.data.val().row))
                    {
                        // LIFE-2: with a RECEIVE row the reads of before are forgotten.
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
                        self.departures.free.next = true;
                        self.commit.ready.next = true;
                    }
                } else if self.turn.pop.valid.val() & !self.offered.q.val() & self.departures.room.val() {
                    self.turn.pop.ready.next = true;
                    self.vi.d.next = self.turn.pop.data.val();
                    self.step.d.next = Step::Pick;
                }
                self.tries.d.next = bits::<2>(3);
            }
            // A request.
            Step::Wait => {
                self.slot.d.next = self.queue.val().oldest;
                // RSP-7: a read is executed behind the writes before it; of Reliable Reception when they are in memory.
                if !self.since.val().get_bit(7) & (self.rests.q.val() | !self.request.data.val().reception) {
                    self.step.d.next = Step::Count;
                }
            }
            Step::Count => {
                self.packets.d.next = self.count.packets.val();
                // WIRE-4: a read of no bytes has one PSN.
                if !self.count.packets.val().any() {
                    self.packets.d.next = bits::<24>(1);
                }
                if self.count.done.val() {
                    self.step.d.next = Step::Sort;
                }
            }
            Step::Sort => {
                // RSP-6: whether the VI may be read at all comes first (RSP-5).
                self.denied.d.next = !self.known.q.val().depth.any();
                if self.request.data.val().again {
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
            }
            Step::Measure => {
                if !self.fresh.q.val() & self.count.done.val() {
                    self.step.d.next = Step::Compare;
                }
            }
            Step::Compare => {
                self.tries.d.next = self.tries.q.val() - 1;
                // RSP-1: within one of the last four reads; otherwise it is dropped.
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
                self.slots.write.next = true;
                self.step.d.next = Step::Note;
            }
            Step::Note => {
                self.stored.next.pending = self.pending.val() | self.one.val();
                self.stored.next.used = self.used.val() | self.one.val();
                if self.request.data.val().again {
                    // RSP-1: in place of what has not left of that answer and of those behind it.
                    self.stored.next.pending =
                        (self.pending.val() & !self.behind.behind.val()) | self.one.val();
                } else {
                    self.stored.next.oldest = self.next_slot.val();
                }
                if !self.turn.busy.val() {
                    self.slots.write.next = true;
                    self.stores.next = true;
                    self.departures.hold.next = true;
                    self.turn.push.valid.next = true;
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
                self.offer.d.next.address = self.slots.place.val();
                self.offer.d.next.rkey = self.slots.handle.val();
                self.offer.d.next.span = self.left.val();
                self.offer.d.next.length = self.piece.val();
                self.offer.d.next.first = self.at.q.val().first;
                self.offer.d.next.last = self.is_last.val();
                self.offer.d.next.psn = self.at.q.val().psn;
                self.offer.d.next.msn = self.at.q.val().msn;
                self.step.d.next = Step::Move;
            }
            Step::Move => {
                if self.offer.q.val().last {
                    self.stored.next.pending = self.pending.val() & !self.one.val();
                    self.stores.next = true;
                    if self.pending.val() == self.one.val() {
                        self.stored.next.mark = self.departures.mark.val();
                        self.departures.ends.next = true;
                    }
                }
                self.step.d.next = Step::Shift;
            }
            Step::Shift => {
                self.slots.write.next = true;
                self.turn.push.valid.next = self.pending.val().any();
                self.step.d.next = Step::Store;
            }
            Step::Store => {
                self.slots.write.next = true;
                self.step.d.next = Step::Idle;
            }
            // An answer is out; if another request came meanwhile, its answer brings this again.
            Step::Free => {
                self.weighed.d.next = true;
                self.free.valid.next = self.weighed.q.val() & !self.holding.q.val();
                if self.weighed.q.val() & (self.holding.q.val() | self.free.ready.val()) {
                    self.departures.free.next = !self.holding.q.val();
                    self.departures.done.next = true;
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Fail => {
                self.failed.ready.next = true;
                // RSP-6: no answer comes behind one that cannot be made.
                self.stored.next.pending = bits::<4>(0);
                self.stored.next.used = bits::<4>(0);
                self.stores.next = true;
                self.departures.free.next = true;
                self.step.d.next = Step::Say;
            }
            Step::Say => {
                if self.word.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        self.queues.write_enable.next = self.stores.val();
        self.queues.write_address.next = self.vi.q.val();
        self.queues.write_data.next = self.stored.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.offered.d.next = false;
            self.told.d.next = false;
        }
    }
}
