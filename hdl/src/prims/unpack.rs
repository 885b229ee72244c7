//! Shows the lowest bits of a value as a bundle.
//!
//! ```text
//!   from: A ──► [ Unpack ] ──► to: B
//! ```
//! Contract: `to` has the lowest bits of `from`, which has at least as many. Where both have equally many, [`Cast`](super::Cast) says so.
//! Like that block, this one is wires alone.
//!
//! Latency: none.
//!
//! Example: of the 212 bits of a commit, a `ModerationRow` is the lowest 64; its `holdoff` is bits 14:0.
//!
//! Tests: `tests/prims/cast.rs`.

use rust_hdl::core::ast::{Verilog, VerilogExpression, VerilogLiteral, VerilogStatement};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Unpack<A: Synth, B: Synth> {
    /// The value whose lowest bits are to be seen as a `B`.
    pub from: Signal<In, A>,
    /// The lowest bits of `from`, as a `B`.
    pub to: Signal<Out, B>,
}

impl<A: Synth, B: Synth> Default for Unpack<A, B> {
    fn default() -> Self {
        assert!(A::BITS >= B::BITS, "Unpack: the value has at least as many bits as the bundle");
        Self { from: Default::default(), to: Default::default() }
    }
}

impl<A: Synth, B: Synth> Logic for Unpack<A, B> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
    }

    fn hdl(&self) -> Verilog {
        let signal = |name: &str| VerilogExpression::Signal(name.into());
        let lowest = VerilogExpression::Literal(VerilogLiteral::from(0_u32));
        let low = VerilogExpression::Slice(Box::new(signal("from")), B::BITS, Box::new(lowest));
        Verilog::Combinatorial(vec![VerilogStatement::Assignment(signal("to"), low)])
    }
}
