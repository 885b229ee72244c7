//! Counts the commands that have been issued and not yet ended, in two epochs; a drain waits for the older epoch.
//!
//! ```text
//!       issue ──►┌─────────────┐──► epoch     (of what is issued now)
//!  read_retire ─►│ Outstanding │──► full      (take no access: too many are outstanding)
//! write_retire ─►│  2 tallies  │──► hold      (take no access: the epoch is about to turn)
//!       drain ──►│             │──► draining
//!     between ──►└─────────────┘──► active    (something is outstanding)
//! ```
//! Contract: after a `drain` pulse, `draining` is high from the next cycle until every command issued before the
//! epoch turned has retired. The epoch turns in a cycle with `between` (no access is half way), and only when the
//! drain before it has ended, so that the epoch it turns to is empty. `between` comes in bounded time while `hold`.
//! Counts never wrap: `full` holds accesses back in time.
//!
//! Latency: none from `issue` to the counters of the next cycle.
//!
//! Example: two writes of epoch 0 are outstanding when `drain` comes. The epoch turns to 1; `draining` falls when both have retired,
//! however many commands of epoch 1 are outstanding by then.
//!
//! Tests: with `Protect`, `tests/protect/`.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::EpochTally;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Outstanding {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Forgets all commands: none is outstanding.
    pub reset: Signal<In, bool>,
    /// `Protect` issues a command in this cycle, in `epoch`.
    pub issue: Signal<In, bool>,
    /// A read command has ended; the data is its epoch; from `dma/read`.
    pub read_retire: FlowSink<bool>,
    /// A write command has ended; the data is its epoch; from `dma/write`.
    pub write_retire: FlowSink<bool>,
    /// Pulse: `admin/command` begins to wait for the commands issued before.
    pub drain: Signal<In, bool>,
    /// No access is half way, so the epoch may turn; `Protect` says so.
    pub between: Signal<In, bool>,
    /// The epoch of commands that are issued in this cycle; `Protect` listens to this and the other outputs.
    pub epoch: Signal<Out, bool>,
    /// No access may be taken: too many commands are outstanding.
    pub full: Signal<Out, bool>,
    /// No access may be taken: the epoch is about to turn.
    pub hold: Signal<Out, bool>,
    /// A drain has not ended.
    pub draining: Signal<Out, bool>,
    /// Something is outstanding.
    pub active: Signal<Out, bool>,
    /// The commands of epoch 0.
    tally_0: EpochTally,
    /// The commands of epoch 1.
    tally_1: EpochTally,
    /// `epoch`.
    now: DFF<bool>,
    /// A drain waits for the epoch to turn.
    pending: DFF<bool>,
    /// The commands of the other epoch are waited for.
    waiting: DFF<bool>,
    turn: Signal<Local, bool>,
    old: Signal<Local, bool>,
}

impl Logic for Outstanding {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, now, pending, waiting);
        clock!(self, clock, tally_0, tally_1);
        drive!(self, reset => tally_0.reset, tally_1.reset);
        self.tally_0.issue.next = self.issue.val() & !self.now.q.val();
        self.tally_1.issue.next = self.issue.val() & self.now.q.val();
        self.tally_0.read.next = self.read_retire.valid.val() & !self.read_retire.data.val();
        self.tally_1.read.next = self.read_retire.valid.val() & self.read_retire.data.val();
        self.tally_0.written.next = self.write_retire.valid.val() & !self.write_retire.data.val();
        self.tally_1.written.next = self.write_retire.valid.val() & self.write_retire.data.val();

        self.old.next = self.tally_1.some.val();
        if self.now.q.val() {
            self.old.next = self.tally_0.some.val();
        }
        if self.waiting.q.val() & !self.old.val() {
            self.waiting.d.next = false;
        }
        self.turn.next = self.pending.q.val() & !self.waiting.q.val() & self.between.val();
        if self.turn.val() {
            self.now.d.next = !self.now.q.val();
            self.pending.d.next = false;
            self.waiting.d.next = true;
        }
        if self.drain.val() {
            self.pending.d.next = true;
        }

        self.epoch.next = self.now.q.val();
        self.full.next = self.tally_0.full.val() | self.tally_1.full.val();
        self.hold.next = self.pending.q.val() & !self.waiting.q.val();
        self.draining.next = self.pending.q.val() | self.waiting.q.val();
        self.active.next = self.tally_0.some.val() | self.tally_1.some.val();

        if self.reset.val() {
            self.now.d.next = false;
            self.pending.d.next = false;
            self.waiting.d.next = false;
        }
    }
}
