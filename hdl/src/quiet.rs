//! Says whether the agent has to wait for a command or a reset, and whether the NIC is idle.
//!
//! ```text
//!   commanded ──►┌───────┐──► busy
//!   resetting ──►│ Quiet │──► idle
//!       works ──►└───────┘
//! ```
//! Contract: `busy` says that a command or a reset is under way. `idle` says that none was in the cycle before, and that no block worked:
//! nothing is in flight and nothing waits, inside or at the edges. A simulator may then skip time up to the next deadline.
//!
//! Latency: `busy` none, `idle` 1 cycle.
//!
//! Example: no command and no reset is under way, and the last block's `works` falls in cycle 0: `idle` is high from cycle 1 on.
//!
//! Tests: `tests/admin/quiet.rs`.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Quiet {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A command of the agent's is under way; `admin/command` drives it.
    pub commanded: Signal<In, bool>,
    /// A reset is asked for, waits, or is under way; `admin/registers` and `reset` drive it.
    pub resetting: Signal<In, bool>,
    /// A block has work, or something is offered at an edge; all blocks drive it together.
    pub works: Signal<In, bool>,
    /// A command or a reset is under way; `admin/registers` shows it in STATE.
    pub busy: Signal<Out, bool>,
    /// Nothing is under way: no command, no reset, no work.
    pub idle: Signal<Out, bool>,
    rests: DFF<bool>,
}

impl Logic for Quiet {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, rests);
        self.busy.next = self.commanded.val() | self.resetting.val();
        self.rests.d.next = !(self.commanded.val() | self.resetting.val() | self.works.val());
        self.idle.next = self.rests.q.val();
    }
}
