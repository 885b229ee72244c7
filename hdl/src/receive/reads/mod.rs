//! Keeps the RDMA reads of this side that wait for their answers: what comes next of each, and where it goes.
//!
//! ```text
//!    sent ──►┌───────────────────────┐──► told
//!  answer ──►│         Reads         │──► target
//!    done ──►│ ReadTable AnswerCheck │──► busy
//!  commit ──►│ AnswerWord            │
//!            └───────────────────────┘
//! ```
//! Contract: docs/semantics.md, REQ-2 and REQ-3.
//! - `sent` names each read that leaves, in order, before its frame does. One that is sent again has its old number, and the PSN from
//!   which it asks: that of what is missing, or an older one if some of the answer has come while it was made.
//! - `answer` stays on show until `told`. Then `keep` says whether it counts ([`AnswerCheck`]), and `word` what it is for `complete/sends`
//!   ([`AnswerWord`]): itself; or, if it lies beyond an answer that has not come, a NAK_SEQUENCE at the first PSN that is missing (the
//!   implied NAK). The block tells that once until that PSN comes, or until the read is sent again for a second time: the cause is then not
//!   the implied NAK but a time-out or a NAK of the peer. An answer to nothing that waits is not kept.
//! - With `data` the answer's payload goes where `target` says, and `answer` stays on show. `done` ends that: with `ok` the bytes are
//!   placed and the read moves on; otherwise it stays where it is.
//! - A response counts at the expected PSN only, with the length of its place, and with the opcode of its place in the read or, once
//!   the read was sent again, in a part of it.
//! - A commit of RECEIVE forgets the VI's reads.
//!
//! Example: `sent` names a read of 2048 bytes with PSN 100, and the path MTU is 1024. A response First with PSN 100 and 1024 bytes comes:
//! `told` has `keep` and `data`, and the `position` of `target` is 0. If the response with PSN 101 is lost and an ACK of PSN 102 comes
//! instead, `told` is a NAK_SEQUENCE at PSN 101.
//!
//! Latency: 6 cycles from an answer to `told`, 2 more after `done`, which comes a cycle after scatter's end; 4 for a read that leaves.
//!
//! Tests: `tests/receive/reads.rs`, `tests/receive/answers.rs`.

mod check;
mod table;
mod word;

pub use check::{AnswerCheck, JudgedAnswer};
pub use table::{OutstandingRead, ReadTable, ReadsProgress};
pub use word::AnswerWord;

use super::job::{ReadPlaced, ReadTarget, Told};
use crate::bus::{Answer, Commit, ReadSent, Vi};
use crate::stream::{FlowSink, FlowSource, Sink};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{READ_DEPTH_LOG2, REGION_LOG2, VI_LOG2};

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
    /// A RECEIVE row on the bus, from `Commits`; the VI's reads are forgotten.
    pub commit: Sink<Commit>,
    /// An acknowledgement or an answer to a read, from `Delivery`; it stays until `told`, and with `data` until `done`.
    pub answer: FlowSink<Answer>,
    /// What the answer is for `complete/sends`; `Delivery` hands it on. The answer is judged in this cycle.
    pub told: FlowSource<Told>,
    /// Where the answer's payload goes; `Delivery` makes scatter's job of it.
    pub target: Signal<Out, ReadTarget>,
    /// Whether the payload is placed, and how far scatter came; from `Delivery`.
    pub done: FlowSink<ReadPlaced>,
    /// An answer or a read that leaves is under way.
    pub busy: Signal<Out, bool>,
    step: DFF<Step>,
    vi: DFF<Vi>,
    /// A read leaves; otherwise an answer came.
    leaving: DFF<bool>,
    /// The VI's row.
    progress: DFF<ReadsProgress>,
    /// The VI's oldest read that is not answered.
    oldest: DFF<OutstandingRead>,
    /// What the answer is.
    judged: DFF<JudgedAnswer>,
    rows: ReadTable,
    check: AnswerCheck,
    word: AnswerWord,
    next_vi: Signal<Local, Vi>,
    region: Signal<Local, Bits<16>>,
    judgement: Signal<Local, JudgedAnswer>,
    moves_on: Signal<Local, bool>,
    /// The read that leaves asks for what comes next.
    asks_missing: Signal<Local, bool>,
}

impl Logic for Reads {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, vi, leaving, progress, oldest, judged);
        clock!(self, clock, rows, check);

        // Rows: the VI's first, then that of its oldest read, or of the one that leaves.
        self.next_vi.next = self.answer.data.val().vi;
        if self.sent.valid.val() {
            self.next_vi.next = self.sent.data.val().vi;
        }
        self.rows.read_row.next.vi = self.next_vi.val();
        self.rows.read_row.next.slot = bits::<READ_DEPTH_LOG2>(0);
        self.rows.read_row.next.of_vi = true;
        self.rows.write_enable.next = false;
        self.rows.write_row.next.vi = self.vi.q.val();
        self.rows.write_row.next.slot = bits::<READ_DEPTH_LOG2>(0);
        self.rows.write_row.next.of_vi = true;
        if self.step.q.val() == Step::Find {
            self.rows.read_row.next.vi = self.vi.q.val();
            self.rows.read_row.next.slot = bit_cast::<READ_DEPTH_LOG2, 3>(self.progress.q.val().oldest);
            self.rows.read_row.next.of_vi = false;
            self.rows.write_row.next.slot = bit_cast::<READ_DEPTH_LOG2, 3>(self.sent.data.val().number);
            self.rows.write_row.next.of_vi = false;
        }
        drive!(self, sent.data.val().region => region; progress.q => rows.new_progress);
        self.rows.new_read.next.region = self.region.val().get_bits::<REGION_LOG2>(0);
        fill!(self, rows.new_read, sent.data.val().offset => offset; sent.data.val().segments => segments;
            sent.data.val().length => length; sent.data.val().psn => psn);

        // What the answer is, and what is told of it.
        drive!(self, answer.data => check.answer, word.answer; oldest.q => check.outstanding;
            progress.q => check.progress; check.judged => judgement; vi.q => word.vi; judged.q => word.judged;
            check.next_psn => word.next_psn);
        self.told.valid.next = self.step.q.val() == Step::Tell;
        fill!(self, told.data, judged.q.val().keep => keep; judged.q.val().data => data; word.word => word);
        self.target.next.region = bit_cast::<16, REGION_LOG2>(self.oldest.q.val().region);
        fill!(self, target, oldest.q.val().offset => offset; oldest.q.val().segments => segments;
            progress.q.val().index => index; progress.q.val().position => position);
        self.target.next.fresh = !self.progress.q.val().started;

        self.asks_missing.next =
            !self.progress.q.val().started | (self.sent.data.val().psn == self.progress.q.val().psn);
        drive!(self, false => sent.ready, commit.ready, moves_on);
        self.busy.next = self.step.q.val() != Step::Idle;
        match self.step.q.val() {
            Step::Idle => {
                self.leaving.d.next = self.sent.valid.val();
                self.vi.d.next = self.next_vi.val();
                if self.sent.valid.val() | self.answer.valid.val() {
                    self.step.d.next = Step::Load;
                } else if self.commit.valid.val() {
                    self.vi.d.next = bit_cast::<VI_LOG2, 16>(self.commit.data.val().row);
                    self.progress.d.next.oldest = bits::<3>(0);
                    self.progress.d.next.fresh = bits::<3>(0);
                    self.progress.d.next.started = false;
                    self.progress.d.next.again = false;
                    self.progress.d.next.missed = false;
                    self.progress.d.next.asked = false;
                    self.progress.d.next.index = bits::<8>(1);
                    self.progress.d.next.position = bits::<32>(0);
                    self.commit.ready.next = true;
                    self.step.d.next = Step::Save;
                }
            }
            Step::Load => {
                self.progress.d.next = self.rows.progress.val();
                self.step.d.next = Step::Find;
            }
            Step::Find => {
                self.step.d.next = Step::Take;
                if self.leaving.q.val() {
                    self.sent.ready.next = true;
                    self.step.d.next = Step::Save;
                    if self.sent.data.val().number == self.progress.q.val().fresh {
                        self.rows.write_enable.next = true;
                        self.progress.d.next.fresh = self.progress.q.val().fresh + 1;
                    } else if self.sent.data.val().number == self.progress.q.val().oldest {
                        self.progress.d.next.again = true;
                        // The first time the read is sent again for the implied NAK, the second time for a time-out: its answer may be
                        // missed anew. A read that asks for what has come meanwhile was under way before that, and counts as neither.
                        if self.asks_missing.val() {
                            self.progress.d.next.asked =
                                !self.progress.q.val().asked & self.progress.q.val().missed;
                            self.progress.d.next.missed =
                                !self.progress.q.val().asked & self.progress.q.val().missed;
                        }
                    }
                }
            }
            Step::Take => {
                self.oldest.d.next = self.rows.outstanding.val();
                self.step.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.judged.d.next = self.judgement.val();
                if self.judgement.val().implied {
                    self.progress.d.next.missed = true;
                }
                self.step.d.next = Step::Tell;
            }
            Step::Tell => {
                self.step.d.next = Step::Idle;
                if self.judged.q.val().keep {
                    if self.judged.q.val().implied {
                        self.step.d.next = Step::Save;
                    } else if self.answer.data.val().response {
                        self.step.d.next = Step::Move;
                        if !self.judged.q.val().data {
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
                self.rows.write_enable.next = true;
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.moves_on.val() {
            self.progress.d.next.started = true;
            self.progress.d.next.missed = false;
            self.progress.d.next.asked = false;
            self.progress.d.next.psn = self.check.next_psn.val() + 1;
            self.progress.d.next.left =
                self.check.left.val() - bit_cast::<32, 13>(self.answer.data.val().length);
            self.progress.d.next.index = self.done.data.val().index;
            self.progress.d.next.position = self.done.data.val().position;
            if self.check.final_one.val() {
                self.progress.d.next.oldest = self.progress.q.val().oldest + 1;
                self.progress.d.next.started = false;
                self.progress.d.next.again = false;
                self.progress.d.next.index = bits::<8>(1);
                self.progress.d.next.position = bits::<32>(0);
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
        }
    }
}
