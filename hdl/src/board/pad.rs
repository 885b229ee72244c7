//! A pad that a board drives or listens to.
//!
//! ```text
//!  enable, out_data ──►┌─────┐◄──► pad
//!          in_data ◄───│ Pad │
//!                      └─────┘
//! ```
//! Contract: the pad shows `out_data` while `enable` is high, and is left alone otherwise; `in_data` is what is on it.
//!
//! Latency: none.
//!
//! How: in synthesis the block is ECP5's cell BB; in Verilator it does what that cell does. The pad must be connected to a pin and to
//! nothing else.
//!
//! Example: `enable` is low and the PHY drives 1: `in_data` is 1.
//!
//! Tests: none but the build for a board; `Mdio`, which drives it, has tests of its own.

use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Pad {
    /// The pin; this block or the PHY drives it.
    pub pad: Signal<InOut, Bits<1>>,
    /// The pad shows `out_data`; `Mdio` drives this and `out_data`, through `Echo`.
    pub enable: Signal<In, bool>,
    /// The bit that the pad is to show.
    pub out_data: Signal<In, bool>,
    /// The bit that is on the pad, for `Mdio`.
    pub in_data: Signal<Out, bool>,
}

impl Logic for Pad {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.pad.connect();
        self.in_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Wrapper(Wrapper {
            code: "\
`ifdef VERILATOR
assign pad = enable ? out_data : 1'bz;
assign in_data = pad;
`else
BB cell_0(.B(pad), .I(out_data), .T(~enable), .O(in_data));
`endif
"
            .into(),
            cores: "`ifndef VERILATOR\n`ifndef CELL_BB\n`define CELL_BB\n(* blackbox *)\n\
                    module BB(B, I, T, O);\ninout B;\ninput I, T;\noutput O;\nendmodule\n`endif\n`endif\n"
                .into(),
        })
    }
}
