//! The scrambler's shift register, two symbols at a time: what it gives and where it is then.
//!
//! ```text
//!   from ──►┌───────────┐──► low, high
//!           │ Keystream │
//!           └───────────┘──► after
//! ```
//! Contract: x^16 + x^5 + x^4 + x^3 + 1. `low` and `high` are what the two symbols are combined with by exclusive or, if the register is
//! `from` before them; `after` is the register behind them.
//!
//! Latency: none, no state. The same block scrambles and descrambles.
//!
//! Example: from FFFF, as COM leaves it, `low` is FF and `high` is 17.
//!
//! Tests: with the whole, `tests/pcie/mac/`, against `viaduct_link::scrambler`.

use crate::prims::ParityMatrix;
use rust_hdl::prelude::*;

/// The register as COM leaves it.
pub(super) const START: u64 = 0xffff;

/// The register after so many bits, and in bits 31:16 what it has given, the first bit lowest.
pub(super) const fn stepped(mut register: u64, bits: u32) -> u64 {
    let (mut given, mut bit) = (0, 0);
    while bit < bits {
        let high = register >> 15 & 1;
        given |= high << (16 + bit);
        register = (register << 1 & 0xffff) ^ (high * 0x39);
        bit += 1;
    }
    register | given
}

/// The register behind COM and one more symbol.
pub(super) const BEHIND_ONE: u64 = stepped(START, 8) & 0xffff;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Keystream {
    /// The register; `Scramble` or `Descramble` has it.
    pub from: Signal<In, Bits<16>>,
    /// For the low symbol.
    pub low: Signal<Out, Bits<8>>,
    /// For the high symbol.
    pub high: Signal<Out, Bits<8>>,
    /// The register behind both.
    pub after: Signal<Out, Bits<16>>,
    matrix: ParityMatrix<16>,
}

impl Default for Keystream {
    fn default() -> Self {
        Self {
            from: Default::default(),
            low: Default::default(),
            high: Default::default(),
            after: Default::default(),
            matrix: ParityMatrix::new(|register| stepped(register, 16) as u32),
        }
    }
}

impl Logic for Keystream {
    #[hdl_gen]
    fn update(&mut self) {
        self.matrix.from.next = self.from.val();
        self.after.next = self.matrix.to.val().get_bits::<16>(0);
        self.low.next = self.matrix.to.val().get_bits::<8>(16);
        self.high.next = self.matrix.to.val().get_bits::<8>(24);
    }
}
