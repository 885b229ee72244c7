//! Keeps built models under `target/verilated/`, by the hash of what they were made from.
//!
//! Comments do not count: a model of the same Verilog with other comments is the same. They count only for models that count lines, because
//! a count names its line.
//!
//! Several test processes may want the same model at once: the first to take the lock builds it in a folder of its
//! own and renames that into place; the others wait and find it there. A build that dies leaves nothing under the
//! final name.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, FlockOperation};
use sha2::{Digest, Sha256};

use crate::mutant::{self, Mutant};
use crate::{coverage, port, tool, Error, Options, Port, Result};

/// The folder all models are kept in: cargo's target folder, found from the environment or the running program.
fn root() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map(PathBuf::from)
        .or_else(|| {
            let program = std::env::current_exe().ok()?;
            let target = program.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists())?;
            Some(target.to_owned())
        })
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    target.join("verilated")
}

/// A short name for everything in `parts`.
fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize()[..12].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The lines of a text that Verilator makes something of: all but comments that stand in a line of their own and are not for a tool.
fn without_comments(verilog: &str) -> String {
    let is_comment = |line: &str| line.trim_start().starts_with("//") && !line.contains("verilator");
    verilog.lines().filter(|line| !is_comment(line)).flat_map(|line| [line, "\n"]).collect()
}

/// `root/key`, built by `build` if it is not there yet.
fn built(key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let root = root();
    let done = root.join(key);
    if done.exists() {
        return Ok(done);
    }
    fs::create_dir_all(&root).map_err(Error::io(&root))?;
    let lock_path = root.join(format!("{key}.lock"));
    let lock = File::create(&lock_path).map_err(Error::io(&lock_path))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| Error::io(&lock_path)(error.into()))?;
    if !done.exists() {
        let work = root.join(format!("{key}.part"));
        if work.exists() {
            fs::remove_dir_all(&work).map_err(Error::io(&work))?;
        }
        fs::create_dir_all(&work).map_err(Error::io(&work))?;
        build(&work)?;
        fs::rename(&work, &done).map_err(Error::io(&done))?;
    }
    Ok(done)
}

/// The folder of a compiled model, a shared and a static library, with its Verilog beside them, and its ports.
fn compiled(verilog: &str, options: &Options) -> Result<(PathBuf, Vec<Port>)> {
    let mut ports = port::parse(verilog, &options.name)?;
    let mutated = mutant::take(&mut ports);
    let version = tool::verilator_version()?;
    let trace = if options.trace { "fst" } else { "" };
    let coverage = if options.coverage { "coverage" } else { "" };
    let runtime = built(&key(&["runtime and header", version, trace, coverage]), |dir| {
        tool::compile_runtime(dir, options)
    })?;
    let counters = match options.coverage {
        true => coverage::arguments(verilog).join(" ") + &coverage::configuration(verilog),
        false => String::new(),
    };
    let text = if options.coverage { verilog.to_owned() } else { without_comments(verilog) };
    let key = key(&[
        version,
        trace,
        &counters,
        &options.clock,
        &options.prefix,
        &options.optimise,
        &tool::model_compiler(options),
        &crate::shim::cpp(&ports, options, mutated),
        &text,
    ]);
    let dir = built(&key, |dir| {
        let shim = crate::shim::cpp(&ports, options, mutated);
        tool::verilate(verilog, dir, &shim, options)?;
        tool::compile_model(dir, &runtime, options)
    })?;
    Ok((dir, ports))
}

/// The shared library of a model, or of what stands for it while a mutant is chosen, and its ports.
pub(crate) fn model(verilog: &str, options: &Options) -> Result<(PathBuf, Vec<Port>)> {
    let mutated = match Mutant::chosen()? {
        Some(mutant) => mutant.instead_of(verilog, &options.name)?,
        None => None,
    };
    let (dir, ports) = compiled(mutated.as_deref().unwrap_or(verilog), options)?;
    Ok((dir.join("model.so"), ports))
}

/// The folder of a model's static library and its ports.
pub(crate) fn archive(verilog: &str, options: &Options) -> Result<(PathBuf, Vec<Port>)> {
    compiled(verilog, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_left_out_and_what_tells_a_tool_something_is_not() {
        let text = "// What it is.\nmodule top (\n    // A port.\n    input  wire a // b\n);\n// verilator lint_off WIDTH\nendmodule";
        let kept = "module top (\n    input  wire a // b\n);\n// verilator lint_off WIDTH\nendmodule\n";
        assert_eq!(without_comments(text), kept);
        assert_eq!(without_comments(kept), kept);
    }

    #[test]
    fn another_comment_asks_for_the_same_model_and_another_statement_does_not() {
        let model = |comment: &str, value: u8| {
            let text = format!("// {comment}\nmodule top (\n    output wire [7:0] q\n);\n    assign q = 8'd{value};\nendmodule\n");
            compiled(&text, &Options::named("comment")).unwrap().0
        };
        assert_eq!(model("one", 1), model("two", 1));
        assert_ne!(model("one", 1), model("one", 2));
    }
}
