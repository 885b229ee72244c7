//! Hands a commit to every block that keeps a copy of the table, and waits for all of them.
//!
//! ```text
//!   commit ──►┌───────────┐──► valid (one bit a listener)
//!   ready  ◄──│ Broadcast │◄── taken (one bit a listener)
//!             └───────────┘
//! ```
//! Contract: `valid` of a listener is high until it has taken the commit, once; `ready` ends the commit when all
//! have. The commit itself goes to all listeners by wire and holds still meanwhile. It goes down a pipe as what is in it
//! does: who stands further down hears of it when those before have taken it, so nothing of the old row comes behind.
//! That is fetch, then receive; gather, then transmit, then sends; receive, then the writer. `valid` and `ready` come from
//! registers, so that no listener's path begins in the table's number or ends in another listener.
//!
//! Latency: 1 cycle to the listeners, 1 back, beyond the slowest listener's.
//!
//! Tests: `tests/admin/command.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::tables::table;

/// The blocks that listen: bit numbers of [`Broadcast::valid`].
pub mod listener {
    /// `protect`: REGION, PAGE.
    pub const PROTECT: usize = 0;
    /// `fetch`: WORK_QUEUE.
    pub const FETCH: usize = 1;
    /// `doorbell`: WORK_QUEUE.
    pub const DOORBELL: usize = 2;
    /// `receive`: WORK_QUEUE, RECEIVE.
    pub const RECEIVE: usize = 3;
    /// `send/transmit`: TEMPLATE, TRANSMIT.
    pub const TRANSMIT: usize = 4;
    /// `complete/sends`: TRANSMIT.
    pub const SENDS: usize = 5;
    /// `send/gather`: GATHER, TRANSMIT.
    pub const GATHER: usize = 6;
    /// `complete/writer`: RECEIVE.
    pub const WRITER: usize = 7;
    /// `vi/state`: VI_STATE.
    pub const STATE: usize = 8;
    /// `interrupt/notify`: WORK_QUEUE.
    pub const NOTIFY: usize = 9;
    /// `complete/queues`: WORK_QUEUE, COMPLETION_QUEUE.
    pub const QUEUES: usize = 10;
    /// `interrupt/vectors`: MODERATION.
    pub const VECTORS: usize = 11;
    /// `reply/requests`: RECEIVE.
    pub const REPLY: usize = 12;
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Broadcast {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets who has taken the commit.
    pub reset: Signal<In, bool>,
    /// There is a commit.
    pub commit_valid: Signal<In, bool>,
    /// Its table.
    pub target: Signal<In, Bits<4>>,
    /// Everybody has taken it.
    pub commit_ready: Signal<Out, bool>,
    /// The commit, for each listener of its table that has not taken it: see [`listener`].
    pub valid: Signal<Out, Bits<13>>,
    /// Who takes it now.
    pub taken: Signal<In, Bits<13>>,
    /// The commit is with the listeners.
    told: DFF<bool>,
    /// Who has not taken it.
    waiting: DFF<Bits<13>>,
    hears: Signal<Local, Bits<13>>,
    shown: Signal<Local, Bits<13>>,
    takes: Signal<Local, Bits<13>>,
    region: Number<4, { table::REGION as u64 }>,
    page: Number<4, { table::PAGE as u64 }>,
    work_queue: Number<4, { table::WORK_QUEUE as u64 }>,
    template: Number<4, { table::TEMPLATE as u64 }>,
    gather: Number<4, { table::GATHER as u64 }>,
    transmit: Number<4, { table::TRANSMIT as u64 }>,
    receive: Number<4, { table::RECEIVE as u64 }>,
    hears_protect: Number<13, { 1 << listener::PROTECT }>,
    hears_work_queue: Number<
        13,
        {
            1 << listener::FETCH
                | 1 << listener::DOORBELL
                | 1 << listener::RECEIVE
                | 1 << listener::NOTIFY
                | 1 << listener::QUEUES
        },
    >,
    hears_template: Number<13, { 1 << listener::TRANSMIT }>,
    hears_gather: Number<13, { 1 << listener::GATHER }>,
    hears_transmit: Number<13, { 1 << listener::TRANSMIT | 1 << listener::SENDS | 1 << listener::GATHER }>,
    hears_receive: Number<13, { 1 << listener::RECEIVE | 1 << listener::WRITER | 1 << listener::REPLY }>,
    hears_cq: Number<13, { 1 << listener::QUEUES }>,
    hears_moderation: Number<13, { 1 << listener::VECTORS }>,
    hears_state: Number<13, { 1 << listener::STATE }>,
    completion_queue: Number<4, { table::COMPLETION_QUEUE as u64 }>,
    moderation: Number<4, { table::MODERATION as u64 }>,
    fetch: Number<13, { 1 << listener::FETCH }>,
    gather_waits: Number<13, { 1 << listener::GATHER }>,
    transmit_waits: Number<13, { 1 << listener::TRANSMIT }>,
    receive_waits: Number<13, { 1 << listener::RECEIVE }>,
    not_receive: Number<13, { 0x1fff & !(1 << listener::RECEIVE) }>,
    not_transmit: Number<13, { 0x1fff & !(1 << listener::TRANSMIT) }>,
    not_sends: Number<13, { 0x1fff & !(1 << listener::SENDS) }>,
    not_writer: Number<13, { 0x1fff & !(1 << listener::WRITER) }>,
}

impl Logic for Broadcast {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, told, waiting);
        if (self.target.val() == self.region.val()) | (self.target.val() == self.page.val()) {
            self.hears.next = self.hears_protect.val();
        } else if self.target.val() == self.work_queue.val() {
            self.hears.next = self.hears_work_queue.val();
        } else if self.target.val() == self.template.val() {
            self.hears.next = self.hears_template.val();
        } else if self.target.val() == self.gather.val() {
            self.hears.next = self.hears_gather.val();
        } else if self.target.val() == self.transmit.val() {
            self.hears.next = self.hears_transmit.val();
        } else if self.target.val() == self.receive.val() {
            self.hears.next = self.hears_receive.val();
        } else if self.target.val() == self.completion_queue.val() {
            self.hears.next = self.hears_cq.val();
        } else if self.target.val() == self.moderation.val() {
            self.hears.next = self.hears_moderation.val();
        } else {
            self.hears.next = self.hears_state.val();
        }
        // LIFE-2: a commit goes down the pipe behind what it ends.
        self.shown.next = self.waiting.q.val();
        if (self.waiting.q.val() & self.fetch.val()).any() {
            self.shown.next = self.shown.val() & self.not_receive.val();
        }
        if (self.waiting.q.val() & self.gather_waits.val()).any() {
            self.shown.next = self.shown.val() & self.not_transmit.val();
        }
        if (self.waiting.q.val() & self.transmit_waits.val()).any() {
            self.shown.next = self.shown.val() & self.not_sends.val();
        }
        if (self.waiting.q.val() & self.receive_waits.val()).any() {
            self.shown.next = self.shown.val() & self.not_writer.val();
        }
        self.valid.next = self.shown.val();
        self.takes.next = self.shown.val() & self.taken.val();
        self.waiting.d.next = self.waiting.q.val() & !self.takes.val();
        self.commit_ready.next = self.told.q.val() & !self.waiting.q.val().any();
        if self.told.q.val() {
            self.told.d.next = self.waiting.q.val().any();
        } else if self.commit_valid.val() {
            self.told.d.next = true;
            self.waiting.d.next = self.hears.val();
        }
        if self.reset.val() {
            self.told.d.next = false;
            self.waiting.d.next = bits::<13>(0);
        }
    }
}
