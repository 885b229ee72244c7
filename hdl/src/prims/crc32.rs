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
//! How: 32 steps of the shift register are a 32x32 matrix over GF(2), each output bit the parity of a mask; the masks
//! are made here from the polynomial. A word is two such steps, one after the other.
//!
//! Example: in cycle 0 `preset` is high and `preset_value` is all ones, in cycle 1 `sink` brings a word: `value` covers that word from cycle 2 on.
//!
//! Tests: `tests/prims/crc32.rs`, against an independent bytewise CRC.

use crate::stream::FlowSink;
use rust_hdl::prelude::*;

/// The reflected CRC-32 polynomial.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// 32 steps of the shift register.
fn step(state: u32) -> u32 {
    (0..32).fold(state, |state, _| (state >> 1) ^ (POLYNOMIAL & (state & 1).wrapping_neg()))
}

/// The bits of the state whose parity is bit `bit` after 32 steps.
fn mask(bit: usize) -> u32 {
    (0..32).filter(|from| step(1 << from) >> bit & 1 == 1).fold(0, |mask, from| mask | 1 << from)
}

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
    low: Signal<Local, Bits<32>>,
    high: Signal<Local, Bits<32>>,
    half: Signal<Local, Bits<32>>,
    whole: Signal<Local, Bits<32>>,
    mask: [Constant<Bits<32>>; 32],
    weight: [Constant<Bits<32>>; 32],
    zero: Constant<Bits<32>>,
}

impl Default for Crc32 {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            reset: Default::default(),
            sink: Default::default(),
            in_half: Default::default(),
            preset: Default::default(),
            preset_value: Default::default(),
            value: Default::default(),
            state: Default::default(),
            low: Default::default(),
            high: Default::default(),
            half: Default::default(),
            whole: Default::default(),
            mask: std::array::from_fn(|k| Constant::new(mask(k).to_bits())),
            weight: std::array::from_fn(|k| Constant::new((1u32 << k).to_bits())),
            zero: Constant::new(Bits::default()),
        }
    }
}

impl Logic for Crc32 {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, state);
        self.value.next = self.state.q.val();
        self.low.next = self.state.q.val() ^ self.sink.data.val().get_bits::<32>(0);
        self.half.next = self.zero.val();
        for k in 0..32 {
            if (self.low.val() & self.mask[k].val()).xor() {
                self.half.next = self.half.val() | self.weight[k].val();
            }
        }
        self.high.next = self.half.val() ^ self.sink.data.val().get_bits::<32>(32);
        self.whole.next = self.zero.val();
        for k in 0..32 {
            if (self.high.val() & self.mask[k].val()).xor() {
                self.whole.next = self.whole.val() | self.weight[k].val();
            }
        }
        if self.sink.valid.val() {
            self.state.d.next = self.whole.val();
            if self.in_half.val() {
                self.state.d.next = self.half.val();
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
