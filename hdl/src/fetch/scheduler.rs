//! Takes the VIs that have work one at a time, finds out how many descriptors may be fetched, and asks for them.
//!
//! ```text
//!  run queues ──►┌───────┐──► access                       (ring lines, descriptors)
//!    row, done ─►│ Fetch │──► head, word / ahead, filled   (descriptors)
//!      commit ──►│       │──► again                        (more to fetch than one line, or than room for heads)
//!        beat ──►│       │──► fault
//!      rewind ──►└───────┘
//! ```
//! Contract:
//! - Each descriptor posted to an open queue comes out once, in order: 8 words, then its head or `filled`.
//! - Of a VI, at most SEND_WINDOW descriptors are fetched and not completed, and RECEIVE_AHEAD fetched and not
//!   consumed; at most 8 heads are fetched and not taken.
//! - A queue found without window room is not queued again: who makes room updates its position, then requeues the
//!   VI. A position read here is read after the VI was popped, so room made later requeues it.
//! - A rewind puts the send queue's position and epoch where it says, takes its tokens from the ring, and marks the
//!   first head. It is taken when that has been asked for, or when the queue is closed or found wrong.
//! - A queue found wrong (overrun, stale slot, ring not readable) raises its fault and rests until committed anew.
//! - Receive work goes first; a receive queue that had nothing to fetch lets one send queue by, so that a storm of
//!   empty doorbells cannot hold up the others' sends.
//! - A commit is taken when no read is in flight and no fault waits, and not before its fourth cycle on the bus;
//!   nothing is popped while it waits.
//!
//! Latency: 10 cycles from a VI on show to the access for an inline token. Tests: `tests/queues/fetch.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;

use super::{Expected, Landing, Piece, Plan, Queues, WorkQueue, QUEUE_LOG2};
use crate::bus::{Access, Commit, Fault, Position, ReadBeat, Rewind, SendHead, Vi};
use crate::prims::Number;

/// The steps of serving one queue.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Take a VI, or a commit.
    Idle,
    /// Its rows are being read.
    Read,
    /// They are there.
    Look,
    /// They are in registers.
    Count,
    /// How many are posted, and how many are out.
    Weigh,
    /// How many may be out.
    Decide,
    /// How many to fetch.
    Plan,
    /// Ask for a line of the ring.
    Line,
    /// Ask for a descriptor for each token.
    Tokens,
    /// Take the token off the line.
    Next,
    /// Throw the rest of a bad line away.
    Drop,
    /// Raise the fault.
    Stop,
    /// Write the progress back.
    Store,
    /// Queue the VI again.
    Again,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Fetch {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets what is in flight; rows stay.
    pub reset: Signal<In, bool>,
    /// Work queues are served.
    pub enabled: Signal<In, bool>,
    /// A VI has work in its send queue.
    pub send_valid: Signal<In, bool>,
    /// It is taken.
    pub send_ready: Signal<Out, bool>,
    /// The VI.
    pub send_vi: Signal<In, Vi>,
    /// A VI has work in its receive queue.
    pub receive_valid: Signal<In, bool>,
    /// It is taken.
    pub receive_ready: Signal<Out, bool>,
    /// The VI.
    pub receive_vi: Signal<In, Vi>,
    /// Row of `doorbell` to read: {VI, receive}.
    pub row_address: Signal<Out, Bits<QUEUE_LOG2>>,
    /// Token of the last doorbell, without its position.
    pub row_token: Signal<In, Bits<50>>,
    /// One past the last position posted.
    pub row_posted: Signal<In, Position>,
    /// The token is there.
    pub row_inline: Signal<In, bool>,
    /// A table row is on the bus.
    pub commit_valid: Signal<In, bool>,
    /// It is ours and taken.
    pub commit_ready: Signal<Out, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// Data read, of any client.
    pub beat_valid: Signal<In, bool>,
    /// The beat.
    pub beat: Signal<In, ReadBeat>,
    /// An access to memory.
    pub access_valid: Signal<Out, bool>,
    /// It is taken.
    pub access_ready: Signal<In, bool>,
    /// The access.
    pub access: Signal<Out, Access>,
    /// VI whose `completed_position` is asked for.
    pub completed_vi: Signal<Out, Vi>,
    /// Position of its oldest send descriptor that is not completed.
    pub completed_position: Signal<In, Position>,
    /// VI whose `consumed_position` is asked for.
    pub consumed_vi: Signal<Out, Vi>,
    /// Position of its oldest receive descriptor that is not consumed.
    pub consumed_position: Signal<In, Position>,
    /// A VI sends again.
    pub rewind_valid: Signal<In, bool>,
    /// From where.
    pub rewind: Signal<In, Rewind>,
    /// It is fetched again.
    pub rewind_ready: Signal<Out, bool>,
    /// Pulse: gather has taken a head.
    pub head_taken: Signal<In, bool>,
    /// Queue a VI again.
    pub again_valid: Signal<Out, bool>,
    /// It is queued.
    pub again_ready: Signal<In, bool>,
    /// The VI.
    pub again_vi: Signal<Out, Vi>,
    /// Its receive queue.
    pub again_receive: Signal<Out, bool>,
    /// Pulse: a send descriptor is there.
    pub head_valid: Signal<Out, bool>,
    /// Where it lies.
    pub head: Signal<Out, SendHead>,
    /// A word of the next head.
    pub word_valid: Signal<Out, bool>,
    /// The word.
    pub word: Signal<Out, Bits<64>>,
    /// A word of a receive descriptor.
    pub ahead_valid: Signal<Out, bool>,
    /// The VI.
    pub ahead_vi: Signal<Out, Vi>,
    /// Which of the descriptors fetched ahead.
    pub ahead_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Which word.
    pub ahead_word: Signal<Out, Bits<3>>,
    /// The word.
    pub ahead_data: Signal<Out, Bits<64>>,
    /// Pulse: a receive descriptor is there.
    pub filled_valid: Signal<Out, bool>,
    /// The VI.
    pub filled_vi: Signal<Out, Vi>,
    /// Which of the descriptors fetched ahead.
    pub filled_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Region that holds it.
    pub filled_region: Signal<Out, Bits<16>>,
    /// Its offset in the region, in units of 64 bytes.
    pub filled_offset: Signal<Out, Bits<34>>,
    /// Words of it that are there.
    pub filled_words: Signal<Out, Bits<4>>,
    /// It could not be read.
    pub filled_lost: Signal<Out, bool>,
    /// One past its position.
    pub filled_position: Signal<Out, Position>,
    /// A queue or a descriptor is wrong.
    pub fault_valid: Signal<Out, bool>,
    /// The fault is taken.
    pub fault_ready: Signal<In, bool>,
    /// The fault.
    pub fault: Signal<Out, Fault>,
    /// A queue is being served or a read is in flight.
    pub busy: Signal<Out, bool>,

    queues: Queues,
    plan: Plan,
    landing: Landing,

    step: DFF<Step>,
    vi: DFF<Vi>,
    receive: DFF<bool>,
    /// The last receive queue had nothing to fetch: a send queue goes first.
    send_first: DFF<bool>,
    /// Its row. What a block RAM gives comes late in the cycle: rows are only looked at from registers.
    row: DFF<WorkQueue>,
    /// Posted so far.
    posted: DFF<Bits<14>>,
    /// The oldest fetched that is not done.
    oldest: DFF<Bits<14>>,
    /// Fetched so far.
    position: DFF<Bits<14>>,
    stopped: DFF<bool>,
    epoch: DFF<bool>,
    /// It is being rewound.
    rewinding: DFF<bool>,
    /// The next head is the first of a rewind.
    restart: DFF<bool>,
    token: DFF<Bits<50>>,
    with_token: DFF<bool>,
    /// The VI has work beyond what is being fetched.
    more: DFF<bool>,
    overrun: DFF<bool>,
    /// The commit on the bus has been there for one, two, three cycles.
    commit_seen: DFF<Bits<3>>,
    /// Send heads asked for and not taken, 0 to 8.
    heads: DFF<Bits<4>>,
    access_waits: DFF<bool>,
    access_out: DFF<Access>,
    fault_waits: DFF<bool>,
    fault_out: DFF<Fault>,

    idle: Signal<Local, bool>,
    commit_here: Signal<Local, bool>,
    commit_taken: Signal<Local, bool>,
    stored: Signal<Local, WorkQueue>,
    queue: Signal<Local, Bits<QUEUE_LOG2>>,
    send_waits: Signal<Local, bool>,
    pop_rewind: Signal<Local, bool>,
    pop_send: Signal<Local, bool>,
    pop_receive: Signal<Local, bool>,
    ones: Signal<Local, Bits<14>>,
    past_slots: Signal<Local, Bits<14>>,
    last_slot: Signal<Local, Bits<14>>,
    slot: Signal<Local, Bits<14>>,
    nothing: Signal<Local, bool>,
    line: Signal<Local, Piece>,
    slot_word: Signal<Local, Bits<64>>,
    token_now: Signal<Local, Bits<50>>,
    good: Signal<Local, bool>,
    offered: Signal<Local, bool>,
    ending: Signal<Local, bool>,
    access_free: Signal<Local, bool>,
    issue: Signal<Local, bool>,
    bad: Signal<Local, bool>,
    line_start: Signal<Local, Bits<35>>,
    line_address: Signal<Local, Bits<64>>,
    access_next: Signal<Local, Access>,
    entry: Signal<Local, Expected>,
    heads_step: Signal<Local, Bits<4>>,
    fault_free: Signal<Local, bool>,
    whose: Signal<Local, Expected>,
    whose_position: Signal<Local, Bits<14>>,
    arrived: Signal<Local, SendHead>,

    work_queue_table: Number<8, { table::WORK_QUEUE as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
    vi_overrun: Number<8, { event_code::VI_OVERRUN as u64 }>,
    minus_one: Number<4, 0xF>,
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            step,
            vi,
            receive,
            send_first,
            row,
            posted,
            oldest,
            position,
            stopped,
            epoch,
            rewinding,
            restart,
            token,
            with_token,
            more,
            overrun,
            commit_seen,
            heads,
            access_waits,
            access_out,
            fault_waits,
            fault_out
        );
        clock!(self, clock, queues, plan, landing);
        self.landing.reset.next = self.reset.val();
        self.landing.beat_valid.next = self.beat_valid.val();
        self.landing.beat.next = self.beat.val();

        // Between queues, a commit. The doorbell block hears the same commit and takes it in the first cycle without
        // a store, so within two; only then is it taken here, and meanwhile no row is read that may be either's.
        self.idle.next = self.step.q.val() == Step::Idle;
        self.commit_here.next =
            self.commit_valid.val() & (self.commit.val().target == self.work_queue_table.val());
        self.commit_taken.next = self.commit_here.val()
            & self.commit_seen.q.val().all()
            & self.idle.val()
            & self.landing.empty.val()
            & !self.access_waits.q.val()
            & !self.fault_waits.q.val();
        self.commit_seen.d.next = bits::<3>(0);
        if self.commit_here.val() & !self.commit_taken.val() {
            self.commit_seen.d.next = (self.commit_seen.q.val() << bits::<1>(1)) | bits::<3>(1);
        }
        self.commit_ready.next = self.commit_taken.val();
        self.queues.write.next = self.commit_taken.val();
        self.queues.commit.next = self.commit.val();
        self.stored.next = self.row.q.val();
        self.stored.next.position = self.position.q.val();
        self.stored.next.stopped = self.stopped.q.val();
        self.stored.next.epoch = self.epoch.q.val();
        self.queues.store.next = self.step.q.val() == Step::Store;
        self.queues.stored.next = self.stored.val();

        // The queue at hand.
        self.queue.next = bit_cast::<QUEUE_LOG2, VI_LOG2>(self.vi.q.val()) << bits::<1>(1);
        if self.receive.q.val() {
            self.queue.next =
                (bit_cast::<QUEUE_LOG2, VI_LOG2>(self.vi.q.val()) << bits::<1>(1)) | bits::<QUEUE_LOG2>(1);
        }
        self.queues.queue.next = self.queue.val();
        self.row_address.next = self.queue.val();
        self.completed_vi.next = self.vi.q.val();
        self.consumed_vi.next = self.vi.q.val();

        // Which VI next.
        self.pop_rewind.next = self.idle.val()
            & self.enabled.val()
            & !self.commit_here.val()
            & self.rewind_valid.val()
            & !self.heads.q.val().get_bit(3);
        self.send_waits.next = self.send_valid.val() & !self.heads.q.val().get_bit(3);
        self.pop_send.next = self.idle.val()
            & self.enabled.val()
            & !self.commit_here.val()
            & self.send_waits.val()
            & !self.pop_rewind.val()
            & (self.send_first.q.val() | !self.receive_valid.val());
        self.pop_receive.next = self.idle.val()
            & self.enabled.val()
            & !self.commit_here.val()
            & self.receive_valid.val()
            & !self.pop_rewind.val()
            & !(self.send_first.q.val() & self.send_waits.val());
        self.send_ready.next = self.pop_send.val();
        self.receive_ready.next = self.pop_receive.val();

        // How many descriptors to fetch.
        self.plan.count.next = self.step.q.val() == Step::Count;
        self.plan.weigh.next = self.step.q.val() == Step::Weigh;
        self.plan.decide.next = self.step.q.val() == Step::Decide;
        self.plan.posted.next = self.posted.q.val();
        self.plan.position.next = self.position.q.val();
        self.plan.done.next = self.oldest.q.val();
        self.plan.receive.next = self.receive.q.val();
        self.plan.heads.next = self.heads.q.val();
        self.plan.ring_log2.next = self.row.q.val().ring_log2;
        self.nothing.next = !self.row.q.val().open | self.stopped.q.val() | !self.plan.some.val();

        // The next token: from the doorbell, or the slot on show.
        self.line.next = self.landing.line.val();
        self.slot_word.next = self.line.val().data;
        self.token_now.next = self.token.q.val();
        self.offered.next = self.step.q.val() == Step::Tokens;
        self.good.next = true;
        self.ending.next = true;
        if !self.with_token.q.val() {
            self.token_now.next = self.slot_word.val().get_bits::<50>(0);
            self.offered.next = (self.step.q.val() == Step::Tokens) & self.landing.line_valid.val();
            self.good.next = self.line.val().whole
                & !self.line.val().bad
                & (self.slot_word.val().get_bits::<14>(50) == self.position.q.val())
                & self.slot_word.val().get_bits::<16>(34).any();
            self.ending.next = self.line.val().last;
        }
        self.access_free.next = self.access_ready.val() | !self.access_waits.q.val();
        self.issue.next =
            self.offered.val() & self.good.val() & self.access_free.val() & self.landing.entry_ready.val();
        self.bad.next = self.offered.val() & !self.good.val();
        self.landing.line_ready.next = ((self.step.q.val() == Step::Next) & !self.with_token.q.val())
            | (self.step.q.val() == Step::Drop);
        self.entry.next.vi = self.vi.q.val();
        self.entry.next.receive = self.receive.q.val();
        self.entry.next.region = self.token_now.val().get_bits::<16>(34);
        self.entry.next.offset = self.token_now.val().get_bits::<34>(0);
        self.entry.next.position = self.position.q.val();
        self.entry.next.epoch = self.epoch.q.val();
        self.entry.next.restart = self.restart.q.val();
        self.entry.next.psn = self.rewind.val().psn;
        self.entry.next.skip = self.rewind.val().skip;
        self.landing.entry_valid.next = self.issue.val();
        self.landing.entry.next = self.entry.val();

        // The access: a descriptor, or a line of the ring.
        self.ones.next = !bits::<14>(0);
        self.past_slots.next = self.ones.val() << self.row.q.val().ring_log2;
        self.last_slot.next = !self.past_slots.val();
        self.slot.next = self.position.q.val() & self.last_slot.val();
        self.line_start.next = bit_cast::<35, 34>(self.row.q.val().ring_offset)
            + bit_cast::<35, 14>(self.slot.val() >> bits::<2>(3));
        self.line_address.next = (bit_cast::<64, 35>(self.line_start.val()) << bits::<3>(6))
            | (bit_cast::<64, 14>(self.slot.val() & bits::<14>(7)) << bits::<3>(3));
        self.access_next.next.address =
            bit_cast::<64, 34>(self.token_now.val().get_bits::<34>(0)) << bits::<3>(6);
        self.access_next.next.span = bits::<32>(64);
        self.access_next.next.length = bits::<13>(64);
        self.access_next.next.region = self.token_now.val().get_bits::<16>(34);
        self.access_next.next.key = bits::<16>(0);
        self.access_next.next.tag = self.row.q.val().tag;
        self.access_next.next.by_offset = true;
        self.access_next.next.system = false;
        self.access_next.next.write = false;
        self.access_next.next.clip = true;
        self.access_next.next.remote = bits::<2>(0);
        self.access_next.next.user = bits::<8>(0);
        if self.step.q.val() == Step::Line {
            self.access_next.next.address = self.line_address.val();
            self.access_next.next.span = bit_cast::<32, 4>(self.plan.amount.val()) << bits::<2>(3);
            self.access_next.next.length = bit_cast::<13, 4>(self.plan.amount.val()) << bits::<2>(3);
            self.access_next.next.region = self.row.q.val().ring_region;
            self.access_next.next.tag = self.row.q.val().system_tag;
            self.access_next.next.system = true;
            self.access_next.next.clip = false;
            self.access_next.next.user = bits::<8>(1);
        }
        if self.access_ready.val() {
            self.access_waits.d.next = false;
        }
        if self.issue.val() | ((self.step.q.val() == Step::Line) & self.access_free.val()) {
            self.access_waits.d.next = true;
            self.access_out.d.next = self.access_next.val();
        }

        // Faults: a lost descriptor's, then the queue's.
        self.fault_free.next = self.fault_ready.val() | !self.fault_waits.q.val();
        if self.fault_ready.val() {
            self.fault_waits.d.next = false;
        }
        self.landing.lost_ready.next = self.fault_free.val();
        if self.fault_free.val() {
            self.fault_out.d.next.vi = self.vi.q.val();
            self.fault_out.d.next.receive = self.receive.q.val();
            self.fault_out.d.next.code = self.post_desc.val();
            self.fault_out.d.next.breaks = true;
            if self.overrun.q.val() {
                self.fault_out.d.next.code = self.vi_overrun.val();
            }
            self.fault_waits.d.next = self.step.q.val() == Step::Stop;
            if self.landing.lost_valid.val() {
                self.fault_out.d.next.vi = self.landing.lost_vi.val();
                self.fault_out.d.next.receive = self.landing.lost_receive.val();
                self.fault_out.d.next.code = self.post_desc.val();
                self.fault_waits.d.next = true;
            }
        }

        self.rewind_ready.next = self.rewinding.q.val() & (self.step.q.val() == Step::Store);
        match self.step.q.val() {
            Step::Idle => {
                self.rewinding.d.next = false;
                self.restart.d.next = false;
                if self.pop_rewind.val() {
                    self.vi.d.next = self.rewind.val().vi;
                    self.receive.d.next = false;
                    self.rewinding.d.next = true;
                    self.step.d.next = Step::Read;
                }
                if self.pop_receive.val() {
                    self.vi.d.next = self.receive_vi.val();
                    self.receive.d.next = true;
                    self.send_first.d.next = false;
                    self.step.d.next = Step::Read;
                }
                if self.pop_send.val() {
                    self.vi.d.next = self.send_vi.val();
                    self.receive.d.next = false;
                    self.send_first.d.next = false;
                    self.step.d.next = Step::Read;
                }
            }
            Step::Read => {
                self.step.d.next = Step::Look;
            }
            Step::Look => {
                self.row.d.next = self.queues.row.val();
                self.position.d.next = self.queues.row.val().position;
                self.stopped.d.next = self.queues.row.val().stopped;
                self.epoch.d.next = self.queues.row.val().epoch;
                if self.rewinding.q.val() {
                    self.position.d.next = self.rewind.val().position;
                    self.epoch.d.next = self.rewind.val().epoch;
                    self.restart.d.next = true;
                }
                self.token.d.next = self.row_token.val();
                self.with_token.d.next = self.row_inline.val();
                self.posted.d.next = self.row_posted.val();
                self.oldest.d.next = self.completed_position.val();
                if self.receive.q.val() {
                    self.oldest.d.next = self.consumed_position.val();
                }
                self.step.d.next = Step::Count;
            }
            Step::Count => {
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                // The token serves only if it is the one descriptor that is new.
                self.with_token.d.next =
                    self.with_token.q.val() & self.plan.single.val() & !self.rewinding.q.val();
                self.overrun.d.next = false;
                self.step.d.next = Step::Plan;
                if self.nothing.val() {
                    self.send_first.d.next = self.receive.q.val();
                    self.step.d.next = Step::Idle;
                    self.rewind_ready.next = self.rewinding.q.val() & !self.commit_here.val();
                }
                if self.commit_here.val() {
                    self.step.d.next = Step::Again;
                    if self.rewinding.q.val() {
                        // It still waits.
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Plan => {
                self.more.d.next = self.plan.more.val();
                self.step.d.next = Step::Line;
                if self.with_token.q.val() {
                    self.step.d.next = Step::Tokens;
                }
                if !self.plan.room.val() {
                    self.send_first.d.next = self.receive.q.val();
                    self.step.d.next = Step::Idle;
                }
                if self.plan.overrun.val() {
                    self.overrun.d.next = true;
                    self.step.d.next = Step::Stop;
                }
            }
            Step::Line => {
                if self.access_free.val() {
                    self.step.d.next = Step::Tokens;
                }
            }
            Step::Tokens => {
                if self.issue.val() {
                    self.position.d.next = self.position.q.val() + 1;
                    self.restart.d.next = false;
                    self.step.d.next = Step::Next;
                }
                if self.bad.val() {
                    self.step.d.next = Step::Drop;
                }
            }
            Step::Next => {
                self.step.d.next = Step::Tokens;
                if self.ending.val() {
                    self.step.d.next = Step::Store;
                }
            }
            Step::Drop => {
                if self.landing.line_valid.val() & self.line.val().last {
                    self.step.d.next = Step::Stop;
                }
            }
            Step::Stop => {
                if self.fault_free.val() & !self.landing.lost_valid.val() {
                    self.stopped.d.next = true;
                    self.more.d.next = false;
                    self.step.d.next = Step::Store;
                }
            }
            Step::Store => {
                self.step.d.next = Step::Idle;
                if self.more.q.val() {
                    self.step.d.next = Step::Again;
                }
            }
            Step::Again => {
                if self.again_ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }

        self.heads_step.next = bits::<4>(0);
        if self.issue.val() & !self.receive.q.val() & !self.head_taken.val() {
            self.heads_step.next = bits::<4>(1);
        }
        if self.head_taken.val() & !(self.issue.val() & !self.receive.q.val()) {
            self.heads_step.next = self.minus_one.val();
        }
        self.heads.d.next = self.heads.q.val() + self.heads_step.val();

        self.access_valid.next = self.access_waits.q.val();
        self.access.next = self.access_out.q.val();
        self.fault_valid.next = self.fault_waits.q.val();
        self.fault.next = self.fault_out.q.val();
        self.again_valid.next = self.step.q.val() == Step::Again;
        self.again_vi.next = self.vi.q.val();
        self.again_receive.next = self.receive.q.val();
        self.whose.next = self.landing.whose.val();
        self.whose_position.next = self.whose.val().position;
        self.arrived.next = self.landing.head.val();
        self.head_valid.next = self.landing.head_valid.val();
        self.head.next = self.arrived.val();
        self.word_valid.next = self.landing.word_valid.val();
        self.word.next = self.landing.word.val();
        self.ahead_valid.next = self.landing.ahead_valid.val();
        self.ahead_vi.next = self.whose.val().vi;
        self.ahead_slot.next = bit_cast::<RECEIVE_AHEAD_LOG2, 14>(self.whose_position.val());
        self.ahead_word.next = self.landing.number.val();
        self.ahead_data.next = self.landing.word.val();
        self.filled_valid.next = self.landing.filled_valid.val();
        self.filled_vi.next = self.whose.val().vi;
        self.filled_slot.next = bit_cast::<RECEIVE_AHEAD_LOG2, 14>(self.whose_position.val());
        self.filled_region.next = self.arrived.val().region;
        self.filled_offset.next = self.arrived.val().offset;
        self.filled_words.next = self.arrived.val().words;
        self.filled_lost.next = self.arrived.val().lost;
        self.filled_position.next = self.whose_position.val() + 1;
        self.busy.next = !self.idle.val()
            | !self.landing.empty.val()
            | self.access_waits.q.val()
            | self.fault_waits.q.val();

        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.send_first.d.next = false;
            self.heads.d.next = bits::<4>(0);
            self.access_waits.d.next = false;
            self.fault_waits.d.next = false;
        }
    }
}
