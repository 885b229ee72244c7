//! CRC-16 of a word of 16 bits a cycle: the check sum of a DLLP, made or checked.
//!
//! ```text
//!  start ──►┌─────────┐──► value
//!   sink ──►│ DllpCrc │
//!           └─────────┘
//! ```
//! Contract: `start` goes before the first word; a word in the same cycle does not count. `value` is the register: the check sum is its
//! complement, low byte first. A DLLP that went through with its check sum leaves [`RESIDUE`].
//!
//! Latency: 1 cycle. Throughput: one word every cycle.
//!
//! How: 16 steps of the shift register are a linear function of its state: a [`ParityMatrix`].
//!
//! Example: `start`, then the words 0000 0000: the complement of `value` is 62B3h.
//!
//! Tests: `tests/pcie/link/checks.rs`.

use crate::prims::{Number, ParityMatrix};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// The polynomial 100Bh, reflected.
const POLYNOMIAL: u32 = 0xd008;

/// What `bits` zeros make of the state of the shift register.
const fn steps(mut state: u32, bits: u32) -> u32 {
    let mut bit = 0;
    while bit < bits {
        state = (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg());
        bit += 1;
    }
    state
}

/// What a good DLLP leaves: the state meets its own complement, which makes all ones of it, and takes 16 steps.
pub const RESIDUE: u64 = steps(0xffff, 16) as u64;

/// See the module's description.
#[derive(LogicBlock)]
pub struct DllpCrc {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A new DLLP begins: `value` starts again from all ones. The owner, `Dllps` or `Frame`, drives the inputs.
    pub start: Signal<In, bool>,
    /// A word of the DLLP, the low byte first.
    pub sink: FlowSink<Bits<16>>,
    /// The state after the words of all cycles before this one.
    pub value: Signal<Out, Bits<16>>,
    state: DFF<Bits<16>>,
    stepped: ParityMatrix<16>,
    result: Signal<Local, Bits<32>>,
    ones: Number<16, 0xffff>,
}

impl Default for DllpCrc {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            start: Default::default(),
            sink: Default::default(),
            value: Default::default(),
            state: Default::default(),
            stepped: ParityMatrix::new(|state| steps(state as u32, 16)),
            result: Default::default(),
            ones: Default::default(),
        }
    }
}

impl Logic for DllpCrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.stepped.from.next = self.state.q.val() ^ self.sink.data.val();
        self.result.next = self.stepped.to.val();
        if self.sink.valid.val() {
            self.state.d.next = self.result.val().get_bits::<16>(0);
        }
        if self.start.val() {
            self.state.d.next = self.ones.val();
        }
    }
}
