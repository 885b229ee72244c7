//! Shows the same bits as another type: a bundle as a number, or a number as a bundle.
//!
//! ```text
//!   from: A ──► [ Cast ] ──► to: B
//! ```
//! Contract: `to` has the bits of `from`; both have equally many. A bundle's first field has the lowest bits. The dialect has no expression
//! for this, so it is a block; it is wires alone.
//!
//! Latency: none.
//!
//! Example: of a bundle `{low: Bits<2>, high: bool}` the number is `{high, low}`.
//!
//! Tests: `tests/prims/cast.rs`.

use rust_hdl::core::ast::{Verilog, VerilogExpression, VerilogStatement};
use rust_hdl::prelude::*;

/// See the module's description.
#[derive(LogicBlock)]
pub struct Cast<A: Synth, B: Synth> {
    /// The value to be seen as a `B`.
    pub from: Signal<In, A>,
    /// The bits of `from`, as a `B`.
    pub to: Signal<Out, B>,
}

impl<A: Synth, B: Synth> Default for Cast<A, B> {
    fn default() -> Self {
        assert_eq!(A::BITS, B::BITS, "Cast: both types have equally many bits");
        Self { from: Default::default(), to: Default::default() }
    }
}

impl<A: Synth, B: Synth> Logic for Cast<A, B> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
    }

    fn hdl(&self) -> Verilog {
        let signal = |name: &str| VerilogExpression::Signal(name.into());
        Verilog::Combinatorial(vec![VerilogStatement::Assignment(signal("to"), signal("from"))])
    }
}
