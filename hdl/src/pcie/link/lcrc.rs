//! CRC-32 of a word of 16 bits a cycle: the LCRC of a TLP, made or checked.
//!
//! ```text
//!  start ──►┌──────┐──► value
//!   sink ──►│ Lcrc │
//!           └──────┘
//! ```
//! Contract: `start` goes before the first word; a word in the same cycle does not count. `value` is the register: the LCRC is its
//! complement, low byte first. A TLP that went through with its LCRC leaves [`RESIDUE`], one with the complement of its LCRC leaves 0.
//!
//! Latency: 1 cycle. Throughput: one word every cycle.
//!
//! How: 16 steps of the shift register are a linear function of its state: a [`ParityMatrix`].
//!
//! Example: `start`, then the words 0000 0004 0100 0000 0f00 0001 0000: the complement of `value` is FF2AA64Fh.
//!
//! Tests: `tests/pcie/link/checks.rs`.

use crate::prims::{crc32_steps, Number, ParityMatrix};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// What a good TLP leaves: the state meets its own complement, which makes all ones of it, and takes 32 steps.
pub const RESIDUE: u64 = crc32_steps(!0, 32) as u64;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Lcrc {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A new TLP begins: `value` starts again from all ones. The owner drives the inputs.
    pub start: Signal<In, bool>,
    /// A word of the TLP, the low byte first.
    pub sink: FlowSink<Bits<16>>,
    /// The state after the words of all cycles before this one.
    pub value: Signal<Out, Bits<32>>,
    state: DFF<Bits<32>>,
    stepped: ParityMatrix<32>,
    ones: Number<32, 0xffff_ffff>,
}

impl Default for Lcrc {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            start: Default::default(),
            sink: Default::default(),
            value: Default::default(),
            state: Default::default(),
            stepped: ParityMatrix::new(|state| crc32_steps(state as u32, 16)),
            ones: Default::default(),
        }
    }
}

impl Logic for Lcrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.stepped.from.next = self.state.q.val() ^ bit_cast::<32, 16>(self.sink.data.val());
        if self.sink.valid.val() {
            self.state.d.next = self.stepped.to.val();
        }
        if self.start.val() {
            self.state.d.next = self.ones.val();
        }
    }
}
