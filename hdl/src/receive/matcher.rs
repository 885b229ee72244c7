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
//! Latency: a frame of one packet and one segment occupies lookup for 4 cycles, and then delivery for 3 plus
//! scatter's 7 and the checker's.
//!
//! Tests: `tests/receive/path/`.

use super::ahead::AheadMeta;
use super::closing::Closing;
use super::contexts::Contexts;
use super::delivery::Delivery;
use super::flush::Flush;
use super::lookup::Lookup;
use super::reads::Reads;
use crate::bus::{
    Acknowledged, Commit, Completion, Fault, FrameInfo, Position, ReadRequest, ReadSent, StateWrite, Vi,
};
use crate::prims::Number;
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
    /// Forgets the frame and the flushes under way.
    pub reset: Signal<In, bool>,
    /// A frame is on show.
    pub info_valid: Signal<In, bool>,
    /// The frame.
    pub info: Signal<In, FrameInfo>,
    /// It is taken.
    pub info_taken: Signal<Out, bool>,
    /// See [`Lookup`].
    pub info_aside: Signal<Out, bool>,
    /// See [`Lookup`].
    pub info_drop: Signal<Out, bool>,
    /// See [`Lookup`].
    pub info_back: Signal<Out, bool>,
    /// There may be an older one.
    pub again: Signal<In, bool>,
    /// The one on show has kept others waiting for too long.
    pub overdue: Signal<In, bool>,
    /// There are frames.
    pub holds: Signal<In, bool>,
    /// One that was set aside may have its turn.
    pub resume: Signal<Out, bool>,
    /// The frame in delivery.
    pub frame: Signal<Out, FrameInfo>,
    /// It is done.
    pub release_valid: Signal<Out, bool>,
    /// Show its payload.
    pub payload_start: Signal<Out, bool>,
    /// A table row is on the bus.
    pub commit_valid: Signal<In, bool>,
    /// The row.
    pub commit: Signal<In, Commit>,
    /// It is taken, if it is a RECEIVE or WORK_QUEUE row.
    pub commit_ready: Signal<Out, bool>,
    /// A VI has changed its state.
    pub state_valid: Signal<In, bool>,
    /// Which, and to what.
    pub state: Signal<In, StateWrite>,
    /// Fetch has put a descriptor into `ahead`.
    pub filled_valid: Signal<In, bool>,
    /// For this VI.
    pub filled_vi: Signal<In, Vi>,
    /// VI to look at in `ahead`.
    pub look_vi: Signal<Out, Vi>,
    /// Slot, likewise.
    pub look_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// The descriptor.
    pub look: Signal<In, AheadMeta>,
    /// Up to where its receive queue is filled.
    pub look_filled: Signal<In, Position>,
    /// VI whose posted position is wanted.
    pub posted_vi: Signal<Out, Vi>,
    /// Up to where its receive queue is posted.
    pub posted_position: Signal<In, Position>,
    /// Scatter: begin.
    pub job_valid: Signal<Out, bool>,
    /// VI.
    pub job_vi: Signal<Out, Vi>,
    /// Slot of the descriptor.
    pub job_slot: Signal<Out, Bits<RECEIVE_AHEAD_LOG2>>,
    /// The VI's tag.
    pub job_tag: Signal<Out, Bits<16>>,
    /// Region of the descriptor.
    pub job_region: Signal<Out, Bits<16>>,
    /// Its offset, in units of 64 bytes.
    pub job_offset: Signal<Out, Bits<34>>,
    /// Its segments.
    pub job_segments: Signal<Out, Bits<8>>,
    /// Segment to go on with.
    pub job_index: Signal<Out, Bits<8>>,
    /// Bytes of it already filled.
    pub job_position: Signal<Out, Bits<32>>,
    /// An RDMA write: one segment, the peer's.
    pub job_remote: Signal<Out, bool>,
    /// Its address.
    pub job_place: Signal<Out, Bits<64>>,
    /// Its handle.
    pub job_handle: Signal<Out, Bits<32>>,
    /// Bytes of it not yet filled.
    pub job_left: Signal<Out, Bits<32>>,
    /// The answer to a read of ours.
    pub job_reading: Signal<Out, bool>,
    /// Nothing of its descriptor is known from before.
    pub job_fresh: Signal<Out, bool>,
    /// Bytes to place.
    pub job_length: Signal<Out, Bits<13>>,
    /// The job is over.
    pub done_valid: Signal<In, bool>,
    /// How: `result`.
    pub done_result: Signal<In, Bits<2>>,
    /// Segment to go on with.
    pub done_index: Signal<In, Bits<8>>,
    /// Bytes of it filled.
    pub done_position: Signal<In, Bits<32>>,
    /// A completion, an acknowledgement, or both.
    pub completion_valid: Signal<Out, bool>,
    /// It is taken.
    pub completion_ready: Signal<In, bool>,
    /// The completion.
    pub completion: Signal<Out, Completion>,
    /// A peer reads: see [`Requests`](crate::reply::Requests).
    pub request_valid: Signal<Out, bool>,
    /// What.
    pub request: Signal<Out, ReadRequest>,
    /// It is looked at.
    pub request_done: Signal<In, bool>,
    /// It is kept.
    pub request_ok: Signal<In, bool>,
    /// The peer has no right to read.
    pub request_denied: Signal<In, bool>,
    /// PSNs of its answer.
    pub request_packets: Signal<In, Bits<24>>,
    /// A read of ours leaves.
    pub read_valid: Signal<In, bool>,
    /// Which.
    pub read: Signal<In, ReadSent>,
    /// It is taken.
    pub read_ready: Signal<Out, bool>,
    /// The payload of an answer is being placed, or may be soon.
    pub placing: Signal<Out, Bits<2>>,
    /// For these two VIs, the first in the low bits.
    pub placing_vis: Signal<Out, Bits<20>>,
    /// An answer was to nothing that waits.
    pub count_response: Signal<Out, bool>,
    /// An acknowledgement came from the wire.
    pub acknowledged_valid: Signal<Out, bool>,
    /// It is taken.
    pub acknowledged_ready: Signal<In, bool>,
    /// The acknowledgement.
    pub acknowledged: Signal<Out, Acknowledged>,
    /// Something went wrong.
    pub fault_valid: Signal<Out, bool>,
    /// It is taken.
    pub fault_ready: Signal<In, bool>,
    /// What.
    pub fault: Signal<Out, Fault>,
    /// There is room for another descriptor of a receive queue.
    pub again_receive_valid: Signal<Out, bool>,
    /// It is taken.
    pub again_receive_ready: Signal<In, bool>,
    /// Whose.
    pub again_receive_vi: Signal<Out, Vi>,
    /// VI whose consumed position fetch wants.
    pub consumed_vi: Signal<In, Vi>,
    /// Receive descriptors of it that are completed, one cycle later.
    pub consumed_position: Signal<Out, Position>,
    /// A frame or a flush waits or is worked on.
    pub busy: Signal<Out, bool>,
    /// A message was delivered.
    pub count_message: Signal<Out, bool>,
    /// A frame was for no VI.
    pub count_no_vi: Signal<Out, bool>,
    /// A frame was a duplicate, and answered again.
    pub count_duplicate: Signal<Out, bool>,
    /// A frame was another duplicate, or behind a gap.
    pub count_psn: Signal<Out, bool>,
    /// A message found no receive descriptor.
    pub count_no_receive: Signal<Out, bool>,
    /// A frame belonged to no message that can still be whole.
    pub count_partial: Signal<Out, bool>,
    /// See [`Delivery`].
    pub count_raw: Signal<Out, bool>,
    /// See [`Delivery`].
    pub count_raw_dropped: Signal<Out, bool>,
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
        self.contexts.commit_valid.next = self.commit_valid.val();
        self.contexts.commit.next = self.commit.val();
        self.contexts.commit_allowed.next = self.quiet.val();
        self.committing.next = self.contexts.commit_wanted.val();
        self.reads.commit_valid.next =
            self.commit_valid.val() & (self.commit.val().target == self.receive_table.val());
        self.reads.commit.next = self.commit.val();
        self.reads_taken.next =
            self.reads.commit_ready.val() | (self.commit.val().target != self.receive_table.val());
        self.commit_ready.next = self.committing.val() & self.quiet.val() & self.reads_taken.val();
        self.contexts.consumed_vi.next = self.consumed_vi.val();
        self.consumed_position.next = self.contexts.consumed_position.val();

        // States and flushes.
        self.flush.state_valid.next = self.state_valid.val();
        self.flush.state.next = self.state.val();
        self.flush.filled_valid.next = self.filled_valid.val();
        self.flush.filled_vi.next = self.filled_vi.val();
        self.flush.look_vi.next = self.lookup.state_vi.val();
        self.flush.work_ready.next = self.lookup.work_ready.val();

        // Lookup.
        self.lookup.info_valid.next = self.info_valid.val();
        self.lookup.info.next = self.info.val();
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
        self.lookup.work_valid.next = self.flush.work_valid.val();
        self.lookup.work_vi.next = self.flush.work_vi.val();
        self.lookup.hold.next = self.committing.val();
        self.lookup.blocking.next = self.delivery.blocking.val();
        self.lookup.blocking_vi.next = self.delivery.blocking_vi.val();
        self.look_vi.next = self.lookup.look_vi.val();
        self.posted_vi.next = self.lookup.look_vi.val();
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
        self.lookup.posted_position.next = self.posted_position.val();
        self.lookup.order_ready.next = self.delivery.order_ready.val();

        // Delivery.
        self.delivery.order_valid.next = self.lookup.order_valid.val();
        self.delivery.order_vi.next = self.lookup.order_vi.val();
        self.delivery.order_flush.next = self.lookup.order_flush.val();
        self.delivery.order_verdict.next = self.lookup.order_verdict.val();
        self.delivery.order_ends.next = self.lookup.order_ends.val();
        self.delivery.order_writes.next = self.lookup.order_writes.val();
        self.delivery.order_reads.next = self.lookup.order_reads.val();
        self.delivery.order_immediate.next = self.lookup.order_immediate.val();
        self.delivery.order_present.next = self.lookup.order_present.val();
        self.delivery.order_peer.next = self.lookup.order_peer.val();
        self.delivery.order_message.next = self.lookup.order_message.val();
        self.delivery.order_consumed.next = self.lookup.order_consumed.val();
        self.delivery.info.next = self.info.val();
        self.delivery.look.next = self.look.val();
        self.frame.next = self.delivery.frame.val();
        self.payload_start.next = self.delivery.payload_start.val();
        self.release_valid.next = self.delivery.release_valid.val();
        self.job_valid.next = self.delivery.job_valid.val();
        self.job_vi.next = self.delivery.job_vi.val();
        self.job_slot.next = self.delivery.job_slot.val();
        self.job_tag.next = self.delivery.job_tag.val();
        self.job_region.next = self.delivery.job_region.val();
        self.job_offset.next = self.delivery.job_offset.val();
        self.job_segments.next = self.delivery.job_segments.val();
        self.job_index.next = self.delivery.job_index.val();
        self.job_position.next = self.delivery.job_position.val();
        if self.delivery.job_reading.val() {
            self.job_region.next = self.reads.job_region.val();
            self.job_offset.next = self.reads.job_offset.val();
            self.job_segments.next = self.reads.job_segments.val();
            self.job_index.next = self.reads.job_index.val();
            self.job_position.next = self.reads.job_position.val();
        }
        self.job_reading.next = self.delivery.job_reading.val();
        self.job_fresh.next = self.reads.job_fresh.val();

        // Reads, of both sides.
        self.request_valid.next = self.delivery.request_valid.val();
        self.request.next = self.delivery.request.val();
        self.delivery.request_done.next = self.request_done.val();
        self.delivery.request_ok.next = self.request_ok.val();
        self.delivery.request_denied.next = self.request_denied.val();
        self.delivery.request_packets.next = self.request_packets.val();
        self.reads.sent_valid.next = self.read_valid.val();
        self.reads.sent.next = self.read.val();
        self.read_ready.next = self.reads.sent_ready.val();
        self.reads.answer_valid.next = self.delivery.answer_valid.val();
        self.reads.answer.next = self.delivery.answer.val();
        self.reads.answer_mtu.next = self.delivery.answer_mtu.val();
        self.delivery.told_valid.next = self.reads.told_valid.val();
        self.delivery.told_keep.next = self.reads.told_keep.val();
        self.delivery.told_data.next = self.reads.told_data.val();
        self.delivery.told.next = self.reads.told.val();
        self.reads.done_valid.next = self.delivery.placed_valid.val();
        self.reads.done_ok.next = self.delivery.placed_ok.val();
        self.reads.done_index.next = self.done_index.val();
        self.reads.done_position.next = self.done_position.val();
        self.placing.next = bits::<2>(0);
        self.placing.next = self.placing.val().replace_bit(0, self.delivery.placing.val());
        self.placing.next = self.placing.val().replace_bit(1, !self.lookup.idle.val());
        self.placing_vis.next = (bit_cast::<20, VI_LOG2>(self.lookup.order_vi.val()) << 10)
            | bit_cast::<20, VI_LOG2>(self.delivery.blocking_vi.val());
        self.count_response.next = self.delivery.count_response.val();
        self.job_remote.next = self.delivery.job_remote.val();
        self.job_place.next = self.delivery.job_place.val();
        self.job_handle.next = self.delivery.job_handle.val();
        self.job_left.next = self.delivery.job_left.val();
        self.job_length.next = self.delivery.job_length.val();
        self.delivery.done_valid.next = self.done_valid.val();
        self.delivery.done_result.next = self.done_result.val();
        self.delivery.done_index.next = self.done_index.val();
        self.delivery.done_position.next = self.done_position.val();
        self.contexts.save_valid.next = self.delivery.save_valid.val();
        self.contexts.save_vi.next = self.delivery.blocking_vi.val();
        self.contexts.save_message.next = self.delivery.save_message.val();
        self.contexts.save_consumed.next = self.delivery.save_consumed.val();
        self.delivery.acknowledged_ready.next = self.acknowledged_ready.val();
        self.acknowledged_valid.next = self.delivery.acknowledged_valid.val();
        self.acknowledged.next = self.delivery.acknowledged.val();
        self.delivery.close_ready.next = self.closing.close_ready.val();

        // Closing.
        self.closing.close_valid.next = self.delivery.close_valid.val();
        self.closing.close_completes.next = self.delivery.close_completes.val();
        self.closing.close_completion.next = self.delivery.close_completion.val();
        self.closing.close_faulty.next = self.delivery.close_faulty.val();
        self.closing.close_code.next = self.delivery.close_code.val();
        self.closing.close_breaks.next = self.delivery.close_breaks.val();
        self.closing.completion_ready.next = self.completion_ready.val();
        self.closing.fault_ready.next = self.fault_ready.val();
        self.closing.again_receive_ready.next = self.again_receive_ready.val();
        self.completion_valid.next = self.closing.completion_valid.val();
        self.completion.next = self.closing.completion.val();
        self.fault_valid.next = self.closing.fault_valid.val();
        self.fault.next = self.closing.fault.val();
        self.again_receive_valid.next = self.closing.again_receive_valid.val();
        self.again_receive_vi.next = self.closing.again_receive_vi.val();

        self.busy.next =
            !self.quiet.val() | self.lookup.unfinished.val() | self.holds.val() | self.flush.busy.val();
        self.count_message.next = self.delivery.count_message.val();
        self.count_no_vi.next = self.delivery.count_no_vi.val();
        self.count_duplicate.next = self.delivery.count_duplicate.val();
        self.count_psn.next = self.delivery.count_psn.val();
        self.count_no_receive.next = self.delivery.count_no_receive.val();
        self.count_partial.next = self.delivery.count_partial.val();
        self.count_raw.next = self.delivery.count_raw.val();
        self.count_raw_dropped.next = self.delivery.count_raw_dropped.val();
    }
}
