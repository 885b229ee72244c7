//! Makes 125 MHz for Ethernet and 100 MHz for the NIC's core from a board's oscillator.
//!
//! ```text
//!  clock_in ──►┌─────┐──► clock_out
//!              │ Pll │──► core_clock_out
//!              └─────┘──► locked
//! ```
//! Contract: `clock_out` and `core_clock_out` are right while `locked` is high.
//!
//! Latency: none; clocks.
//!
//! How: ECP5's EHXPLLL with feedback from its own output: the oscillator is divided to 25 MHz, times five. Its own oscillator then runs at
//! 500 MHz (400 to 800 are allowed), of which `clock_out` is a fourth and `core_clock_out` a fifth. In Verilator both are the input, locked
//! from the third edge on.
//!
//! Example: 100 MHz are divided by 4 to 25 MHz and multiplied by 5.
//!
//! Tests: none but the build for a board, and a board.

use rust_hdl::prelude::*;

/// What clock a board has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oscillator {
    /// 100 MHz.
    #[default]
    Mhz100,
    /// 25 MHz.
    Mhz25,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Pll {
    /// The board's oscillator.
    pub clock_in: Signal<In, Clock>,
    /// The clock of 125 MHz.
    pub clock_out: Signal<Out, Clock>,
    /// The clock of 100 MHz.
    pub core_clock_out: Signal<Out, Clock>,
    /// Both clocks are right; [`Start`](super::Start) listens.
    pub locked: Signal<Out, bool>,
    _oscillator: Oscillator,
}

impl Pll {
    /// For a board with this oscillator.
    pub fn new(oscillator: Oscillator) -> Self {
        Self { _oscillator: oscillator, ..Self::default() }
    }
}

impl Logic for Pll {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.clock_out.connect();
        self.core_clock_out.connect();
        self.locked.connect();
    }

    fn hdl(&self) -> Verilog {
        let divide = match self._oscillator {
            Oscillator::Mhz100 => 4,
            Oscillator::Mhz25 => 1,
        };
        Verilog::Wrapper(Wrapper {
            code: format!(
                "\
`ifdef VERILATOR
reg [1:0] edges;
initial edges = 0;
always @(posedge clock_in) if (!edges[1]) edges <= edges + 1;
assign clock_out = clock_in;
assign core_clock_out = clock_in;
assign locked = edges[1];
`else
EHXPLLL #(
   .PLLRST_ENA(\"DISABLED\"), .INTFB_WAKE(\"DISABLED\"), .STDBY_ENABLE(\"DISABLED\"), .DPHASE_SOURCE(\"DISABLED\"),
   .OUTDIVIDER_MUXA(\"DIVA\"), .OUTDIVIDER_MUXB(\"DIVB\"), .OUTDIVIDER_MUXC(\"DIVC\"), .OUTDIVIDER_MUXD(\"DIVD\"),
   .CLKI_DIV({divide}), .CLKFB_DIV(5), .FEEDBK_PATH(\"CLKOP\"),
   .CLKOP_ENABLE(\"ENABLED\"), .CLKOP_DIV(4), .CLKOP_CPHASE(3), .CLKOP_FPHASE(0),
   .CLKOS_ENABLE(\"ENABLED\"), .CLKOS_DIV(5), .CLKOS_CPHASE(4), .CLKOS_FPHASE(0)
) cell_0 (
   .CLKI(clock_in), .CLKFB(clock_out), .CLKOP(clock_out), .CLKOS(core_clock_out), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
   .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
   .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0)
);
`endif
"
            ),
            cores: "`ifndef VERILATOR\n(* blackbox *)\nmodule EHXPLLL(CLKI, CLKFB, CLKOP, CLKOS, LOCK, RST, STDBY, PHASESEL0, \
                    PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, PLLWAKESYNC, ENCLKOP);\n\
                    input CLKI, CLKFB, RST, STDBY, PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG, \
                    PLLWAKESYNC, ENCLKOP;\noutput CLKOP, CLKOS, LOCK;\n\
                    parameter PLLRST_ENA = \"\", INTFB_WAKE = \"\", STDBY_ENABLE = \"\", DPHASE_SOURCE = \"\", \
                    OUTDIVIDER_MUXA = \"\", OUTDIVIDER_MUXB = \"\", OUTDIVIDER_MUXC = \"\", OUTDIVIDER_MUXD = \"\", \
                    FEEDBK_PATH = \"\", CLKOP_ENABLE = \"\", CLKOS_ENABLE = \"\";\n\
                    parameter CLKI_DIV = 1, CLKFB_DIV = 1, CLKOP_DIV = 1, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0;\n\
                    parameter CLKOS_DIV = 1, CLKOS_CPHASE = 0, CLKOS_FPHASE = 0;\n\
                    endmodule\n`endif\n"
                .into(),
        })
    }
}
