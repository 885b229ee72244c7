//! Wires the blocks of this folder to the whole way in, from frames to accesses and completions.
//!
//! Everything here is a wire; see each block for what it does, and the folder for the picture. The top may use this block
//! or the blocks in it.
//!
//! Example: a frame with a send of 8 bytes comes in `rx`. `access` asks for the receive's segment, `write` gives 8 bytes, and
//! `completion` says that the receive is done.
//!
//! Tests: `tests/receive/path/`, frames in at one end, memory at the other.

use super::job::{Done, Job};
use super::scatter::result;
use super::{Ahead, Delay, Ingress, Matcher, Parse, Scatter, Store};
use crate::bus::{
    Access, Acknowledged, Admission, AheadWord, Commit, Completion, Fault, Filled, FrameBeat, FrameInfo,
    Position, ReadBeat, ReadRequest, ReadSent, StateWrite, Vi, WriteBeat, WriteVerdict,
};
use crate::prims::Number;
use crate::receive::StationSink;
use crate::stream::{FlowSink, FlowSource, LookUp, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Receive {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, all frames are dropped and all work is forgotten.
    pub reset: Signal<In, bool>,
    /// A beat of a frame from the MAC; the block cannot refuse it.
    pub rx: FlowSink<FrameBeat>,
    /// A beat of a frame that turns round inside the NIC, from egress.
    pub loopback: Sink<FrameBeat>,
    /// Frames are received; the agent's control register drives it.
    pub enabled: Signal<In, bool>,
    /// The peer is asked to hold its frames; the MAC listens.
    pub pause: Signal<Out, bool>,
    /// The card's own addresses, and the settings of the raw channel.
    pub station: StationSink,
    /// A table row on the bus; the block takes those of its tables.
    pub commit: Sink<Commit>,
    /// A VI changes its state: its number, and the new state.
    pub state: FlowSink<StateWrite>,
    /// A word of a receive descriptor, with its VI, slot and number, from fetch.
    pub ahead: FlowSink<AheadWord>,
    /// A receive descriptor, whole: its VI and slot, and where it lies; from fetch.
    pub filled: FlowSink<Filled>,
    /// Asks doorbell for the posted position of a VI's receive queue.
    pub posted: LookUp<Vi, Position>,
    /// Answers fetch, which wants the consumed position of a VI.
    pub consumed: Table<Vi, Position>,
    /// A VI whose receive queue has room for another descriptor.
    pub again_receive: Source<Vi>,
    /// An access to memory, from scatter, for the checker.
    pub access: Source<Access>,
    /// What the checker says of a write access.
    pub verdict: FlowSink<WriteVerdict>,
    /// Eight bytes that a read brought, of any client.
    pub beat: FlowSink<ReadBeat>,
    /// Up to eight bytes for host memory, for the write engine.
    pub write: Source<WriteBeat>,
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
    /// A frame or a flush is under way.
    pub busy: Signal<Out, bool>,
    /// Pulses when a frame has come in.
    pub count_frame: Pulse,
    /// Pulses when a frame found no room, or was dropped to make some.
    pub count_overflow: Pulse,
    /// Pulses when a frame was malformed: see [`Parse`].
    pub count_malformed: Pulse,
    /// Pulses when a frame's ICRC was wrong: see [`Parse`].
    pub count_icrc: Pulse,
    /// Pulses when a frame was for somebody else: see [`Parse`].
    pub count_not_ours: Pulse,
    /// Pulses when a frame's BTH was wrong: see [`Parse`].
    pub count_bth: Pulse,
    /// Pulses when a frame told of congestion: see [`Parse`].
    pub count_congestion: Pulse,
    /// Pulses when a message was delivered: see [`Matcher`].
    pub count_message: Pulse,
    /// Pulses when a frame was for no VI: see [`Matcher`].
    pub count_no_vi: Pulse,
    /// Pulses when a duplicate is answered again: see [`Matcher`].
    pub count_duplicate: Pulse,
    /// Pulses for any other duplicate, or a frame behind a gap: see [`Matcher`].
    pub count_psn: Pulse,
    /// Pulses when a message found no receive descriptor: see [`Matcher`].
    pub count_no_receive: Pulse,
    /// Pulses when a frame's message cannot be whole any more: see [`Matcher`].
    pub count_partial: Pulse,
    /// Pulses when a raw frame was delivered: see [`Matcher`].
    pub count_raw: Pulse,
    /// Pulses when a raw frame was dropped: see [`Matcher`].
    pub count_raw_dropped: Pulse,
    /// Bytes of a packet whose payload has gone to memory in this cycle, all of it; 0: none has.
    pub count_bytes: Signal<Out, Bits<13>>,
    ingress: Ingress,
    parse: Parse,
    delay: Delay,
    store: Store,
    fetched: Ahead,
    matcher: Matcher,
    scatter: Scatter,
    placed: Number<2, { result::OK }>,
}

impl Logic for Receive {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ingress, parse, delay, store, fetched, matcher, scatter);
        self.ingress.reset.next = self.reset.val();
        self.parse.reset.next = self.reset.val();
        self.delay.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.fetched.reset.next = self.reset.val();
        self.matcher.reset.next = self.reset.val();
        self.scatter.reset.next = self.reset.val();

        // Frames.
        FlowSink::<FrameBeat>::link(&mut self.rx, &mut self.ingress.rx);
        Sink::<FrameBeat>::link(&mut self.loopback, &mut self.ingress.loopback);
        self.ingress.enabled.next = self.enabled.val();
        self.pause.next = self.ingress.pause.val();
        self.ingress.store_level.next = self.store.level.val();
        Source::<FrameBeat>::join(&mut self.ingress.frame, &mut self.parse.frame);
        StationSink::link(&mut self.station, &mut self.parse.station);
        self.parse.store_ready.next = self.store.store.ready.val();
        self.parse.frame_tagged.next = self.ingress.frame_tagged.val();
        FlowSource::<Bits<64>>::join(&mut self.ingress.word, &mut self.delay.sink);
        self.delay.endless.next = self.parse.endless.val();
        self.store.store.valid.next = self.delay.source.valid.val();
        self.store.store.data.next = self.delay.source.data.val();
        self.store.keep.next = self.parse.keep.val();
        self.store.drop.next = self.parse.drop.val();
        self.store.keep_info.next = self.parse.info.val();

        // The frame on show.
        FlowSource::<FrameInfo>::join(&mut self.store.info, &mut self.matcher.info);
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
        Source::<WriteBeat>::join(&mut self.store.payload, &mut self.scatter.payload);

        // Descriptors fetched ahead.
        FlowSink::<AheadWord>::link(&mut self.ahead, &mut self.fetched.ahead);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.fetched.filled);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.matcher.filled);
        self.fetched.read_vi.next = self.scatter.read_vi.val();
        self.fetched.read_slot.next = self.scatter.read_slot.val();
        self.fetched.read_second.next = self.scatter.read_second.val();
        self.scatter.read_place.next = self.fetched.read_place.val();
        self.scatter.read_handle.next = self.fetched.read_handle.val();
        self.fetched.look_vi.next = self.matcher.look_vi.val();
        self.fetched.look_slot.next = self.matcher.look_slot.val();
        self.matcher.look.next = self.fetched.look.val();
        self.matcher.look_filled.next = self.fetched.look_filled.val();

        // Tables and states.
        self.fetched.commit.valid.next = self.commit.valid.val();
        self.fetched.commit.data.next = self.commit.data.val();
        self.matcher.commit.valid.next = self.commit.valid.val();
        self.matcher.commit.data.next = self.commit.data.val();
        // Both take the row, again while one of them is not ready.
        self.commit.ready.next = self.matcher.commit.ready.val() & self.fetched.commit.ready.val();
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.matcher.state);

        // Scatter's job.
        FlowSource::<Job>::join(&mut self.matcher.job, &mut self.scatter.job);
        FlowSource::<Done>::join(&mut self.scatter.done, &mut self.matcher.done);
        Source::<Access>::link(&mut self.access, &mut self.scatter.access);
        FlowSink::<WriteVerdict>::link(&mut self.verdict, &mut self.scatter.verdict);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.scatter.beat);
        Source::<WriteBeat>::link(&mut self.write, &mut self.scatter.write);

        // The rest of the NIC.
        LookUp::<Vi, Position>::link(&mut self.posted, &mut self.matcher.posted);
        Table::<Vi, Position>::link(&mut self.consumed, &mut self.matcher.consumed);
        Source::<Vi>::link(&mut self.again_receive, &mut self.matcher.again_receive);
        Source::<Completion>::link(&mut self.completion, &mut self.matcher.completion);
        Source::<Acknowledged>::link(&mut self.acknowledged, &mut self.matcher.acknowledged);
        Source::<Fault>::link(&mut self.fault, &mut self.matcher.fault);
        self.busy.next = self.matcher.busy.val()
            | self.scatter.busy.val()
            | self.ingress.busy.val()
            | self.parse.busy.val();
        FlowSource::<ReadRequest>::link(&mut self.request, &mut self.matcher.request);
        FlowSink::<Admission>::link(&mut self.admission, &mut self.matcher.admission);
        Sink::<ReadSent>::link(&mut self.read, &mut self.matcher.read);
        self.placing.next = self.matcher.placing.val();
        self.placing_vis.next = self.matcher.placing_vis.val();
        Pulse::link(&mut self.count_response, &mut self.matcher.count_response);
        Pulse::link(&mut self.count_frame, &mut self.ingress.count_frame);
        self.store.overflows.next = self.ingress.count_overflow.val();
        self.count_overflow.next = self.ingress.count_overflow.val() | self.store.count_dropped.val();
        Pulse::link(&mut self.count_malformed, &mut self.parse.count_malformed);
        Pulse::link(&mut self.count_icrc, &mut self.parse.count_icrc);
        Pulse::link(&mut self.count_not_ours, &mut self.parse.count_not_ours);
        Pulse::link(&mut self.count_bth, &mut self.parse.count_bth);
        Pulse::link(&mut self.count_congestion, &mut self.parse.count_congestion);
        Pulse::link(&mut self.count_message, &mut self.matcher.count_message);
        Pulse::link(&mut self.count_no_vi, &mut self.matcher.count_no_vi);
        Pulse::link(&mut self.count_duplicate, &mut self.matcher.count_duplicate);
        Pulse::link(&mut self.count_psn, &mut self.matcher.count_psn);
        Pulse::link(&mut self.count_no_receive, &mut self.matcher.count_no_receive);
        Pulse::link(&mut self.count_partial, &mut self.matcher.count_partial);
        Pulse::link(&mut self.count_raw, &mut self.matcher.count_raw);
        Pulse::link(&mut self.count_raw_dropped, &mut self.matcher.count_raw_dropped);
        self.count_bytes.next = bits::<13>(0);
        if self.scatter.done.valid.val() & (self.scatter.done.data.val().result == self.placed.val()) {
            self.count_bytes.next = self.matcher.job.data.val().length;
        }
    }
}
