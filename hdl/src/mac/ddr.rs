//! Pins that carry two bits a clock cycle.
//!
//! ```text
//!            ┌───────┐──► rise                 rise ──►┌────────┐
//!    pad ──►│ DdrIn │                                │ DdrOut │──► pad
//!            └───────┘──► fall                 fall ──►└────────┘
//! ```
//! Contract: `DdrIn` gives what was on the pads at a rising edge and at the falling edge behind it, both at the next rising edge. `DdrOut`
//! shows `rise` from a rising edge on and `fall` from the falling edge behind it.
//!
//! Latency: 1 cycle.
//!
//! How: in synthesis the blocks are ECP5's cells IDDRX1F and ODDRX1F, which sit beside the pins; in Verilator they do what these cells do,
//! without the delays. The cells must be connected to pins and to nothing else.
//!
//! Example: RGMII sends the byte 0xA5 as `rise` 5 and `fall` 0xA: low half at the rising edge, high half at the falling one.
//!
//! Tests: with the MAC, `tests/mac/`.

use rust_hdl::prelude::*;

/// What a synthesiser must know of a cell. The guard is there because each instance brings its cells.
fn cell(name: &str, ports: &str, declarations: &str) -> String {
    format!(
        "`ifndef VERILATOR\n`ifndef CELL_{name}\n`define CELL_{name}\n(* blackbox *)\nmodule {name}({ports});\n\
         {declarations}\nendmodule\n`endif\n`endif\n"
    )
}

/// `W` pads in, see the module's description.
#[derive(LogicBlock, Default)]
pub struct DdrIn<const W: usize> {
    /// The pads are sampled at both edges.
    pub clock: Signal<In, Clock>,
    /// The pads, from `PadDelay`.
    pub pad: Signal<In, Bits<W>>,
    /// The pads as they were at the rising edge before the last.
    pub rise: Signal<Out, Bits<W>>,
    /// The pads as they were at the falling edge before the last rising one.
    pub fall: Signal<Out, Bits<W>>,
}

impl<const W: usize> Logic for DdrIn<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.rise.connect();
        self.fall.connect();
    }

    fn hdl(&self) -> Verilog {
        let high = W - 1;
        let cells: String = (0..W)
            .map(|n| format!("IDDRX1F cell_{n}(.D(pad[{n}]), .SCLK(clock), .RST(1'b0), .Q0(rise[{n}]), .Q1(fall[{n}]));\n"))
            .collect();
        Verilog::Wrapper(Wrapper {
            code: format!(
                "\
`ifdef VERILATOR
reg [{high}:0] rose, fell, rise_shown, fall_shown;
always @(posedge clock) begin
   rose <= pad;
   rise_shown <= rose;
   fall_shown <= fell;
end
always @(negedge clock) fell <= pad;
assign rise = rise_shown;
assign fall = fall_shown;
`else
{cells}`endif
"
            ),
            cores: cell(
                "IDDRX1F",
                "D, SCLK, RST, Q0, Q1",
                "input D, SCLK, RST;\noutput Q0, Q1;\nparameter GSR = \"ENABLED\";",
            ),
        })
    }
}

/// `W` pads out, see the module's description.
#[derive(LogicBlock, Default)]
pub struct DdrOut<const W: usize> {
    /// The pads change at both edges.
    pub clock: Signal<In, Clock>,
    /// What the pads show from the next rising edge on; `Rgmii` drives this and `fall`.
    pub rise: Signal<In, Bits<W>>,
    /// What the pads show from the falling edge behind that rising edge on.
    pub fall: Signal<In, Bits<W>>,
    /// The pads.
    pub pad: Signal<Out, Bits<W>>,
}

impl<const W: usize> Logic for DdrOut<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.pad.connect();
    }

    fn hdl(&self) -> Verilog {
        let high = W - 1;
        let cells: String = (0..W)
            .map(|n| format!("ODDRX1F cell_{n}(.D0(rise[{n}]), .D1(fall[{n}]), .SCLK(clock), .RST(1'b0), .Q(pad[{n}]));\n"))
            .collect();
        Verilog::Wrapper(Wrapper {
            code: format!(
                "\
`ifdef VERILATOR
reg [{high}:0] rising, falling;
always @(posedge clock) begin
   rising <= rise;
   falling <= fall;
end
assign pad = clock ? rising : falling;
`else
{cells}`endif
"
            ),
            cores: cell(
                "ODDRX1F",
                "D0, D1, SCLK, RST, Q",
                "input D0, D1, SCLK, RST;\noutput Q;\nparameter GSR = \"ENABLED\";",
            ),
        })
    }
}
