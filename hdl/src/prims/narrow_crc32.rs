//! CRC-32 (that of [`Crc32`](super::Crc32)) of a few bits a cycle: a frame's FCS, a TLP's LCRC.
//!
//! ```text
//!  start ──►┌─────────────┐──► value
//!   sink ──►│ NarrowCrc32 │
//!           └─────────────┘
//! ```
//! Contract: `start` goes before the first word; a word in the same cycle does not count. `value` is the register: the check sum is its
//! complement, low byte first. What went through with its check sum leaves 0xDEBB20E3, what went through with the complement of it 0.
//!
//! Latency: 1 cycle. Throughput: one word every cycle.
//!
//! How: as [`Crc32`](super::Crc32), with as many steps of the shift register at once as a word has bits.
//!
//! Example: `start`, then the nine bytes `123456789`: the complement of `value` is 0xCBF43926.
//!
//! Tests: bytes with the receiver and the transmitter in `tests/mac/`, against crc32fast; words of 16 bits in `tests/pcie/link/checks.rs`.

use super::crc32::crc32_steps;
use super::{Number, ParityMatrix};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// See the module's description. A word has `W` bits, at most 32.
#[derive(LogicBlock)]
pub struct NarrowCrc32<const W: usize> {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The owner starts again from all ones; it drives the inputs.
    pub start: Signal<In, bool>,
    /// A word, the low byte first.
    pub sink: FlowSink<Bits<W>>,
    /// The state after the words of all cycles before this one.
    pub value: Signal<Out, Bits<32>>,
    state: DFF<Bits<32>>,
    stepped: ParityMatrix<32>,
    ones: Number<32, 0xffff_ffff>,
}

impl<const W: usize> Default for NarrowCrc32<W> {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            start: Default::default(),
            sink: Default::default(),
            value: Default::default(),
            state: Default::default(),
            stepped: ParityMatrix::new(|state| crc32_steps(state as u32, W as u32)),
            ones: Default::default(),
        }
    }
}

impl<const W: usize> Logic for NarrowCrc32<W> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.stepped.from.next = self.state.q.val() ^ bit_cast::<32, W>(self.sink.data.val());
        if self.sink.valid.val() {
            self.state.d.next = self.stepped.to.val();
        }
        if self.start.val() {
            self.state.d.next = self.ones.val();
        }
    }
}
