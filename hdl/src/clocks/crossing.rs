//! Bits from another clock domain: two flip-flops in a row for each.
//!
//! ```text
//!  in_data (any clock) ──►┌──────────┐──► out_data (clock)
//!                         │ Crossing │
//!                         └──────────┘
//! ```
//! Contract: `in_data` comes straight from flip-flops. A bit that changes is seen 2 or 3 edges of `clock` later, each bit for itself. So of
//! several bits only one may change at a time (a Gray code), or their order must not matter.
//!
//! Latency: 2 to 3 cycles.
//!
//! How: a change that comes with the clock's edge may be seen at that edge or at the next. To keep users honest, Verilator takes each bit
//! that has changed since the edge before as it was or as it is, at random. Each crossing draws from a stream of its own, which begins with
//! what the seed gives at power-up; Verilator's own stream is shared with models of other threads.
//!
//! Example: a bit rises between two edges of `clock`: `out_data` has it behind the second edge, or behind the third.
//!
//! Tests: `tests/mac/clocks.rs`.

use rust_hdl::prelude::*;

/// `W` bits, at most 32: see the module's description.
#[derive(LogicBlock, Default)]
pub struct Crossing<const W: usize> {
    /// Rising edge; the clock of `out_data`.
    pub clock: Signal<In, Clock>,
    /// The bits, from flip-flops of any clock.
    pub in_data: Signal<In, Bits<W>>,
    /// The same bits, in the domain of `clock`.
    pub out_data: Signal<Out, Bits<W>>,
}

impl<const W: usize> Logic for Crossing<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.out_data.connect();
    }

    fn hdl(&self) -> Verilog {
        assert!(W <= 32, "Crossing: {W} bits at once");
        Verilog::Custom(format!(
            "\
reg [{high}:0] first;
`ifdef VERILATOR
reg [{high}:0] before_edge;
reg [31:0] drawn;

// Xorshift (Marsaglia, 2003), which would stay at 0.
function [31:0] draw(input [31:0] last);
   begin
      draw = last == 0 ? 1 : last;
      draw = draw ^ (draw << 13);
      draw = draw ^ (draw >> 17);
      draw = draw ^ (draw << 5);
   end
endfunction
`endif

initial begin
   first = 0;
   out_data = 0;
`ifdef VERILATOR
   before_edge = 0;
`endif
end

always @(posedge clock) begin
   out_data <= first;
`ifdef VERILATOR
   before_edge <= in_data;
   drawn <= draw(drawn);
   first <= in_data ^ ((in_data ^ before_edge) & drawn[{high}:0]);
`else
   first <= in_data;
`endif
end
",
            high = W - 1
        ))
    }
}
