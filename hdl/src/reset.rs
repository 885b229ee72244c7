//! Says what is reset and when, by the four resets of docs/architecture.md, "Resets".
//!
//! ```text
//!   reset, link_down ──────►┌───────┐──► down, hard, clear
//!   function_reset, agent ─►│ Reset │──► ending, hold
//!   settled, outstanding ──►└───────┘──► function_reset_done
//! ```
//! Contract: power-up (`reset`) and `link_down` reset everything at once. A function-level reset and the agent's reset wait (`ending`)
//! until none of the core's packets is half way over the PCIe edge and none of its reads has its answer still to come. The link lives on:
//! it must not be left with half a packet, and no later read may be given the answer to an earlier one. Then everything behind the edge
//! is reset. A function-level reset also resets the edge, and `function_reset_done` is high until `function_reset` falls. `clear` lasts
//! 16 cycles at least: longer than any path of registers that no reset clears, so no pulse from before the reset comes out of one after
//! it.
//!
//! Latency: `down` and `hard` in the same cycle, `clear` one later.
//!
//! Example: `agent` is high for one cycle and nothing is half way: `ending` rises in the next cycle, `clear` in the one behind it, and
//! falls 16 cycles later.
//!
//! Tests: `tests/tests/own_nics/resets.rs`, of the whole NIC.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Reset {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Power-up: everything at once.
    pub reset: Signal<In, bool>,
    /// The link is down, or in hot reset: everything at once, as long as it is high; from the PCIe endpoint.
    pub link_down: Signal<In, bool>,
    /// The host asks for a function-level reset; it stays high until `function_reset_done`. The configuration space drives it.
    pub function_reset: Signal<In, bool>,
    /// The function-level reset is done; it stays high until `function_reset` falls.
    pub function_reset_done: Signal<Out, bool>,
    /// The agent asks for a reset of everything but the PCIe edge and the MSI-X table; `admin/registers` drives it.
    pub agent: Signal<In, bool>,
    /// The core has no packet half out at the PCIe edge, and begins none while `hold` is high; `edge/transmit` drives it.
    pub settled: Signal<In, bool>,
    /// Completions of the core's own reads are still to come; `dma/read` drives it.
    pub outstanding: Signal<In, bool>,
    /// Packets end where they are, because the link is down; `edge/receive` and `edge/transmit` hear it.
    pub down: Signal<Out, bool>,
    /// Reset of the PCIe edge and of what is the system's: registers of the edge, the MSI-X table.
    pub hard: Signal<Out, bool>,
    /// Reset of everything behind the PCIe edge.
    pub clear: Signal<Out, bool>,
    /// A reset waits until nothing is half way over the edge; `dma/read` and `quiet` hear it.
    pub ending: Signal<Out, bool>,
    /// No request of the core's may begin; `edge/transmit` hears it.
    pub hold: Signal<Out, bool>,
    clears: DFF<bool>,
    /// Cycles for which `clear` stays, less one.
    clearing: DFF<Bits<4>>,
    waits: DFF<bool>,
    function_done: DFF<bool>,
    ended: Signal<Local, bool>,
}

impl Logic for Reset {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, clears, clearing, waits, function_done);
        self.down.next = self.reset.val() | self.link_down.val();
        self.hard.next = self.reset.val() | self.link_down.val() | self.function_done.q.val();
        self.ended.next = self.waits.q.val() & self.settled.val() & !self.outstanding.val();
        self.waits.d.next = (self.waits.q.val()
            | self.agent.val()
            | (self.function_reset.val() & !self.function_done.q.val()))
            & !self.ended.val();
        self.function_done.d.next =
            self.function_reset.val() & (self.function_done.q.val() | self.ended.val());
        if self.reset.val() | self.link_down.val() {
            self.waits.d.next = false;
            self.function_done.d.next = false;
        }
        self.clears.d.next = self.reset.val()
            | self.link_down.val()
            | self.function_done.q.val()
            | self.ended.val()
            | self.clearing.q.val().any();
        if self.reset.val() | self.link_down.val() | self.function_done.q.val() | self.ended.val() {
            self.clearing.d.next = bits::<4>(15);
        } else if self.clearing.q.val().any() {
            self.clearing.d.next = self.clearing.q.val() - 1;
        }
        drive!(self, clears.q => clear; waits.q => ending; function_done.q => function_reset_done);
        self.hold.next = self.waits.q.val() | self.function_done.q.val();
    }
}
