//! How long a receiver-not-ready answer asks to wait, by its timer code.
//!
//! ```text
//!   code ──►┌────────┐──► ticks
//!           └────────┘
//! ```
//! Contract: `ticks` of 1.024 us, rounded up, are the time of `viaduct_spec::wire::RNR_DELAY`.
//!
//! Latency: 0.
//!
//! Tests: with the timers, `tests/complete/timers.rs`.

use rust_hdl::prelude::*;
use viaduct_spec::wire::RNR_DELAY;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Delays {
    /// Low 5 bits of the syndrome.
    pub code: Signal<In, Bits<5>>,
    /// Ticks of 1.024 us.
    pub ticks: Signal<Out, Bits<20>>,
}

impl Logic for Delays {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.ticks.connect();
    }

    fn hdl(&self) -> Verilog {
        let rows: String = RNR_DELAY
            .iter()
            .enumerate()
            .map(|(code, delay)| {
                let ticks = (u64::from(*delay) * 1000).div_ceil(1024);
                format!("      5'd{code}: ticks = 20'd{ticks};\n")
            })
            .collect();
        Verilog::Custom(format!("always @(*)\n   case (code)\n{rows}   endcase\n"))
    }
}
