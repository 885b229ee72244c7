//! The block diagram of the NIC: blocks and streams as the design has them, rooms as the folders of hdl/src.

mod draw;
mod nets;
mod place;
mod route;
mod streams;

use anyhow::Result;
use rust_hdl::prelude::Block;
use viaduct_hdl::export::source;
use viaduct_hdl::nic::Nic;
use viaduct_verilog::Inside;

use streams::Design;

/// The picture as SVG.
///
/// # Errors
/// A block has no place, or no way is left for a stream; the message names it.
pub fn svg() -> Result<String> {
    // On the stack there is no room for it in a test's thread.
    let mut nic = Box::new(Nic::default());
    nic.connect_all();
    let inside = Inside::of(&*nic);
    let design = Design::new(&inside, source(), std::any::type_name::<Nic>())?;
    let sheet = nets::Sheet::new(&inside, &design, place::PLACES)?;
    draw::svg(&sheet)
}
