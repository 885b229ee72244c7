//! Runs the agent's commands, and after reset clears the tables that reset cannot reach.
//!
//! ```text
//!  command, stage0..2 ──►┌─────────┐──► commit
//!             written ──►│ Command │──► settle ◄── settling
//!                        │         │──► drain  ◄── draining
//!                        │         │──► query: VI, its state
//!                        └─────────┘──► busy, error, result, count_ignored
//! ```
//! Contract: one command at a time; one that comes while `busy` is ignored and counted. A COMMIT or QUERY of a table or row that does not
//! exist sets `error` and does nothing; the next command that is taken clears `error`. A COMMIT of COMPLETION_QUEUE puts `written` into
//! `result`. After reset, zero rows are committed to REGION, WORK_QUEUE, COMPLETION_QUEUE, MODERATION and VI_STATE, and `busy` is high
//! until that is done.
//!
//! Latency: a commit 3 cycles and its owner's wait; a query 3 cycles; the clearing after reset about 1700 cycles.
//!
//! Example: the agent stages a row of TRANSMIT and writes COMMIT: 3 cycles later `commit` offers the row, and `busy` falls when its
//! owners have taken it.
//!
//! Tests: `tests/admin/command.rs`.

use crate::bus::{Commit, CqIndex, Vi};
use crate::prims::Number;
use crate::rows::register::CommandWord;
use crate::stream::{FlowSink, LookUp, Pulse, Source};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::profile::{CQS, PAGES, REGIONS, VECTORS, VIS, VI_LOG2};
use viaduct_spec::register::command_op;
use viaduct_spec::tables::table;

#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
enum Step {
    Clear,
    ClearNext,
    Idle,
    Decode,
    Commit,
    Written,
    Settle,
    Settling,
    Drain,
    Draining,
    Query,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Command {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears the tables: `busy` is high until that is done.
    pub reset: Signal<In, bool>,
    /// The command that the agent has written, from `admin/registers`, which drives the next three too.
    pub command: FlowSink<CommandWord>,
    /// Bits 63:0 of the row that the agent has staged.
    pub stage0: Signal<In, Bits<64>>,
    /// Bits 127:64 of the row that the agent has staged.
    pub stage1: Signal<In, Bits<64>>,
    /// Bits 191:128 of the row that the agent has staged.
    pub stage2: Signal<In, Bits<64>>,
    /// The row that is committed, to `admin/broadcast`.
    pub commit: Source<Commit>,
    /// Number of entries written to the old ring of the completion queue that was committed last, from `complete/queues`.
    pub written: Signal<In, CqIndex>,
    /// Pulses when `vi/state` is to wait for the faults and events that are there.
    pub settle: Signal<Out, bool>,
    /// Not all events from before the `settle` are in the error ring; `vi/state` drives it.
    pub settling: Signal<In, bool>,
    /// Pulses when `protect` is to wait for the accesses that are on their way.
    pub drain: Signal<Out, bool>,
    /// Accesses from before the `drain` are still on their way; `protect` drives it.
    pub draining: Signal<In, bool>,
    /// The VI whose state the agent asks for, and that state; `vi/state` answers.
    pub query: LookUp<Vi, Bits<2>>,
    /// A command is running, or the tables are being cleared; `quiet` passes it on to STATE.
    pub busy: Signal<Out, bool>,
    /// The last command was refused; `admin/registers` shows it in STATE.
    pub error: Signal<Out, bool>,
    /// The answer to the last QUERY, or to the last COMMIT of a completion queue; `admin/registers` shows it in RESULT.
    pub result: Signal<Out, Bits<64>>,
    /// A command is ignored, because one is running.
    pub count_ignored: Pulse,
    step: DFF<Step>,
    /// Operation of the command at hand.
    op: DFF<Bits<8>>,
    /// The row at hand.
    row: DFF<Commit>,
    /// The command's table number is larger than any.
    strange: DFF<bool>,
    /// `error`.
    refused: DFF<bool>,
    /// `result`.
    answer: DFF<Bits<64>>,
    /// A command was ignored in the cycle before.
    ignored: DFF<bool>,
    /// Bits of the row number that must be 0 for the table.
    beyond: Signal<Local, Bits<16>>,
    /// The command's table and row exist.
    known: Signal<Local, bool>,
    op_commit: Number<8, { command_op::COMMIT as u64 }>,
    op_drain: Number<8, { command_op::DRAIN as u64 }>,
    op_query: Number<8, { command_op::QUERY as u64 }>,
    /// The largest number that a commit's `target` can say.
    last_target: Number<8, 0xF>,
    region: Number<4, { table::REGION as u64 }>,
    page: Number<4, { table::PAGE as u64 }>,
    work_queue: Number<4, { table::WORK_QUEUE as u64 }>,
    template: Number<4, { table::TEMPLATE as u64 }>,
    gather: Number<4, { table::GATHER as u64 }>,
    transmit: Number<4, { table::TRANSMIT as u64 }>,
    receive: Number<4, { table::RECEIVE as u64 }>,
    vi_state: Number<4, { table::VI_STATE as u64 }>,
    completion_queue: Number<4, { table::COMPLETION_QUEUE as u64 }>,
    moderation: Number<4, { table::MODERATION as u64 }>,
    beyond_regions: Number<16, { 0x1_0000 - REGIONS as u64 }>,
    beyond_pages: Number<16, { 0x1_0000 - PAGES as u64 }>,
    beyond_queues: Number<16, { 0x1_0000 - 2 * VIS as u64 }>,
    beyond_cqs: Number<16, { 0x1_0000 - CQS as u64 }>,
    beyond_vectors: Number<16, { 0x1_0000 - VECTORS as u64 }>,
    beyond_templates: Number<16, { 0x1_0000 - 8 * VIS as u64 }>,
    beyond_vis: Number<16, { 0x1_0000 - VIS as u64 }>,
}

impl Logic for Command {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, step, op, row, strange, refused, answer, ignored);
        drive!(self, row.q => commit.data; refused.q => error; answer.q => result;
            ignored.q => count_ignored);
        drive!(self, false => commit.valid, settle, drain);
        self.query.index.next = bit_cast::<VI_LOG2, 16>(self.row.q.val().row);
        self.busy.next = true;
        self.ignored.d.next = self.command.valid.val();

        self.known.next = true;
        if self.row.q.val().target == self.region.val() {
            self.beyond.next = self.beyond_regions.val();
        } else if self.row.q.val().target == self.page.val() {
            self.beyond.next = self.beyond_pages.val();
        } else if self.row.q.val().target == self.work_queue.val() {
            self.beyond.next = self.beyond_queues.val();
        } else if self.row.q.val().target == self.completion_queue.val() {
            self.beyond.next = self.beyond_cqs.val();
        } else if self.row.q.val().target == self.moderation.val() {
            self.beyond.next = self.beyond_vectors.val();
        } else if self.row.q.val().target == self.template.val() {
            self.beyond.next = self.beyond_templates.val();
        } else {
            self.beyond.next = self.beyond_vis.val();
            self.known.next = (self.row.q.val().target == self.gather.val())
                | (self.row.q.val().target == self.transmit.val())
                | (self.row.q.val().target == self.receive.val())
                | (self.row.q.val().target == self.vi_state.val());
        }

        match self.step.q.val() {
            Step::Clear => {
                self.commit.valid.next = true;
                if self.commit.ready.val() {
                    self.row.d.next.row = self.row.q.val().row + 1;
                    self.step.d.next = Step::ClearNext;
                }
            }
            Step::ClearNext => {
                // When the row number has just gone past the table, the next table follows, or the clearing is done.
                self.step.d.next = Step::Clear;
                if (self.row.q.val().row & self.beyond.val()).any() {
                    self.row.d.next.row = bits::<16>(0);
                    if self.row.q.val().target == self.region.val() {
                        self.row.d.next.target = self.work_queue.val();
                    } else if self.row.q.val().target == self.work_queue.val() {
                        self.row.d.next.target = self.completion_queue.val();
                    } else if self.row.q.val().target == self.completion_queue.val() {
                        self.row.d.next.target = self.moderation.val();
                    } else if self.row.q.val().target == self.moderation.val() {
                        self.row.d.next.target = self.vi_state.val();
                    } else {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Idle => {
                self.busy.next = false;
                self.ignored.d.next = false;
                if self.command.valid.val() {
                    self.op.d.next = self.command.data.val().op;
                    self.row.d.next.target = bit_cast::<4, 8>(self.command.data.val().table);
                    self.strange.d.next = self.command.data.val().table > self.last_target.val();
                    self.row.d.next.row = self.command.data.val().row;
                    self.row.d.next.word0 = self.stage0.val();
                    self.row.d.next.word1 = self.stage1.val();
                    self.row.d.next.word2 = self.stage2.val();
                    self.refused.d.next = false;
                    self.step.d.next = Step::Decode;
                }
            }
            Step::Decode => {
                self.step.d.next = Step::Idle;
                self.refused.d.next = true;
                if self.op.q.val() == self.op_drain.val() {
                    self.refused.d.next = false;
                    self.step.d.next = Step::Settle;
                } else if self.known.val()
                    & !self.strange.q.val()
                    & !(self.row.q.val().row & self.beyond.val()).any()
                {
                    if self.op.q.val() == self.op_commit.val() {
                        self.refused.d.next = false;
                        self.step.d.next = Step::Commit;
                    } else if (self.op.q.val() == self.op_query.val())
                        & (self.row.q.val().target == self.vi_state.val())
                    {
                        self.refused.d.next = false;
                        self.step.d.next = Step::Query;
                    }
                }
            }
            Step::Commit => {
                self.commit.valid.next = true;
                if self.commit.ready.val() {
                    self.step.d.next = Step::Idle;
                    if self.row.q.val().target == self.completion_queue.val() {
                        self.step.d.next = Step::Written;
                    }
                }
            }
            Step::Written => {
                self.answer.d.next = bit_cast::<64, 18>(self.written.val());
                self.step.d.next = Step::Idle;
            }
            Step::Settle => {
                self.settle.next = true;
                self.step.d.next = Step::Settling;
            }
            Step::Settling => {
                // LIFE-3: a drain waits for the faults and events that were there, and then for all accesses that were granted.
                // The events' entries have been granted by then, so the drain waits for these writes, too.
                if !self.settling.val() {
                    self.step.d.next = Step::Drain;
                }
            }
            Step::Drain => {
                self.drain.next = true;
                self.step.d.next = Step::Draining;
            }
            Step::Draining => {
                if !self.draining.val() {
                    self.step.d.next = Step::Idle;
                }
            }
            Step::Query => {
                self.answer.d.next = bit_cast::<64, 2>(self.query.row.val());
                self.step.d.next = Step::Idle;
            }
            _ => {
                self.step.d.next = Step::Idle;
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Clear;
            self.refused.d.next = false;
            self.row.d.next.target = self.region.val();
            self.row.d.next.row = bits::<16>(0);
            self.row.d.next.word0 = bits::<64>(0);
            self.row.d.next.word1 = bits::<64>(0);
            self.row.d.next.word2 = bits::<64>(0);
        }
    }
}
