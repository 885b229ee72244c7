//! Finds the segments of a receive descriptor that a packet's payload goes to, and has each piece granted.
//!
//! ```text
//!      job ──►┌─────────────┐──► access    (a piece of a segment, or the next segments)
//!  segment ◄─►│   Scatter   │◄── verdict, beat
//!     room ──►│ FarSegments │──► grant
//!             └─────────────┘──► done, busy
//! ```
//! Contract: one job at a time, from `job` to `done`, both pulses; the job's fields hold until then. The job
//! starts `position` bytes into segment `index` and ends when all of its `length` bytes are granted a place, or at the first error, and
//! `done` says how far it came. For each piece that the protection check grants, `grant` has its bytes: the payload queue moves them
//! behind the block's back, in the order of the grants. A piece is asked for only with `room`. The part of a segment that gets no byte is not checked: it may reach past
//! its region. Empty segments are skipped.
//!
//! With `remote` there is one segment, of an RDMA write: the job goes on `position` bytes behind `place`, with
//! `left` bytes to come, no fewer than `length`, which must all lie in the region, and that must give the peer the right to write.
//!
//! With `reading` the descriptor is one of the send queue, and all its segments are read ([`FarSegments`]).
//!
//! Segments 0 and 1 of a receive come with the descriptor fetched ahead. The others are read four at a time, as much
//! as the descriptor has, by an access of exactly that many bytes: what the region does not hold is refused.
//!
//! Example: a receive has segments of 6 and 10 bytes, and a packet of 8 bytes comes: `index` and `position` are 0. `access` asks for
//! the 6 bytes of segment 0, then for 2 of segment 1. `done` says Placed, `index` 1 and `position` 2.
//!
//! Latency: 4 cycles from job to access if the job starts in one of the first two segments, 5 for another; grant and done with the
//! verdict.
//!
//! How: the block counts `place`, not the segment's number. What the job says waits a cycle in registers, because it comes through other
//! blocks; nothing uses it before then.
//!
//! Tests: `tests/receive/path/`.

mod far;

pub use far::FarSegments;

use super::ahead::SegmentId;
use super::job::{ScatterDone, ScatterJob, ScatterResult};
use crate::arithmetic::SegmentPiece;
use crate::bus::{client, remote, Access, ReadBeat, WriteVerdict};
use crate::prims::{Cast, Number};
use crate::rows::descriptor::DataSegment;
use crate::rows::handle::MemoryHandle;
use crate::stream::{FlowSink, FlowSource, LookUp, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    /// No job.
    Idle,
    /// Find the segment; it is being read.
    Segment,
    /// The segment comes, which was not asked for with the job.
    Shown,
    /// Work out what is left of the segment.
    Measure,
    /// Work out how much of it this packet takes.
    Cut,
    /// Ask for the piece.
    Ask,
    /// Wait for the verdict.
    Verdict,
    /// Ask for the next segments.
    AskBlock,
    /// The next segments come.
    Block,
    /// Say that it went wrong before a piece was asked for.
    Done,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Scatter {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets its job.
    pub reset: Signal<In, bool>,
    /// What to place: the payload of the frame in delivery, and where it goes; from `Delivery`.
    pub job: FlowSink<ScatterJob>,
    /// How the job ended, and how far it came.
    pub done: FlowSource<ScatterDone>,
    /// Asks `Ahead` for a segment of the descriptor, which comes a cycle later.
    pub segment: LookUp<SegmentId, DataSegment>,
    /// Bytes of a piece that is granted, for `PayloadQueue`.
    pub grant: FlowSource<Bits<13>>,
    /// There is room for a grant in `PayloadQueue`, which drives it.
    pub room: Signal<In, bool>,
    /// An access to memory, for `protect`: a piece of a segment, or the next segments.
    pub access: Source<Access>,
    /// What `protect` says of a write access; of any client, and the block picks its own.
    pub verdict: FlowSink<WriteVerdict>,
    /// Eight bytes that a read brought, of any client, from `dma/read`; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// A job runs; `Receive` is busy then.
    pub busy: Signal<Out, bool>,
    step: DFF<Step>,
    far: FarSegments,
    cut: SegmentPiece,
    /// What `Ahead` has shown, if the segment is there: block RAM is slow, so a register comes first. It is 0 if the segment is not there,
    /// and so are the next two; that takes no gates, and one that is not 0 is the segment.
    shown: DFF<DataSegment>,
    /// What `far` shows, if the segment is not in `Ahead`.
    other: DFF<DataSegment>,
    /// What the job says, of an RDMA write.
    named: DFF<DataSegment>,
    /// The segment is one of those in `Ahead`.
    ahead: Signal<Local, bool>,
    none: Number<64, 0>,
    nothing: Number<32, 0>,
    /// Bytes of the job that are not placed yet.
    left: DFF<Bits<13>>,
    /// The segment at hand, in 16 bytes of the descriptor: two for its control, then the segments.
    place: DFF<Bits<8>>,
    index: DFF<Bits<8>>,
    /// The place behind the last segment.
    total: DFF<Bits<9>>,
    /// What the job says, a cycle later.
    offset: DFF<Bits<34>>,
    region: DFF<Bits<16>>,
    reading: DFF<bool>,
    /// Bytes of the segment at hand that are filled.
    position: DFF<Bits<32>>,
    /// How the job ends, if it ends now.
    outcome: DFF<ScatterResult>,
    address: DFF<Bits<64>>,
    handle: DFF<Bits<32>>,
    split_handle: Cast<Bits<32>, MemoryHandle>,
    /// Bytes left of the segment at hand.
    rest: DFF<Bits<32>>,
    /// Bytes of the piece that is asked for.
    piece: DFF<Bits<13>>,
    /// The job has come in the cycle before.
    first: DFF<bool>,
    job_now: Signal<Local, ScatterJob>,
    /// Bytes of the segment that are filled behind the piece.
    moved: Signal<Local, Bits<32>>,
    want_block: Signal<Local, Bits<7>>,
    found: Signal<Local, DataSegment>,
    /// Bytes from the start of the wanted block to its end, or the descriptor's.
    block_bytes: Signal<Local, Bits<13>>,
    mine: Signal<Local, bool>,
    me: Number<2, { client::SCATTER }>,
    peer_writes: Number<2, { remote::WRITE }>,
}

impl Logic for Scatter {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, shown, other, named, left, place, index, total, offset, region);
        dff_setup!(self, clock, reading, position, outcome, address, handle, rest, piece, first);
        clock!(self, clock, far);
        drive!(self, reset => far.reset; job.data => job_now);
        self.total.d.next = bit_cast::<9, 8>(self.job_now.val().segments) + 2;
        self.offset.d.next = self.job_now.val().offset;
        self.region.d.next = self.job_now.val().region;
        self.reading.d.next = self.job_now.val().reading;

        // The segment at hand: fetched ahead, or one of a block of four.
        self.index.d.next = self.place.q.val() - 2;
        self.want_block.next = bit_cast::<7, 6>(self.place.q.val().get_bits::<6>(2));
        self.ahead.next =
            (self.want_block.val() == bits::<7>(0)) & !self.reading.q.val() & !self.job_now.val().remote;
        // The block of four with the last segment ends behind that segment.
        self.block_bytes.next = bits::<13>(64);
        if self.total.q.val().get_bits::<7>(2) == self.want_block.val() {
            self.block_bytes.next = bit_cast::<13, 2>(self.total.q.val().get_bits::<2>(0)) << 4;
        }
        self.segment.index.next.vi = self.job_now.val().vi;
        self.segment.index.next.slot = self.job_now.val().slot;
        // The job's first segment is asked for at once. It is number `index`, in 16 bytes of the descriptor `index + 2`.
        self.segment.index.next.second = self.place.q.val().get_bit(0);
        if self.step.q.val() == Step::Idle {
            self.segment.index.next.second = (self.job_now.val().index & 1) == bits::<8>(1);
        }
        self.first.d.next = self.step.q.val() == Step::Idle;
        self.shown.d.next = self.segment.row.val();
        drive!(self, job_now => far.job; want_block => far.block);
        self.far.begins.next = self.step.q.val() == Step::Idle;
        self.far.segment.next = self.place.q.val().get_bits::<2>(0);
        self.far.asks.next = self.step.q.val() == Step::AskBlock;
        self.far.expects.next = self.step.q.val() == Step::Block;
        FlowSink::<ReadBeat>::link(&mut self.beat, &mut self.far.beat);
        if !self.ahead.val() {
            fill!(self, shown.d, none => address; nothing => handle, length);
        }
        self.other.d.next = self.far.row.val();
        if self.ahead.val() | self.job_now.val().remote {
            fill!(self, other.d, none => address; nothing => handle, length);
        }
        fill!(self, named.d, job_now.val().place => address; job_now.val().handle => handle; nothing => length);
        if !self.job_now.val().remote {
            fill!(self, named.d, none => address; nothing => handle);
        }
        self.found.next.address =
            self.shown.q.val().address | self.other.q.val().address | self.named.q.val().address;
        self.found.next.handle =
            self.shown.q.val().handle | self.other.q.val().handle | self.named.q.val().handle;
        self.found.next.length = self.shown.q.val().length | self.other.q.val().length;

        // Its piece, and what the check says of it.
        drive!(self, rest.q => cut.segment; left.q => cut.packet; piece.q => grant.data);
        self.mine.next = self.verdict.valid.val() & (self.verdict.data.val().client == self.me.val());
        self.grant.valid.next =
            (self.step.q.val() == Step::Verdict) & self.mine.val() & self.verdict.data.val().ok;

        // What is asked for.
        self.access.valid.next =
            ((self.step.q.val() == Step::Ask) & self.room.val()) | (self.step.q.val() == Step::AskBlock);
        fill!(self, access.data, job_now.val().tag => tag; false => system, clip);
        // RSP-5: for a peer's write, the right to write and the whole range that is still to come.
        self.access.data.next.remote = bits::<2>(0);
        if self.job_now.val().remote {
            self.access.data.next.remote = self.peer_writes.val();
        }
        self.split_handle.from.next = self.handle.q.val();
        self.access.data.next.user = bits::<8>(0);
        fill!(self, access.data, address.q => address; rest.q => span; piece.q => length;
            split_handle.to.val().index => region; split_handle.to.val().key => key; false => by_offset;
            true => write);
        if self.step.q.val() == Step::AskBlock {
            fill!(self, access.data, region.q => region; true => by_offset; false => write);
        }
        self.moved.next = self.position.q.val() + bit_cast::<32, 13>(self.piece.q.val());
        self.done.valid.next = self.step.q.val() == Step::Done;
        fill!(self, done.data, outcome.q => result; index.q => index; position.q => position);
        self.busy.next = self.step.q.val() != Step::Idle;

        match self.step.q.val() {
            Step::Idle => {
                self.left.d.next = self.job_now.val().length;
                self.place.d.next = self.job_now.val().index + 2;
                self.position.d.next = self.job_now.val().position;
                self.outcome.d.next = ScatterResult::Placed;
                if self.job.valid.val() {
                    self.step.d.next = Step::Segment;
                }
            }
            Step::Segment => {
                if self.job_now.val().remote {
                    self.step.d.next = Step::Measure;
                } else if self.place.q.val() == bit_cast::<8, 9>(self.total.q.val()) {
                    self.outcome.d.next = ScatterResult::TooLong;
                    self.step.d.next = Step::Done;
                } else if self.far.here.val() {
                    self.step.d.next = Step::Shown;
                    if self.first.q.val() {
                        self.step.d.next = Step::Measure;
                    }
                } else {
                    self.address.d.next = (bit_cast::<64, 34>(self.offset.q.val())
                        + bit_cast::<64, 7>(self.want_block.val()))
                        << 6;
                    self.rest.d.next = bit_cast::<32, 13>(self.block_bytes.val());
                    self.piece.d.next = self.block_bytes.val();
                    self.step.d.next = Step::AskBlock;
                }
            }
            Step::Shown => {
                self.step.d.next = Step::Measure;
            }
            Step::Measure => {
                self.address.d.next = self.found.val().address + bit_cast::<64, 32>(self.position.q.val());
                self.handle.d.next = self.found.val().handle;
                self.rest.d.next = self.found.val().length - self.position.q.val();
                if self.job_now.val().remote {
                    self.rest.d.next = self.job_now.val().left;
                }
                self.step.d.next = Step::Cut;
            }
            Step::Cut => {
                self.piece.d.next = self.cut.piece.val();
                self.step.d.next = Step::Ask;
                if !self.rest.q.val().any() {
                    self.place.d.next = self.place.q.val() + 1;
                    self.position.d.next = bits::<32>(0);
                    self.step.d.next = Step::Segment;
                }
            }
            Step::Ask => {
                if self.access.ready.val() & self.room.val() {
                    self.step.d.next = Step::Verdict;
                }
            }
            Step::Verdict => {
                if self.mine.val() {
                    self.left.d.next = self.left.q.val() - self.piece.q.val();
                    self.position.d.next = self.moved.val();
                    self.step.d.next = Step::Segment;
                    if !self.verdict.data.val().ok {
                        self.done.valid.next = true;
                        self.done.data.next.result = ScatterResult::Refused;
                        self.step.d.next = Step::Idle;
                    } else if self.left.q.val() == self.piece.q.val() {
                        self.done.valid.next = true;
                        self.done.data.next.position = self.moved.val();
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::AskBlock => {
                if self.access.ready.val() {
                    self.step.d.next = Step::Block;
                }
            }
            Step::Block => {
                if self.far.came.valid.val() {
                    self.step.d.next = Step::Segment;
                    if self.far.came.data.val().refused {
                        self.outcome.d.next = ScatterResult::Refused;
                        self.step.d.next = Step::Done;
                    } else if self.far.came.data.val().failed {
                        self.outcome.d.next = ScatterResult::Failed;
                        self.step.d.next = Step::Done;
                    }
                }
            }
            Step::Done => {
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
