//! A linear function over GF(2): each bit of the result is the parity of some bits of the word.
//!
//! ```text
//!   from ──► [ ParityMatrix ] ──► to
//! ```
//! Contract: `to` is `f(from)`, for the linear function `f` that the block was made with: `f(a ^ b) = f(a) ^ f(b)`. So `f` is known by its
//! values for the words with one bit set: bit `k` of `to` is the parity of those bits of `from` whose word `f` turns into one with bit `k`.
//!
//! Latency: none, no state.
//!
//! Example: of 32 steps of a CRC's shift register, bit 0 of `to` is the parity of the bits of `from` that reach bit 0 in 32 steps.
//!
//! Tests: `tests/prims/parity_matrix.rs`, against the function.

use rust_hdl::core::ast::{
    Verilog, VerilogExpression, VerilogLiteral, VerilogOp, VerilogOpUnary, VerilogStatement,
};
use rust_hdl::prelude::*;

/// See the module's description. `W` is the word's width in bits, at most 64.
#[derive(LogicBlock)]
pub struct ParityMatrix<const W: usize> {
    /// The word.
    pub from: Signal<In, Bits<W>>,
    /// The function's value for the word.
    pub to: Signal<Out, Bits<32>>,
    /// For each bit of `to` the bits of `from` whose parity it is.
    masks: [Constant<Bits<W>>; 32],
}

impl<const W: usize> ParityMatrix<W> {
    /// The block of a linear function.
    pub fn new(linear: impl Fn(u64) -> u32) -> Self {
        let reaches = |from: &usize, to: usize| linear(1 << from) >> to & 1 == 1;
        let mask = |to| (0..W).filter(|from| reaches(from, to)).fold(0u64, |mask, from| mask | 1 << from);
        Self {
            from: Default::default(),
            to: Default::default(),
            masks: std::array::from_fn(|to| Constant::new(mask(to).to_bits())),
        }
    }

    /// Bit `bit` of `to`, in its place.
    fn parity(&self, bit: usize) -> VerilogExpression {
        let boxed = |expression| Box::new(VerilogExpression::Paren(Box::new(expression)));
        let from = Box::new(VerilogExpression::Signal("from".into()));
        let mask = Box::new(VerilogExpression::Signal(format!("masks${bit}")));
        let chosen = VerilogExpression::Binary(from, VerilogOp::BitAnd, mask);
        let parity = VerilogExpression::Unary(VerilogOpUnary::Xor, boxed(chosen));
        let wide = boxed(VerilogExpression::Cast(boxed(parity), 32));
        let place = Box::new(VerilogExpression::Literal(VerilogLiteral::from(bit as u32)));
        *boxed(VerilogExpression::Binary(wide, VerilogOp::Shl, place))
    }
}

impl<const W: usize> Logic for ParityMatrix<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
    }

    fn hdl(&self) -> Verilog {
        let all = (1..32).fold(self.parity(0), |all, bit| {
            VerilogExpression::Binary(Box::new(all), VerilogOp::BitOr, Box::new(self.parity(bit)))
        });
        Verilog::Combinatorial(vec![VerilogStatement::Assignment(
            VerilogExpression::Signal("to".into()),
            all,
        )])
    }
}
