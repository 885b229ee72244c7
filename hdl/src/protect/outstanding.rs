//! What has been granted and has not yet ended, in two epochs; and the drain that waits for the older one.
//!
//! ```text
//!       issue ──►┌─────────────┐──► epoch     (of what is issued now)
//!  read_retire ─►│ Outstanding │──► full      (issue nothing)
//! write_retire ─►│  2 counters │──► hold      (take no access: the epoch is about to turn)
//!       drain ──►│             │──► draining
//!     between ──►└─────────────┘──► active    (something is outstanding)
//! ```
//! Contract: after a `drain` pulse, `draining` is high from the next cycle until every command issued before the
//! epoch turned has retired. The epoch turns in a cycle with `between` (no access is half way), and only when the
//! drain before it has ended, so that the epoch it turns to is empty. `between` comes in bounded time while `hold`.
//! Counters never wrap: at 255, `full` holds back the next command.
//!
//! Latency: none from `issue` to the counters of the next cycle. Tests: with the checker, `tests/protect`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Outstanding {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is outstanding any more.
    pub reset: Signal<In, bool>,
    /// A command is issued in this cycle, in `epoch`.
    pub issue: Signal<In, bool>,
    /// A read command has ended.
    pub read_retire_valid: Signal<In, bool>,
    /// Its epoch.
    pub read_retire_epoch: Signal<In, bool>,
    /// A write command has ended.
    pub write_retire_valid: Signal<In, bool>,
    /// Its epoch.
    pub write_retire_epoch: Signal<In, bool>,
    /// Start a drain.
    pub drain: Signal<In, bool>,
    /// No access is half way.
    pub between: Signal<In, bool>,
    /// Epoch of commands issued now.
    pub epoch: Signal<Out, bool>,
    /// No command may be issued.
    pub full: Signal<Out, bool>,
    /// No access may be taken.
    pub hold: Signal<Out, bool>,
    /// A drain has not ended.
    pub draining: Signal<Out, bool>,
    /// Something is outstanding.
    pub active: Signal<Out, bool>,
    /// Outstanding in epoch 0.
    count_0: DFF<Bits<8>>,
    /// Outstanding in epoch 1.
    count_1: DFF<Bits<8>>,
    now: DFF<bool>,
    /// A drain waits for the epoch to turn.
    pending: DFF<bool>,
    /// The other epoch is being waited for.
    waiting: DFF<bool>,
    turn: Signal<Local, bool>,
    issued_0: Signal<Local, Bits<8>>,
    issued_1: Signal<Local, Bits<8>>,
    read_0: Signal<Local, Bits<8>>,
    read_1: Signal<Local, Bits<8>>,
    written_0: Signal<Local, Bits<8>>,
    written_1: Signal<Local, Bits<8>>,
    old: Signal<Local, Bits<8>>,
}

impl Logic for Outstanding {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count_0, count_1, now, pending, waiting);

        // One command in, and at most two out, in one cycle.
        self.issued_0.next = self.count_0.q.val();
        self.issued_1.next = self.count_1.q.val();
        if self.issue.val() & !self.now.q.val() {
            self.issued_0.next = self.count_0.q.val() + 1;
        }
        if self.issue.val() & self.now.q.val() {
            self.issued_1.next = self.count_1.q.val() + 1;
        }
        self.read_0.next = self.issued_0.val();
        self.read_1.next = self.issued_1.val();
        if self.read_retire_valid.val() & !self.read_retire_epoch.val() {
            self.read_0.next = self.issued_0.val() - 1;
        }
        if self.read_retire_valid.val() & self.read_retire_epoch.val() {
            self.read_1.next = self.issued_1.val() - 1;
        }
        self.written_0.next = self.read_0.val();
        self.written_1.next = self.read_1.val();
        if self.write_retire_valid.val() & !self.write_retire_epoch.val() {
            self.written_0.next = self.read_0.val() - 1;
        }
        if self.write_retire_valid.val() & self.write_retire_epoch.val() {
            self.written_1.next = self.read_1.val() - 1;
        }
        self.count_0.d.next = self.written_0.val();
        self.count_1.d.next = self.written_1.val();

        self.old.next = self.count_1.q.val();
        if self.now.q.val() {
            self.old.next = self.count_0.q.val();
        }
        if self.waiting.q.val() & !self.old.val().any() {
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
        self.full.next = self.count_0.q.val().all() | self.count_1.q.val().all();
        self.hold.next = self.pending.q.val() & !self.waiting.q.val();
        self.draining.next = self.pending.q.val() | self.waiting.q.val();
        self.active.next = self.count_0.q.val().any() | self.count_1.q.val().any();

        if self.reset.val() {
            self.count_0.d.next = bits::<8>(0);
            self.count_1.d.next = bits::<8>(0);
            self.now.d.next = false;
            self.pending.d.next = false;
            self.waiting.d.next = false;
        }
    }
}
