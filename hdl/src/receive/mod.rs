//! The way in: a frame is joined, checked, stored, matched to a receive descriptor, and scattered.
//!
//! ```text
//!   rx, loopback ──►┌─────────────────────────────────┐──► access, write      (the payload, to memory)
//!  ahead, filled ──►│ EthReceive Ingress Parse Store  │──► completion, fault, again_receive
//!  commit, state ──►│ FrameDelay Ahead Flush Contexts │──► acknowledged       (to the send side)
//!  verdict, beat ──►│ Commits Lookup Delivery Closing │◄─► request, admission (with reply/requests)
//!                   │ Reads Scatter PayloadQueue      │──► parsed, handled, count_*
//!                   └─────────────────────────────────┘
//! ```
//! Inside:
//!
//! ```text
//!  MAC ──►┌─────────┐  ┌───────┐  ┌───────┐ show ┌────────┐ order ┌──────────┐ close ┌─────────┐──► Completion
//!         │ Ingress ├─►│ Parse ├─►│ Store ├─────►│ Lookup ├──────►│ Delivery ├──────►│ Closing │──► Fault
//!  loop ─►└────┬────┘  └───────┘  └─▲──┬──┘      └────▲───┘       └─┬──┬───┬─┘       └─────────┘
//!              │ words  ┌────────────┐│ │ payload     │        held │  │job│ answer
//!              └───────►│ FrameDelay ├┘ ▼             │ ┌───────────┘  ▼   ▼
//!                       └────────────┘ ┌──────────────│─▼┐ grant ┌─────────┐ ┌───────┐
//!  fetch ───►┌───────┐                 │ PayloadQueue │  │◄──────┤ Scatter │ │ Reads │──► Acknowledged
//!            │ Ahead ├─── descriptors ─│──────────────┤  │       └────┬────┘ └───────┘    (through Delivery)
//!            └───────┘                 └──────┬───────│──┘            └──► Access
//!  state ───►┌───────┐   ┌──────────┐         └───────│──────────────────► WriteBeat
//!            │ Flush ├───┤ Contexts ├──── VIs ────────┘
//!            └───────┘   └──────────┘◄── rows, from Commits
//! ```
//!
//! Contract: the frames of a VI are delivered one by one, in the order in which they came. If a frame needs a receive that is posted and
//! not fetched yet, the frames of its VI wait, and those of other VIs go on. While one frame is delivered the next one is looked up; if
//! that is for the same VI, it waits until the VI's context is saved. Frames and receives to flush take turns. A table row is taken when
//! no frame and no flush is under way.
//!
//! When a VI is in Error, the receive of a send in progress completes with TRANSPORT_ERROR, and each other descriptor fetched ahead with
//! DESC_FLUSHED_ERROR, in order.
//!
//! Example: a frame with a send of 8 bytes comes in `rx`. `access` asks for the receive's segment, `write` gives 8 bytes, and
//! `completion` says that the receive is done.
//!
//! A frame is delivered when its payload is granted a place in memory: the payload moves behind that, in the order of the grants, and
//! what the NIC writes of it later (status, entry) goes to memory behind it.
//!
//! Latency: a frame of one packet and one segment occupies lookup for 4 cycles, and then delivery for 3, plus scatter's 7 and
//! those of the protection check.
//!
//! Tests: `tests/receive/path/`, frames in at one end, memory at the other.

mod ahead;
mod closing;
mod commits;
mod contexts;
mod delay;
mod delivery;
mod eth_receive;
mod flush;
mod icrc;
mod ingress;
mod job;
mod judge;
mod lookup;
mod order;
mod packet_kind;
mod parse;
mod payload;
mod reads;
mod roster;
mod scatter;
mod show;
mod station;
mod store;
mod untag;

pub use ahead::Ahead;
pub use closing::Closing;
pub use commits::Commits;
pub use contexts::Contexts;
pub use delay::FrameDelay;
pub use delivery::{
    Delivery, DeliveryCounts, DeliveryEvents, Dispatch, Opening, Outcome, Placement, Report, Standing,
};
pub use eth_receive::EthReceive;
pub use flush::Flush;
pub use icrc::Icrc;
pub use ingress::Ingress;
pub use job::{ReadPlaced, ReadTarget, Told};
pub use judge::Judge;
pub use lookup::Lookup;
pub use packet_kind::{Kind, Operation, PacketKind};
pub use parse::{beats, Parse, ParseEvents};
pub use payload::{PayloadMover, PayloadPlace, PayloadQueue, PayloadStart};
pub use reads::{AnswerCheck, AnswerWord, ReadTable, Reads};
pub use roster::Roster;
pub use scatter::{FarSegments, Scatter};
pub use show::Fate;
pub use station::{StationSink, StationSource};
pub use store::Store;
pub use untag::Untag;

use crate::bus::{
    Access, Acknowledged, Admission, AheadWord, Answer, Commit, Completion, Fault, Filled, FrameBeat,
    Placing, Position, ReadBeat, ReadRequest, ReadSent, StateWrite, Vi, WriteBeat, WriteVerdict,
};
use crate::edge::EthRx;
use crate::rows::descriptor::DataSegment;
use crate::stream::{FlowSink, FlowSource, LookUp, Pulse, Sink, Source, Table};
use ahead::{AheadRow, SegmentId, SlotId};
use closing::Close;
use contexts::{Context, HalfId, Saved};
use flush::{SetAside, ViStatus};
use job::{ScatterDone, ScatterJob, ScatterResult};
use order::Order;
use rust_hdl::prelude::*;
use show::{HeldSource, ShowSource};
use viaduct_dialect::wires;

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
    /// While low, frames are dropped and not counted; the agent's control register drives it.
    pub enabled: Signal<In, bool>,
    /// The peer is asked to hold its frames; the MAC listens.
    pub pause: Signal<Out, bool>,
    /// The card's own addresses, and the settings of the raw channel, from the agent's registers.
    pub station: StationSink,
    /// A table row on the bus, from `admin/broadcast`; the block takes those of RECEIVE and WORK_QUEUE.
    pub commit: Sink<Commit>,
    /// A VI changes its state: its number, and the new state; from `vi/state`.
    pub state: FlowSink<StateWrite>,
    /// A word of a receive descriptor, with its VI, slot and number, from fetch.
    pub ahead: FlowSink<AheadWord>,
    /// A receive descriptor, whole: its VI and slot, and where it lies; from fetch.
    pub filled: FlowSink<Filled>,
    /// Asks doorbell for the posted position of a VI's receive queue.
    pub posted: LookUp<Vi, Position>,
    /// Answers fetch, which wants the consumed position of a VI.
    pub consumed: Table<Vi, Position>,
    /// A VI whose receive queue has room for another descriptor; `doorbell` queues it for fetch.
    pub again_receive: Source<Vi>,
    /// An access to memory, from scatter, for `protect`.
    pub access: Source<Access>,
    /// What `protect` says of a write access: of the block's own and of `complete/writer`'s.
    pub verdict: FlowSink<WriteVerdict>,
    /// Eight bytes that a read brought, of any client; from `dma/read`.
    pub beat: FlowSink<ReadBeat>,
    /// Up to eight bytes for host memory, for the write engine.
    pub write: Source<WriteBeat>,
    /// A completion, an acknowledgement, or both, for complete.
    pub completion: Source<Completion>,
    /// An RDMA read that a peer asks for: see [`Requests`](crate::reply::Requests).
    pub request: FlowSource<ReadRequest>,
    /// What becomes of the request, from `reply/requests`: whether it is kept, and how many PSNs its answer takes.
    pub admission: FlowSink<Admission>,
    /// An RDMA read of ours that leaves, from transmit.
    pub read: Sink<ReadSent>,
    /// The VIs of which payload of an answer is being placed, or may be soon; for `complete/sends`.
    pub placing: Signal<Out, Placing>,
    /// An acknowledgement from the wire, for complete/sends.
    pub acknowledged: Source<Acknowledged>,
    /// What went wrong with a VI, and whether the VI breaks; for `vi/state`.
    pub fault: Source<Fault>,
    /// A frame or a flush is under way; `quiet` listens.
    pub busy: Signal<Out, bool>,
    /// Pulses when a frame has come in; `admin/counters` counts these pulses, and all that follows.
    pub count_frame: Pulse,
    /// Pulses when a frame found no room, or was dropped to make some.
    pub count_overflow: Pulse,
    /// What is counted of the frames that `receive/parse` has looked at.
    pub parsed: Signal<Out, ParseEvents>,
    /// What is counted of the frames that `receive/delivery` has handled.
    pub handled: Signal<Out, DeliveryEvents>,
    /// Bytes of a packet whose payload is granted its place in memory in this cycle, all of it; 0: none is.
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
    payload: PayloadQueue,
    reads: Reads,
    closing: Closing,
    quiet: Signal<Local, bool>,
}

impl Logic for Receive {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ingress, parse, delay, store, contexts, flush, fetched);
        clock!(self, clock, lookup, delivery, scatter, payload, reads, closing);
        drive!(self, reset => ingress.reset, parse.reset, delay.reset, store.reset, flush.reset,
            fetched.reset, lookup.reset, delivery.reset, scatter.reset, payload.reset, reads.reset, closing.reset);

        // Frames come in, are checked, and wait in the store.
        EthRx::link(&mut self.rx, &mut self.eth.rx);
        join!(self, FlowSource<FrameBeat>, eth.beat => ingress.rx);
        Sink::<FrameBeat>::link(&mut self.loopback, &mut self.ingress.loopback);
        drive!(self, enabled => ingress.enabled; ingress.pause => pause; store.level => ingress.store_level;
            ingress.frame_tagged => parse.frame_tagged; parse.endless => delay.endless;
            delay.source.valid => store.store.valid; delay.source.data => store.store.data;
            store.store.ready => parse.store_ready; parse.keep => store.keep; parse.drop => store.drop;
            parse.info => store.keep_info; ingress.count_overflow => store.overflows);
        join!(self, Source<FrameBeat>, ingress.frame => parse.frame);
        StationSink::link(&mut self.station, &mut self.parse.station);
        join!(self, FlowSource<Bits<64>>, ingress.word => delay.sink);

        // Rows, states, and the descriptors that are fetched ahead.
        Sink::<Commit>::link(&mut self.commit, &mut self.commits.commit);
        self.quiet.next = !self.lookup.looking.valid.val()
            & !self.delivery.blocking.valid.val()
            & self.closing.idle.val()
            & !self.contexts.saving.val();
        drive!(self, quiet => commits.quiet; commits.hold => lookup.hold);
        join!(self, FlowSource<Commit>, commits.contexts => contexts.commit);
        join!(self, Source<Commit>, commits.ahead => fetched.commit; commits.reads => reads.commit);
        Table::<Vi, Position>::link(&mut self.consumed, &mut self.contexts.consumed_of);
        FlowSink::<StateWrite>::link(&mut self.state, &mut self.flush.state);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.flush.filled);
        FlowSink::<Filled>::link(&mut self.filled, &mut self.fetched.filled);
        FlowSink::<AheadWord>::link(&mut self.ahead, &mut self.fetched.ahead);

        // A frame, or a receive to flush, is looked up: that gives an order.
        join!(self, ShowSource, store.show => lookup.show);
        self.store.resume.next = self.flush.resume.val();
        join!(self, Source<Vi>, flush.work => lookup.work);
        join!(self, LookUp<Vi, ViStatus>, lookup.vis => flush.look);
        join!(self, FlowSource<SetAside>, lookup.set_aside => flush.set_aside);
        join!(self, LookUp<HalfId, Context>, lookup.contexts => contexts.lookup);
        join!(self, LookUp<SlotId, AheadRow>, lookup.ahead => fetched.look);
        LookUp::<Vi, Position>::link(&mut self.posted, &mut self.lookup.posted);
        join!(self, Source<Order>, lookup.order => delivery.order);

        // The order is carried out.
        join!(self, FlowSource<Vi>, delivery.blocking => lookup.blocking);
        join!(self, FlowSource<ScatterJob>, delivery.job => scatter.job);
        join!(self, FlowSource<ScatterDone>, scatter.done => delivery.done);
        join!(self, LookUp<SegmentId, DataSegment>, scatter.segment => fetched.segment);
        Source::<Access>::link(&mut self.access, &mut self.scatter.access);
        FlowSink::<WriteVerdict>::link(&mut self.verdict, &mut self.scatter.verdict);
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.scatter.beat);

        // Its payload moves behind it.
        join!(self, HeldSource, delivery.held => payload.held);
        join!(self, FlowSource<Bits<13>>, scatter.grant => payload.grant);
        drive!(self, payload.room => delivery.room, scatter.room);
        join!(self, FlowSource<PayloadPlace>, payload.place => store.place);
        join!(self, Source<WriteBeat>, store.payload => payload.payload);
        join!(self, Source<Bits<4>>, payload.free => store.free);
        Source::<WriteBeat>::link(&mut self.write, &mut self.payload.write);

        // It ends.
        join!(self, FlowSource<Saved>, delivery.save => contexts.save);
        join!(self, Source<Close>, delivery.close => closing.close);
        Source::<Completion>::link(&mut self.completion, &mut self.closing.completion);
        Source::<Fault>::link(&mut self.fault, &mut self.closing.fault);
        Source::<Vi>::link(&mut self.again_receive, &mut self.closing.again_receive);

        // Reads: those of peers, and the answers to our own.
        FlowSource::<ReadRequest>::link(&mut self.request, &mut self.delivery.request);
        FlowSink::<Admission>::link(&mut self.admission, &mut self.delivery.admission);
        Sink::<ReadSent>::link(&mut self.read, &mut self.reads.sent);
        join!(self, FlowSource<Answer>, delivery.answer => reads.answer);
        join!(self, FlowSource<Told>, reads.told => delivery.told);
        self.delivery.target.next = self.reads.target.val();
        join!(self, FlowSource<ReadPlaced>, delivery.placed => reads.done);
        Source::<Acknowledged>::link(&mut self.acknowledged, &mut self.delivery.acknowledged);
        fill!(self, placing, delivery.placing => placed; delivery.blocking.data => placed_vi;
            lookup.looking.valid => looked_up; lookup.looking.data => looked_up_vi);

        self.busy.next = !self.quiet.val()
            | self.ingress.busy.val()
            | self.parse.busy.val()
            | self.store.holds.val()
            | self.flush.busy.val()
            | self.lookup.unfinished.val()
            | self.scatter.busy.val()
            | self.payload.busy.val();
        drive!(self, ingress.count_frame => count_frame; parse.events => parsed; delivery.events => handled);
        self.count_overflow.next = self.ingress.count_overflow.val() | self.store.count_dropped.val();
        self.count_bytes.next = bits::<13>(0);
        if self.scatter.done.valid.val() & (self.scatter.done.data.val().result == ScatterResult::Placed) {
            self.count_bytes.next = self.delivery.job.data.val().length;
        }
    }
}
