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
//! How: what several parities have in common is worked out once: see [`share`].
//!
//! Example: of 32 steps of a CRC's shift register, bit 0 of `to` is the parity of the bits of `from` that reach bit 0 in 32 steps.
//!
//! Tests: `tests/prims/parity_matrix.rs`, against the function.

use super::parity_shares::share;
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
    /// For each bit of `to` the bits of `from` that only its parity has.
    masks: [Constant<Bits<W>>; 32],
    /// For each bit of `to` the bits of `shared` that its parity has.
    uses: [Constant<Bits<64>>; 32],
    /// For each bit of `shared` the bits of `from` whose parity it is.
    shares: [Constant<Bits<W>>; 64],
    /// The parities of bits that several bits of `to` have in common.
    shared: Signal<Local, Bits<64>>,
}

impl<const W: usize> ParityMatrix<W> {
    /// The block of a linear function.
    pub fn new(linear: impl Fn(u64) -> u32) -> Self {
        let reaches = |from: &usize, to: usize| linear(1 << from) >> to & 1 == 1;
        let mask = |to| (0..W).filter(|from| reaches(from, to)).fold(0u64, |mask, from| mask | 1 << from);
        let mut masks = std::array::from_fn(mask);
        let (shares, uses) = share(&mut masks);
        Self {
            from: Default::default(),
            to: Default::default(),
            masks: masks.map(|mask| Constant::new(mask.to_bits())),
            uses: uses.map(|mask| Constant::new(mask.to_bits())),
            shares: std::array::from_fn(|at| Constant::new(shares.get(at).copied().unwrap_or(0).to_bits())),
            shared: Default::default(),
        }
    }
}

/// The parity of those bits of a signal that a mask has.
fn parity(signal: &str, mask: String) -> VerilogExpression {
    let signal = Box::new(VerilogExpression::Signal(signal.into()));
    let chosen =
        VerilogExpression::Binary(signal, VerilogOp::BitAnd, Box::new(VerilogExpression::Signal(mask)));
    VerilogExpression::Unary(VerilogOpUnary::Xor, paren(chosen))
}

fn paren(expression: VerilogExpression) -> Box<VerilogExpression> {
    Box::new(VerilogExpression::Paren(Box::new(expression)))
}

/// A signal of `width` bits becomes these bits, the lowest first.
fn assign(signal: &str, width: usize, bits: impl Iterator<Item = VerilogExpression>) -> VerilogStatement {
    let placed = bits.enumerate().map(|(place, bit)| {
        let wide = paren(VerilogExpression::Cast(paren(bit), width));
        let place = Box::new(VerilogExpression::Literal(VerilogLiteral::from(place as u32)));
        *paren(VerilogExpression::Binary(wide, VerilogOp::Shl, place))
    });
    let all = placed
        .reduce(|all, bit| VerilogExpression::Binary(Box::new(all), VerilogOp::BitOr, Box::new(bit)))
        .expect("a signal has bits");
    VerilogStatement::Assignment(VerilogExpression::Signal(signal.into()), all)
}

impl<const W: usize> Logic for ParityMatrix<W> {
    fn update(&mut self) {}

    fn connect(&mut self) {
        self.to.connect();
        self.shared.connect();
    }

    fn hdl(&self) -> Verilog {
        let shared = (0..64).map(|bit| parity("from", format!("shares${bit}")));
        let to = (0..32).map(|bit| {
            let own = paren(parity("from", format!("masks${bit}")));
            let shared = paren(parity("shared", format!("uses${bit}")));
            VerilogExpression::Binary(own, VerilogOp::BitXor, shared)
        });
        Verilog::Combinatorial(vec![assign("shared", 64, shared), assign("to", 32, to)])
    }
}
