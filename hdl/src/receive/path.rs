//! The whole way in, from frames to accesses and completions: the blocks of this folder, and what joins them.
//!
//! ```text
//!  rx, loopback ──►┌─────────────────────────────────┐──► access, write      (the payload, to memory)
//!     ahead, filled│ EthReceive Ingress Parse Store  │──► completion, fault, again_receive
//!              ───►│ FrameDelay Ahead Flush Contexts │──► acknowledged       (to the send side)
//!    commit, state │ Commits Lookup Delivery Closing │◄─► request, admission (with reply/requests)
//!              ───►│ Reads Scatter                   │──► parsed, handled, count_*
//!    verdict, beat └─────────────────────────────────┘
//!              ───► ▲
//! ```
//! The folder's picture shows who gives what to whom ([`crate::receive`]). Contract: the VI's frames are delivered in the order in which
//! they came, one behind the other; those of a VI that waits for a receive which is posted and not there are left for later. While one is
//! delivered the next is looked up, unless it is for the same VI; that waits until the context is saved. Flushes go before frames, and
//! rows are taken when nothing is under way.
//!
//! In Error, the message in progress completes TRANSPORT_ERROR and every descriptor fetched ahead DESC_FLUSHED_ERROR, in order.
//!
//! Example: a frame with a send of 8 bytes comes in `rx`. `access` asks for the receive's segment, `write` gives 8 bytes, and
//! `completion` says that the receive is done.
//!
//! Latency: a frame of one packet and one segment occupies lookup for 4 cycles, and then delivery for 3 plus scatter's 7 and the checker's.
//!
//! Tests: `tests/receive/path/`, frames in at one end, memory at the other.

use super::ahead::{Ahead, AheadRow, SegmentId, SlotId};
use super::closing::{Close, Closing};
use super::commits::Commits;
use super::contexts::{Context, Contexts, HalfId, Saved};
use super::delay::FrameDelay;
use super::delivery::{Delivery, DeliveryEvents};
use super::eth_receive::EthReceive;
use super::flush::{Flush, SetAside, ViStatus};
use super::ingress::Ingress;
use super::job::{ReadPlaced, ScatterDone, ScatterJob, ScatterResult, Told};
use super::lookup::Lookup;
use super::order::Order;
use super::parse::{Parse, ParseEvents};
use super::reads::Reads;
use super::scatter::Scatter;
use super::show::{HeldSource, ShowSource};
use super::station::StationSink;
use super::store::Store;
use crate::bus::{
    Access, Acknowledged, Admission, AheadWord, Answer, Commit, Completion, Fault, Filled, FrameBeat,
    Placing, Position, ReadBeat, ReadRequest, ReadSent, StateWrite, Vi, WriteBeat, WriteVerdict,
};
use crate::edge::EthRx;
use crate::rows::descriptor::DataSegment;
use crate::stream::{FlowSink, FlowSource, LookUp, Pulse, Sink, Source, Table};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Receive {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, all frames are dropped and all work is forgotten.
    pub reset: Signal<In, bool>,
    /// Frames from the MAC; the block cannot refuse them.
    pub rx: EthRx,
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
    /// The VIs of which payload of an answer is being placed, or may be soon.
    pub placing: Signal<Out, Placing>,
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
    /// What is counted of the frames that `receive/parse` has looked at.
    pub parsed: Signal<Out, ParseEvents>,
    /// What is counted of the frames that `receive/delivery` has handled.
    pub handled: Signal<Out, DeliveryEvents>,
    /// Bytes of a packet whose payload has gone to memory in this cycle, all of it; 0: none has.
    pub count_bytes: Signal<Out, Bits<13>>,
    // Frames.
    eth: EthReceive,
    ingress: Ingress,
    parse: Parse,
    delay: FrameDelay,
    store: Store,
    // What is known of the VIs.
    commits: Commits,
    contexts: Contexts,
    flush: Flush,
    fetched: Ahead,
    // What becomes of a frame.
    lookup: Lookup,
    delivery: Delivery,
    scatter: Scatter,
    reads: Reads,
    closing: Closing,
    quiet: Signal<Local, bool>,
}

impl Logic for Receive {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ingress, parse, delay, store, contexts, flush, fetched);
        clock!(self, clock, lookup, delivery, scatter, reads, closing);
        self.ingress.reset.next = self.reset.val();
        self.parse.reset.next = self.reset.val();
        self.delay.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.flush.reset.next = self.reset.val();
        self.fetched.reset.next = self.reset.val();
        self.lookup.reset.next = self.reset.val();
        self.delivery.reset.next = self.reset.val();
        self.scatter.reset.next = self.reset.val();
        self.reads.reset.next = self.reset.val();
        self.closing.reset.next = self.reset.val();

        // Frames come in, are checked, and wait in the store.
        EthRx::link(&mut self.rx, &mut self.eth.rx);
        FlowSource::<FrameBeat>::join(&mut self.eth.beat, &mut self.ingress.rx);
        Sink::<FrameBeat>::link(&mut self.loopback, &mut self.ingress.loopback);
        self.ingress.enabled.next = self.enabled.val();
        self.pause.next = self.ingress.pause.val();
        self.ingress.store_level.next = self.store.level.val();
        Source::<FrameBeat>::join(&mut self.ingress.frame, &mut self.parse.frame);
        self.parse.frame_tagged.next = self.ingress.frame_tagged.val();
        StationSink::link(&mut self.station, &mut self.parse.station);
        FlowSource::<Bits<64>>::join(&mut self.ingress.word, &mut self.delay.sink);
        self.delay.endless.next = self.parse.endless.val();
        self.store.store.valid.next = self.delay.source.valid.val();
        self.store.store.data.next = self.delay.source.data.val();
        self.parse.store_ready.next = self.store.store.ready.val();
        self.store.keep.next = self.parse.keep.val();
        self.store.drop.next = self.parse.drop.val();
        self.store.keep_info.next = self.parse.info.val();
        self.store.overflows.next = self.ingress.count_overflow.val();

        // Rows, states, and the descriptors that are fetched ahead.
        Sink::<Commit>::link(&mut self.commit, &mut self.commits.commit);
        self.quiet.next = !self.lookup.looking.valid.val()
            & !self.delivery.blocking.valid.val()
            & self.closing.idle.val()
            & !self.contexts.saving.val();
        self.commits.quiet.next = self.quiet.val();
        self.lookup.hold.next = self.commits.hold.val();
        FlowSource::<Commit>::join(&mut self.commits.contexts, &mut self.contexts.commit);
        Source::<Commit>::join(&mut self.commits.ahead, &mut self.fetched.commit);
        Source::<Commit>::join(&mut self.commits.reads, &mut self.reads.commit);
        Table::<Vi, Position>::link(&mut self.consumed, &mut self.contexts.consumed_of);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.flush.state);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.flush.filled);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.fetched.filled);
        FlowSink::<AheadWord>::link(&mut self.ahead, &mut self.fetched.ahead);

        // A frame, or a receive to flush, is looked up: that gives an order.
        ShowSource::join(&mut self.store.show, &mut self.lookup.show);
        self.store.resume.next = self.flush.resume.val();
        Source::<Vi>::join(&mut self.flush.work, &mut self.lookup.work);
        LookUp::<Vi, ViStatus>::join(&mut self.lookup.vis, &mut self.flush.look);
        FlowSource::<SetAside>::join(&mut self.lookup.set_aside, &mut self.flush.set_aside);
        LookUp::<HalfId, Context>::join(&mut self.lookup.contexts, &mut self.contexts.lookup);
        LookUp::<SlotId, AheadRow>::join(&mut self.lookup.ahead, &mut self.fetched.look);
        LookUp::<Vi, Position>::link(&mut self.posted, &mut self.lookup.posted);
        Source::<Order>::join(&mut self.lookup.order, &mut self.delivery.order);

        // The order is carried out.
        FlowSource::<Vi>::join(&mut self.delivery.blocking, &mut self.lookup.blocking);
        HeldSource::join(&mut self.delivery.held, &mut self.store.held);
        FlowSource::<ScatterJob>::join(&mut self.delivery.job, &mut self.scatter.job);
        FlowSource::<ScatterDone>::join(&mut self.scatter.done, &mut self.delivery.done);
        Source::<WriteBeat>::join(&mut self.store.payload, &mut self.scatter.payload);
        LookUp::<SegmentId, DataSegment>::join(&mut self.scatter.segment, &mut self.fetched.segment);
        Source::<Access>::link(&mut self.access, &mut self.scatter.access);
        FlowSink::<WriteVerdict>::link(&mut self.verdict, &mut self.scatter.verdict);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.scatter.beat);
        Source::<WriteBeat>::link(&mut self.write, &mut self.scatter.write);
        FlowSource::<Saved>::join(&mut self.delivery.save, &mut self.contexts.save);
        Source::<Close>::join(&mut self.delivery.close, &mut self.closing.close);
        Source::<Completion>::link(&mut self.completion, &mut self.closing.completion);
        Source::<Fault>::link(&mut self.fault, &mut self.closing.fault);
        Source::<Vi>::link(&mut self.again_receive, &mut self.closing.again_receive);

        // Reads: those of peers, and the answers to our own.
        FlowSource::<ReadRequest>::link(&mut self.request, &mut self.delivery.request);
        FlowSink::<Admission>::link(&mut self.admission, &mut self.delivery.admission);
        Sink::<ReadSent>::link(&mut self.read, &mut self.reads.sent);
        FlowSource::<Answer>::join(&mut self.delivery.answer, &mut self.reads.answer);
        FlowSource::<Told>::join(&mut self.reads.told, &mut self.delivery.told);
        self.delivery.target.next = self.reads.target.val();
        FlowSource::<ReadPlaced>::join(&mut self.delivery.placed, &mut self.reads.done);
        Source::<Acknowledged>::link(&mut self.acknowledged, &mut self.delivery.acknowledged);
        self.placing.next.placed = self.delivery.placing.val();
        self.placing.next.placed_vi = self.delivery.blocking.data.val();
        self.placing.next.looked_up = self.lookup.looking.valid.val();
        self.placing.next.looked_up_vi = self.lookup.looking.data.val();

        self.busy.next = !self.quiet.val()
            | self.ingress.busy.val()
            | self.parse.busy.val()
            | self.store.holds.val()
            | self.flush.busy.val()
            | self.lookup.unfinished.val()
            | self.scatter.busy.val();
        self.count_frame.next = self.ingress.count_frame.val();
        self.count_overflow.next = self.ingress.count_overflow.val() | self.store.count_dropped.val();
        self.parsed.next = self.parse.events.val();
        self.handled.next = self.delivery.events.val();
        self.count_bytes.next = bits::<13>(0);
        if self.scatter.done.valid.val() & (self.scatter.done.data.val().result == ScatterResult::Placed) {
            self.count_bytes.next = self.delivery.job.data.val().length;
        }
    }
}
