//! Turns a beat of a frame round, so that the bytes of a number on the wire are a number.
//!
//! ```text
//!  beat ──►[ BigEndian ]──► number
//! ```
//! Contract: `beat` has its first byte in bits 7:0, `number` in bits 63:56. Numbers on the wire are big-endian, so what is a number there
//! is one in a part of `number`.
//!
//! Example: the first two bytes of a beat are 12 b7, a UDP port: bits 63:48 of `number` are 12b7, which is 4791.
//!
//! Latency: none; these are wires. Tests: with the whole, `tests/receive/parse/`.

use rust_hdl::core::ast::{Verilog, VerilogExpression, VerilogStatement};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct BigEndian {
    /// Eight bytes of a frame, the first in bits 7:0.
    pub beat: Signal<In, Bits<64>>,
    /// The same bytes, the first in bits 63:56.
    pub number: Signal<Out, Bits<64>>,
}

impl Logic for BigEndian {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.number.connect();
    }

    fn hdl(&self) -> Verilog {
        let signal = |name: &str| VerilogExpression::Signal(name.into());
        let place = |byte: usize| VerilogExpression::Literal((8 * byte).into());
        let byte = |from: usize| VerilogStatement::SliceAssignment {
            base: signal("number"),
            width: 8,
            offset: place(7 - from),
            replacement: VerilogExpression::Slice(Box::new(signal("beat")), 8, Box::new(place(from))),
        };
        Verilog::Combinatorial((0..8).map(byte).collect())
    }
}
