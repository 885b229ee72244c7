//! A double word of the configuration space, made from its row of `viaduct_spec::config_space::TABLE`.
//!
//! ```text
//!          index ──►┌────────────┐──► value
//!  write, enables ─►│ ConfigWord │──► shown   (0 unless chosen)
//!            data ─►└────────────┘
//! ```
//! Contract: a write is of the double word whose `index` has been there in the cycle before. `reset` brings all bits back,
//! `function_reset` those that the table does not keep. Bits of the status that the function sets are `also`: they are of the owner.
//!
//! Latency: `shown` one cycle after `index`; `value` one cycle after a write.
//!
//! Example: of Base Address 0, a write of all ones makes the value FFFF0000.
//!
//! Tests: with the whole, `tests/pcie/transaction/registers.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::config_space::word;

/// See the module's description.
#[derive(LogicBlock)]
pub struct ConfigWord {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Back to the value after power-up.
    pub reset: Signal<In, bool>,
    /// Back to the value after power-up, but for what a function-level reset leaves alone; from `FunctionReset`.
    pub function_reset: Signal<In, bool>,
    /// Number of the double word that is asked for; this and the next three are from `Completer`.
    pub index: Signal<In, Bits<10>>,
    /// The double word `index` is written.
    pub write: Signal<In, bool>,
    /// The bytes that are written; `ConfigSpace` takes out byte 0 of the power management's word if it names no power state.
    pub enables: Signal<In, Bits<4>>,
    /// The new contents.
    pub data: Signal<In, Bits<32>>,
    /// Bits that stand in other places, and are read here; from `ConfigSpace`.
    pub also: Signal<In, Bits<32>>,
    /// The contents without those, for who goes by them.
    pub value: Signal<Out, Bits<32>>,
    /// The contents, if this is the double word that is asked for, otherwise 0.
    pub shown: Signal<Out, Bits<32>>,
    /// `index` was this word's in the cycle before.
    pub chosen: Signal<Out, bool>,
    is_chosen: DFF<bool>,
    bytes: [DFF<Bits<8>>; 4],
    octet: Signal<Local, Bits<8>>,
    held: Signal<Local, Bits<32>>,
    contents: Signal<Local, Bits<32>>,
    restored: Signal<Local, Bits<32>>,
    number: Constant<Bits<10>>,
    at_reset: Constant<Bits<32>>,
    writable: Constant<Bits<32>>,
    kept: Constant<Bits<32>>,
}

impl ConfigWord {
    /// The double word at a byte offset; one that is not in the table reads as 0.
    pub fn new(offset: u16) -> Self {
        let row = word(offset);
        let bits = |value: Option<u32>| Constant::new(u64::from(value.unwrap_or(0)).to_bits());
        Self {
            clock: Default::default(),
            reset: Default::default(),
            function_reset: Default::default(),
            index: Default::default(),
            write: Default::default(),
            enables: Default::default(),
            data: Default::default(),
            also: Default::default(),
            value: Default::default(),
            shown: Default::default(),
            chosen: Default::default(),
            is_chosen: Default::default(),
            bytes: Default::default(),
            octet: Default::default(),
            held: Default::default(),
            contents: Default::default(),
            restored: Default::default(),
            number: Constant::new((u64::from(offset) / 4).to_bits()),
            at_reset: bits(row.map(|row| row.reset)),
            writable: bits(row.map(|row| row.writable)),
            kept: bits(row.map(|row| row.kept)),
        }
    }
}

impl Logic for ConfigWord {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_chosen);
        self.is_chosen.d.next = self.index.val() == self.number.val();
        self.chosen.next = self.is_chosen.q.val();
        self.held.next = bits::<32>(0);
        for i in 0..4 {
            self.octet.next = self.bytes[i].q.val();
            self.held.next = (self.held.val() >> 8) | (bit_cast::<32, 8>(self.octet.val()) << 24);
        }
        // What cannot be written has no flip-flop: nobody reads it.
        self.contents.next =
            (self.held.val() & self.writable.val()) | (self.at_reset.val() & !self.writable.val());
        self.value.next = self.contents.val();
        self.restored.next = self.at_reset.val();
        if !self.reset.val() {
            self.restored.next =
                (self.held.val() & self.kept.val()) | (self.at_reset.val() & !self.kept.val());
        }
        for i in 0..4 {
            self.bytes[i].clock.next = self.clock.val();
            self.bytes[i].d.next = self.bytes[i].q.val();
            if self.is_chosen.q.val() & self.write.val() & self.enables.val().get_bit(i) {
                self.bytes[i].d.next = self.data.val().get_bits::<8>(8 * i);
            }
            if self.reset.val() | self.function_reset.val() {
                self.bytes[i].d.next = self.restored.val().get_bits::<8>(8 * i);
            }
        }
        self.shown.next = bits::<32>(0);
        if self.is_chosen.q.val() {
            self.shown.next = self.contents.val() | self.also.val();
        }
    }
}
