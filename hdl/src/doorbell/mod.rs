//! Takes the stores to the doorbell pages, keeps the last one of each queue, and queues the VIs that have work.
//!
//! ```text
//!      mmio_write ──►┌──────────────────────────┐──► send
//!          commit ──►│ ViPages      2 WorkLists │──► receive
//!     again_fetch ──►│                          │◄── row: queue, its row
//!   again_receive ──►│ open bits    copy of     │◄── posted: VI, its position
//!      again_send ──►│ rows         posted      │──► arm
//!                    └──────────────────────────┘──► count_ignored, busy
//! ```
//!
//! | block | what for |
//! |---|---|
//! | [`Doorbell`] | keeps what was posted to each queue |
//! | `ViPages` | says what each store to a VI's page is |
//! | [`CqPages`] | takes the stores to the completion queues' pages |
//! | [`WorkList`] | the VIs that have work, each at most once |
//!
//! Contract:
//! - A store of a whole token to the send or receive doorbell of an open queue puts {token, posted = position + 1, inline} into the
//!   queue's row and the VI into the run queue. A store of the token's high double word alone does the same without the token. A store of
//!   a whole arm word of an open queue is passed on. Any other store to a VI's page, and a token that names no region, changes nothing
//!   and is counted. The pages behind are [`CqPages`]'. Stores are never refused and may come in every cycle.
//! - A VI is in a run queue at most once, not counting the one on show. One that is pushed in the cycle in which it is taken, or later,
//!   is queued again, and its row, read from the next cycle on, has the store. Requeues of other blocks wait for stores of a token,
//!   whether the queue is open or not. A VI can be taken every other cycle.
//! - `row` answers the index of the cycle before with every store that came a cycle or more before it, `posted` with every one that came
//!   three cycles before it. That is late enough: receive, which asks for `posted`, asks again, or was told of the descriptor by a peer,
//!   which takes longer.
//! - A commit to WORK_QUEUE empties the row and sets whether the queue is open. While it stays on the bus it is written again in each
//!   cycle without a store.
//!
//! Latency: an arm word 2 cycles; a VI is on show four cycles after the store, its row can be read the cycle after it.
//!
//! Example: the host stores the token of position 6 to the send doorbell of VI 3, which is open. Four cycles later `send` shows VI 3; its
//! row has the token and `posted` 7.
//!
//! Tests: `tests/queues/doorbell/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

mod cq_pages;
mod vi_pages;
mod work_list;

pub use cq_pages::CqPages;
pub use work_list::WorkList;

use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::VI_LOG2;
use viaduct_spec::tables::table;

use crate::bus::{Arm, Commit, DoorbellRow, MmioWrite, Position, Queue, QueueId, Vi, QUEUE_LOG2};
use crate::prims::{BitRam, Cast, LutRam, Number, Ram, RegionRowNumber, Unpack};
use crate::rows::doorbell::{ArmWord, Token};
use crate::rows::tables::WorkQueueRow;
use vi_pages::{ViPages, ViStore};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Doorbell {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the run queues; rows and open bits stay.
    pub reset: Signal<In, bool>,
    /// A store of the host, from `edge/receive`; stores to BAR 0 are ignored here.
    pub mmio_write: FlowSink<MmioWrite>,
    /// A row of WORK_QUEUE, from `admin/broadcast`: the queue begins or ends.
    pub commit: Sink<Commit>,
    /// A queue in which fetch has left work, from fetch.
    pub again_fetch: Sink<QueueId>,
    /// A VI for which there is room for receive descriptors again, from receive.
    pub again_receive: Sink<Vi>,
    /// A VI for which there is room for send descriptors again, from `complete/sends`.
    pub again_send: Sink<Vi>,
    /// The VI whose send queue has had work for longest, to fetch.
    pub send: Source<Vi>,
    /// The VI whose receive queue has had work for longest, to fetch.
    pub receive: Source<Vi>,
    /// For a work queue: what its last doorbell said, in the next cycle; fetch asks.
    pub row: Table<Queue, DoorbellRow>,
    /// For a VI: the position behind the last descriptor posted to its receive queue, in the next cycle; receive asks.
    pub posted: Table<Vi, Position>,
    /// The consumer of a work queue goes to sleep at a position; to `interrupt/notify`.
    pub arm: FlowSource<Arm>,
    /// A store is ignored.
    pub count_ignored: Pulse,
    /// A queue has work, or the run queues are being cleared; `quiet` hears it.
    pub busy: Signal<Out, bool>,

    /// The stores of the cycle before.
    pages: ViPages,
    /// The queues that are open.
    opened: BitRam<QUEUE_LOG2>,
    /// The row of each queue: the position posted, and the last token.
    rows: Ram<DoorbellRow, QUEUE_LOG2>,
    /// `posted` of the receive queues again, for the receive side.
    posted_copy: LutRam<Bits<14>, VI_LOG2>,
    /// `posted_copy` is written in this cycle, one behind the row, because it is known late in a cycle whether its store counts.
    posted_write: DFF<bool>,
    /// The VI whose position is written.
    posted_write_vi: DFF<Vi>,
    /// The position that `posted` shows.
    posted_shown: DFF<Bits<14>>,
    /// The VIs whose send queues have work.
    sends: WorkList,
    /// The VIs whose receive queues have work.
    receives: WorkList,
    /// The row that was written in the cycle before, for a reader that asked in that very cycle, and for `posted`.
    written: DFF<DoorbellRow>,
    /// `row` shows `written`.
    row_forward: DFF<bool>,
    /// A store was ignored in the cycle before.
    ignored: DFF<bool>,
    /// `arm` is given in this cycle.
    armed: DFF<bool>,
    /// The queue that `arm` names.
    armed_queue: DFF<Queue>,
    /// The position that `arm` names.
    armed_position: DFF<Position>,

    /// The store of the cycle before.
    store: Signal<Local, ViStore>,
    /// Its queue.
    queue: Cast<QueueId, Queue>,
    /// Its word, as a doorbell and as an arm word.
    token: Cast<Bits<64>, Token>,
    region: RegionRowNumber<15>,
    arm_word: Cast<Bits<64>, ArmWord>,
    /// The store is a doorbell of an open queue.
    taken: Signal<Local, bool>,
    commit_here: Signal<Local, bool>,
    commit_taken: Signal<Local, bool>,
    commit_row: Signal<Local, Bits<16>>,
    committed: Unpack<Commit, WorkQueueRow>,
    kept: Signal<Local, DoorbellRow>,
    write: Signal<Local, bool>,
    write_queue: Signal<Local, Queue>,
    /// The queue that is written, by name.
    written_name: Cast<Queue, QueueId>,
    shown: Signal<Local, DoorbellRow>,

    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
}

impl Logic for Doorbell {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, written, row_forward, posted_write, posted_write_vi, posted_shown);
        dff_setup!(self, clock, ignored, armed, armed_queue, armed_position);
        clock!(self, clock, pages, opened, rows, posted_copy, sends, receives);
        drive!(self, reset => pages.reset, sends.reset, receives.reset);
        FlowSink::<MmioWrite>::link(&mut self.mmio_write, &mut self.pages.mmio_write);

        // The store of the cycle before: by now it is known whether its queue is open.
        drive!(self, pages.store.data => store; store.val().word => token.from, arm_word.from;
            queue.to => opened.read_address; armed.q => arm.valid);
        self.queue.from.next.vi = self.store.val().vi;
        self.queue.from.next.receive = self.store.val().receive;
        self.taken.next = self.pages.posts.val() & self.opened.read_data.val();
        self.armed.d.next = self.pages.arms.val() & self.opened.read_data.val();
        self.ignored.d.next = self.pages.store.valid.val()
            & !((self.pages.posts.val() | self.pages.arms.val()) & self.opened.read_data.val());
        self.armed_queue.d.next = self.queue.to.val();
        self.armed_position.d.next = self.arm_word.to.val().position;
        self.arm.data.next.queue = self.armed_queue.q.val();
        self.arm.data.next.position = self.armed_position.q.val();

        // A commit finds the write port free when there is no store.
        drive!(self, commit.data.val().row => commit_row; commit.data => committed.from);
        self.commit_here.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.work_queue_table.val());
        self.commit_taken.next = self.commit_here.val() & !self.taken.val();
        self.commit.ready.next = self.commit_taken.val();

        self.kept.next.offset = self.token.to.val().offset;
        drive!(self, token.to.val().region => region.number);
        self.kept.next.region = self.region.row.val();
        self.kept.next.short = self.token.to.val().short;
        self.kept.next.posted = self.token.to.val().position + 1;
        self.kept.next.with_token = self.store.val().whole;
        self.write.next = self.taken.val();
        self.write_queue.next = self.queue.to.val();
        if self.commit_taken.val() {
            self.kept.next.posted = bits::<14>(0);
            self.kept.next.with_token = false;
            self.write.next = bit_cast::<16, QUEUE_LOG2>(bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val()))
                == self.commit_row.val();
            self.write_queue.next = bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val());
        }
        drive!(self, write_queue => written_name.from, opened.write_address, rows.write_address;
            committed.to.val().open => opened.write_data; write => rows.write_enable; kept => rows.write_data;
            posted_write.q => posted_copy.write_enable; posted_write_vi.q => posted_copy.write_address;
            written.q.val().posted => posted_copy.write_data);
        self.opened.write_enable.next = self.write.val() & self.commit_taken.val();
        self.posted_write.d.next = self.write.val() & self.written_name.to.val().receive;
        self.posted_write_vi.d.next = self.written_name.to.val().vi;

        // A memory that is read where it is written gives no certain value, so `written` is shown in its place.
        drive!(self, row.index => rows.read_address; posted.index => posted_copy.read_address);
        self.posted_shown.d.next = self.posted_copy.read_data.val();
        self.written.d.next = self.kept.val();
        // A store's queue and a commit's are both compared, because it is known late which of the two is written.
        self.row_forward.d.next = self.taken.val() & (self.queue.to.val() == self.row.index.val());
        if self.commit_taken.val() {
            self.row_forward.d.next =
                self.commit_row.val() == bit_cast::<16, QUEUE_LOG2>(self.row.index.val());
        }
        self.shown.next = self.rows.read_data.val();
        if self.row_forward.q.val() {
            self.shown.next = self.written.q.val();
        }
        drive!(self, shown => row.row; posted_shown.q => posted.row);

        // The VIs that have work.
        self.sends.posting.next = self.pages.posts.val() & !self.store.val().receive;
        drive!(self, taken => sends.counts, receives.counts; store.val().vi => sends.store, receives.store;
            again_fetch.data.val().vi => sends.fetch.data, receives.fetch.data);
        self.sends.fetch.valid.next = self.again_fetch.valid.val() & !self.again_fetch.data.val().receive;
        Sink::<Vi>::link(&mut self.again_send, &mut self.sends.room);
        Source::<Vi>::link(&mut self.send, &mut self.sends.first);
        self.receives.posting.next = self.pages.posts.val() & self.store.val().receive;
        self.receives.fetch.valid.next = self.again_fetch.valid.val() & self.again_fetch.data.val().receive;
        Sink::<Vi>::link(&mut self.again_receive, &mut self.receives.room);
        Source::<Vi>::link(&mut self.receive, &mut self.receives.first);
        self.again_fetch.ready.next = self.sends.fetch.ready.val();
        if self.again_fetch.data.val().receive {
            self.again_fetch.ready.next = self.receives.fetch.ready.val();
        }

        self.count_ignored.next = self.ignored.q.val();
        self.busy.next = self.sends.busy.val()
            | self.receives.busy.val()
            | self.pages.store.valid.val()
            | self.armed.q.val();

        if self.reset.val() {
            self.ignored.d.next = false;
            self.armed.d.next = false;
        }
    }
}
