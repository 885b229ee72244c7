//! Turns a number into its bytes in the order of the wire, and back.
//!
//! ```text
//!   from ──► [ WireOrder ] ──► to
//! ```
//! Contract: `to` has the bytes of `from` in the opposite order. The most significant byte of a number is the first on the wire, and the
//! first byte of a beat lies in bits 7:0. Like [`Cast`](super::Cast) the block is wires alone.
//!
//! Latency: none.
//!
//! Example: the PSN 0x010203 becomes 0x030201, so its first byte on the wire is 0x01.
//!
//! Tests: `tests/prims/cast.rs`.

use rust_hdl::core::ast::{Verilog, VerilogExpression, VerilogLiteral, VerilogOp, VerilogStatement};
use rust_hdl::prelude::*;

/// See the module's description. `W` is the number's width in bits, a multiple of 8.
#[derive(LogicBlock)]
pub struct WireOrder<const W: usize> {
    /// The number, or the bytes that are one.
    pub from: Signal<In, Bits<W>>,
    /// Its bytes in the opposite order.
    pub to: Signal<Out, Bits<W>>,
}

impl<const W: usize> Default for WireOrder<W> {
    fn default() -> Self {
        assert!(W > 0 && W % 8 == 0, "WireOrder: whole bytes");
        Self { from: Default::default(), to: Default::default() }
    }
}

/// Byte `place` of `from`, at the place that it has in `to`.
fn byte(place: usize, width: usize) -> VerilogExpression {
    let literal = |number: usize| VerilogExpression::Literal(VerilogLiteral::from(number as u32));
    let byte = VerilogExpression::Slice(
        Box::new(VerilogExpression::Signal("from".into())),
        8,
        Box::new(literal(8 * place)),
    );
    let wide = VerilogExpression::Paren(Box::new(VerilogExpression::Cast(Box::new(byte), width)));
    let shifted =
        VerilogExpression::Binary(Box::new(wide), VerilogOp::Shl, Box::new(literal(width - 8 - 8 * place)));
    VerilogExpression::Paren(Box::new(shifted))
}

impl<const W: usize> Logic for WireOrder<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
    }

    fn hdl(&self) -> Verilog {
        let bytes = (1..W / 8).fold(byte(0, W), |all, place| {
            VerilogExpression::Binary(Box::new(all), VerilogOp::BitOr, Box::new(byte(place, W)))
        });
        Verilog::Combinatorial(vec![VerilogStatement::Assignment(
            VerilogExpression::Signal("to".into()),
            bytes,
        )])
    }
}
