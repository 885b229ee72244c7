//! Keeps what fetch knows of each queue: where its ring is, whose it is, and how far it has come.
//!
//! ```text
//!  write, commit ──►┌───────────┐
//!          queue ──►│ QueueRows │──► row
//!          store ──►└───────────┘
//! ```
//! Contract: `row` is that of the `queue` of the cycle before, if it was not written then. `write` puts the commit's
//! row in place and the queue at position 0 of epoch 0, without tokens. `store` writes the row of `queue`. The two never come together.
//! A commit of a row that does not exist changes nothing.
//!
//! Example: `queue` is 5 in one cycle. In the next one `row` is the row of queue 5, and `store` with `queue` 5 writes it back.
//!
//! Latency: 1 cycle. Tests: with `Fetch`, `tests/queues/fetch/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{REGION_LOG2, SEND_WINDOW_LOG2};

use super::lines::TOKENS_LOG2;
use crate::bus::{Commit, QUEUE_LOG2};
use crate::prims::{Ram, RegionRowNumber, Unpack};
use crate::rows::tables::WorkQueueRow;
use crate::stream::FlowSink;

/// Bits of a number of descriptors that are fetched and not done, 0 to SEND_WINDOW.
pub const WINDOW_BITS: usize = SEND_WINDOW_LOG2 + 1;

/// Bits of a number of tokens that are on the NIC, 0 to 16, and of the mark 31.
pub const CACHED_BITS: usize = TOKENS_LOG2 + 1;

/// A row of the work queue table (see `viaduct_spec::tables::work_queue`), and how far the queue has come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct WorkQueue {
    /// Where the ring starts in its region, in units of 64 bytes.
    pub ring_offset: Bits<34>,
    /// Region of the ring; 0, which does not exist, for one that does not.
    pub ring_region: Bits<REGION_LOG2>,
    /// log2 of the ring's slots.
    pub ring_log2: Bits<4>,
    /// The queue is open.
    pub open: bool,
    /// Tag of the ring's region.
    pub system_tag: Bits<16>,
    /// Tag of the VI.
    pub tag: Bits<16>,
    /// Position of the next descriptor to fetch.
    pub position: Bits<14>,
    /// Tokens from `position` on that are on the NIC, 0 to 16; 31 if the queue was overrun and its ring followed to its end.
    pub cached: Bits<CACHED_BITS>,
    /// A line of the ring is under way.
    pub asked: bool,
    /// The tokens that it brings are not wanted any more.
    pub spoilt: bool,
    /// Epoch of what is fetched: it turns with each rewind.
    pub epoch: bool,
    /// Low bits of one past the last position ever fetched: behind `position` after a rewind, by at most SEND_WINDOW.
    pub top: Bits<WINDOW_BITS>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct QueueRows {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The row of `commit` is written, if it is a work queue's that exists. `Fetch` says so.
    pub write: Signal<In, bool>,
    /// The table row on the bus, as the agent committed it; from `admin/broadcast`.
    pub commit: Signal<In, Commit>,
    /// Queue whose row is read, and written with `store`; `Fetch` drives it.
    pub queue: Signal<In, Bits<QUEUE_LOG2>>,
    /// The row that is written into that of `queue`, from `Turn`: its progress after a turn.
    pub store: FlowSink<WorkQueue>,
    /// Row of the `queue` of the cycle before.
    pub row: Signal<Out, WorkQueue>,

    rows: Ram<WorkQueue, QUEUE_LOG2>,
    commit_row: Signal<Local, Bits<16>>,
    committed: Signal<Local, Bits<QUEUE_LOG2>>,
    /// The row's number is that of a queue that exists.
    exists: Signal<Local, bool>,
    table_row: Unpack<Commit, WorkQueueRow>,
    region: RegionRowNumber<16>,
    fields: Signal<Local, WorkQueue>,
}

impl Logic for QueueRows {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows);
        drive!(self, commit.val().row => commit_row; commit => table_row.from);
        self.committed.next = bit_cast::<QUEUE_LOG2, 16>(self.commit_row.val());
        self.exists.next = bit_cast::<16, QUEUE_LOG2>(self.committed.val()) == self.commit_row.val();
        self.fields.next.ring_offset = self.table_row.to.val().ring_offset;
        drive!(self, table_row.to.val().ring_region => region.number);
        fill!(self, fields, region.row => ring_region; table_row.to.val().ring_log2 => ring_log2; table_row.to.val().open => open;
            table_row.to.val().system_tag => system_tag; table_row.to.val().tag => tag);
        // LIFE-1: a queue is opened empty, at position 0.
        self.fields.next.position = bits::<14>(0);
        self.fields.next.cached = bits::<CACHED_BITS>(0);
        self.fields.next.asked = false;
        self.fields.next.spoilt = false;
        self.fields.next.epoch = false;
        self.fields.next.top = bits::<WINDOW_BITS>(0);
        self.rows.write_enable.next = self.store.valid.val();
        self.rows.write_address.next = self.queue.val();
        self.rows.write_data.next = self.store.data.val();
        if self.write.val() {
            self.rows.write_enable.next = self.exists.val();
            self.rows.write_address.next = self.committed.val();
            self.rows.write_data.next = self.fields.val();
        }
        drive!(self, queue => rows.read_address; rows.read_data => row);
    }
}
