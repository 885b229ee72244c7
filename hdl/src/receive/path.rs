//! The whole way in, from frames to accesses and completions: the blocks of this folder, wired.
//!
//! Everything here is a wire; see each block for what it does, and the folder for the picture. The top may use this
//! or the blocks.
//!
//! Tests: `tests/receive/path/`, frames in at one end, memory at the other.

use super::scatter::result;
use super::{Ahead, Delay, Ingress, Matcher, Parse, Scatter, Store};
use crate::bus::{
    Access, Acknowledged, Commit, Completion, Fault, FrameBeat, Position, ReadBeat, ReadRequest, ReadSent,
    StateWrite, Vi, WriteBeat,
};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Receive {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops all frames and forgets all work.
    pub reset: Signal<In, bool>,
    /// The MAC gives a beat; it cannot be refused.
    pub rx_valid: Signal<In, bool>,
    /// The beat.
    pub rx: Signal<In, FrameBeat>,
    /// A frame that turns round inside the NIC offers a beat.
    pub loopback_valid: Signal<In, bool>,
    /// It is taken.
    pub loopback_ready: Signal<Out, bool>,
    /// The beat.
    pub loopback: Signal<In, FrameBeat>,
    /// Frames are received.
    pub enabled: Signal<In, bool>,
    /// The peer should hold its frames.
    pub pause: Signal<Out, bool>,
    /// Own MAC address, first byte in bits 7:0.
    pub mac: Signal<In, Bits<48>>,
    /// Own IPv4 address, most significant byte = first on the wire.
    pub ip: Signal<In, Bits<32>>,
    /// P_Key that frames must carry.
    pub pkey: Signal<In, Bits<16>>,
    /// The raw channel is open: RAW_CHANNEL's fields.
    pub raw_open: Signal<In, bool>,
    /// It takes broadcast frames.
    pub raw_broadcast: Signal<In, bool>,
    /// It takes multicast frames.
    pub raw_multicast: Signal<In, bool>,
    /// It takes frames to any address.
    pub raw_any: Signal<In, bool>,
    /// Its VI.
    pub raw_vi: Signal<In, Bits<10>>,
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
    /// A word of a descriptor, from fetch.
    pub ahead_valid: Signal<In, bool>,
    /// Its VI.
    pub ahead_vi: Signal<In, Vi>,
    /// Its slot.
    pub ahead_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Its place in the descriptor.
    pub ahead_word: Signal<In, Bits<3>>,
    /// The word.
    pub ahead_data: Signal<In, Bits<64>>,
    /// A descriptor is there.
    pub filled_valid: Signal<In, bool>,
    /// Its VI.
    pub filled_vi: Signal<In, Vi>,
    /// Its slot.
    pub filled_slot: Signal<In, Bits<RECEIVE_AHEAD_LOG2>>,
    /// Region it lies in.
    pub filled_region: Signal<In, Bits<16>>,
    /// Its offset there, in units of 64 bytes.
    pub filled_offset: Signal<In, Bits<34>>,
    /// Words of its first 64 bytes that the region holds.
    pub filled_words: Signal<In, Bits<4>>,
    /// It could not be read.
    pub filled_lost: Signal<In, bool>,
    /// One past its position.
    pub filled_position: Signal<In, Position>,
    /// VI whose posted position is wanted.
    pub posted_vi: Signal<Out, Vi>,
    /// Up to where its receive queue is posted, one cycle later.
    pub posted_position: Signal<In, Position>,
    /// VI whose consumed position fetch wants.
    pub consumed_vi: Signal<In, Vi>,
    /// Receive descriptors of it that are completed, one cycle later.
    pub consumed_position: Signal<Out, Position>,
    /// There is room for another descriptor of a receive queue.
    pub again_receive_valid: Signal<Out, bool>,
    /// It is taken.
    pub again_receive_ready: Signal<In, bool>,
    /// Whose.
    pub again_receive_vi: Signal<Out, Vi>,
    /// Memory is wanted.
    pub access_valid: Signal<Out, bool>,
    /// The checker takes the question.
    pub access_ready: Signal<In, bool>,
    /// The question.
    pub access: Signal<Out, Access>,
    /// The answer to a write access.
    pub verdict_valid: Signal<In, bool>,
    /// Whose.
    pub verdict_client: Signal<In, Bits<2>>,
    /// Granted.
    pub verdict_ok: Signal<In, bool>,
    /// Data read.
    pub beat_valid: Signal<In, bool>,
    /// The data.
    pub beat: Signal<In, ReadBeat>,
    /// Bytes for host memory.
    pub write_valid: Signal<Out, bool>,
    /// They are taken.
    pub write_ready: Signal<In, bool>,
    /// The bytes.
    pub write: Signal<Out, WriteBeat>,
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
    /// A frame or a flush is under way.
    pub busy: Signal<Out, bool>,
    /// A frame has come in.
    pub count_frame: Signal<Out, bool>,
    /// A frame found no room, or was dropped to make some.
    pub count_overflow: Signal<Out, bool>,
    /// See [`Parse`].
    pub count_malformed: Signal<Out, bool>,
    /// See [`Parse`].
    pub count_icrc: Signal<Out, bool>,
    /// See [`Parse`].
    pub count_not_ours: Signal<Out, bool>,
    /// See [`Parse`].
    pub count_bth: Signal<Out, bool>,
    /// See [`Parse`].
    pub count_congestion: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_message: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_no_vi: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_duplicate: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_psn: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_no_receive: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_partial: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_raw: Signal<Out, bool>,
    /// See [`Matcher`].
    pub count_raw_dropped: Signal<Out, bool>,
    /// Bytes of a packet's payload that have gone to memory, all of them; 0: none in this cycle.
    pub count_bytes: Signal<Out, Bits<13>>,
    ingress: Ingress,
    parse: Parse,
    delay: Delay,
    store: Store,
    ahead: Ahead,
    matcher: Matcher,
    scatter: Scatter,
    placed: Number<2, { result::OK }>,
}

impl Logic for Receive {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ingress, parse, delay, store, ahead, matcher, scatter);
        self.ingress.reset.next = self.reset.val();
        self.parse.reset.next = self.reset.val();
        self.delay.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.ahead.reset.next = self.reset.val();
        self.matcher.reset.next = self.reset.val();
        self.scatter.reset.next = self.reset.val();

        // Frames.
        self.ingress.rx_valid.next = self.rx_valid.val();
        self.ingress.rx.next = self.rx.val();
        self.ingress.loopback_valid.next = self.loopback_valid.val();
        self.ingress.loopback.next = self.loopback.val();
        self.ingress.enabled.next = self.enabled.val();
        self.loopback_ready.next = self.ingress.loopback_ready.val();
        self.pause.next = self.ingress.pause.val();
        self.ingress.store_level.next = self.store.level.val();
        self.parse.frame_valid.next = self.ingress.frame_valid.val();
        self.parse.frame.next = self.ingress.frame.val();
        self.ingress.frame_ready.next = self.parse.frame_ready.val();
        self.parse.mac.next = self.mac.val();
        self.parse.ip.next = self.ip.val();
        self.parse.pkey.next = self.pkey.val();
        self.parse.raw_open.next = self.raw_open.val();
        self.parse.raw_broadcast.next = self.raw_broadcast.val();
        self.parse.raw_multicast.next = self.raw_multicast.val();
        self.parse.raw_any.next = self.raw_any.val();
        self.parse.raw_vi.next = self.raw_vi.val();
        self.parse.store_ready.next = self.store.store_ready.val();
        self.parse.frame_tagged.next = self.ingress.frame_tagged.val();
        self.delay.in_valid.next = self.ingress.word_valid.val();
        self.delay.in_data.next = self.ingress.word.val();
        self.delay.endless.next = self.parse.endless.val();
        self.store.store_valid.next = self.delay.out_valid.val();
        self.store.store_data.next = self.delay.out_data.val();
        self.store.keep.next = self.parse.keep.val();
        self.store.drop.next = self.parse.drop.val();
        self.store.keep_info.next = self.parse.info.val();

        // The frame on show.
        self.matcher.info_valid.next = self.store.info_valid.val();
        self.matcher.info.next = self.store.info.val();
        self.store.info_taken.next = self.matcher.info_taken.val();
        self.store.info_aside.next = self.matcher.info_aside.val();
        self.store.info_drop.next = self.matcher.info_drop.val();
        self.store.info_back.next = self.matcher.info_back.val();
        self.store.resume.next = self.matcher.resume.val();
        self.matcher.again.next = self.store.again.val();
        self.matcher.overdue.next = self.store.overdue.val();
        self.matcher.holds.next = self.store.holds.val();
        self.store.frame.next = self.matcher.frame.val();
        self.store.release_valid.next = self.matcher.release_valid.val();
        self.store.payload_start.next = self.matcher.payload_start.val();
        self.scatter.payload_valid.next = self.store.payload_valid.val();
        self.scatter.payload.next = self.store.payload.val();
        self.store.payload_ready.next = self.scatter.payload_ready.val();

        // Descriptors fetched ahead.
        self.ahead.ahead_valid.next = self.ahead_valid.val();
        self.ahead.ahead_vi.next = self.ahead_vi.val();
        self.ahead.ahead_slot.next = self.ahead_slot.val();
        self.ahead.ahead_word.next = self.ahead_word.val();
        self.ahead.ahead_data.next = self.ahead_data.val();
        self.ahead.filled_valid.next = self.filled_valid.val();
        self.ahead.filled_vi.next = self.filled_vi.val();
        self.ahead.filled_slot.next = self.filled_slot.val();
        self.ahead.filled_region.next = self.filled_region.val();
        self.ahead.filled_offset.next = self.filled_offset.val();
        self.ahead.filled_words.next = self.filled_words.val();
        self.ahead.filled_lost.next = self.filled_lost.val();
        self.ahead.filled_position.next = self.filled_position.val();
        self.matcher.filled_valid.next = self.filled_valid.val();
        self.matcher.filled_vi.next = self.filled_vi.val();
        self.ahead.read_vi.next = self.scatter.read_vi.val();
        self.ahead.read_slot.next = self.scatter.read_slot.val();
        self.ahead.read_second.next = self.scatter.read_second.val();
        self.scatter.read_place.next = self.ahead.read_place.val();
        self.scatter.read_handle.next = self.ahead.read_handle.val();
        self.ahead.look_vi.next = self.matcher.look_vi.val();
        self.ahead.look_slot.next = self.matcher.look_slot.val();
        self.matcher.look.next = self.ahead.look.val();
        self.matcher.look_filled.next = self.ahead.look_filled.val();

        // Tables and states.
        self.ahead.commit_valid.next = self.commit_valid.val();
        self.ahead.commit.next = self.commit.val();
        self.matcher.commit_valid.next = self.commit_valid.val();
        self.matcher.commit.next = self.commit.val();
        // Both take the row, again while one of them is not ready.
        self.commit_ready.next = self.matcher.commit_ready.val() & self.ahead.commit_ready.val();
        self.matcher.state_valid.next = self.state_valid.val();
        self.matcher.state.next = self.state.val();

        // Scatter's job.
        self.scatter.job_valid.next = self.matcher.job_valid.val();
        self.scatter.job_vi.next = self.matcher.job_vi.val();
        self.scatter.job_slot.next = self.matcher.job_slot.val();
        self.scatter.job_tag.next = self.matcher.job_tag.val();
        self.scatter.job_region.next = self.matcher.job_region.val();
        self.scatter.job_offset.next = self.matcher.job_offset.val();
        self.scatter.job_segments.next = self.matcher.job_segments.val();
        self.scatter.job_index.next = self.matcher.job_index.val();
        self.scatter.job_position.next = self.matcher.job_position.val();
        self.scatter.job_remote.next = self.matcher.job_remote.val();
        self.scatter.job_place.next = self.matcher.job_place.val();
        self.scatter.job_handle.next = self.matcher.job_handle.val();
        self.scatter.job_left.next = self.matcher.job_left.val();
        self.scatter.job_reading.next = self.matcher.job_reading.val();
        self.scatter.job_fresh.next = self.matcher.job_fresh.val();
        self.scatter.job_length.next = self.matcher.job_length.val();
        self.matcher.done_valid.next = self.scatter.done_valid.val();
        self.matcher.done_result.next = self.scatter.done_result.val();
        self.matcher.done_index.next = self.scatter.done_index.val();
        self.matcher.done_position.next = self.scatter.done_position.val();
        self.scatter.access_ready.next = self.access_ready.val();
        self.scatter.verdict_valid.next = self.verdict_valid.val();
        self.scatter.verdict_client.next = self.verdict_client.val();
        self.scatter.verdict_ok.next = self.verdict_ok.val();
        self.scatter.beat_valid.next = self.beat_valid.val();
        self.scatter.beat.next = self.beat.val();
        self.scatter.write_ready.next = self.write_ready.val();
        self.access_valid.next = self.scatter.access_valid.val();
        self.access.next = self.scatter.access.val();
        self.write_valid.next = self.scatter.write_valid.val();
        self.write.next = self.scatter.write.val();

        // The rest of the NIC.
        self.matcher.posted_position.next = self.posted_position.val();
        self.matcher.consumed_vi.next = self.consumed_vi.val();
        self.matcher.again_receive_ready.next = self.again_receive_ready.val();
        self.matcher.completion_ready.next = self.completion_ready.val();
        self.matcher.acknowledged_ready.next = self.acknowledged_ready.val();
        self.matcher.fault_ready.next = self.fault_ready.val();
        self.posted_vi.next = self.matcher.posted_vi.val();
        self.consumed_position.next = self.matcher.consumed_position.val();
        self.again_receive_valid.next = self.matcher.again_receive_valid.val();
        self.again_receive_vi.next = self.matcher.again_receive_vi.val();
        self.completion_valid.next = self.matcher.completion_valid.val();
        self.completion.next = self.matcher.completion.val();
        self.acknowledged_valid.next = self.matcher.acknowledged_valid.val();
        self.acknowledged.next = self.matcher.acknowledged.val();
        self.fault_valid.next = self.matcher.fault_valid.val();
        self.fault.next = self.matcher.fault.val();
        self.busy.next = self.matcher.busy.val()
            | self.scatter.busy.val()
            | self.ingress.busy.val()
            | self.parse.busy.val();
        self.request_valid.next = self.matcher.request_valid.val();
        self.request.next = self.matcher.request.val();
        self.matcher.request_done.next = self.request_done.val();
        self.matcher.request_ok.next = self.request_ok.val();
        self.matcher.request_denied.next = self.request_denied.val();
        self.matcher.request_packets.next = self.request_packets.val();
        self.matcher.read_valid.next = self.read_valid.val();
        self.matcher.read.next = self.read.val();
        self.read_ready.next = self.matcher.read_ready.val();
        self.placing.next = self.matcher.placing.val();
        self.placing_vis.next = self.matcher.placing_vis.val();
        self.count_response.next = self.matcher.count_response.val();
        self.count_frame.next = self.ingress.count_frame.val();
        self.store.overflows.next = self.ingress.count_overflow.val();
        self.count_overflow.next = self.ingress.count_overflow.val() | self.store.count_dropped.val();
        self.count_malformed.next = self.parse.count_malformed.val();
        self.count_icrc.next = self.parse.count_icrc.val();
        self.count_not_ours.next = self.parse.count_not_ours.val();
        self.count_bth.next = self.parse.count_bth.val();
        self.count_congestion.next = self.parse.count_congestion.val();
        self.count_message.next = self.matcher.count_message.val();
        self.count_no_vi.next = self.matcher.count_no_vi.val();
        self.count_duplicate.next = self.matcher.count_duplicate.val();
        self.count_psn.next = self.matcher.count_psn.val();
        self.count_no_receive.next = self.matcher.count_no_receive.val();
        self.count_partial.next = self.matcher.count_partial.val();
        self.count_raw.next = self.matcher.count_raw.val();
        self.count_raw_dropped.next = self.matcher.count_raw_dropped.val();
        self.count_bytes.next = bits::<13>(0);
        if self.scatter.done_valid.val() & (self.scatter.done_result.val() == self.placed.val()) {
            self.count_bytes.next = self.matcher.job_length.val();
        }
    }
}
