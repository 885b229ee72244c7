//! Brings a frame to its VI: sequence, receive descriptor, acknowledgement, completion; and flushes.
//!
//! ```text
//!            ┌─────────┐      ┌────────┐ order ┌──────────┐ close ┌─────────┐──► completion, fault,
//!  state, ──►│  Flush  ├─────►│ Lookup ├──────►│ Delivery ├──────►│ Closing │    again_receive
//!  filled    └─────────┘ work └─▲──┬───┘       └──▲────┬──┘       └─────────┘
//!            ┌──────────┐       │  └─► look_*     │    ├──► frame, release ... acknowledged
//!  commit ──►│ Contexts ├───────┘      info       └────┴──► scatter's job
//!            └──────────┘◄─────────────────────── save
//! ```
//! Contract: a VI's frames in the order of the store, one behind the other; those of a VI that waits for a receive which is posted and
//! not there are left for later. While one is delivered the next is looked up,
//! unless it is for the same VI; it then waits until the context is saved. Flushes go before frames, and commits are
//! taken when nothing is under way.
//!
//! In Error, the message in progress completes TRANSPORT_ERROR and every descriptor fetched ahead DESC_FLUSHED_ERROR, in order.
//!
//! Example: the store shows a send of 8 bytes for VI 3. Lookup finds its receive and gives the order. Delivery has scatter place the
//! bytes, and saves the context; closing gives the completion to `completion`.
//!
//! Latency: a frame of one packet and one segment occupies lookup for 4 cycles, and then delivery for 3 plus
//! scatter's 7 and the checker's.
//!
//! Tests: `tests/receive/path/`.

use super::ahead::AheadMeta;
use super::closing::Close;
use super::closing::Closing;
use super::contexts::Contexts;
use super::contexts::Saved;
use super::delivery::Delivery;
use super::flush::Flush;
use super::job::{Done, Job};
use super::lookup::Lookup;
use super::order::Order;
use super::reads::Reads;
use crate::bus::{
    Acknowledged, Admission, Answer, Commit, Completion, Fault, Filled, FrameInfo, Position, ReadRequest,
    ReadSent, StateWrite, Vi,
};
use crate::prims::Number;
use crate::stream::{FlowSink, FlowSource, LookUp, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{RECEIVE_AHEAD_LOG2, VI_LOG2};
use viaduct_spec::tables::table;

// A shift in RustHDL is a plain number: `<< 6` below.
const _: () = assert!(VI_LOG2 <= 10);

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Matcher {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets the frame and the flushes under way.
    pub reset: Signal<In, bool>,
    /// The frame on show, from the store.
    pub info: FlowSink<FrameInfo>,
    /// Pulses when the frame on show is taken into delivery.
    pub info_taken: Signal<Out, bool>,
    /// Pulses when the frame on show is set aside: see [`Lookup`].
    pub info_aside: Signal<Out, bool>,
    /// Pulses when the frame on show is dropped: see [`Lookup`].
    pub info_drop: Signal<Out, bool>,
    /// Pulses when the frame on show is left for an older one: see [`Lookup`].
    pub info_back: Signal<Out, bool>,
    /// An older frame that was set aside may have its turn now.
    pub again: Signal<In, bool>,
    /// The frame on show has kept others waiting for too long.
    pub overdue: Signal<In, bool>,
    /// The store has at least one frame.
    pub holds: Signal<In, bool>,
    /// Pulses when a frame that was set aside may have its turn; the store listens.
    pub resume: Signal<Out, bool>,
    /// The frame in delivery, for the store.
    pub frame: Signal<Out, FrameInfo>,
    /// Pulses when the frame in delivery is done, so that the store may free it.
    pub release_valid: Signal<Out, bool>,
    /// Pulses when the store is to show the payload of `frame`.
    pub payload_start: Signal<Out, bool>,
    /// A table row on the bus; the block takes RECEIVE rows, and those of WORK_QUEUE that concern it.
    pub commit: Sink<Commit>,
    /// A VI changes its state: its number, and the new state.
    pub state: FlowSink<StateWrite>,
    /// A receive descriptor of a VI is in `Ahead`; from fetch.
    pub filled: FlowSink<Filled>,
    /// VI whose descriptor is looked at in `Ahead`.
    pub look_vi: Signal<Out, Vi>,
    /// Slot of the descriptor that is looked at in `Ahead`.
    pub look_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// The descriptor at the `look_vi` and `look_slot` of the cycle before.
    pub look: Signal<In, AheadMeta>,
    /// One past the last position of that VI's receive queue whose descriptor is in `Ahead`.
    pub look_filled: Signal<In, Position>,
    /// Asks doorbell for the posted position of a VI's receive queue.
    pub posted: LookUp<Vi, Position>,
    /// What scatter is to place: the payload of the frame in delivery.
    pub job: FlowSource<Job>,
    /// How scatter's job ended, and how far it came.
    pub done: FlowSink<Done>,
    /// A completion, an acknowledgement, or both, for complete.
    pub completion: Source<Completion>,
    /// An RDMA read that a peer asks for: see [`Requests`](crate::reply::Requests).
    pub request: FlowSource<ReadRequest>,
    /// What becomes of the request: whether it is kept, and how many PSNs its answer takes.
    pub admission: FlowSink<Admission>,
    /// An RDMA read of ours that leaves, from transmit.
    pub read: Sink<ReadSent>,
    /// A bit for each VI in `placing_vis`: payload of an answer is being placed for it, or may be soon.
    pub placing: Signal<Out, Bits<2>>,
    /// The two VIs of `placing`, the first in the low bits.
    pub placing_vis: Signal<Out, Bits<20>>,
    /// Pulses when an answer was to nothing that waits.
    pub count_response: Pulse,
    /// An acknowledgement from the wire, for complete/sends.
    pub acknowledged: Source<Acknowledged>,
    /// What went wrong with a VI, and whether the VI breaks.
    pub fault: Source<Fault>,
    /// A VI whose receive queue has room for another descriptor.
    pub again_receive: Source<Vi>,
    /// Answers fetch, which wants the consumed position of a VI.
    pub consumed: Table<Vi, Position>,
    /// A frame or a flush waits, or is worked on.
    pub busy: Signal<Out, bool>,
    /// Pulses when a message was delivered.
    pub count_message: Pulse,
    /// Pulses when a frame was for no VI.
    pub count_no_vi: Pulse,
    /// Pulses when a frame was a duplicate that the VI answers again.
    pub count_duplicate: Pulse,
    /// Pulses when a frame was any other duplicate, or came behind a gap.
    pub count_psn: Pulse,
    /// Pulses when a message found no receive descriptor.
    pub count_no_receive: Pulse,
    /// Pulses when a frame belonged to no message that can still be whole.
    pub count_partial: Pulse,
    /// Pulses when a raw frame was delivered: see [`Delivery`].
    pub count_raw: Pulse,
    /// Pulses when a raw frame was dropped: see [`Delivery`].
    pub count_raw_dropped: Pulse,
    contexts: Contexts,
    flush: Flush,
    lookup: Lookup,
    delivery: Delivery,
    closing: Closing,
    reads: Reads,
    reads_taken: Signal<Local, bool>,
    receive_table: Number<4, { table::RECEIVE as u64 }>,
    committing: Signal<Local, bool>,
    quiet: Signal<Local, bool>,
}

impl Logic for Matcher {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, contexts, flush, lookup, delivery, closing, reads);
        self.reads.reset.next = self.reset.val();
        self.flush.reset.next = self.reset.val();
        self.lookup.reset.next = self.reset.val();
        self.delivery.reset.next = self.reset.val();
        self.closing.reset.next = self.reset.val();

        // Commits, when nothing is under way.
        self.quiet.next = self.lookup.idle.val()
            & self.delivery.idle.val()
            & self.closing.idle.val()
            & !self.contexts.saving.val();
        self.contexts.commit.valid.next = self.commit.valid.val();
        self.contexts.commit.data.next = self.commit.data.val();
        self.contexts.commit_allowed.next = self.quiet.val();
        self.committing.next = self.contexts.commit_wanted.val();
        self.reads.commit.valid.next =
            self.commit.valid.val() & (self.commit.data.val().target == self.receive_table.val());
        self.reads.commit.data.next = self.commit.data.val();
        self.reads_taken.next =
            self.reads.commit.ready.val() | (self.commit.data.val().target != self.receive_table.val());
        self.commit.ready.next = self.committing.val() & self.quiet.val() & self.reads_taken.val();
        Table::<Vi, Position>::link(&mut self.consumed, &mut self.contexts.consumed_of);

        // States and flushes.
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.flush.state);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.flush.filled);
        self.flush.look_vi.next = self.lookup.state_vi.val();
        Source::<Vi>::join(&mut self.flush.work, &mut self.lookup.work);

        // Lookup.
        FlowSink::<FrameInfo>::link(&mut self.info, &mut self.lookup.info);
        self.info_taken.next = self.lookup.info_taken.val();
        self.info_aside.next = self.lookup.info_aside.val();
        self.info_drop.next = self.lookup.info_drop.val();
        self.info_back.next = self.lookup.info_back.val();
        self.lookup.again.next = self.again.val();
        self.lookup.overdue.next = self.overdue.val();
        self.lookup.aside.next = self.flush.aside.val();
        self.lookup.late.next = self.flush.late.val();
        self.lookup.settled.next = self.flush.settled.val();
        self.flush.set_aside.next = self.lookup.set_aside.val();
        self.flush.set_late.next = self.lookup.set_late.val();
        self.resume.next = self.flush.resume.val();
        self.lookup.hold.next = self.committing.val();
        self.lookup.blocking.next = self.delivery.blocking.val();
        self.lookup.blocking_vi.next = self.delivery.blocking_vi.val();
        self.look_vi.next = self.lookup.look_vi.val();
        self.posted.index.next = self.lookup.look_vi.val();
        self.contexts.read_vi.next = self.lookup.look_vi.val();
        self.contexts.read_far.next = self.lookup.look_far.val();
        self.lookup.connected.next = self.flush.connected.val();
        self.lookup.error.next = self.flush.error.val();
        self.lookup.peer.next = self.contexts.peer.val();
        self.lookup.message.next = self.contexts.message.val();
        self.lookup.received_high.next = self.contexts.received_high.val();
        self.lookup.consumed.next = self.contexts.consumed.val();
        self.look_slot.next = self.lookup.look_slot.val();
        self.lookup.look_filled.next = self.look_filled.val();
        self.lookup.posted_position.next = self.posted.row.val();
        Source::<Order>::join(&mut self.lookup.order, &mut self.delivery.order);

        // Delivery.
        self.delivery.info.next = self.info.data.val();
        self.delivery.look.next = self.look.val();
        self.frame.next = self.delivery.frame.val();
        self.payload_start.next = self.delivery.payload_start.val();
        self.release_valid.next = self.delivery.release_valid.val();
        self.job.valid.next = self.delivery.job.valid.val();
        self.job.data.next = self.delivery.job.data.val();
        if self.delivery.job.data.val().reading {
            self.job.data.next.region = self.reads.job_region.val();
            self.job.data.next.offset = self.reads.job_offset.val();
            self.job.data.next.segments = self.reads.job_segments.val();
            self.job.data.next.index = self.reads.job_index.val();
            self.job.data.next.position = self.reads.job_position.val();
        }
        self.job.data.next.fresh = self.reads.job_fresh.val();

        // Reads, of both sides.
        FlowSource::<ReadRequest>::link(&mut self.request, &mut self.delivery.request);
        FlowSink::<Admission>::link(&mut self.admission, &mut self.delivery.admission);
        Sink::<ReadSent>::link(&mut self.read, &mut self.reads.sent);
        FlowSource::<Answer>::join(&mut self.delivery.answer, &mut self.reads.answer);
        self.reads.answer_mtu.next = self.delivery.answer_mtu.val();
        FlowSource::<Acknowledged>::join(&mut self.reads.told, &mut self.delivery.told);
        self.delivery.told_keep.next = self.reads.told_keep.val();
        self.delivery.told_data.next = self.reads.told_data.val();
        self.reads.done.valid.next = self.delivery.placed.valid.val();
        self.reads.done.data.next.ok = self.delivery.placed.data.val();
        self.reads.done.data.next.index = self.done.data.val().index;
        self.reads.done.data.next.position = self.done.data.val().position;
        self.placing.next = bits::<2>(0);
        self.placing.next = self.placing.val().replace_bit(0, self.delivery.placing.val());
        self.placing.next = self.placing.val().replace_bit(1, !self.lookup.idle.val());
        self.placing_vis.next = (bit_cast::<20, VI_LOG2>(self.lookup.order.data.val().vi) << 10)
            | bit_cast::<20, VI_LOG2>(self.delivery.blocking_vi.val());
        Pulse::link(&mut self.count_response, &mut self.delivery.count_response);
        FlowSink::<Done>::link(&mut self.done, &mut self.delivery.done);
        FlowSource::<Saved>::join(&mut self.delivery.save, &mut self.contexts.save);
        self.contexts.save_vi.next = self.delivery.blocking_vi.val();
        Source::<Acknowledged>::link(&mut self.acknowledged, &mut self.delivery.acknowledged);
        Source::<Close>::join(&mut self.delivery.close, &mut self.closing.close);

        // Closing.
        Source::<Completion>::link(&mut self.completion, &mut self.closing.completion);
        Source::<Fault>::link(&mut self.fault, &mut self.closing.fault);
        Source::<Vi>::link(&mut self.again_receive, &mut self.closing.again_receive);

        self.busy.next =
            !self.quiet.val() | self.lookup.unfinished.val() | self.holds.val() | self.flush.busy.val();
        Pulse::link(&mut self.count_message, &mut self.delivery.count_message);
        Pulse::link(&mut self.count_no_vi, &mut self.delivery.count_no_vi);
        Pulse::link(&mut self.count_duplicate, &mut self.delivery.count_duplicate);
        Pulse::link(&mut self.count_psn, &mut self.delivery.count_psn);
        Pulse::link(&mut self.count_no_receive, &mut self.delivery.count_no_receive);
        Pulse::link(&mut self.count_partial, &mut self.delivery.count_partial);
        Pulse::link(&mut self.count_raw, &mut self.delivery.count_raw);
        Pulse::link(&mut self.count_raw_dropped, &mut self.delivery.count_raw_dropped);
    }
}
