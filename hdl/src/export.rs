//! From a RustHDL block to the Verilog that is the design.

use std::path::Path;
use std::sync::OnceLock;

use rust_hdl::prelude::*;
use viaduct_verilog::Source;

/// What the sources of this crate say of its blocks.
pub fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        Source::read(&folder).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The Verilog of a block as `module top`, checked for open signals, loops and writes to inputs.
///
/// It starts with `` `default_nettype none ``: a name that nothing declares is then an error in every tool and not a
/// silent one-bit wire.
///
/// # Panics
/// The block is not wired up; the message lists the signals.
pub fn verilog<B: Block>(mut block: B) -> String {
    check(&mut block);
    framed(&generate_verilog_unchecked(&block))
}

/// The same, written to be read. It takes the place of [`verilog`] when all that reads that text reads this one.
///
/// # Panics
/// The block is not wired up, or says what has no Verilog; the message names it.
pub fn readable<B: Block>(mut block: B) -> String {
    check(&mut block);
    framed(&viaduct_verilog::verilog(&block, "top", source()))
}

/// Wires a block up where it is: on the stack there is no room for another NIC.
fn check<B: Block>(block: &mut B) {
    block.connect_all();
    if let Err(error) = check_all(block) {
        panic!("{} is not wired up: {error:?}", std::any::type_name::<B>());
    }
}

fn framed(text: &str) -> String {
    format!("`default_nettype none\n{text}\n`default_nettype wire\n")
}
