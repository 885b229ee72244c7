//! Makes the Verilog that is the design from a RustHDL block.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use rust_hdl::prelude::*;
use viaduct_verilog::Source;

use crate::board::Card;
use crate::nic::Nic;
use crate::pcie::PcieEndpoint;

/// The sources of this crate, from which a block's Verilog is made.
pub fn source() -> &'static Source {
    static SOURCE: OnceLock<Source> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        Source::read(&folder).unwrap_or_else(|error| panic!("{error}"))
    })
}

/// The Verilog of a block as `module top`, checked for open signals, loops and writes to inputs. `hdl/verilog` writes it.
///
/// It starts with `` `default_nettype none ``: a name that nothing declares is then an error in every tool and not a
/// silent one-bit wire.
///
/// # Panics
/// The block is not wired up, or uses something that has no Verilog; the message names it.
pub fn verilog<B: Block>(block: B) -> String {
    named(block, "top")
}

/// As [`verilog`], with another name for the module.
fn named<B: Block>(mut block: B, name: &str) -> String {
    check(&mut block);
    framed(&viaduct_verilog::verilog(&block, name, source()))
}

/// The Verilog that RustHDL's own writer gives. It is the reference of the proof that [`verilog`] means what the block says
/// (`viaduct-export equal`), and nothing is built from it.
///
/// # Panics
/// The block is not wired up; the message lists the signals.
pub fn reference<B: Block>(mut block: B) -> String {
    check(&mut block);
    framed(&generate_verilog_unchecked(&block))
}

/// The Verilog of the whole NIC, as [`verilog`] writes it.
///
/// # Panics
/// As [`verilog`], or the machine has no memory for the stack: see [`with_room`].
pub fn nic() -> String {
    with_room(|| verilog(Nic::default()))
}

/// The Verilog of the PCI Express endpoint, as [`verilog`] writes it: scrambled, with receiver detection.
///
/// # Panics
/// As [`verilog`].
pub fn pcie_endpoint() -> String {
    with_room(|| verilog(endpoint()))
}

/// What somebody else's link partner or board is put at: name of the module and of its file, and its Verilog.
///
/// # Panics
/// As [`verilog`].
pub fn products() -> Vec<(&'static str, String)> {
    vec![
        ("pcie_endpoint", with_room(|| named(endpoint(), "pcie_endpoint"))),
        ("card", with_room(|| named(Card::new(false, false, 0, 0), "card"))),
    ]
}

fn endpoint() -> PcieEndpoint {
    PcieEndpoint::new(false, false)
}

/// Runs `work`, which makes a whole NIC, where there is room for one: RustHDL makes a block on the stack with all that is in it, and that
/// is more than a thread of a test has.
///
/// # Panics
/// As `work` does, or the machine has no memory for the stack.
pub fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let ended = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work);
        thread.expect("there is memory for a stack of 64 MiB").join()
    });
    ended.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Wires a block up where it is: on the stack there is no room for another NIC.
fn check<B: Block>(block: &mut B) {
    block.connect_all();
    if let Err(error) = check_all(block) {
        panic!("{} is not wired up: {error:?}", std::any::type_name::<B>());
    }
}

/// The text with what stands round each design.
pub(crate) fn framed(text: &str) -> String {
    format!("`default_nettype none\n{text}\n`default_nettype wire\n")
}
