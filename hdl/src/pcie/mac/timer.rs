//! Counts the time in a state of the LTSSM.
//!
//! ```text
//!   clear ──►┌───────┐──► after_2, after_12, after_24, after_48
//!            │ Timer │
//!            └───────┘──► still
//! ```
//! Contract: the outputs say that 2, 12, 24 and 48 ms have passed since `clear`, in cycles of 125 MHz, and `still` that 2^14 cycles have:
//! 131 us. They fall with `clear`.
//!
//! Latency: 3 cycles.
//!
//! Example: `after_2` rises 250 003 cycles after the last cycle of `clear`.
//!
//! Tests: `tests/pcie/mac/times.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// Cycles in a millisecond.
const MILLISECOND: u64 = 125_000;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Timer {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The time begins anew; `Ltssm` drives it.
    pub clear: Signal<In, bool>,
    /// 2 ms have passed.
    pub after_2: Signal<Out, bool>,
    /// 12 ms have passed.
    pub after_12: Signal<Out, bool>,
    /// 24 ms have passed.
    pub after_24: Signal<Out, bool>,
    /// 48 ms have passed.
    pub after_48: Signal<Out, bool>,
    /// 131 us have passed.
    pub still: Signal<Out, bool>,
    cycles: DFF<Bits<17>>,
    ends: DFF<bool>,
    milliseconds: DFF<Bits<6>>,
    two: DFF<bool>,
    twelve: DFF<bool>,
    twenty_four: DFF<bool>,
    forty_eight: DFF<bool>,
    long: DFF<bool>,
    last: Number<17, { MILLISECOND - 2 }>,
}

impl Logic for Timer {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, cycles, ends, milliseconds, two, twelve, twenty_four, forty_eight, long);
        drive!(self, two.q => after_2; twelve.q => after_12; twenty_four.q => after_24;
            forty_eight.q => after_48; long.q => still);
        self.cycles.d.next = self.cycles.q.val() + 1;
        self.ends.d.next = self.cycles.q.val() == self.last.val();
        if self.ends.q.val() {
            self.cycles.d.next = bits::<17>(0);
            self.milliseconds.d.next = self.milliseconds.q.val() + 1;
        }
        self.two.d.next = self.two.q.val() | (self.milliseconds.q.val() == bits::<6>(2));
        self.twelve.d.next = self.twelve.q.val() | (self.milliseconds.q.val() == bits::<6>(12));
        self.twenty_four.d.next = self.twenty_four.q.val() | (self.milliseconds.q.val() == bits::<6>(24));
        self.forty_eight.d.next = self.forty_eight.q.val() | (self.milliseconds.q.val() == bits::<6>(48));
        self.long.d.next = self.long.q.val() | self.cycles.q.val().get_bit(14);
        if self.clear.val() {
            self.cycles.d.next = bits::<17>(0);
            self.milliseconds.d.next = bits::<6>(0);
            drive!(self, false => ends.d, two.d, twelve.d, twenty_four.d, forty_eight.d, long.d);
        }
    }
}
