//! Delays pads by a fixed time, so that data and clock of an RGMII do not change together.
//!
//! ```text
//!  in_data ──►┌───────┐──► out_data
//!             └───────┘
//! ```
//! Contract: the block stands between a pad and its DDR cell, on either side; the time is in steps of 25 ps, 0 to 127.
//!
//! Latency: that time; none in Verilator, where the tests themselves move data and clock apart.
//!
//! How: ECP5's DELAYG. With 0 steps there is no cell.
//!
//! Example: `PadDelay::new(80)` makes 2 ns.
//!
//! Tests: none but the build for a board, because its effect shows on a board only.

use rust_hdl::prelude::*;

/// `W` pads, see the module's description.
#[derive(LogicBlock, Default)]
pub struct PadDelay<const W: usize> {
    /// The bits as they come: `Rgmii` joins them to a pad of the PHY's, or to `DdrOut`.
    pub in_data: Signal<In, Bits<W>>,
    /// The same bits, later by the fixed time.
    pub out_data: Signal<Out, Bits<W>>,
    _steps: u8,
}

impl<const W: usize> PadDelay<W> {
    /// With so many steps of 25 ps.
    ///
    /// # Panics
    /// More than 127.
    pub fn new(steps: u8) -> Self {
        assert!(steps < 128, "PadDelay: {steps} steps");
        Self { _steps: steps, ..Self::default() }
    }
}

impl<const W: usize> Logic for PadDelay<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.out_data.connect();
    }

    fn hdl(&self) -> Verilog {
        let steps = self._steps;
        let through = "assign out_data = in_data;\n";
        if steps == 0 {
            return Verilog::Wrapper(Wrapper { code: through.into(), cores: String::new() });
        }
        let cells: String = (0..W)
            .map(|n| {
                format!(
                    "DELAYG #(.DEL_MODE(\"USER_DEFINED\"), .DEL_VALUE({steps})) cell_{n}(.A(in_data[{n}]), .Z(out_data[{n}]));\n"
                )
            })
            .collect();
        Verilog::Wrapper(Wrapper {
            code: format!("`ifdef VERILATOR\n{through}`else\n{cells}`endif\n"),
            cores: "`ifndef VERILATOR\n`ifndef CELL_DELAYG\n`define CELL_DELAYG\n(* blackbox *)\n\
                    module DELAYG(A, Z);\ninput A;\noutput Z;\nparameter DEL_MODE = \"USER_DEFINED\";\n\
                    parameter DEL_VALUE = 0;\nendmodule\n`endif\n`endif\n"
                .into(),
        })
    }
}
