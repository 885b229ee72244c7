//! Puts a packet's payload into the segments of a receive descriptor.
//!
//! ```text
//!        job ──►┌─────────┐──► access    (a piece of a segment, or the next segments)
//!    segment ◄─►│         │◄── verdict, beat
//!    payload ──►│ Scatter │──► write
//!               └─────────┘──► done, busy
//! ```
//! Contract: one job at a time, from `job` to `done`, both pulses; the job's fields hold until then. The job
//! starts `position` bytes into segment `index` and ends when `length` bytes are placed, or at the first thing wrong, and `done` says how
//! far it came. Each piece is checked before its bytes move. The part of a segment that gets no byte is not checked: it may reach past
//! its region. Empty segments are skipped.
//!
//! With `remote` there is one segment, of an RDMA write: the job goes on `position` bytes behind `place`, with
//! `left` bytes to come, no fewer than `length`, which must all lie in the region, and that must give the peer the right to write.
//!
//! With `reading` the descriptor is one of the send queue. All its segments are read as those behind the second are below;
//! what was read last for a read stays for the next packet of the same one, unless `fresh`.
//!
//! Segments 0 and 1 come with the descriptor fetched ahead. The others are read four at a time, as much
//! as the descriptor has, by an access of exactly that many bytes: what the region does not hold is refused.
//!
//! `payload` beats are passed on as far as they are granted, and cut where a piece ends. So `write` gives the write
//! engine exactly the bytes that its commands say, and what is behind a refusal stays where it is.
//!
//! Example: a receive has segments of 6 and 10 bytes, and a packet of 8 bytes comes: `index` and `position` are 0. `access` asks for
//! the 6 bytes of segment 0, then for 2 of segment 1. `done` says OK, `index` 1 and `position` 2.
//!
//! Latency: 5 cycles from job to access for the first two segments; one cycle from payload to write, one beat every
//! cycle; done two cycles after the last beat was taken.
//!
//! How: `place`, not the segment's number, is counted, and what the job says waits a cycle in registers: it comes through other blocks,
//! and nobody looks at it before then.
//!
//! Tests: `tests/receive/path/`.

use super::ahead::{DataSegment, SegmentId};
use super::job::{ScatterDone, ScatterJob, ScatterResult};
use crate::bus::{client, remote, Access, ReadBeat, Vi, WriteBeat, WriteVerdict};
use crate::prims::{LutRam, Number};
use crate::stream::{FlowSink, FlowSource, LookUp, Sink, Source};
use rust_hdl::prelude::*;

/// What the block is doing.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum State {
    /// No job.
    Idle,
    /// Find the segment; it is being read.
    Segment,
    /// The segment is there.
    Shown,
    /// Work out what is left of the segment.
    Measure,
    /// Work out how much of it this packet takes.
    Cut,
    /// Ask for the piece.
    Ask,
    /// Wait for the verdict.
    Verdict,
    /// The bytes move.
    Move,
    /// Ask for the next segments.
    AskTail,
    /// The next segments come.
    Tail,
    /// Say how it went.
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
    /// Up to eight bytes of the frame's payload, from the store.
    pub payload: Sink<WriteBeat>,
    /// Up to eight bytes for host memory, for the write engine.
    pub write: Source<WriteBeat>,
    /// An access to memory, for the checker: a piece of a segment, or the next segments.
    pub access: Source<Access>,
    /// What the checker says of a write access.
    pub verdict: FlowSink<WriteVerdict>,
    /// Eight bytes that a read brought, of any client; the block picks its own.
    pub beat: FlowSink<ReadBeat>,
    /// A job runs, or bytes wait to be taken.
    pub busy: Signal<Out, bool>,
    /// Addresses of up to four segments behind the second.
    tail_places: LutRam<Bits<64>, 2>,
    /// Memory handles and lengths of up to four segments behind the second.
    tail_handles: LutRam<Bits<64>, 2>,
    state: DFF<State>,
    /// What `ahead` has shown: block RAM is slow, so a register comes first.
    shown: DFF<DataSegment>,
    /// What `tail` shows, or, of an RDMA write, what the job says.
    other: DFF<DataSegment>,
    /// The segment is one of those in `ahead`.
    ahead: DFF<bool>,
    /// Bytes of the job that are not placed yet.
    left: DFF<Bits<13>>,
    /// The segment at hand, in 16 bytes of the descriptor: two for its control, then the segments.
    place: DFF<Bits<8>>,
    index: DFF<Bits<8>>,
    /// What the job says, a cycle later: it comes through other blocks.
    offset: DFF<Bits<34>>,
    region: DFF<Bits<16>>,
    reading: DFF<bool>,
    /// Bytes of the segment at hand that are filled.
    position: DFF<Bits<32>>,
    /// How the job ends, if it ends now.
    outcome: DFF<ScatterResult>,
    /// 64-byte block of the descriptor that `tail` holds; 0, of a read 127: none.
    block: DFF<Bits<7>>,
    /// `tail` holds block `kept_block` of the read of VI `kept_vi`.
    kept: DFF<bool>,
    kept_vi: DFF<Vi>,
    kept_block: DFF<Bits<7>>,
    tail_word: DFF<Bits<3>>,
    tail_failed: DFF<bool>,
    address: DFF<Bits<64>>,
    handle: DFF<Bits<32>>,
    /// Bytes left of the segment at hand.
    rest: DFF<Bits<32>>,
    /// Bytes of the piece that is asked for.
    piece: DFF<Bits<13>>,
    /// Bytes are granted that have not moved yet.
    granted: DFF<bool>,
    /// Where they end, in bytes from the first one of the payload beat on show.
    reach: DFF<Bits<13>>,
    /// `reach` is less than 16.
    near: DFF<bool>,
    /// Lanes of the payload beat on show that have moved.
    used: DFF<Bits<3>>,
    out_valid: DFF<bool>,
    out: DFF<WriteBeat>,
    want_block: Signal<Local, Bits<7>>,
    found: Signal<Local, DataSegment>,
    extent: Signal<Local, Bits<64>>,
    /// The place behind the last segment.
    total: DFF<Bits<9>>,
    /// Bytes from the start of the wanted block to its end, or the descriptor's.
    tail_bytes: Signal<Local, Bits<13>>,
    next_piece: Signal<Local, Bits<13>>,
    left_32: Signal<Local, Bits<32>>,
    beat_end: Signal<Local, Bits<4>>,
    reach_low: Signal<Local, Bits<4>>,
    /// `reach` for the next beat.
    reach_on: Signal<Local, Bits<13>>,
    /// `reach` at the verdict.
    reach_first: Signal<Local, Bits<13>>,
    /// The piece ends within the payload beat on show.
    cut: Signal<Local, bool>,
    lanes: Signal<Local, Bits<4>>,
    moves: Signal<Local, bool>,
    mine: Signal<Local, bool>,
    tail_beat: Signal<Local, bool>,
    data: Signal<Local, Bits<64>>,
    no_block: Number<7, 127>,
    largest: Number<13, 4096>,
    me: Number<2, { client::SCATTER }>,
    peer_writes: Number<2, { remote::WRITE }>,
}

impl Logic for Scatter {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state, left, place, index, position, outcome, block);
        dff_setup!(self, clock, total, offset, region, reading);
        dff_setup!(self, clock, shown, tail_word, tail_failed, address, handle, rest);
        dff_setup!(self, clock, kept, kept_vi, kept_block, other, ahead);
        dff_setup!(self, clock, piece, granted, reach, near, used, out_valid, out);
        clock!(self, clock, tail_places, tail_handles);

        self.total.d.next = bit_cast::<9, 8>(self.job.data.val().segments) + 2;
        self.offset.d.next = self.job.data.val().offset;
        self.region.d.next = self.job.data.val().region;
        self.reading.d.next = self.job.data.val().reading;

        // Segments are read in blocks of four.
        self.index.d.next = self.place.q.val() - 2;
        self.want_block.next = bit_cast::<7, 6>(self.place.q.val().get_bits::<6>(2));
        self.ahead.d.next =
            (self.want_block.val() == bits::<7>(0)) & !self.reading.q.val() & !self.job.data.val().remote;
        // The block that the last segment is in ends with it.
        self.tail_bytes.next = bits::<13>(64);
        if self.total.q.val().get_bits::<7>(2) == self.want_block.val() {
            self.tail_bytes.next = bit_cast::<13, 2>(self.total.q.val().get_bits::<2>(0)) << 4;
        }

        self.segment.index.next.vi = self.job.data.val().vi;
        self.segment.index.next.slot = self.job.data.val().slot;
        self.segment.index.next.second = self.place.q.val().get_bit(0);
        self.shown.d.next = self.segment.row.val();
        self.tail_places.read_address.next = self.place.q.val().get_bits::<2>(0);
        self.tail_handles.read_address.next = self.place.q.val().get_bits::<2>(0);
        self.extent.next = self.tail_handles.read_data.val();
        self.other.d.next.address = self.tail_places.read_data.val();
        self.other.d.next.handle = self.extent.val().get_bits::<32>(0);
        self.other.d.next.length = self.extent.val().get_bits::<32>(32);
        if self.job.data.val().remote {
            self.other.d.next.address = self.job.data.val().place;
            self.other.d.next.handle = self.job.data.val().handle;
        }
        self.found.next = self.other.q.val();
        if self.ahead.q.val() {
            self.found.next = self.shown.q.val();
        }

        // Bytes on their way.
        self.reach_low.next = self.reach.q.val().get_bits::<4>(0);
        self.cut.next = self.near.q.val() & (self.reach_low.val() < self.payload.data.val().count);
        self.reach_on.next = self.reach.q.val() - bit_cast::<13, 4>(self.payload.data.val().count);
        self.reach_first.next = self.piece.q.val() + bit_cast::<13, 3>(self.used.q.val());
        self.beat_end.next = self.payload.data.val().count;
        if self.cut.val() {
            self.beat_end.next = self.reach_low.val();
        }
        self.lanes.next = self.beat_end.val() - bit_cast::<4, 3>(self.used.q.val());
        self.moves.next = self.payload.valid.val()
            & self.granted.q.val()
            & (!self.out_valid.q.val() | self.write.ready.val());
        self.payload.ready.next = self.moves.val() & !self.cut.val();
        if self.write.ready.val() {
            self.out_valid.d.next = false;
        }
        if self.moves.val() {
            self.out_valid.d.next = true;
            self.out.d.next.data = self.payload.data.val().data;
            self.out.d.next.start = self.payload.data.val().start + self.used.q.val();
            self.out.d.next.count = self.lanes.val();
            self.granted.d.next = self.reach.q.val() != bit_cast::<13, 4>(self.payload.data.val().count);
            self.reach.d.next = self.reach_on.val();
            self.near.d.next = !self.reach_on.val().get_bits::<9>(4).any();
            self.used.d.next = bits::<3>(0);
            if self.cut.val() {
                self.granted.d.next = false;
                self.used.d.next = self.reach.q.val().get_bits::<3>(0);
            }
        }
        self.write.valid.next = self.out_valid.q.val();
        self.write.data.next = self.out.q.val();

        // What is asked for.
        self.access.valid.next = (self.state.q.val() == State::Ask) | (self.state.q.val() == State::AskTail);
        self.access.data.next.tag = self.job.data.val().tag;
        self.access.data.next.system = false;
        self.access.data.next.clip = false;
        // RSP-5: of a peer's write the right, and the whole range that is to come.
        self.access.data.next.remote = bits::<2>(0);
        if self.job.data.val().remote {
            self.access.data.next.remote = self.peer_writes.val();
        }
        self.access.data.next.user = bits::<8>(0);
        self.access.data.next.address = self.address.q.val();
        self.access.data.next.span = self.rest.q.val();
        self.access.data.next.length = self.piece.q.val();
        self.access.data.next.region = self.handle.q.val().get_bits::<16>(0);
        self.access.data.next.key = self.handle.q.val().get_bits::<16>(16);
        self.access.data.next.by_offset = false;
        self.access.data.next.write = true;
        if self.state.q.val() == State::AskTail {
            self.access.data.next.region = self.region.q.val();
            self.access.data.next.by_offset = true;
            self.access.data.next.write = false;
        }

        // The rest of the descriptor as it comes.
        self.mine.next = self.verdict.valid.val() & (self.verdict.data.val().client == self.me.val());
        self.tail_beat.next = self.beat.valid.val()
            & (self.beat.data.val().client == self.me.val())
            & (self.state.q.val() == State::Tail);
        self.tail_places.write_enable.next = self.tail_beat.val() & !self.tail_word.q.val().get_bit(0);
        self.tail_places.write_address.next = self.tail_word.q.val().get_bits::<2>(1);
        self.tail_places.write_data.next = self.beat.data.val().data;
        self.tail_handles.write_enable.next = self.tail_beat.val() & self.tail_word.q.val().get_bit(0);
        self.tail_handles.write_address.next = self.tail_word.q.val().get_bits::<2>(1);
        self.tail_handles.write_data.next = self.beat.data.val().data;
        if self.tail_beat.val() {
            self.tail_word.d.next = self.tail_word.q.val() + 1;
            self.tail_failed.d.next = self.tail_failed.q.val() | self.beat.data.val().failed;
        }

        self.left_32.next = bit_cast::<32, 13>(self.left.q.val());
        self.next_piece.next = self.rest.q.val().get_bits::<13>(0);
        if self.left_32.val() < self.rest.q.val() {
            self.next_piece.next = self.left.q.val();
        }
        // An access moves 4096 bytes at most; only a raw frame has more.
        if self.left.q.val().get_bit(12) & self.next_piece.val().get_bit(12) {
            self.next_piece.next = self.largest.val();
        }
        self.data.next = bit_cast::<64, 32>(self.position.q.val());
        self.done.valid.next = self.state.q.val() == State::Done;
        self.done.data.next.result = self.outcome.q.val();
        self.done.data.next.index = self.index.q.val();
        self.done.data.next.position = self.position.q.val();
        self.busy.next = (self.state.q.val() != State::Idle) | self.out_valid.q.val();

        match self.state.q.val() {
            State::Idle => {
                self.left.d.next = self.job.data.val().length;
                self.place.d.next = self.job.data.val().index + 2;
                self.position.d.next = self.job.data.val().position;
                self.block.d.next = bits::<7>(0);
                if self.job.data.val().reading {
                    self.block.d.next = self.no_block.val();
                    if self.kept.q.val()
                        & !self.job.data.val().fresh
                        & (self.kept_vi.q.val() == self.job.data.val().vi)
                    {
                        self.block.d.next = self.kept_block.q.val();
                    }
                }
                self.used.d.next = bits::<3>(0);
                self.outcome.d.next = ScatterResult::Placed;
                if self.job.valid.val() {
                    self.state.d.next = State::Segment;
                }
            }
            State::Segment => {
                self.tail_word.d.next = bits::<3>(0);
                self.tail_failed.d.next = false;
                if self.job.data.val().remote {
                    self.state.d.next = State::Measure;
                } else if self.place.q.val() == bit_cast::<8, 9>(self.total.q.val()) {
                    self.outcome.d.next = ScatterResult::TooLong;
                    self.state.d.next = State::Done;
                } else if self.want_block.val() == self.block.q.val() {
                    self.state.d.next = State::Shown;
                } else {
                    self.address.d.next = (bit_cast::<64, 34>(self.offset.q.val())
                        + bit_cast::<64, 7>(self.want_block.val()))
                        << 6;
                    self.rest.d.next = bit_cast::<32, 13>(self.tail_bytes.val());
                    self.piece.d.next = self.tail_bytes.val();
                    self.state.d.next = State::AskTail;
                }
            }
            State::Shown => {
                self.state.d.next = State::Measure;
            }
            State::Measure => {
                self.address.d.next = self.found.val().address + self.data.val();
                self.handle.d.next = self.found.val().handle;
                self.rest.d.next = self.found.val().length - self.position.q.val();
                if self.job.data.val().remote {
                    self.rest.d.next = self.job.data.val().left;
                }
                self.state.d.next = State::Cut;
            }
            State::Cut => {
                self.piece.d.next = self.next_piece.val();
                self.state.d.next = State::Ask;
                if !self.rest.q.val().any() {
                    self.place.d.next = self.place.q.val() + 1;
                    self.position.d.next = bits::<32>(0);
                    self.state.d.next = State::Segment;
                }
            }
            State::Ask => {
                if self.access.ready.val() {
                    self.state.d.next = State::Verdict;
                }
            }
            State::Verdict => {
                if self.mine.val() {
                    self.state.d.next = State::Move;
                    self.granted.d.next = true;
                    self.reach.d.next = self.reach_first.val();
                    self.near.d.next = !self.reach_first.val().get_bits::<9>(4).any();
                    if !self.verdict.data.val().ok {
                        self.granted.d.next = false;
                        self.outcome.d.next = ScatterResult::Refused;
                        self.state.d.next = State::Done;
                    }
                }
            }
            State::Move => {
                if !self.granted.q.val() {
                    self.left.d.next = self.left.q.val() - self.piece.q.val();
                    self.position.d.next = self.position.q.val() + bit_cast::<32, 13>(self.piece.q.val());
                    self.state.d.next = State::Segment;
                    if self.left.q.val() == self.piece.q.val() {
                        self.state.d.next = State::Done;
                    }
                }
            }
            State::AskTail => {
                self.kept.d.next = false;
                if self.access.ready.val() {
                    self.state.d.next = State::Tail;
                }
            }
            State::Tail => {
                if self.tail_beat.val() & self.beat.data.val().last {
                    self.block.d.next = self.want_block.val();
                    self.kept.d.next = self.reading.q.val();
                    self.kept_vi.d.next = self.job.data.val().vi;
                    self.kept_block.d.next = self.want_block.val();
                    self.state.d.next = State::Segment;
                    if self.beat.data.val().refused | self.tail_failed.q.val() | self.beat.data.val().failed {
                        self.kept.d.next = false;
                    }
                    if self.beat.data.val().refused {
                        self.outcome.d.next = ScatterResult::Refused;
                        self.state.d.next = State::Done;
                    } else if self.tail_failed.q.val() | self.beat.data.val().failed {
                        self.outcome.d.next = ScatterResult::Failed;
                        self.state.d.next = State::Done;
                    }
                }
            }
            State::Done => {
                self.state.d.next = State::Idle;
            }
            _ => {
                self.state.d.next = State::Idle;
            }
        }
        if self.reset.val() {
            self.kept.d.next = false;
            self.state.d.next = State::Idle;
            self.granted.d.next = false;
            self.out_valid.d.next = false;
        }
    }
}
