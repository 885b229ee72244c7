//! Writes a RustHDL block as Verilog that people can read.
//!
//! RustHDL's own writer makes a module of each instance and of each register, and one process of each block's code. This writer
//! makes a module of each *type* of block, with registers inside it and each signal driven in one place; it brings the
//! documentation of block, ports and signals with it.
//!
//! ```text
//!   block ──► tree ──► lower ──► drive ──► module ──► print ──► Verilog
//!                        ▲                              ▲
//!   source (types, documentation) ──────────────────────┘
//! ```
//! For a block that cannot be written so, the writer panics and names the expression; the block's author has to mend it.

mod build;
mod connections;
mod drive;
mod emit;
mod expression;
mod flip_flop;
mod loops;
mod lower;
mod module;
mod name;
mod part;
mod print;
mod side_by_side;
mod source;
mod statement;
mod tree;

use rust_hdl::prelude::Block;

pub use connections::{Connection, End, Inside, Part, Port};
pub use name::{is_keyword, port, with_other_words};
pub use part::part;
pub use source::{Described, Field, Source};

/// The Verilog of `block`, whose outermost module is called `name`. `source` describes the block's crate.
///
/// # Panics
/// The block uses what has no Verilog, or has signals whose names become the same; the message names them.
pub fn verilog<B: Block>(block: &B, name: &str, source: &Source) -> String {
    let instance = tree::Instance::of(block);
    let type_name = std::any::type_name::<B>();
    let described = source.at(type_name);
    let mut emitter = emit::Emitter::new(source);
    let arguments = described.map(|block| emitter.arguments(block, &source::arguments(type_name)));
    let (top, _) = emitter.module(&instance, name, described, &arguments.unwrap_or_default());
    emitter.finish(&top)
}
