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
//! How: as [`Crc32`](crate::prims::Crc32), eight steps of the shift register at once, each bit the parity of a mask.
//!
//! Example: `start`, then the nine bytes `123456789`: the complement of `value` is 0xCBF43926.
//!
//! Tests: with the receiver and the transmitter in `tests/mac/`, against crc32fast.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// The reflected CRC-32 polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Eight steps of the shift register.
fn step(state: u32) -> u32 {
    (0..8).fold(state, |state, _| (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg()))
}

/// The bits of the state whose parity is bit `bit` after eight steps.
fn mask(bit: usize) -> u32 {
    (0..32).filter(|from| step(1 << from) >> bit & 1 == 1).fold(0, |mask, from| mask | 1 << from)
}

/// See the module's description.
#[derive(LogicBlock)]
pub struct Fcs {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// A new frame begins: `value` starts again from all ones.
    pub start: Signal<In, bool>,
    /// A byte of the frame.
    pub sink: FlowSink<Bits<8>>,
    /// The state after the bytes of all cycles before this one.
    pub value: Signal<Out, Bits<32>>,
    state: DFF<Bits<32>>,
    mixed: Signal<Local, Bits<32>>,
    stepped: Signal<Local, Bits<32>>,
    mask: [Constant<Bits<32>>; 32],
    weight: [Constant<Bits<32>>; 32],
    zero: Constant<Bits<32>>,
    ones: Constant<Bits<32>>,
}

impl Default for Fcs {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            start: Default::default(),
            sink: Default::default(),
            value: Default::default(),
            state: Default::default(),
            mixed: Default::default(),
            stepped: Default::default(),
            mask: std::array::from_fn(|k| Constant::new(mask(k).to_bits())),
            weight: std::array::from_fn(|k| Constant::new((1u32 << k).to_bits())),
            zero: Constant::new(Bits::default()),
            ones: Constant::new(u32::MAX.to_bits()),
        }
    }
}

impl Logic for Fcs {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.mixed.next = self.state.q.val() ^ bit_cast::<32, 8>(self.sink.data.val());
        self.stepped.next = self.zero.val();
        for k in 0..32 {
            if (self.mixed.val() & self.mask[k].val()).xor() {
                self.stepped.next = self.stepped.val() | self.weight[k].val();
            }
        }
        if self.sink.valid.val() {
            self.state.d.next = self.stepped.val();
        }
        if self.start.val() {
            self.state.d.next = self.ones.val();
        }
    }
}
