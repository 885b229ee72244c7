//! CRC-32 (reflected, polynomial 0xEDB88320: Ethernet's FCS and InfiniBand's ICRC) of 64 or 32 bits a cycle.
//!
//! ```text
//!         sink ──►┌───────┐
//!      in_half ──►│ Crc32 │──► value
//!       preset ──►│       │
//! preset_value ──►└───────┘
//! ```
//! Contract: lane 0 (bits 7 to 0) of `sink` is the first byte; with `in_half` only the low 32 bits count. `preset`
//! sets `value` to `preset_value`; a word in the same cycle does not count, so that no word's gates wait for it. `value` is the
//! register itself: start from all ones, and the check sum sent is its complement, low byte first.
//!
//! Latency: 1 cycle. Throughput: one word every cycle.
//!
//! How: 32 steps of the shift register are a linear function of its state, a [`ParityMatrix`]. A word is twice 32 steps, one half after the
//! other.
//!
//! Example: in cycle 0 `preset` is high and `preset_value` is all ones, in cycle 1 `sink` brings a word: `value` covers that word from
//! cycle 2 on.
//!
//! Tests: `tests/prims/crc32.rs`, against an independent bytewise CRC.

use super::ParityMatrix;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// The reflected CRC-32 polynomial.
pub(crate) const POLYNOMIAL: u32 = 0xedb8_8320;

/// What `bits` zeros make of the state of the shift register.
pub(crate) const fn crc32_steps(mut state: u32, bits: u32) -> u32 {
    let mut bit = 0;
    while bit < bits {
        state = (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg());
        bit += 1;
    }
    state
}

/// The state, from all ones, after the eight bytes ff that an ICRC begins with: the first four make it 0.
pub(crate) const ICRC_START: u32 = crc32_steps(!0, 32);

/// See the module's description.
#[derive(LogicBlock)]
pub struct Crc32 {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Clears `value` to 0.
    pub reset: Signal<In, bool>,
    /// A word whose bytes go into the check sum; lane 0 comes first.
    pub sink: FlowSink<Bits<64>>,
    /// Only the low 4 bytes of `sink` count.
    pub in_half: Signal<In, bool>,
    /// The owner starts the check sum again from `preset_value`.
    pub preset: Signal<In, bool>,
    /// The state that `preset` starts from.
    pub preset_value: Signal<In, Bits<32>>,
    /// The state after the words of all cycles before this one.
    pub value: Signal<Out, Bits<32>>,
    state: DFF<Bits<32>>,
    low: ParityMatrix<32>,
    high: ParityMatrix<32>,
}

impl Default for Crc32 {
    fn default() -> Self {
        let half_a_word = || ParityMatrix::new(|state| crc32_steps(state as u32, 32));
        Self {
            clock: Default::default(),
            reset: Default::default(),
            sink: Default::default(),
            in_half: Default::default(),
            preset: Default::default(),
            preset_value: Default::default(),
            value: Default::default(),
            state: Default::default(),
            low: half_a_word(),
            high: half_a_word(),
        }
    }
}

impl Logic for Crc32 {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.low.from.next = self.state.q.val() ^ self.sink.data.val().get_bits::<32>(0);
        self.high.from.next = self.low.to.val() ^ self.sink.data.val().get_bits::<32>(32);
        if self.sink.valid.val() {
            self.state.d.next = self.high.to.val();
            if self.in_half.val() {
                self.state.d.next = self.low.to.val();
            }
        }
        if self.preset.val() {
            self.state.d.next = self.preset_value.val();
        }
        if self.reset.val() {
            self.state.d.next = bits::<32>(0);
        }
    }
}
