//! Eight lights that say how far a link has come.
//!
//! ```text
//!    state, deepest ──►┌────────┐
//!          rx_ready ──►│ Lights │──► lights
//!                      └────────┘
//! ```
//! Contract: lights 0 to 4 are the code of the LTSSM's state for half a second, and of the deepest state reached for the next half second.
//! Light 5 is on while the deepest one is shown. Light 6 is on while the receive side of the transceiver runs. Light 7 blinks 7.45
//! times in a second while `pclk` runs. docs/boards.md has the codes.
//!
//! Latency: 1 cycle.
//!
//! Example: the link is up: lights 0 to 4 show the code of L0 all the time, light 6 is on, and light 7 blinks.
//!
//! Tests: `tests/pcie/lights.rs`.

use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description. `INVERTED`: a light is on while its pin is low.
#[derive(LogicBlock, Default)]
pub struct Lights<const INVERTED: u64> {
    /// Rising edge; `pclk`.
    pub clock: Signal<In, Clock>,
    /// The LTSSM's state, from `Card`.
    pub state: Signal<In, Bits<5>>,
    /// The deepest state reached, from `Card`.
    pub deepest: Signal<In, Bits<5>>,
    /// The receive side of the transceiver runs, from `PciePhy`.
    pub rx_ready: Signal<In, bool>,
    /// The pins.
    pub lights: Signal<Out, Bits<8>>,
    ticks: DFF<Bits<27>>,
    shown: DFF<Bits<8>>,
    code: Signal<Local, Bits<5>>,
    word: Signal<Local, Bits<8>>,
    of: Signal<Local, bool>,
    inverted: Number<8, INVERTED>,
}

impl<const INVERTED: u64> Logic for Lights<INVERTED> {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, ticks, shown);
        self.ticks.d.next = self.ticks.q.val() + 1;
        self.of.next = self.ticks.q.val().get_bit(26);
        self.code.next = self.state.val();
        if self.of.val() {
            self.code.next = self.deepest.val();
        }
        self.word.next = bit_cast::<8, 5>(self.code.val());
        if self.of.val() {
            self.word.next = self.word.val() | bits::<8>(0x20);
        }
        if self.rx_ready.val() {
            self.word.next = self.word.val() | bits::<8>(0x40);
        }
        if self.ticks.q.val().get_bit(23) {
            self.word.next = self.word.val() | bits::<8>(0x80);
        }
        self.shown.d.next = self.word.val() ^ self.inverted.val();
        drive!(self, shown.q => lights);
    }
}
