//! Takes the SKP ordered sets out of what is received.
//!
//! ```text
//!   rx_data, rx_k, rx_error ──►┌────────┐──► first, second, one, two
//!                              │ Unskip │
//!                              └────────┘──► skipped
//! ```
//! Contract: a COM that SKP follows goes with all SKP behind it, in either byte and however many there are. What is left comes in order:
//! `two` symbols in a cycle, `one` (in `first`), or none. The symbol behind a set is marked, since the scrambler begins anew with it.
//!
//! A set has no place in a packet and says nothing but that. Without them the rest needs no rate matching of its own, and a set of odd
//! length moves no COM to the other byte.
//!
//! Latency: 3 cycles: a COM in the high byte has to wait for the symbol behind it.
//!
//! Example: 17, COM | SKP, SKP | C0, 14 gives `one` (17), none, `two` (C0, marked, and 14).
//!
//! Tests: `tests/pcie/mac/align.rs`.

use super::symbol::{Symbol, COM, SKP};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// A symbol as it came.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Arrived {
    value: Bits<8>,
    k: bool,
    error: bool,
    com: bool,
    skp: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Unskip {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Two symbols, from the seam.
    pub rx_data: Signal<In, Bits<16>>,
    /// Which symbols of `rx_data` are K, from the seam.
    pub rx_k: Signal<In, Bits<2>>,
    /// Which symbols of `rx_data` are damaged, from the seam.
    pub rx_error: Signal<In, Bits<2>>,
    /// The first symbol that is left, for `Align`.
    pub first: Signal<Out, Symbol>,
    /// The second symbol that is left, for `Align`.
    pub second: Signal<Out, Symbol>,
    /// Only `first` counts.
    pub one: Signal<Out, bool>,
    /// `first` and `second` hold symbols.
    pub two: Signal<Out, bool>,
    /// Pulses for each set; the LTSSM takes it for a sign of life.
    pub skipped: Signal<Out, bool>,
    low: Signal<Local, Bits<8>>,
    high: Signal<Local, Bits<8>>,
    low_control: Signal<Local, bool>,
    high_control: Signal<Local, bool>,
    /// The two symbols that came last.
    young_low: DFF<Arrived>,
    young_high: DFF<Arrived>,
    /// The two before them: these are decided on.
    old_low: DFF<Arrived>,
    old_high: DFF<Arrived>,
    /// The symbol before `old_low` was the last of a set so far.
    in_set: DFF<bool>,
    low_drops: Signal<Local, bool>,
    high_drops: Signal<Local, bool>,
    low_begins: Signal<Local, bool>,
    high_begins: Signal<Local, bool>,
    left_first: DFF<Symbol>,
    left_second: DFF<Symbol>,
    left_one: DFF<bool>,
    left_two: DFF<bool>,
    passed: DFF<bool>,
    comma: Number<8, COM>,
    skip: Number<8, SKP>,
}

impl Logic for Unskip {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, young_low, young_high, old_low, old_high, in_set);
        dff_setup!(self, clock, left_first, left_second, left_one, left_two, passed);
        drive!(self, left_first.q => first; left_second.q => second; left_one.q => one; left_two.q => two;
            passed.q => skipped; young_low.q => old_low.d; young_high.q => old_high.d);
        self.low.next = self.rx_data.val().get_bits::<8>(0);
        self.high.next = self.rx_data.val().get_bits::<8>(8);
        self.low_control.next = self.rx_k.val().get_bit(0) & !self.rx_error.val().get_bit(0);
        self.high_control.next = self.rx_k.val().get_bit(1) & !self.rx_error.val().get_bit(1);
        self.young_low.d.next.value = self.low.val();
        self.young_low.d.next.k = self.rx_k.val().get_bit(0);
        self.young_low.d.next.error = self.rx_error.val().get_bit(0);
        self.young_low.d.next.com = self.low_control.val() & (self.low.val() == self.comma.val());
        self.young_low.d.next.skp = self.low_control.val() & (self.low.val() == self.skip.val());
        self.young_high.d.next.value = self.high.val();
        self.young_high.d.next.k = self.rx_k.val().get_bit(1);
        self.young_high.d.next.error = self.rx_error.val().get_bit(1);
        self.young_high.d.next.com = self.high_control.val() & (self.high.val() == self.comma.val());
        self.young_high.d.next.skp = self.high_control.val() & (self.high.val() == self.skip.val());

        self.low_begins.next = self.old_low.q.val().com & self.old_high.q.val().skp;
        self.high_begins.next = self.old_high.q.val().com & self.young_low.q.val().skp;
        self.low_drops.next = self.low_begins.val() | (self.old_low.q.val().skp & self.in_set.q.val());
        self.high_drops.next = self.high_begins.val() | (self.old_high.q.val().skp & self.low_drops.val());
        self.in_set.d.next = self.high_drops.val();
        self.passed.d.next = self.low_begins.val() | self.high_begins.val();

        fill!(self, left_first.d, old_low.q.val().value => value; old_low.q.val().k => k;
            old_low.q.val().error => error; old_low.q.val().com => com; in_set.q => skipped);
        fill!(self, left_second.d, old_high.q.val().value => value; old_high.q.val().k => k;
            old_high.q.val().error => error; old_high.q.val().com => com; false => skipped);
        if self.low_drops.val() {
            fill!(self, left_first.d, old_high.q.val().value => value; old_high.q.val().k => k;
                old_high.q.val().error => error; old_high.q.val().com => com; true => skipped);
        }
        self.left_one.d.next = self.low_drops.val() ^ self.high_drops.val();
        self.left_two.d.next = !self.low_drops.val() & !self.high_drops.val();
    }
}
