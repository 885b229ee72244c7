//! RustHDL's flip-flop: in RustHDL it is a block of its own, here it is a register of the block that uses it.

use num_bigint::BigUint;
use rust_hdl::core::ast::Verilog;

use crate::tree::Instance;

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// The field of the block that holds it.
    pub name: String,
    /// Bits.
    pub width: usize,
    /// What it holds at power-up.
    pub initial: BigUint,
}

/// The register that `block` is, if it is a flip-flop: `d`, `q` and `clock`, and the text that RustHDL writes for it.
pub fn register(block: &Instance) -> Option<Register> {
    let Verilog::Custom(text) = &block.code else { return None };
    let names: Vec<&str> = block.wires.iter().map(|wire| wire.name.as_str()).collect();
    if names != ["d", "q", "clock"] {
        return None;
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = words.strip_prefix("initial begin q = ")?;
    let (initial, rest) = rest.split_once(';')?;
    if rest != " end always @(posedge clock) begin q <= d; end" {
        return None;
    }
    let (_, digits) = initial.split_once("'h")?;
    let initial = BigUint::parse_bytes(digits.as_bytes(), 16)?;
    Some(Register { name: block.name.clone(), width: block.wires[0].width, initial })
}
