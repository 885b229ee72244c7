//! The block diagram of the NIC: blocks and streams as the design has them, rooms as the folders of hdl/src.

mod draw;
mod nets;
mod place;
mod route;
mod streams;

use anyhow::Result;
use rust_hdl::prelude::Block;
use viaduct_hdl::export::{source, with_room};
use viaduct_hdl::nic::Nic;
use viaduct_verilog::Inside;

use streams::Design;

/// The picture as SVG.
///
/// # Errors
/// A block has no place, or no way is left for a stream; the message names it.
pub fn svg() -> Result<String> {
    let inside = inside();
    draw::svg(&nets::Sheet::new(&inside, &design(&inside)?, place::PLACES)?)
}

fn inside() -> Inside {
    with_room(|| {
        let mut nic = Nic::default();
        nic.connect_all();
        Inside::of(&nic)
    })
}

fn design(inside: &Inside) -> Result<Design<'_>> {
    Design::new(inside, source(), std::any::type_name::<Nic>())
}
