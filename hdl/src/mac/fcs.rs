//! CRC-32 of a byte a cycle: the frame check sequence of Ethernet.
//!
//! ```text
//!  start ──►┌─────┐──► value
//!   sink ──►│ Fcs │
//!           └─────┘
//! ```
//! Contract: `start` goes before the first byte. `value` is the register: the FCS is its complement, low byte first, and a
//! frame that went through with its FCS leaves 0xDEBB20E3.
//!
//! Latency: 1 cycle. Throughput: one byte every cycle.
//!
//! How: as [`Crc32`](crate::prims::Crc32), with eight steps of the shift register at once.
//!
//! Example: `start`, then the nine bytes `123456789`: the complement of `value` is 0xCBF43926.
//!
//! Tests: with the receiver and the transmitter in `tests/mac/`, against crc32fast.

use crate::prims::{crc32_steps, Number, ParityMatrix};
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Fcs {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A new frame begins: `value` starts again from all ones. `LineReceiver` or `LineSender` drives the inputs.
    pub start: Signal<In, bool>,
    /// A byte of the frame.
    pub sink: FlowSink<Bits<8>>,
    /// The state after the bytes of all cycles before this one.
    pub value: Signal<Out, Bits<32>>,
    state: DFF<Bits<32>>,
    stepped: ParityMatrix<32>,
    ones: Number<32, 0xffff_ffff>,
}

impl Default for Fcs {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            start: Default::default(),
            sink: Default::default(),
            value: Default::default(),
            state: Default::default(),
            stepped: ParityMatrix::new(|state| crc32_steps(state as u32, 8)),
            ones: Default::default(),
        }
    }
}

impl Logic for Fcs {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.stepped.from.next = self.state.q.val() ^ bit_cast::<32, 8>(self.sink.data.val());
        if self.sink.valid.val() {
            self.state.d.next = self.stepped.to.val();
        }
        if self.start.val() {
            self.state.d.next = self.ones.val();
        }
    }
}
