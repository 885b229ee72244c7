//! From a RustHDL block to the Verilog that is the design.

use rust_hdl::prelude::*;

/// The Verilog of a block as `module top`, checked for open signals, loops and writes to inputs.
///
/// It starts with `` `default_nettype none ``: a name that RustHDL pasted without declaring it (a constant's path
/// used as a value, say) is then an error in every tool and not a silent one-bit wire.
///
/// # Panics
/// The block is not wired up; the message lists the signals.
pub fn verilog<B: Block>(mut block: B) -> String {
    block.connect_all();
    if let Err(error) = check_all(&block) {
        panic!("{} is not wired up: {error:?}", std::any::type_name::<B>());
    }
    format!("`default_nettype none\n{}\n`default_nettype wire\n", generate_verilog_unchecked(&block))
}
