//! Holds acknowledgements of Reliable Reception until the data is in memory: a read that went behind it has come back.
//!
//! ```text
//!    sink ──►┌───────────┐──► source
//!  commit ──►│ FlushRead │──► access
//!    beat ──►└───────────┘──► busy
//! ```
//! Contract: a request comes in when its writes have left the edge, and requests go out in order. One without `reception` goes out as
//! soon as it is the oldest. For the others the block reads eight bytes of the agent's arena, from the ring of the work queue that was
//! opened last. PCIe keeps a read behind the writes before it, so all requests that had come in when the read was asked for may go out
//! when it is back. There is one read at a time. Requests are numbered, and the read covers those before the next number. When the read
//! is refused, or fails on the bus, nobody knows where the data is: the block drops the oldest request, and the peer will ask again.
//!
//! Example: requests 0 and 1 of Reliable Reception go in, and the block asks for its read. Request 2 goes in while the read is under
//! way. When the read is back, 0 and 1 come out; 2 waits for a second read.
//!
//! Latency: 1 cycle without `reception`; with it that of `protect` and up to two round trips of the bus.
//!
//! Tests: `tests/complete/flush_read.rs`.

use crate::bus::{client, Access, AckRequest, Commit, ReadBeat};
use crate::prims::{Fifo, Number, Unpack};
use crate::rows::tables::WorkQueueRow;
use crate::stream::{FlowSink, Sink, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tables::table;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum FlushStep {
    Idle,
    Ask,
    Wait,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct FlushRead {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets all requests and where the arena is.
    pub reset: Signal<In, bool>,
    /// A table row, from `admin/broadcast`. The block notes where the ring of a work queue lies that opens; it does not take the row.
    pub commit: FlowSink<Commit>,
    /// An acknowledgement whose writes have left the edge, from send/ack.
    pub sink: Sink<AckRequest>,
    /// An acknowledgement that may be sent now, for send/ack.
    pub source: Source<AckRequest>,
    /// A read of eight bytes of the arena, which `protect` checks.
    pub access: Source<Access>,
    /// Up to eight bytes that a read of any client brought, from dma/read; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// At least one request waits.
    pub busy: Signal<Out, bool>,
    requests: Fifo<AckRequest, 4, 5>,
    step: DFF<FlushStep>,
    /// Region of the agent's arena.
    region: DFF<Bits<16>>,
    /// Protection tag of the arena's region.
    tag: DFF<Bits<16>>,
    /// Offset of the arena in its region, in units of 64 bytes.
    offset: DFF<Bits<34>>,
    /// Number of the next request to come in, modulo 64.
    entered: DFF<Bits<6>>,
    /// Number of the oldest request that waits, modulo 64.
    oldest: DFF<Bits<6>>,
    /// Requests before this number are covered by a read that is back; it never falls behind `oldest`.
    covered: DFF<Bits<6>>,
    /// Requests before this number are covered by the read that is under way.
    covering: DFF<Bits<6>>,
    /// The data of the oldest request is in memory, or the request does not need that.
    in_memory: Signal<Local, bool>,
    enters: Signal<Local, bool>,
    leaves: Signal<Local, bool>,
    answered: Signal<Local, bool>,
    fails: Signal<Local, bool>,
    row: Unpack<Commit, WorkQueueRow>,
    work_queues: Number<4, { table::WORK_QUEUE as u64 }>,
    me: Number<2, { client::COMPLETE }>,
}

impl Logic for FlushRead {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, region, tag, offset, entered, oldest, covered, covering);
        clock!(self, clock, requests);
        self.requests.reset.next = self.reset.val();

        self.row.from.next = self.commit.data.val();
        if self.commit.valid.val()
            & (self.commit.data.val().target == self.work_queues.val())
            & self.row.to.val().open
        {
            self.region.d.next = self.row.to.val().ring_region;
            self.offset.d.next = self.row.to.val().ring_offset;
            self.tag.d.next = self.row.to.val().system_tag;
        }
        self.access.valid.next = self.step.q.val() == FlushStep::Ask;
        self.access.data.next.address = bit_cast::<64, 34>(self.offset.q.val()) << 6;
        self.access.data.next.span = bits::<32>(8);
        self.access.data.next.length = bits::<13>(8);
        self.access.data.next.region = self.region.q.val();
        self.access.data.next.key = bits::<16>(0);
        fill!(self, access.data, tag.q => tag; true => by_offset, system; false => write, clip);
        self.access.data.next.remote = bits::<2>(0);
        self.access.data.next.user = bits::<8>(0);

        // In and out.
        Sink::<AckRequest>::link(&mut self.sink, &mut self.requests.sink);
        self.enters.next = self.sink.valid.val() & self.requests.sink.ready.val();
        if self.enters.val() {
            self.entered.d.next = self.entered.q.val() + 1;
        }
        // RSP-7: Reliable Reception waits for a read behind the last write.
        self.in_memory.next =
            !self.requests.source.data.val().reception | (self.covered.q.val() != self.oldest.q.val());
        self.source.valid.next = self.requests.source.valid.val() & self.in_memory.val();
        self.source.data.next = self.requests.source.data.val();
        self.busy.next = self.requests.source.valid.val();

        self.answered.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.me.val())
            & self.beat.data.val().last;
        self.fails.next = false;
        match self.step.q.val() {
            FlushStep::Idle => {
                self.covering.d.next = self.entered.q.val();
                if self.requests.source.valid.val() & !self.in_memory.val() {
                    self.step.d.next = FlushStep::Ask;
                }
            }
            FlushStep::Ask => {
                if self.access.ready.val() {
                    self.step.d.next = FlushStep::Wait;
                }
            }
            FlushStep::Wait => {
                if self.answered.val() {
                    self.step.d.next = FlushStep::Idle;
                    self.fails.next = self.beat.data.val().refused | self.beat.data.val().failed;
                }
            }
            _ => {
                self.step.d.next = FlushStep::Idle;
            }
        }

        // While a read is under way the oldest request stays, so every request that the read covers is still here when it is back.
        self.leaves.next = (self.source.valid.val() & self.source.ready.val()) | self.fails.val();
        self.requests.source.ready.next = self.leaves.val();
        if self.leaves.val() {
            self.oldest.d.next = self.oldest.q.val() + 1;
            if self.covered.q.val() == self.oldest.q.val() {
                self.covered.d.next = self.covered.q.val() + 1;
            }
        }
        if (self.step.q.val() == FlushStep::Wait) & self.answered.val() & !self.fails.val() {
            self.covered.d.next = self.covering.q.val();
        }
        if self.reset.val() {
            self.step.d.next = FlushStep::Idle;
            self.region.d.next = bits::<16>(0);
            self.entered.d.next = bits::<6>(0);
            self.oldest.d.next = bits::<6>(0);
            self.covered.d.next = bits::<6>(0);
        }
    }
}
