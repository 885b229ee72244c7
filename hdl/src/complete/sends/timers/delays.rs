//! How long a receiver-not-ready answer asks to wait, by its timer code.
//!
//! ```text
//!   code ──►┌────────┐──► ticks
//!           └────────┘
//! ```
//! Contract: `ticks` of 1.024 us, rounded up, are the time of `viaduct_spec::wire::RNR_DELAY`.
//!
//! Latency: 0 cycles.
//!
//! Example: code 1 asks for 10 us: `ticks` is 10.
//!
//! Tests: with the timers, `tests/complete/timers.rs`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::RNR_DELAY;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Delays {
    /// Timer code: low 5 bits of the answer's syndrome; [`Timers`](super::Timers) drives it.
    pub code: Signal<In, Bits<5>>,
    /// How long the code asks to wait, in ticks of 1.024 us.
    pub ticks: Signal<Out, Bits<20>>,
    rows: ROM<Bits<20>, 5>,
}

impl Default for Delays {
    fn default() -> Self {
        let ticks = RNR_DELAY.iter().map(|delay| (u64::from(*delay) * 1000).div_ceil(1024).to_bits());
        Self { code: Signal::default(), ticks: Signal::default(), rows: ROM::from(ticks) }
    }
}

impl Logic for Delays {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, code => rows.address; rows.data => ticks);
    }
}
