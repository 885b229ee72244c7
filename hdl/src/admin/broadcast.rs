//! Hands a commit to every block that keeps a copy of the table, and waits for all of them.
//!
//! ```text
//!              ┌───────────┐──► protect, fetch, doorbell, receive, transmit, sends, gather, writer,
//!   commit ───►│ Broadcast │    state, notify, queues, vectors, requests, ack
//!              └───────────┘    (a stream each: the same commit)
//! ```
//! Contract: the block offers each listener the commits of its tables, each once; "Rows" in docs/architecture.md says which tables each
//! listener has. The commit ends (`commit.ready`) when all of its listeners have taken it, and holds still until then. It goes down each
//! pipe as the data there does: a listener further down is offered it when those before have taken it, so nothing of the old row comes
//! behind (LIFE-2). The pipes are fetch, then receive; gather, then transmit, then sends; receive, then the writer. `valid` and `ready`
//! come from registers, so that no listener's path begins in the table's number or ends in another listener.
//!
//! `ack` hears the commit while fetch is offered it, and the block does not wait for `ack`.
//!
//! Latency: 1 cycle to the listeners, 1 back, beyond the slowest listener's.
//!
//! Example: a row of TRANSMIT is offered to gather in the cycle behind `commit.valid`; when gather has taken it, to transmit; when that
//! has, to sends; in the cycle behind that `commit.ready` is high.
//!
//! Tests: `tests/admin/broadcast.rs`.

use super::Listener;
use crate::bus::Commit;
use crate::prims::Number;
use crate::stream::{FlowSource, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::table;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Broadcast {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets who has taken the commit.
    pub reset: Signal<In, bool>,
    /// A row of any table, from `admin/command`.
    pub commit: Sink<Commit>,
    /// REGION and PAGE, to `protect`.
    pub protect: Source<Commit>,
    /// WORK_QUEUE, to `fetch`.
    pub fetch: Source<Commit>,
    /// WORK_QUEUE, to `doorbell`.
    pub doorbell: Source<Commit>,
    /// WORK_QUEUE and RECEIVE, to `receive`.
    pub receive: Source<Commit>,
    /// TEMPLATE and TRANSMIT, to `send/transmit`.
    pub transmit: Source<Commit>,
    /// TRANSMIT, to `complete/sends`.
    pub sends: Source<Commit>,
    /// GATHER and TRANSMIT, to `send/gather`.
    pub gather: Source<Commit>,
    /// RECEIVE, to `complete/writer`.
    pub writer: Source<Commit>,
    /// VI_STATE, to `vi/state`.
    pub state: Source<Commit>,
    /// WORK_QUEUE, to `interrupt/notify`.
    pub notify: Source<Commit>,
    /// WORK_QUEUE and COMPLETION_QUEUE, to `complete/queues`.
    pub queues: Source<Commit>,
    /// MODERATION, to `interrupt/vectors`.
    pub vectors: Source<Commit>,
    /// RECEIVE, to `reply/requests`.
    pub requests: Source<Commit>,
    /// WORK_QUEUE, to `send/ack`, which keeps the last word of a VI: it is given what fetch is offered.
    pub ack: FlowSource<Commit>,
    to_protect: Listener,
    to_fetch: Listener,
    to_doorbell: Listener,
    to_receive: Listener,
    to_transmit: Listener,
    to_sends: Listener,
    to_gather: Listener,
    to_writer: Listener,
    to_state: Listener,
    to_notify: Listener,
    to_queues: Listener,
    to_vectors: Listener,
    to_requests: Listener,
    /// The commit is with the listeners.
    told: DFF<bool>,
    /// Some listener has not taken it.
    waits: Signal<Local, bool>,
    begins: Signal<Local, bool>,
    to_regions: Signal<Local, bool>,
    to_work_queues: Signal<Local, bool>,
    to_templates: Signal<Local, bool>,
    to_gathering: Signal<Local, bool>,
    to_transmission: Signal<Local, bool>,
    to_reception: Signal<Local, bool>,
    to_cqs: Signal<Local, bool>,
    to_moderation: Signal<Local, bool>,
    target: Signal<Local, Bits<4>>,
    region_table: Number<4, { table::REGION as u64 }>,
    page_table: Number<4, { table::PAGE as u64 }>,
    work_queue_table: Number<4, { table::WORK_QUEUE as u64 }>,
    template_table: Number<4, { table::TEMPLATE as u64 }>,
    gather_table: Number<4, { table::GATHER as u64 }>,
    transmit_table: Number<4, { table::TRANSMIT as u64 }>,
    receive_table: Number<4, { table::RECEIVE as u64 }>,
    cq_table: Number<4, { table::COMPLETION_QUEUE as u64 }>,
    moderation_table: Number<4, { table::MODERATION as u64 }>,
}

impl Logic for Broadcast {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, told);
        clock!(self, clock, to_protect, to_fetch, to_doorbell, to_receive, to_transmit, to_sends, to_gather);
        clock!(self, clock, to_writer, to_state, to_notify, to_queues, to_vectors, to_requests);
        self.target.next = self.commit.data.val().target;
        self.to_regions.next =
            (self.target.val() == self.region_table.val()) | (self.target.val() == self.page_table.val());
        self.to_work_queues.next = self.target.val() == self.work_queue_table.val();
        self.to_templates.next = self.target.val() == self.template_table.val();
        self.to_gathering.next = self.target.val() == self.gather_table.val();
        self.to_transmission.next = self.target.val() == self.transmit_table.val();
        self.to_reception.next = self.target.val() == self.receive_table.val();
        self.to_cqs.next = self.target.val() == self.cq_table.val();
        self.to_moderation.next = self.target.val() == self.moderation_table.val();
        self.begins.next = self.commit.valid.val() & !self.told.q.val();

        // The listeners that have a copy of the commit's table.
        self.to_protect.start.next = self.begins.val() & self.to_regions.val();
        self.to_fetch.start.next = self.begins.val() & self.to_work_queues.val();
        self.to_doorbell.start.next = self.begins.val() & self.to_work_queues.val();
        self.to_receive.start.next =
            self.begins.val() & (self.to_work_queues.val() | self.to_reception.val());
        self.to_transmit.start.next =
            self.begins.val() & (self.to_templates.val() | self.to_transmission.val());
        self.to_sends.start.next = self.begins.val() & self.to_transmission.val();
        self.to_gather.start.next =
            self.begins.val() & (self.to_gathering.val() | self.to_transmission.val());
        self.to_writer.start.next = self.begins.val() & self.to_reception.val();
        self.to_state.start.next = self.begins.val()
            & !(self.to_regions.val()
                | self.to_work_queues.val()
                | self.to_templates.val()
                | self.to_gathering.val()
                | self.to_transmission.val()
                | self.to_reception.val()
                | self.to_cqs.val()
                | self.to_moderation.val());
        self.to_notify.start.next = self.begins.val() & self.to_work_queues.val();
        self.to_queues.start.next = self.begins.val() & (self.to_work_queues.val() | self.to_cqs.val());
        self.to_vectors.start.next = self.begins.val() & self.to_moderation.val();
        self.to_requests.start.next = self.begins.val() & self.to_reception.val();

        // LIFE-2: a commit goes down the pipe behind what it ends.
        self.to_protect.hold.next = false;
        self.to_fetch.hold.next = false;
        self.to_doorbell.hold.next = false;
        self.to_receive.hold.next = self.to_fetch.waits.val();
        self.to_transmit.hold.next = self.to_gather.waits.val();
        self.to_sends.hold.next = self.to_transmit.waits.val();
        self.to_gather.hold.next = false;
        self.to_writer.hold.next = self.to_receive.waits.val();
        self.to_state.hold.next = false;
        self.to_notify.hold.next = false;
        self.to_queues.hold.next = false;
        self.to_vectors.hold.next = false;
        self.to_requests.hold.next = false;

        drive!(self, reset => to_protect.reset, to_fetch.reset, to_doorbell.reset, to_receive.reset,
            to_transmit.reset, to_sends.reset, to_gather.reset, to_writer.reset, to_state.reset,
            to_notify.reset, to_queues.reset, to_vectors.reset, to_requests.reset;
            commit.data => to_protect.row, to_fetch.row, to_doorbell.row, to_receive.row, to_transmit.row,
            to_sends.row, to_gather.row, to_writer.row, to_state.row, to_notify.row, to_queues.row,
            to_vectors.row, to_requests.row; to_fetch.commit.valid => ack.valid;
            to_fetch.commit.data => ack.data);
        Source::<Commit>::link(&mut self.protect, &mut self.to_protect.commit);
        Source::<Commit>::link(&mut self.fetch, &mut self.to_fetch.commit);
        Source::<Commit>::link(&mut self.doorbell, &mut self.to_doorbell.commit);
        Source::<Commit>::link(&mut self.receive, &mut self.to_receive.commit);
        Source::<Commit>::link(&mut self.transmit, &mut self.to_transmit.commit);
        Source::<Commit>::link(&mut self.sends, &mut self.to_sends.commit);
        Source::<Commit>::link(&mut self.gather, &mut self.to_gather.commit);
        Source::<Commit>::link(&mut self.writer, &mut self.to_writer.commit);
        Source::<Commit>::link(&mut self.state, &mut self.to_state.commit);
        Source::<Commit>::link(&mut self.notify, &mut self.to_notify.commit);
        Source::<Commit>::link(&mut self.queues, &mut self.to_queues.commit);
        Source::<Commit>::link(&mut self.vectors, &mut self.to_vectors.commit);
        Source::<Commit>::link(&mut self.requests, &mut self.to_requests.commit);

        self.waits.next = self.to_protect.waits.val()
            | self.to_fetch.waits.val()
            | self.to_doorbell.waits.val()
            | self.to_receive.waits.val()
            | self.to_transmit.waits.val()
            | self.to_sends.waits.val()
            | self.to_gather.waits.val()
            | self.to_writer.waits.val()
            | self.to_state.waits.val()
            | self.to_notify.waits.val()
            | self.to_queues.waits.val()
            | self.to_vectors.waits.val()
            | self.to_requests.waits.val();
        self.commit.ready.next = self.told.q.val() & !self.waits.val();
        self.told.d.next = (self.told.q.val() & self.waits.val()) | self.begins.val();
        if self.reset.val() {
            self.told.d.next = false;
        }
    }
}
