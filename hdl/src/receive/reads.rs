//! Keeps the RDMA reads of this side that wait for their answers: what comes next of each, and where it goes.
//!
//! ```text
//!          sent ──►┌───────┐──► told
//!        answer ──►│ Reads │──► target
//!  done, commit ──►└───────┘──► busy
//! ```
//! Contract: docs/semantics.md, REQ-2 and REQ-3.
//! - `sent` names each read that leaves, in order, before its frame does. One that is sent again has its old number, and the PSN from
//!   which it asks: that of what is missing, or an older one if some of the answer has come while it was made.
//! - `answer` stays on show until `told`. Then `keep` says whether it counts, and `told` what it is for `complete/sends`: itself; or,
//!   if it lies beyond an answer that has not come, a NAK_SEQUENCE at the first PSN that is missing (the implied NAK). The block tells
//!   that once until that PSN comes, or until the read is sent again for a second time: not for the implied NAK then, but for a time-out
//!   or the peer's own word. A refusal beyond it is told as one behind a read ([`local::BEHIND`]). What is no answer to anything is not
//!   kept.
//! - A NAK of a code that nobody has defined is told as NAK_OPERATIONAL, and none has its reserved bit.
//! - With `data` the answer's payload goes where `target` says. `done` ends that: with `ok` the bytes are placed and the read
//!   moves on; otherwise it stays where it is.
//! - A response counts at the expected PSN only, with the length of its place, and with the opcode of its place in the read or, once
//!   the read was sent again, in a part of it.
//! - `fresh`: scatter has no segments of this descriptor from before.
//! - A commit of RECEIVE forgets the VI's reads.
//!
//! Example: `sent` names a read of 2048 bytes with PSN 100, and the path MTU is 1024. A response First with PSN 100 and 1024 bytes comes:
//! `told` has `keep` and `data`, and its `position` is 0. If the response with PSN 101 is lost and an ACK of PSN 102 comes
//! instead, `told` is a NAK_SEQUENCE at PSN 101.
//!
//! Latency: 6 cycles from an answer to `told`, 2 more after `done`; 4 for a read that leaves.
//!
//! How: one memory; its lower half has the reads, READ_DEPTH for each VI, the upper half a row for each VI.
//!
//! Tests: `tests/receive/reads.rs`.

use super::job::{ReadPlaced, ReadTarget, Told};
use crate::bus::{local, Acknowledged, Answer, Commit, ReadSent, Vi};
use crate::prims::{Number, Ram};
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_spec::profile::{READ_DEPTH_LOG2, REGION_LOG2, VI_LOG2};
use viaduct_spec::wire::syndrome;

/// Bits of a row: a read's are more than a VI's.
const ROW_BITS: usize = 98 + REGION_LOG2;
/// log2 of the memory's rows.
const ROW_LOG2: usize = VI_LOG2 + READ_DEPTH_LOG2 + 1;
// Numbers of reads are 3 bits, and shifts are plain numbers below.
const _: () = assert!(READ_DEPTH_LOG2 == 2 && REGION_LOG2 >= 8);

/// Where a VI is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Place {
    /// Number of the oldest read that is not answered.
    oldest: Bits<3>,
    /// Number of the next read.
    fresh: Bits<3>,
    /// A part of the oldest read has come; the rest of the row counts only then.
    started: Bits<1>,
    /// The oldest read has been sent again.
    again: Bits<1>,
    /// What comes next has been asked for.
    missed: Bits<1>,
    /// The read has been sent again since `missed` was set.
    asked: Bits<1>,
    /// PSN that comes next.
    psn: Bits<24>,
    /// Bytes to come.
    left: Bits<32>,
    /// Segment to go on with.
    index: Bits<8>,
    /// Bytes of that segment that are filled.
    position: Bits<32>,
}

/// A read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Read {
    region: Bits<REGION_LOG2>,
    offset: Bits<34>,
    segments: Bits<8>,
    length: Bits<32>,
    psn: Bits<24>,
}

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Idle,
    /// The VI's row, which was asked for, comes out of memory.
    Load,
    /// The oldest read's row is asked for; or a read leaves.
    Find,
    /// The oldest read's row comes out of memory.
    Take,
    /// The answer is compared with what comes next.
    Weigh,
    /// The block decides what the answer is.
    Judge,
    /// The block tells what the answer is.
    Tell,
    /// The payload moves.
    Move,
    /// Write the VI's row back.
    Save,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Reads {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// While high, the block forgets what is under way.
    pub reset: Signal<In, bool>,
    /// An RDMA read of ours that leaves, from transmit.
    pub sent: Sink<ReadSent>,
    /// A RECEIVE row on the bus; the VI's reads are forgotten.
    pub commit: Sink<Commit>,
    /// An acknowledgement or an answer to a read, from `Delivery`; it stays until `told`.
    pub answer: FlowSink<Answer>,
    /// What the answer is for `complete/sends`; the answer is judged in this cycle.
    pub told: FlowSource<Told>,
    /// Where the answer's payload goes, for scatter's job.
    pub target: Signal<Out, ReadTarget>,
    /// Whether the payload is placed, and how far scatter came.
    pub done: FlowSink<ReadPlaced>,
    /// An answer or a read that leaves is under way.
    pub busy: Signal<Out, bool>,
    memory: Ram<Bits<ROW_BITS>, ROW_LOG2>,
    step: DFF<Step>,
    vi: DFF<Vi>,
    /// A read leaves; otherwise an answer came.
    leaving: DFF<bool>,
    place: DFF<Place>,
    read: DFF<Read>,
    /// The answer's PSN less the one that comes next.
    distance: DFF<Bits<24>>,
    open: DFF<bool>,
    /// The response is the last of its read.
    final_one: DFF<bool>,
    /// The response's length is exactly what is left of the read.
    ends_it: DFF<bool>,
    /// The response's length is a whole packet's.
    whole: DFF<bool>,
    /// The response's opcode is right for its place.
    opcode_fits: DFF<bool>,
    keep: DFF<bool>,
    data: DFF<bool>,
    /// The answer is told as a NAK of what comes next.
    implied: DFF<bool>,
    /// The answer is a refusal that is told as one behind a read.
    behind: DFF<bool>,
    row: Signal<Local, Bits<ROW_BITS>>,
    read_row: Signal<Local, Bits<ROW_LOG2>>,
    next_vi: Signal<Local, Vi>,
    vi_row: Signal<Local, Bits<ROW_LOG2>>,
    slot: Signal<Local, Bits<2>>,
    begun: Signal<Local, bool>,
    next_psn: Signal<Local, Bits<24>>,
    left: Signal<Local, Bits<32>>,
    mtu: Signal<Local, Bits<13>>,
    is_last: Signal<Local, bool>,
    fits: Signal<Local, bool>,
    syndrome: Signal<Local, Bits<8>>,
    group: Signal<Local, Bits<2>>,
    exact: Signal<Local, bool>,
    ahead: Signal<Local, bool>,
    nak: Signal<Local, bool>,
    fatal: Signal<Local, bool>,
    beyond: Signal<Local, bool>,
    moves_on: Signal<Local, bool>,
    /// The read that leaves asks for what comes next.
    asks_missing: Signal<Local, bool>,
    region: Signal<Local, Bits<16>>,
    vis: Number<ROW_LOG2, { 1 << (VI_LOG2 + READ_DEPTH_LOG2) }>,
    nak_sequence: Number<8, { syndrome::NAK_SEQUENCE as u64 }>,
    ack: Number<8, { syndrome::ACK as u64 }>,
    reason: Signal<Local, Bits<2>>,
    word: Signal<Local, Acknowledged>,
    operational: Number<2, { syndrome::NAK_OPERATIONAL as u64 & 3 }>,
    refused_behind: Number<8, { local::BEHIND }>,
}

impl Logic for Reads {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, leaving, place, read, distance, open, final_one, ends_it, whole);
        dff_setup!(self, clock, keep, data, implied, behind, opcode_fits);
        clock!(self, clock, memory);

        // Rows: {0, VI, slot} a read, {1, 0, VI} a VI.
        self.vi_row.next = self.vis.val() | bit_cast::<ROW_LOG2, VI_LOG2>(self.vi.q.val());
        self.slot.next = bit_cast::<2, 3>(self.place.q.val().oldest);
        if self.leaving.q.val() {
            self.slot.next = bit_cast::<2, 3>(self.sent.data.val().number);
        }
        self.read_row.next =
            (bit_cast::<ROW_LOG2, VI_LOG2>(self.vi.q.val()) << 2) | bit_cast::<ROW_LOG2, 2>(self.slot.val());
        self.next_vi.next = self.answer.data.val().vi;
        if self.sent.valid.val() {
            self.next_vi.next = self.sent.data.val().vi;
        }
        self.memory.read_address.next = self.vis.val() | bit_cast::<ROW_LOG2, VI_LOG2>(self.next_vi.val());
        if self.step.q.val() == Step::Find {
            self.memory.read_address.next = self.read_row.val();
        }
        self.row.next = self.memory.read_data.val();
        self.memory.write_enable.next = false;
        self.memory.write_address.next = self.vi_row.val();
        self.memory.write_data.next = bit_cast::<ROW_BITS, 3>(self.place.q.val().oldest)
            | (bit_cast::<ROW_BITS, 3>(self.place.q.val().fresh) << 3)
            | (bit_cast::<ROW_BITS, 1>(self.place.q.val().started) << 6)
            | (bit_cast::<ROW_BITS, 1>(self.place.q.val().again) << 7)
            | (bit_cast::<ROW_BITS, 1>(self.place.q.val().missed) << 8)
            | (bit_cast::<ROW_BITS, 8>(self.place.q.val().index) << 9)
            | (bit_cast::<ROW_BITS, 24>(self.place.q.val().psn) << 17)
            | (bit_cast::<ROW_BITS, 32>(self.place.q.val().left) << 41)
            | (bit_cast::<ROW_BITS, 32>(self.place.q.val().position) << 73)
            | (bit_cast::<ROW_BITS, 1>(self.place.q.val().asked) << 105);
        self.region.next = self.sent.data.val().region;
        if self.step.q.val() == Step::Find {
            self.memory.write_address.next = self.read_row.val();
            self.memory.write_data.next = bit_cast::<ROW_BITS, 8>(self.sent.data.val().segments)
                | (bit_cast::<ROW_BITS, 24>(self.sent.data.val().psn) << 8)
                | (bit_cast::<ROW_BITS, 34>(self.sent.data.val().offset) << 32)
                | (bit_cast::<ROW_BITS, 32>(self.sent.data.val().length) << 66)
                | (bit_cast::<ROW_BITS, REGION_LOG2>(self.region.val().get_bits::<REGION_LOG2>(0)) << 98);
        }

        // What comes next, and what it must be.
        self.begun.next = self.place.q.val().started.any();
        self.next_psn.next = self.read.q.val().psn;
        self.left.next = self.read.q.val().length;
        if self.begun.val() {
            self.next_psn.next = self.place.q.val().psn;
            self.left.next = self.place.q.val().left;
        }
        self.mtu.next = bits::<13>(256);
        if self.answer.data.val().mtu == bits::<3>(1) {
            self.mtu.next = bits::<13>(512);
        }
        if self.answer.data.val().mtu == bits::<3>(2) {
            self.mtu.next = bits::<13>(1024);
        }
        if self.answer.data.val().mtu == bits::<3>(3) {
            self.mtu.next = bits::<13>(2048);
        }
        if self.answer.data.val().mtu == bits::<3>(4) {
            self.mtu.next = bits::<13>(4096);
        }
        self.is_last.next =
            !self.left.val().get_bits::<19>(13).any() & (self.left.val().get_bits::<13>(0) <= self.mtu.val());
        self.ends_it.d.next = self.answer.data.val().length == self.left.val().get_bits::<13>(0);
        self.whole.d.next = self.answer.data.val().length == self.mtu.val();
        // REQ-3: the opcode of its place: at the start, or in the part that was asked for again.
        self.opcode_fits.d.next = self.answer.data.val().first;
        if self.begun.val() {
            self.opcode_fits.d.next = !self.answer.data.val().first | self.place.q.val().again.any();
        }

        self.asks_missing.next = !self.begun.val() | (self.sent.data.val().psn == self.place.q.val().psn);

        // What an answer is. Class 2 of the syndromes is reserved on the wire.
        self.syndrome.next = self.answer.data.val().syndrome;
        self.group.next = self.syndrome.val().get_bits::<2>(5);
        // REQ-3: the length of its place.
        self.fits.next = self.opcode_fits.q.val() & self.whole.q.val() & !self.answer.data.val().last;
        if self.final_one.q.val() {
            self.fits.next = self.opcode_fits.q.val() & self.ends_it.q.val() & self.answer.data.val().last;
        }
        self.exact.next = !self.distance.q.val().any();
        self.ahead.next = self.distance.q.val().any() & !self.distance.q.val().get_bit(23);
        self.nak.next = !self.answer.data.val().response & (self.group.val() == bits::<2>(3));
        self.fatal.next = self.nak.val() & self.syndrome.val().get_bits::<5>(0).any();
        // REQ-2: an implied NAK.
        // Beyond an answer that has not come.
        self.beyond.next = self.open.q.val()
            & (self.ahead.val()
                | (self.exact.val() & !self.answer.data.val().response & !self.group.val().any()));

        self.told.valid.next = self.step.q.val() == Step::Tell;
        self.told.data.next.keep = self.keep.q.val();
        self.told.data.next.data = self.data.q.val();
        // REQ-4: NAK_OPERATIONAL.
        // A code that nobody has defined says no more than that something is wrong there.
        self.reason.next = self.syndrome.val().get_bits::<2>(0);
        if self.syndrome.val().get_bits::<3>(2).any() {
            self.reason.next = self.operational.val();
        }
        self.word.next.vi = self.vi.q.val();
        self.word.next.psn = self.answer.data.val().psn;
        self.word.next.syndrome = self.nak_sequence.val() | bit_cast::<8, 2>(self.reason.val());
        if !self.nak.val() {
            self.word.next.syndrome = self.answer.data.val().syndrome;
        }
        self.word.next.frame = self.syndrome.val().get_bits::<2>(5);
        if self.answer.data.val().response {
            self.word.next.syndrome = self.ack.val();
            self.word.next.frame = bits::<2>(2);
        }
        if self.implied.q.val() {
            self.word.next.psn = self.next_psn.val();
            self.word.next.syndrome = self.nak_sequence.val();
        }
        if self.behind.q.val() {
            self.word.next.syndrome = self.refused_behind.val() | bit_cast::<8, 2>(self.reason.val());
        }
        self.told.data.next.word = self.word.val();
        self.target.next.region = bit_cast::<16, REGION_LOG2>(self.read.q.val().region);
        self.target.next.offset = self.read.q.val().offset;
        self.target.next.segments = self.read.q.val().segments;
        self.target.next.index = self.place.q.val().index;
        self.target.next.position = self.place.q.val().position;
        self.target.next.fresh = !self.begun.val();
        self.sent.ready.next = false;
        self.commit.ready.next = false;
        self.moves_on.next = false;
        self.busy.next = self.step.q.val() != Step::Idle;

        match self.step.q.val() {
            Step::Idle => {
                self.leaving.d.next = self.sent.valid.val();
                self.vi.d.next = self.next_vi.val();
                if self.sent.valid.val() | self.answer.valid.val() {
                    self.step.d.next = Step::Load;
                } else if self.commit.valid.val() {
                    self.vi.d.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    self.place.d.next.oldest = bits::<3>(0);
                    self.place.d.next.fresh = bits::<3>(0);
                    self.place.d.next.started = bits::<1>(0);
                    self.place.d.next.again = bits::<1>(0);
                    self.place.d.next.missed = bits::<1>(0);
                    self.place.d.next.asked = bits::<1>(0);
                    self.place.d.next.index = bits::<8>(1);
                    self.place.d.next.position = bits::<32>(0);
                    self.commit.ready.next = true;
                    self.step.d.next = Step::Save;
                }
            }
            Step::Load => {
                self.place.d.next.oldest = self.row.val().get_bits::<3>(0);
                self.place.d.next.fresh = self.row.val().get_bits::<3>(3);
                self.place.d.next.started = self.row.val().get_bits::<1>(6);
                self.place.d.next.again = self.row.val().get_bits::<1>(7);
                self.place.d.next.missed = self.row.val().get_bits::<1>(8);
                self.place.d.next.index = self.row.val().get_bits::<8>(9);
                self.place.d.next.psn = self.row.val().get_bits::<24>(17);
                self.place.d.next.left = self.row.val().get_bits::<32>(41);
                self.place.d.next.position = self.row.val().get_bits::<32>(73);
                self.place.d.next.asked = self.row.val().get_bits::<1>(105);
                self.step.d.next = Step::Find;
            }
            Step::Find => {
                self.open.d.next = self.place.q.val().oldest != self.place.q.val().fresh;
                self.step.d.next = Step::Take;
                if self.leaving.q.val() {
                    self.sent.ready.next = true;
                    self.step.d.next = Step::Save;
                    if self.sent.data.val().number == self.place.q.val().fresh {
                        self.memory.write_enable.next = true;
                        self.place.d.next.fresh = self.place.q.val().fresh + 1;
                    } else if self.sent.data.val().number == self.place.q.val().oldest {
                        self.place.d.next.again = bits::<1>(1);
                        // The implied NAK has it sent again once. The next time it is a time-out: it may be missed anew. One that asks for
                        // what has come meanwhile was under way, and is neither.
                        if self.asks_missing.val() {
                            self.place.d.next.asked = !self.place.q.val().asked & self.place.q.val().missed;
                            self.place.d.next.missed = !self.place.q.val().asked & self.place.q.val().missed;
                        }
                    }
                }
            }
            Step::Take => {
                self.read.d.next.region = self.row.val().get_bits::<REGION_LOG2>(98);
                self.read.d.next.segments = self.row.val().get_bits::<8>(0);
                self.read.d.next.psn = self.row.val().get_bits::<24>(8);
                self.read.d.next.offset = self.row.val().get_bits::<34>(32);
                self.read.d.next.length = self.row.val().get_bits::<32>(66);
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.distance.d.next = self.answer.data.val().psn - self.next_psn.val();
                self.final_one.d.next = self.is_last.val();
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.data.d.next = false;
                self.implied.d.next = false;
                self.behind.d.next = false;
                self.keep.d.next = self.group.val() != bits::<2>(2);
                if self.answer.data.val().response {
                    // REQ-3: at the expected PSN only.
                    // A MIDDLE has no AETH.
                    self.keep.d.next = self.open.q.val()
                        & self.exact.val()
                        & self.fits.val()
                        & (!self.group.val().any()
                            | !(self.answer.data.val().first | self.answer.data.val().last));
                    self.data.d.next = self.answer.data.val().length.any();
                }
                if self.beyond.val() {
                    self.data.d.next = false;
                    if self.fatal.val() {
                        self.behind.d.next = true;
                    } else {
                        self.implied.d.next = true;
                        // REQ-2: the implied NAK is taken once.
                        self.keep.d.next = !self.place.q.val().missed.any();
                        self.place.d.next.missed = bits::<1>(1);
                    }
                }
                self.step.d.next = Step::Tell;
            }
            Step::Tell => {
                self.step.d.next = Step::Idle;
                if self.keep.q.val() {
                    if self.implied.q.val() {
                        self.step.d.next = Step::Save;
                    } else if self.answer.data.val().response {
                        self.step.d.next = Step::Move;
                        if !self.data.q.val() {
                            self.moves_on.next = true;
                            self.step.d.next = Step::Save;
                        }
                    }
                }
            }
            Step::Move => {
                if self.done.valid.val() {
                    self.moves_on.next = self.done.data.val().ok;
                    self.step.d.next = Step::Save;
                }
            }
            Step::Save => {
                self.memory.write_enable.next = true;
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.moves_on.val() {
            self.place.d.next.started = bits::<1>(1);
            self.place.d.next.missed = bits::<1>(0);
            self.place.d.next.asked = bits::<1>(0);
            self.place.d.next.psn = self.next_psn.val() + 1;
            self.place.d.next.left = self.left.val() - bit_cast::<32, 13>(self.answer.data.val().length);
            self.place.d.next.index = self.done.data.val().index;
            self.place.d.next.position = self.done.data.val().position;
            if self.final_one.q.val() {
                self.place.d.next.oldest = self.place.q.val().oldest + 1;
                self.place.d.next.started = bits::<1>(0);
                self.place.d.next.again = bits::<1>(0);
                self.place.d.next.index = bits::<8>(1);
                self.place.d.next.position = bits::<32>(0);
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
