//! Which credits a TLP needs, by its first byte.
//!
//! ```text
//!  kind ──► [ TlpClass ] ──► sort, with_data
//! ```
//! Contract: `kind` is byte 0 of the header, Fmt and Type. Class 0 is posted: memory writes and messages. Class 2 is completions. All else
//! is class 1, non-posted.
//!
//! Latency: none, no state.
//!
//! Example: 4Ah, CplD, is class 2 and has data.
//!
//! Tests: with the whole, `tests/pcie/link/credits.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpClass {
    /// Fmt and Type; from `Credits` or `Receive`, which have one each.
    pub kind: Signal<In, Bits<8>>,
    /// 0 posted, 1 non-posted, 2 completion.
    pub sort: Signal<Out, Bits<2>>,
    /// The TLP has data.
    pub with_data: Signal<Out, bool>,
    has_data: Signal<Local, bool>,
    message: Signal<Local, Bits<2>>,
    type_bits: Signal<Local, Bits<5>>,
    pair: Signal<Local, Bits<4>>,
    completion: Number<4, 0b0101>,
}

impl Logic for TlpClass {
    #[hdl_gen]
    fn update(&mut self) {
        self.has_data.next = self.kind.val().get_bit(6);
        self.with_data.next = self.has_data.val();
        self.message.next = self.kind.val().get_bits::<2>(3);
        self.type_bits.next = self.kind.val().get_bits::<5>(0);
        self.pair.next = self.kind.val().get_bits::<4>(1);
        self.sort.next = bits::<2>(1);
        if self.pair.val() == self.completion.val() {
            self.sort.next = bits::<2>(2);
        }
        if (self.message.val() == bits::<2>(2))
            | (self.has_data.val() & (self.type_bits.val() == bits::<5>(0)))
        {
            self.sort.next = bits::<2>(0);
        }
    }
}
