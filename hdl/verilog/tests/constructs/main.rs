//! Each construct of RustHDL in a block of its own: what is written for it, and that yosys proves it equal to what RustHDL's own writer
//! gives.

mod conditions;
mod connections;
mod expressions;
mod instances;
mod processes;
mod proof;
mod registers;
mod streams;

use std::path::Path;

use rust_hdl::prelude::*;
use viaduct_verilog::{verilog, Source};

/// What is written for a block, which is proved to be what RustHDL's writer gives.
fn proved<B: Block>(mut block: B) -> String {
    block.connect_all();
    let own = written(&block);
    let old = generate_verilog(&block);
    proof::equal(&old, &own);
    own
}

/// What is written for a block that is connected.
fn written<B: Block>(block: &B) -> String {
    let source = Source::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/constructs")).unwrap();
    verilog(block, "top", &source)
}

/// The lines of `text` without the spaces around them.
fn has(text: &str, lines: &[&str]) {
    let all: Vec<&str> = text.lines().map(str::trim).collect();
    for line in lines {
        assert!(all.contains(line), "`{line}` is not in\n{text}");
    }
}
