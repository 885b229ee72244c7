//! Takes the stores to the doorbell pages, keeps the last one of each queue, and queues the VIs that have work.
//!
//! ```text
//!      mmio_write ──►┌──────────────────────────┐──► send
//!          commit ──►│ open bits   2 run queues │──► receive
//!     again_fetch ──►│                          │◄── row: queue, its row
//!   again_receive ──►│ rows       copy of       │◄── posted: VI, its position
//!      again_send ──►│            posted        │──► arm
//!                    └──────────────────────────┘──► count_ignored, busy
//! ```
//! Contract:
//! - A store of a whole token to the send or receive doorbell of an open queue puts {token, posted = position + 1,
//!   inline} into the queue's row and the VI into the run queue. A store of the token's high double word alone does
//!   the same without the token. A store of a whole arm word of an open queue is passed on. Any other store to a VI's
//!   page, and a token that names no region, changes nothing and is counted. The pages behind are [`CqPages`](super::CqPages)'. Stores
//!   are never refused and may come in every cycle.
//! - A VI is in a run queue at most once, not counting the one on show. One that is pushed in the cycle in which it
//!   is taken, or later, is queued again, and its row, read from the next cycle on, has the store. Requeues of other
//!   blocks wait for stores of a token, be the queue open or not. A VI can be taken every other cycle.
//! - `row` answers the index of the cycle before with every store that came a cycle or more before it,
//!   `posted` with every one that came three cycles before it: whoever asks there looks again, or was told by a
//!   peer, which takes longer.
//! - A commit to WORK_QUEUE empties the row and sets whether the queue is open. While it stays on the bus it is
//!   written again in each cycle without a store.
//!
//! Latency: an arm word 2 cycles; a VI is on show four cycles after the store, its row can be read the cycle after it.
//!
//! Example: the host stores the token of position 6 to the send doorbell of VI 3, which is open. Four cycles later `send` shows VI 3; its row has
//! the token and `posted` 7.
//!
//! Tests: `tests/queues/doorbell/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::{FlowSink, FlowSource, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::doorbell::{arm, page, token};
use viaduct_spec::profile::{VIS, VI_LOG2};
use viaduct_spec::tables::{table, work_queue};

use crate::bus::{
    Arm, Commit, DoorbellRow, MmioWrite, Position, Queue, QueueId, Vi, PAGE_NUMBER_LOG2, QUEUE_LOG2,
    STORE_LOG2,
};
use crate::prims::Number;
use crate::prims::{LutRam, Ram, RunQueue};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Doorbell {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Empties the run queues; rows and open bits stay.
    pub reset: Signal<In, bool>,
    /// A store of the host; those to BAR 0 are not looked at.
    pub mmio_write: FlowSink<MmioWrite>,
    /// A row of WORK_QUEUE: the queue begins or ends.
    pub commit: Sink<Commit>,
    /// A queue in which fetch has left work.
    pub again_fetch: Sink<QueueId>,
    /// A VI for which there is room for receive descriptors again, from receive.
    pub again_receive: Sink<Vi>,
    /// A VI for which there is room for send descriptors again, from `complete/sends`.
    pub again_send: Sink<Vi>,
    /// The VI whose send queue has had work for longest, to fetch.
    pub send: Source<Vi>,
    /// The VI whose receive queue has had work for longest, to fetch.
    pub receive: Source<Vi>,
    /// For a work queue: what its last doorbell said, in the next cycle.
    pub row: Table<Queue, DoorbellRow>,
    /// For a VI: the position behind the last descriptor posted to its receive queue, in the next cycle.
    pub posted: Table<Vi, Position>,
    /// The consumer of a work queue goes to sleep at a position.
    pub arm: FlowSource<Arm>,
    /// A store is ignored.
    pub count_ignored: Pulse,
    /// A queue has work, or the run queues are being cleared.
    pub busy: Signal<Out, bool>,

    /// There was a store to a VI's page in the cycle before.
    stored: DFF<bool>,
    /// The store of the cycle before is a doorbell, if its queue is open.
    posts: DFF<bool>,
    /// The store of the cycle before is an arm word, if its queue is open.
    arms: DFF<bool>,
    /// The store of the cycle before had the whole token.
    whole: DFF<bool>,
    /// The word stored.
    word: DFF<Bits<64>>,
    /// The work queue that was stored to.
    queue: DFF<Queue>,
    /// The queues that are open.
    opened: LutRam<bool, QUEUE_LOG2>,
    /// What the last doorbell of each queue said.
    rows: Ram<DoorbellRow, QUEUE_LOG2>,
    /// `posted` of the receive queues again, for the receive side.
    posted_copy: LutRam<Bits<14>, VI_LOG2>,
    /// `posted_copy` is written in this cycle, one behind the row: which store counts is known late in the cycle.
    posted_write: DFF<bool>,
    /// The VI whose position is written.
    posted_write_vi: DFF<Vi>,
    /// What `posted` shows.
    posted_shown: DFF<Bits<14>>,
    /// The VIs whose send queues have work.
    sends: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    /// The VIs whose receive queues have work.
    receives: RunQueue<VI_LOG2, { VI_LOG2 + 1 }>,
    /// What was written in the cycle before: for a reader that asked in that very cycle, and for `posted`.
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
    /// `send_head` is on show.
    send_shown: DFF<bool>,
    /// The VI on show at `send`.
    send_head: DFF<Vi>,
    /// `receive_head` is on show.
    receive_shown: DFF<bool>,
    /// The VI on show at `receive`.
    receive_head: DFF<Vi>,

    address: Signal<Local, Bits<STORE_LOG2>>,
    page_number: Signal<Local, Bits<PAGE_NUMBER_LOG2>>,
    in_page: Signal<Local, Bits<12>>,
    said: Signal<Local, Bits<64>>,
    store: Signal<Local, bool>,
    proper: Signal<Local, bool>,
    all_of_it: Signal<Local, bool>,
    high: Signal<Local, bool>,
    named: Signal<Local, bool>,
    to_receive: Signal<Local, bool>,
    taken: Signal<Local, bool>,
    commit_here: Signal<Local, bool>,
    commit_taken: Signal<Local, bool>,
    commit_row: Signal<Local, Bits<16>>,
    commit_word: Signal<Local, Bits<64>>,
    kept: Signal<Local, DoorbellRow>,
    write: Signal<Local, bool>,
    write_queue: Signal<Local, Bits<QUEUE_LOG2>>,
    write_vi: Signal<Local, Bits<VI_LOG2>>,
    write_receive: Signal<Local, bool>,
    position: Signal<Local, Bits<14>>,
    shown: Signal<Local, DoorbellRow>,

    vis: Number<PAGE_NUMBER_LOG2, { VIS as u64 }>,
    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
}

// The slices below are the specification's.
const _: () = {
    assert!(token::OFFSET.lo == 0 && token::REGION.lo == 34 && token::REGION.width == 16);
    assert!(token::POSITION.lo == 50 && token::POSITION.width == 14);
    assert!(work_queue::OPEN.lo == 54 && work_queue::OPEN.width == 1);
    assert!(viaduct_spec::profile::DOORBELL_SHIFT == 12);
    assert!(page::SEND == 0x00 && page::RECEIVE == 0x08);
    assert!(page::SEND_ARM == 0x10 && page::RECEIVE_ARM == 0x18);
    assert!(arm::POSITION.lo == 0 && arm::POSITION.width == 14);
};

impl Logic for Doorbell {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            stored,
            posts,
            arms,
            whole,
            word,
            queue,
            written,
            row_forward,
            posted_write,
            posted_write_vi,
            posted_shown,
            ignored,
            armed,
            armed_queue,
            armed_position,
            send_shown,
            send_head,
            receive_shown,
            receive_head
        );
        clock!(self, clock, opened, rows, posted_copy, sends, receives);
        self.sends.reset.next = self.reset.val();
        self.receives.reset.next = self.reset.val();

        // The store, as far as it says itself what it is.
        self.address.next = self.mmio_write.data.val().address;
        self.said.next = self.mmio_write.data.val().data;
        self.page_number.next = self.address.val().get_bits::<PAGE_NUMBER_LOG2>(12);
        self.in_page.next = self.address.val().get_bits::<12>(0);
        self.store.next = self.mmio_write.valid.val()
            & self.mmio_write.data.val().doorbell
            & (self.page_number.val() < self.vis.val());
        self.proper.next = self.store.val()
            & !self.in_page.val().get_bits::<7>(5).any()
            & !self.in_page.val().get_bits::<3>(0).any();
        self.all_of_it.next = self.mmio_write.data.val().enables == bits::<8>(0xFF);
        self.high.next = self.mmio_write.data.val().enables == bits::<8>(0xF0);
        self.named.next = self.said.val().get_bits::<16>(34).any();
        self.stored.d.next = self.store.val();
        self.posts.d.next = self.proper.val()
            & !self.in_page.val().get_bit(4)
            & (self.high.val() | (self.all_of_it.val() & self.named.val()));
        self.arms.d.next = self.proper.val() & self.in_page.val().get_bit(4) & self.all_of_it.val();
        self.whole.d.next = self.all_of_it.val();
        self.word.d.next = self.said.val();
        self.queue.d.next = bit_cast::<QUEUE_LOG2, PAGE_NUMBER_LOG2>(self.page_number.val()) << bits::<1>(1);
        if self.in_page.val().get_bit(3) {
            self.queue.d.next = (bit_cast::<QUEUE_LOG2, PAGE_NUMBER_LOG2>(self.page_number.val())
                << bits::<1>(1))
                | bits::<QUEUE_LOG2>(1);
        }

        // In the next cycle it is known whether the store counts.
        self.opened.read_address.next = self.queue.q.val();
        self.taken.next = self.posts.q.val() & self.opened.read_data.val();
        self.to_receive.next = self.queue.q.val().get_bit(0);
        self.armed.d.next = self.arms.q.val() & self.opened.read_data.val();
        self.ignored.d.next =
            self.stored.q.val() & !((self.posts.q.val() | self.arms.q.val()) & self.opened.read_data.val());
        self.armed_queue.d.next = self.queue.q.val();
        self.armed_position.d.next = self.word.q.val().get_bits::<14>(0);
        self.arm.valid.next = self.armed.q.val();
        self.arm.data.next.queue = self.armed_queue.q.val();
        self.arm.data.next.position = self.armed_position.q.val();
        self.position.next = self.word.q.val().get_bits::<14>(50) + 1;

        // A commit finds the write port free when there is no store.
        self.commit_row.next = self.commit.data.val().row;
        self.commit_word.next = self.commit.data.val().word0;
        self.commit_here.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.work_queue_table.val());
        self.commit_taken.next = self.commit_here.val() & !self.taken.val();
        self.commit.ready.next = self.commit_taken.val();

        self.kept.next.token = self.word.q.val().get_bits::<50>(0);
        self.kept.next.posted = self.position.val();
        self.kept.next.with_token = self.whole.q.val();
        self.write.next = self.taken.val();
        self.write_queue.next = self.queue.q.val();
        if self.commit_taken.val() {
            self.kept.next.posted = bits::<14>(0);
            self.kept.next.with_token = false;
            self.write.next = bit_cast::<16, QUEUE_LOG2>(bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val()))
                == self.commit_row.val();
            self.write_queue.next = bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val());
        }
        self.write_vi.next = bit_cast::<VI_LOG2, QUEUE_LOG2>(self.write_queue.val() >> bits::<1>(1));
        self.write_receive.next = self.write_queue.val().get_bit(0);
        self.opened.write_enable.next = self.write.val() & self.commit_taken.val();
        self.opened.write_address.next = self.write_queue.val();
        self.opened.write_data.next = self.commit_word.val().get_bit(54);
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_queue.val();
        self.rows.write_data.next = self.kept.val();
        self.posted_write.d.next = self.write.val() & self.write_receive.val();
        self.posted_write_vi.d.next = self.write_vi.val();
        self.posted_copy.write_enable.next = self.posted_write.q.val();
        self.posted_copy.write_address.next = self.posted_write_vi.q.val();
        self.posted_copy.write_data.next = self.written.q.val().posted;

        // Reading what is being written: the memory does not say what comes out, so it comes from here.
        self.rows.read_address.next = self.row.index.val();
        self.posted_copy.read_address.next = self.posted.index.val();
        self.posted_shown.d.next = self.posted_copy.read_data.val();
        self.written.d.next = self.kept.val();
        // Both are compared while it is found out which of them it is.
        self.row_forward.d.next = self.taken.val() & (self.queue.q.val() == self.row.index.val());
        if self.commit_taken.val() {
            self.row_forward.d.next =
                self.commit_row.val() == bit_cast::<16, QUEUE_LOG2>(self.row.index.val());
        }
        self.shown.next = self.rows.read_data.val();
        if self.row_forward.q.val() {
            self.shown.next = self.written.q.val();
        }
        self.row.row.next = self.shown.val();
        self.posted.row.next = self.posted_shown.q.val();

        // Run queues: a store first, then fetch, then whoever made room. Whether the store's queue is open is known late, so the others wait
        // in any case.
        self.sends.push.valid.next = false;
        self.sends.push.data.next = self.again_send.data.val();
        self.again_send.ready.next = false;
        self.receives.push.valid.next = false;
        self.receives.push.data.next = self.again_receive.data.val();
        self.again_receive.ready.next = false;
        self.again_fetch.ready.next = false;
        if self.posts.q.val() & !self.to_receive.val() {
            self.sends.push.valid.next = self.taken.val();
            self.sends.push.data.next = self.write_vi.val();
        } else if !self.sends.busy.val() {
            if self.again_fetch.valid.val() & !self.again_fetch.data.val().receive {
                self.sends.push.valid.next = true;
                self.sends.push.data.next = self.again_fetch.data.val().vi;
                self.again_fetch.ready.next = true;
            } else {
                self.sends.push.valid.next = self.again_send.valid.val();
                self.again_send.ready.next = true;
            }
        }
        if self.posts.q.val() & self.to_receive.val() {
            self.receives.push.valid.next = self.taken.val();
            self.receives.push.data.next = self.write_vi.val();
        } else if !self.receives.busy.val() {
            if self.again_fetch.valid.val() & self.again_fetch.data.val().receive {
                self.receives.push.valid.next = true;
                self.receives.push.data.next = self.again_fetch.data.val().vi;
                self.again_fetch.ready.next = true;
            } else {
                self.receives.push.valid.next = self.again_receive.valid.val();
                self.again_receive.ready.next = true;
            }
        }
        // The heads, in registers: whoever takes one decides late in the cycle. While a VI is on show here, it may be
        // queued again.
        self.sends.pop.ready.next = !self.send_shown.q.val();
        if !self.send_shown.q.val() {
            self.send_shown.d.next = self.sends.pop.valid.val();
            self.send_head.d.next = self.sends.pop.data.val();
        } else if self.send.ready.val() {
            self.send_shown.d.next = false;
        }
        self.send.valid.next = self.send_shown.q.val();
        self.send.data.next = self.send_head.q.val();
        self.receives.pop.ready.next = !self.receive_shown.q.val();
        if !self.receive_shown.q.val() {
            self.receive_shown.d.next = self.receives.pop.valid.val();
            self.receive_head.d.next = self.receives.pop.data.val();
        } else if self.receive.ready.val() {
            self.receive_shown.d.next = false;
        }
        self.receive.valid.next = self.receive_shown.q.val();
        self.receive.data.next = self.receive_head.q.val();
        self.count_ignored.next = self.ignored.q.val();
        self.busy.next = self.sends.held.val()
            | self.receives.held.val()
            | self.stored.q.val()
            | self.armed.q.val()
            | self.send_shown.q.val()
            | self.receive_shown.q.val()
            | self.sends.busy.val()
            | self.receives.busy.val();

        if self.reset.val() {
            self.stored.d.next = false;
            self.posts.d.next = false;
            self.arms.d.next = false;
            self.ignored.d.next = false;
            self.armed.d.next = false;
            self.send_shown.d.next = false;
            self.receive_shown.d.next = false;
        }
    }
}
