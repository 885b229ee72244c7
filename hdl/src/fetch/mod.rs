//! Takes the queues that have work one at a time, finds out how many descriptors may be fetched, and asks for them.
//!
//! ```text
//!         send, receive ──►┌───────┐──► access                       (ring lines, descriptors)
//!                   row ◄─►│ Fetch │──► head, word / ahead, filled   (descriptors)
//!             completed ◄─►│       │──► again                        (more to fetch than room for heads)
//!              consumed ◄─►│       │
//!          commit, beat ──►│       │──► fault
//!                rewind ──►│       │
//!   enabled, head_taken ──►└───────┘
//! ```
//! Inside:
//!
//! ```text
//!             ┌────────┐   ┌─────────────┐         ┌─────────┐
//!  doorbell ─►│ Choice │──►│    Fetch    │────────►│ Request │──► protect
//!             └────────┘   │ Turn,       │         └─────────┘
//!                 ▲        │ QueueRows   │
//!                 │        └─────────────┘
//!                 │ found    ▲ tokens   │ entry
//!              ┌───────┐─────┘          ▼         ──► head, word      (to gather)
//!  ReadBeat ──►│ Lines │          ┌─────────┐     ──► filled, ahead   (to receive/ahead)
//!         │    └───────┘          │ Landing │
//!         └──────────────────────►└─────────┘
//! ```
//!
//! A queue's turn never waits for memory. Tokens are read ahead, up to 16 of each queue, while the descriptors of those before are
//! fetched; when a line of the ring has come, the queue has another turn.
//!
//! Contract:
//! - Each descriptor posted to an open queue comes out once, in order: 8 words, then its head or `filled`.
//! - Of a VI, at most SEND_WINDOW descriptors are fetched and not completed, and RECEIVE_AHEAD fetched and not
//!   consumed; at most 8 heads are fetched and not taken.
//! - A queue found without window room is not queued again: the block that makes room moves the position on and then requeues the VI. The
//!   position is read here after the queue's turn began, so room made later requeues it.
//! - A rewind puts the send queue's position and epoch where it says, forgets its tokens and reads them from the ring again, and marks
//!   the first head. The block takes the rewind when that head is there, or when the queue is closed. Other queues have their turns
//!   meanwhile.
//! - A slot of the ring that cannot be read or is stale is a descriptor that cannot be read: a fault and a lost head.
//! - An overrun queue raises its fault: more is posted than the ring holds, or less than was fetched before, as when a doorbell is set
//!   back under a rewind. Its ring is followed to the first slot that is wrong, and at least through what was fetched before; then it
//!   rests until it is rewound, or committed anew. So the first head of a rewind comes whatever doorbells say.
//! - Turns: see [`Choice`].
//! - A commit is taken when no read is in flight and no fault waits, and not before its fourth cycle on the bus;
//!   no run queue is popped from its second cycle on.
//!
//! Example: a doorbell with its token posts the first send of VI 3. `send` offers VI 3, and 6 cycles later `access` asks for the
//! descriptor's bytes; the ring is not read. When they are there, `word` gives 8 words, and then `head` comes.
//!
//! Latency: 6 cycles from a VI on show to the access for an inline token, 8 for another. A turn takes 10 cycles for one descriptor, 8 if
//! its token is inline, 3 more for each other; a line goes before them and takes 1 more if it waits. It takes 6 or 8 if there is nothing to
//! do. Tests: `tests/queues/fetch/`, `tests/queues/rewind.rs`.

mod choice;
mod landing;
mod lines;
mod plan;
mod progress;
mod queue_rows;
mod request;
mod rewind_mark;
mod turn;

pub use choice::{Choice, ChosenQueue};
pub use landing::{DescriptorBeat, DescriptorRead, Landing};
pub use lines::{AskedLine, DescriptorPlace, FoundTokens, Lines};
pub use plan::Plan;
pub use queue_rows::{QueueRows, WorkQueue};
pub use request::Request;
pub use turn::Turn;

use crate::stream::{FlowSink, FlowSource, LookUp, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;

use crate::bus::{
    Access, AheadWord, Commit, DoorbellRow, Fault, Filled, Position, Queue, QueueId, ReadBeat, Rewind,
    SendHead, Vi,
};
use crate::prims::{Cast, Number};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Fetch {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what is in flight; the rows of the queues stay.
    pub reset: Signal<In, bool>,
    /// Work queues are served; `admin/registers` drives it.
    pub enabled: Signal<In, bool>,
    /// A VI that has work in its send queue, from doorbell.
    pub send: Sink<Vi>,
    /// A VI that has work in its receive queue, from doorbell.
    pub receive: Sink<Vi>,
    /// Asks doorbell for the row of a queue, {VI, receive}: what is posted, and the last token.
    pub row: LookUp<Queue, DoorbellRow>,
    /// A table row, from `admin/broadcast`; the block takes the WORK_QUEUE rows.
    pub commit: Sink<Commit>,
    /// Up to eight bytes that a read of any client brought, from dma/read.
    pub beat: FlowSink<ReadBeat>,
    /// An access to memory, which `protect` checks: a descriptor, or a line of a ring.
    pub access: Source<Access>,
    /// Asks complete/sends for the completed position of a VI: the oldest send that is not done.
    pub completed: LookUp<Vi, Position>,
    /// Asks receive for the consumed position of a VI: the oldest receive that is not done.
    pub consumed: LookUp<Vi, Position>,
    /// A VI that sends again, from complete/sends: where it begins. It is taken when the first head is there.
    pub rewind: Sink<Rewind>,
    /// Pulses when gather is done with a head, so there is room for one more; send/gather drives it.
    pub head_taken: Signal<In, bool>,
    /// A queue that has more to fetch, to doorbell: it goes to the end of its run queue.
    pub again: Source<QueueId>,
    /// A whole send descriptor, to send/gather: where it lies, and how many of its words are there.
    pub head: FlowSource<SendHead>,
    /// A word of the send descriptor whose head comes next, to send/gather.
    pub word: FlowSource<Bits<64>>,
    /// A word of a receive descriptor, with its VI, slot and number, to receive/ahead.
    pub ahead: FlowSource<AheadWord>,
    /// A whole receive descriptor, to receive/ahead: its VI and slot, and where it lies.
    pub filled: FlowSource<Filled>,
    /// What went wrong with a VI, to `vi/state`: its queue was overrun, or a descriptor could not be read.
    pub fault: Source<Fault>,
    /// A queue is being served, or a read is in flight; `quiet` hears it.
    pub busy: Signal<Out, bool>,

    choice: Choice,
    queues: QueueRows,
    turn: Turn,
    lines: Lines,
    request: Request,
    landing: Landing,

    /// The commit on the bus has been there for one, two, three cycles.
    commit_seen: DFF<Bits<3>>,
    /// Send heads asked for and not taken, 0 to 8.
    heads: DFF<Bits<4>>,
    /// No queue may be begun: a commit is on the bus, or queues are not served.
    hold: DFF<bool>,
    /// `fault_out` waits to be taken.
    fault_waits: DFF<bool>,
    fault_out: DFF<Fault>,

    idle: Signal<Local, bool>,
    /// A row of WORK_QUEUE is on the bus.
    commit_here: Signal<Local, bool>,
    commit_taken: Signal<Local, bool>,
    vi: Signal<Local, Vi>,
    is_receive: Signal<Local, bool>,
    queue: Cast<QueueId, Queue>,
    ask: Signal<Local, AskedLine>,
    /// A descriptor of a send queue is being asked for.
    issue_send: Signal<Local, bool>,
    heads_step: Signal<Local, Bits<4>>,
    fault_free: Signal<Local, bool>,
    whose: Signal<Local, DescriptorRead>,
    whose_position: Signal<Local, Bits<14>>,
    arrived: Signal<Local, SendHead>,

    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
    post_desc: Number<8, { event_code::POST_DESC as u64 }>,
    vi_overrun: Number<8, { event_code::VI_OVERRUN as u64 }>,
    minus_one: Number<4, 0xF>,
}

impl Logic for Fetch {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, commit_seen, hold, heads, fault_waits, fault_out);
        clock!(self, clock, choice, queues, turn, lines, request, landing);
        drive!(self, reset => turn.reset, choice.reset, lines.reset, request.reset, landing.reset);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.lines.beat);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.landing.beat);

        // A commit is taken between two turns. The doorbell block hears the same commit and takes it in the first cycle without
        // a store, so within two; only then is it taken here, and meanwhile no row is read that may be either's.
        self.idle.next = self.turn.idle.val();
        self.commit_here.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.work_queue_table.val());
        self.commit_taken.next = self.commit_here.val()
            & self.commit_seen.q.val().all()
            & self.idle.val()
            & self.lines.empty.val()
            & self.landing.empty.val()
            & self.request.free.val()
            & !self.fault_waits.q.val();
        self.commit_seen.d.next = bits::<3>(0);
        if self.commit_here.val() & !self.commit_taken.val() {
            self.commit_seen.d.next = (self.commit_seen.q.val() << bits::<1>(1)) | bits::<3>(1);
        }
        drive!(self, commit_taken => commit.ready, queues.write; commit.data => queues.commit);
        join!(self, FlowSource<WorkQueue>, turn.store => queues.store);

        // The choice of the next queue.
        // `hold` is high from a commit's second cycle on: a row that is read in its first cycle is looked at later.
        self.hold.d.next = (self.commit_here.val() & !self.commit_taken.val()) | !self.enabled.val();
        drive!(self, idle => choice.idle; rewind.data.val().vi => choice.rewind.data);
        self.choice.open.next = !self.hold.q.val();
        self.choice.heads_free.next = !self.heads.q.val().get_bit(3);
        join!(self, Source<FoundTokens>, lines.found => choice.found);
        self.choice.rewind.valid.next = self.rewind.valid.val() & !self.turn.begun.val();
        Sink::<Vi>::link(&mut self.send, &mut self.choice.send_work);
        Sink::<Vi>::link(&mut self.receive, &mut self.choice.receive_work);

        // The queue at hand.
        drive!(self, choice.queue.val().vi => vi; choice.queue.val().receive => is_receive;
            queue.to => queues.queue, row.index; vi => completed.index, consumed.index;
            choice.chosen => turn.start; hold.q => turn.hold; choice.queue => turn.queue;
            queues.row => turn.row; row.row => turn.doorbell; heads.q => turn.heads;
            landing.restarted => turn.restarted; rewind.data => landing.rewind; commit_taken => turn.forget;
            again.ready => turn.again_ready);
        self.queue.from.next.vi = self.vi.val();
        self.queue.from.next.receive = self.is_receive.val();
        self.turn.done.next = self.completed.row.val();
        if self.is_receive.val() {
            self.turn.done.next = self.consumed.row.val();
        }
        Sink::<Rewind>::link(&mut self.rewind, &mut self.turn.rewind);

        // A descriptor.
        drive!(self, queue.to => lines.queue; turn.place => lines.place; lines.token => turn.token;
            request.free => turn.request_free; landing.entry.ready => turn.entry_ready;
            turn.issue.valid => landing.entry.valid; turn.issue.data => landing.entry.data);
        join!(self, FlowSource<DescriptorRead>, turn.issue => request.read);

        // A line.
        drive!(self, lines.ask.ready => turn.ask_ready; turn.ask => lines.ask.valid);
        self.ask.next.queue = self.queue.to.val();
        self.ask.next.position = self.turn.filled.val();
        drive!(self, ask => lines.ask.data; turn.ask => request.line; turn.filled => request.filled;
            turn.tokens => request.tokens; turn.held => request.row);
        Source::<Access>::link(&mut self.access, &mut self.request.access);

        // The fault of a lost descriptor goes before that of an overrun queue.
        self.fault_free.next = !self.fault_waits.q.val();
        if self.fault.ready.val() {
            self.fault_waits.d.next = false;
        }
        self.landing.lost.ready.next = self.fault_free.val();
        self.turn.overrun_ready.next = self.fault_free.val() & !self.landing.lost.valid.val();
        if self.fault_free.val() {
            self.fault_out.d.next.vi = self.vi.val();
            self.fault_out.d.next.receive = self.is_receive.val();
            self.fault_out.d.next.code = self.vi_overrun.val();
            self.fault_out.d.next.breaks = true;
            self.fault_waits.d.next = self.turn.overrun.val();
            if self.landing.lost.valid.val() {
                self.fault_out.d.next.vi = self.landing.lost.data.val().vi;
                self.fault_out.d.next.receive = self.landing.lost.data.val().receive;
                self.fault_out.d.next.code = self.post_desc.val();
                self.fault_waits.d.next = true;
            }
        }

        self.issue_send.next = self.turn.issue.valid.val() & !self.is_receive.val();
        self.heads_step.next = bits::<4>(0);
        if self.issue_send.val() & !self.head_taken.val() {
            self.heads_step.next = bits::<4>(1);
        }
        if self.head_taken.val() & !self.issue_send.val() {
            self.heads_step.next = self.minus_one.val();
        }
        self.heads.d.next = self.heads.q.val() + self.heads_step.val();

        drive!(self, fault_waits.q => fault.valid; fault_out.q => fault.data; turn.again => again.valid;
            landing.whose => whose; whose.val().position => whose_position; landing.head.data => arrived;
            landing.head.valid => head.valid; arrived => head.data; landing.ahead_valid => ahead.valid;
            landing.filled_valid => filled.valid);
        self.again.data.next.vi = self.vi.val();
        self.again.data.next.receive = self.is_receive.val();
        FlowSource::<Bits<64>>::link(&mut self.word, &mut self.landing.word);
        self.ahead.data.next.vi = self.whose.val().vi;
        self.ahead.data.next.slot = bit_cast::<RECEIVE_AHEAD_LOG2, 14>(self.whose_position.val());
        self.ahead.data.next.index = self.landing.number.val();
        self.ahead.data.next.data = self.landing.word.data.val();
        self.filled.data.next.vi = self.whose.val().vi;
        self.filled.data.next.slot = bit_cast::<RECEIVE_AHEAD_LOG2, 14>(self.whose_position.val());
        fill!(self, filled.data, arrived.val().region => region; arrived.val().offset => offset;
            arrived.val().words => words; arrived.val().lost => lost);
        self.filled.data.next.position = self.whose_position.val() + 1;
        self.busy.next = !self.idle.val()
            | !self.lines.empty.val()
            | !self.landing.empty.val()
            | !self.request.free.val()
            | self.fault_waits.q.val();

        if self.reset.val() {
            self.heads.d.next = bits::<4>(0);
            self.fault_waits.d.next = false;
        }
    }
}
