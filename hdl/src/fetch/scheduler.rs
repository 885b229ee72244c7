//! Takes the VIs that have work one at a time, finds out how many descriptors may be fetched, and asks for them.
//!
//! ```text
//!  run queues ──►┌───────┐──► access                       (ring lines, descriptors)
//!    row, done ─►│ Fetch │──► head, word / ahead, filled   (descriptors)
//!      commit ──►│       │──► again                        (more to fetch than one line, or than room for heads)
//!        beat ──►└───────┘──► fault
//! ```
//! Ports: docs/architecture.md.
//!
//! Contract:
//! - Each descriptor posted to an open queue comes out once, in order: 8 words, then its head or `filled`.
//! - Of a VI, at most SEND_WINDOW descriptors are fetched and not completed, and RECEIVE_AHEAD fetched and not
//!   consumed; at most 8 heads are fetched and not taken.
//! - A queue that stops for want of window room is not queued again: who makes room updates its position, then
//!   requeues the VI. A position read here is read after the VI was popped, so room made later requeues it.
//! - A queue found wrong (overrun, stale slot, ring not readable) raises its fault and rests until committed anew.
//! - Receive work goes first; a receive queue that had nothing to fetch lets one send queue by, so that a storm of
//!   empty doorbells cannot hold up the others' sends.
//! - A commit is taken when no read is in flight, and held: while it stays, it is written again in each cycle, and
//!   nothing is popped.
//!
//! Latency: 8 cycles from a VI on show to the access for an inline token. Tests: `tests/queues/fetch.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::profile::{RECEIVE_AHEAD, RECEIVE_AHEAD_LOG2, SEND_WINDOW, VI_LOG2};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{table, work_queue};

use super::{Expected, Landing, Piece};
use crate::bus::{Access, Commit, Fault, Position, ReadBeat, SendHead, Vi};
use crate::prims::Ram;

/// log2 of the work queues: row = 2 x VI + (1 for the receive queue).
const QUEUE_LOG2: usize = VI_LOG2 + 1;

/// A row of the work queue table.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct WorkQueue {
    ring_offset: Bits<34>,
    ring_region: Bits<16>,
    ring_log2: Bits<4>,
    open: bool,
    system_tag: Bits<16>,
    tag: Bits<16>,
}

/// How far a queue has come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Progress {
    /// Position of the next descriptor to fetch.
    position: Bits<14>,
    /// The queue was wrong and rests.
    stopped: bool,
}

/// The steps of serving one queue.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// Take a VI, or a commit.
    Idle,
    /// Its rows are being read.
    Read,
    /// They are there.
    Look,
    /// How many are posted, and how many may be out.
    Decide,
    /// How many to fetch.
    Plan,
    /// Ask for a line of the ring.
    Line,
    /// Ask for a descriptor for each token.
    Tokens,
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
#[derive(LogicBlock)]
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

    queues: Ram<WorkQueue, QUEUE_LOG2>,
    progress: Ram<Progress, QUEUE_LOG2>,
    landing: Landing,

    step: DFF<Step>,
    vi: DFF<Vi>,
    receive: DFF<bool>,
    /// The last receive queue had nothing to fetch: a send queue goes first.
    send_first: DFF<bool>,
    position: DFF<Bits<14>>,
    stopped: DFF<bool>,
    /// Posted and not fetched.
    count: DFF<Bits<14>>,
    /// Fetched and not done.
    out: DFF<Bits<14>>,
    token: DFF<Bits<50>>,
    with_token: DFF<bool>,
    /// Most that the queue and the line have.
    asked: DFF<Bits<4>>,
    /// Most that window and heads allow.
    allowed: DFF<Bits<4>>,
    /// What is left of the window.
    window: DFF<Bits<5>>,
    /// How many to fetch.
    amount: DFF<Bits<4>>,
    /// The VI has work, and room for it, beyond that.
    more: DFF<bool>,
    overrun: DFF<bool>,
    /// Send heads asked for and not taken, 0 to 8.
    heads: DFF<Bits<4>>,
    access_waits: DFF<bool>,
    access_out: DFF<Access>,
    fault_waits: DFF<bool>,
    fault_out: DFF<Fault>,

    idle: Signal<Local, bool>,
    commit_here: Signal<Local, bool>,
    commit_taken: Signal<Local, bool>,
    commit_row: Signal<Local, Bits<16>>,
    commit_low: Signal<Local, Bits<64>>,
    commit_high: Signal<Local, Bits<64>>,
    queue_in: Signal<Local, WorkQueue>,
    progress_in: Signal<Local, Progress>,
    queue: Signal<Local, Bits<QUEUE_LOG2>>,
    row: Signal<Local, WorkQueue>,
    send_waits: Signal<Local, bool>,
    pop_send: Signal<Local, bool>,
    pop_receive: Signal<Local, bool>,
    size: Signal<Local, Bits<14>>,
    last_slot: Signal<Local, Bits<14>>,
    slot: Signal<Local, Bits<14>>,
    limit: Signal<Local, Bits<14>>,
    left: Signal<Local, Bits<14>>,
    line_room: Signal<Local, Bits<4>>,
    count_8: Signal<Local, Bits<4>>,
    left_8: Signal<Local, Bits<4>>,
    heads_room: Signal<Local, Bits<4>>,
    planned: Signal<Local, Bits<4>>,
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

    work_queue_table: Constant<Bits<8>>,
    send_window: Constant<Bits<14>>,
    receive_ahead: Constant<Bits<14>>,
    post_desc: Constant<Bits<8>>,
    vi_overrun: Constant<Bits<8>>,
    minus_one: Constant<Bits<4>>,
}

impl Default for Fetch {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            enabled: Default::default(),
            send_valid: Default::default(),
            send_ready: Default::default(),
            send_vi: Default::default(),
            receive_valid: Default::default(),
            receive_ready: Default::default(),
            receive_vi: Default::default(),
            row_address: Default::default(),
            row_token: Default::default(),
            row_posted: Default::default(),
            row_inline: Default::default(),
            commit_valid: Default::default(),
            commit_ready: Default::default(),
            commit: Default::default(),
            beat_valid: Default::default(),
            beat: Default::default(),
            access_valid: Default::default(),
            access_ready: Default::default(),
            access: Default::default(),
            completed_vi: Default::default(),
            completed_position: Default::default(),
            consumed_vi: Default::default(),
            consumed_position: Default::default(),
            head_taken: Default::default(),
            again_valid: Default::default(),
            again_ready: Default::default(),
            again_vi: Default::default(),
            again_receive: Default::default(),
            head_valid: Default::default(),
            head: Default::default(),
            word_valid: Default::default(),
            word: Default::default(),
            ahead_valid: Default::default(),
            ahead_vi: Default::default(),
            ahead_slot: Default::default(),
            ahead_word: Default::default(),
            ahead_data: Default::default(),
            filled_valid: Default::default(),
            filled_vi: Default::default(),
            filled_slot: Default::default(),
            filled_region: Default::default(),
            filled_offset: Default::default(),
            filled_words: Default::default(),
            filled_lost: Default::default(),
            filled_position: Default::default(),
            fault_valid: Default::default(),
            fault_ready: Default::default(),
            fault: Default::default(),
            busy: Default::default(),
            queues: Default::default(),
            progress: Default::default(),
            landing: Default::default(),
            step: Default::default(),
            vi: Default::default(),
            receive: Default::default(),
            send_first: Default::default(),
            position: Default::default(),
            stopped: Default::default(),
            count: Default::default(),
            out: Default::default(),
            token: Default::default(),
            with_token: Default::default(),
            asked: Default::default(),
            allowed: Default::default(),
            window: Default::default(),
            amount: Default::default(),
            more: Default::default(),
            overrun: Default::default(),
            heads: Default::default(),
            access_waits: Default::default(),
            access_out: Default::default(),
            fault_waits: Default::default(),
            fault_out: Default::default(),
            idle: Default::default(),
            commit_here: Default::default(),
            commit_taken: Default::default(),
            commit_row: Default::default(),
            commit_low: Default::default(),
            commit_high: Default::default(),
            queue_in: Default::default(),
            progress_in: Default::default(),
            queue: Default::default(),
            row: Default::default(),
            send_waits: Default::default(),
            pop_send: Default::default(),
            pop_receive: Default::default(),
            size: Default::default(),
            last_slot: Default::default(),
            slot: Default::default(),
            limit: Default::default(),
            left: Default::default(),
            line_room: Default::default(),
            count_8: Default::default(),
            left_8: Default::default(),
            heads_room: Default::default(),
            planned: Default::default(),
            nothing: Default::default(),
            line: Default::default(),
            slot_word: Default::default(),
            token_now: Default::default(),
            good: Default::default(),
            offered: Default::default(),
            ending: Default::default(),
            access_free: Default::default(),
            issue: Default::default(),
            bad: Default::default(),
            line_start: Default::default(),
            line_address: Default::default(),
            access_next: Default::default(),
            entry: Default::default(),
            heads_step: Default::default(),
            fault_free: Default::default(),
            whose: Default::default(),
            whose_position: Default::default(),
            arrived: Default::default(),
            work_queue_table: Constant::new(table::WORK_QUEUE.to_bits()),
            send_window: Constant::new(SEND_WINDOW.to_bits()),
            receive_ahead: Constant::new(RECEIVE_AHEAD.to_bits()),
            post_desc: Constant::new(event_code::POST_DESC.to_bits()),
            vi_overrun: Constant::new(event_code::VI_OVERRUN.to_bits()),
            minus_one: Constant::new(0xfu8.to_bits()),
        }
    }
}

// The slices below are the specification's.
const _: () = {
    const fn at(field: viaduct_spec::layout::Field, lo: usize, width: usize) -> bool {
        field.lo == lo && field.width == width
    }
    assert!(at(work_queue::RING_OFFSET, 0, 34) && at(work_queue::RING_REGION, 34, 16));
    assert!(at(work_queue::RING_LOG2, 50, 4) && at(work_queue::OPEN, 54, 1));
    assert!(at(work_queue::SYSTEM_TAG, 64, 16) && at(work_queue::TAG, 80, 16));
    assert!(SEND_WINDOW <= 16 && RECEIVE_AHEAD <= 16);
};

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
            position,
            stopped,
            count,
            out,
            token,
            with_token,
            asked,
            allowed,
            window,
            amount,
            more,
            overrun,
            heads,
            access_waits,
            access_out,
            fault_waits,
            fault_out
        );
        clock!(self, clock, queues, progress, landing);
        self.landing.reset.next = self.reset.val();
        self.landing.beat_valid.next = self.beat_valid.val();
        self.landing.beat.next = self.beat.val();

        // The rows of the queue at hand; between queues, a commit.
        self.idle.next = self.step.q.val() == Step::Idle;
        self.commit_here.next =
            self.commit_valid.val() & (self.commit.val().target == self.work_queue_table.val());
        self.commit_taken.next =
            self.commit_here.val() & self.idle.val() & self.landing.empty.val() & !self.access_waits.q.val();
        self.commit_ready.next = self.commit_taken.val();
        self.commit_row.next = self.commit.val().row;
        self.commit_low.next = self.commit.val().word0;
        self.commit_high.next = self.commit.val().word1;
        self.queue_in.next.ring_offset = self.commit_low.val().get_bits::<34>(0);
        self.queue_in.next.ring_region = self.commit_low.val().get_bits::<16>(34);
        self.queue_in.next.ring_log2 = self.commit_low.val().get_bits::<4>(50);
        self.queue_in.next.open = self.commit_low.val().get_bit(54);
        self.queue_in.next.system_tag = self.commit_high.val().get_bits::<16>(0);
        self.queue_in.next.tag = self.commit_high.val().get_bits::<16>(16);
        self.queue.next = bit_cast::<QUEUE_LOG2, VI_LOG2>(self.vi.q.val()) << bits::<1>(1);
        if self.receive.q.val() {
            self.queue.next =
                (bit_cast::<QUEUE_LOG2, VI_LOG2>(self.vi.q.val()) << bits::<1>(1)) | bits::<QUEUE_LOG2>(1);
        }
        self.queues.write_enable.next = self.commit_taken.val()
            & (bit_cast::<16, QUEUE_LOG2>(bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val()))
                == self.commit_row.val());
        self.queues.write_address.next = bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val());
        self.queues.write_data.next = self.queue_in.val();
        self.queues.read_address.next = self.queue.val();
        self.progress_in.next.position = self.position.q.val();
        self.progress_in.next.stopped = self.stopped.q.val();
        self.progress.write_enable.next = self.step.q.val() == Step::Store;
        self.progress.write_address.next = self.queue.val();
        if self.commit_taken.val() {
            self.progress_in.next.position = bits::<14>(0);
            self.progress_in.next.stopped = false;
            self.progress.write_enable.next =
                bit_cast::<16, QUEUE_LOG2>(bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val()))
                    == self.commit_row.val();
            self.progress.write_address.next = bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val());
        }
        self.progress.write_data.next = self.progress_in.val();
        self.progress.read_address.next = self.queue.val();
        self.row.next = self.queues.read_data.val();
        self.row_address.next = self.queue.val();
        self.completed_vi.next = self.vi.q.val();
        self.consumed_vi.next = self.vi.q.val();

        // Which VI next.
        self.send_waits.next = self.send_valid.val() & !self.heads.q.val().get_bit(3);
        self.pop_send.next = self.idle.val()
            & self.enabled.val()
            & !self.commit_here.val()
            & self.send_waits.val()
            & (self.send_first.q.val() | !self.receive_valid.val());
        self.pop_receive.next = self.idle.val()
            & self.enabled.val()
            & !self.commit_here.val()
            & self.receive_valid.val()
            & !(self.send_first.q.val() & self.send_waits.val());
        self.send_ready.next = self.pop_send.val();
        self.receive_ready.next = self.pop_receive.val();

        // How many descriptors the queue has, and how many there is room for.
        self.size.next = bits::<14>(1) << self.row.val().ring_log2;
        self.last_slot.next = self.size.val() - 1;
        self.slot.next = self.position.q.val() & self.last_slot.val();
        self.limit.next = self.send_window.val();
        self.heads_room.next = bits::<4>(8) - self.heads.q.val();
        if self.receive.q.val() {
            self.limit.next = self.receive_ahead.val();
            self.heads_room.next = bits::<4>(8);
        }
        self.left.next = self.limit.val() - self.out.q.val();
        if self.out.q.val() > self.limit.val() {
            self.left.next = bits::<14>(0);
        }
        self.left_8.next = bits::<4>(8);
        if self.left.val() < bits::<14>(8) {
            self.left_8.next = bit_cast::<4, 14>(self.left.val());
        }
        self.count_8.next = bits::<4>(8);
        if self.count.q.val() < bits::<14>(8) {
            self.count_8.next = bit_cast::<4, 14>(self.count.q.val());
        }
        self.line_room.next = bits::<4>(8) - bit_cast::<4, 14>(self.position.q.val() & bits::<14>(7));
        self.planned.next = self.asked.q.val();
        if self.allowed.q.val() < self.asked.q.val() {
            self.planned.next = self.allowed.q.val();
        }
        self.nothing.next = !self.row.val().open | self.stopped.q.val() | !self.count.q.val().any();

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
        self.landing.line_ready.next = (self.issue.val() & !self.with_token.q.val())
            | self.bad.val()
            | (self.step.q.val() == Step::Drop);
        self.entry.next.vi = self.vi.q.val();
        self.entry.next.receive = self.receive.q.val();
        self.entry.next.region = self.token_now.val().get_bits::<16>(34);
        self.entry.next.offset = self.token_now.val().get_bits::<34>(0);
        self.entry.next.position = self.position.q.val();
        self.landing.entry_valid.next = self.issue.val();
        self.landing.entry.next = self.entry.val();

        // The access: a descriptor, or a line of the ring.
        self.line_start.next = bit_cast::<35, 34>(self.row.val().ring_offset)
            + bit_cast::<35, 14>(self.slot.val() >> bits::<2>(3));
        self.line_address.next = (bit_cast::<64, 35>(self.line_start.val()) << bits::<3>(6))
            | (bit_cast::<64, 14>(self.slot.val() & bits::<14>(7)) << bits::<3>(3));
        self.access_next.next.address =
            bit_cast::<64, 34>(self.token_now.val().get_bits::<34>(0)) << bits::<3>(6);
        self.access_next.next.span = bits::<32>(64);
        self.access_next.next.length = bits::<13>(64);
        self.access_next.next.region = self.token_now.val().get_bits::<16>(34);
        self.access_next.next.key = bits::<16>(0);
        self.access_next.next.tag = self.row.val().tag;
        self.access_next.next.by_offset = true;
        self.access_next.next.system = false;
        self.access_next.next.write = false;
        self.access_next.next.clip = true;
        self.access_next.next.user = bits::<8>(0);
        if self.step.q.val() == Step::Line {
            self.access_next.next.address = self.line_address.val();
            self.access_next.next.span = bit_cast::<32, 4>(self.amount.q.val()) << bits::<2>(3);
            self.access_next.next.length = bit_cast::<13, 4>(self.amount.q.val()) << bits::<2>(3);
            self.access_next.next.region = self.row.val().ring_region;
            self.access_next.next.tag = self.row.val().system_tag;
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

        match self.step.q.val() {
            Step::Idle => {
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
                self.position.d.next = self.progress.read_data.val().position;
                self.stopped.d.next = self.progress.read_data.val().stopped;
                self.count.d.next = self.row_posted.val() - self.progress.read_data.val().position;
                self.out.d.next = self.progress.read_data.val().position - self.completed_position.val();
                if self.receive.q.val() {
                    self.out.d.next = self.progress.read_data.val().position - self.consumed_position.val();
                }
                self.token.d.next = self.row_token.val();
                self.with_token.d.next = self.row_inline.val();
                self.step.d.next = Step::Decide;
            }
            Step::Decide => {
                self.asked.d.next = self.line_room.val();
                if self.count_8.val() < self.line_room.val() {
                    self.asked.d.next = self.count_8.val();
                }
                self.allowed.d.next = self.heads_room.val();
                if self.left_8.val() < self.heads_room.val() {
                    self.allowed.d.next = self.left_8.val();
                }
                self.window.d.next = bit_cast::<5, 14>(self.left.val());
                // The token serves only if it is the one descriptor that is new.
                self.with_token.d.next = self.with_token.q.val() & (self.count.q.val() == bits::<14>(1));
                self.overrun.d.next = self.count.q.val() > self.size.val();
                self.more.d.next = false;
                self.step.d.next = Step::Plan;
                if self.nothing.val() {
                    self.send_first.d.next = self.receive.q.val();
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Plan => {
                self.amount.d.next = self.planned.val();
                self.more.d.next = (self.count.q.val() > bit_cast::<14, 4>(self.planned.val()))
                    & (self.window.q.val() > bit_cast::<5, 4>(self.planned.val()));
                self.step.d.next = Step::Line;
                if self.with_token.q.val() {
                    self.step.d.next = Step::Tokens;
                }
                if !self.allowed.q.val().any() {
                    self.send_first.d.next = self.receive.q.val();
                    self.step.d.next = Step::Idle;
                }
                if self.overrun.q.val() {
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
                    if self.ending.val() {
                        self.step.d.next = Step::Store;
                    }
                }
                if self.bad.val() {
                    self.step.d.next = Step::Drop;
                    if self.ending.val() {
                        self.step.d.next = Step::Stop;
                    }
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
                self.overrun.d.next = false;
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
            self.overrun.d.next = false;
            self.heads.d.next = bits::<4>(0);
            self.access_waits.d.next = false;
            self.fault_waits.d.next = false;
        }
    }
}
