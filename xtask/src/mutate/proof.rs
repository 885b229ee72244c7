//! Mutants that are no fault: proved by yosys, or with a reason in hdl/mutants/equivalent.txt.

use super::mutation::Mutation;
use super::verilog::Flat;
use anyhow::{ensure, Context, Result};
use std::collections::BTreeMap;

/// Where the reasons are.
pub const FILE: &str = "hdl/mutants/equivalent.txt";

/// How long one proof may take, in seconds of the processor.
const LIMIT: u32 = 60;

/// Both circuits from the same registers and memories on: each signal of the one is that of the other, now and, by induction, in every
/// cycle. What starts otherwise cannot be equal in the first cycle, which is the induction's base.
const PROOF: &str = "read_ilang flat.il; rename top gold; design -stash gold; \
    read_ilang flat.il; script one; rename top gate; design -stash gate; \
    design -copy-from gold gold; design -copy-from gate gate; equiv_make gold gate both; hierarchy -top both; \
    opt_clean; equiv_struct; equiv_simple; equiv_struct; equiv_simple; equiv_induct; equiv_status -assert";

/// Whether yosys proves that the mutant does what the block does. No proof, or none in time, is no.
///
/// # Errors
/// A file cannot be written.
pub fn equivalent(flat: &Flat, mutation: &Mutation) -> Result<bool> {
    crate::project::write(&flat.folder().join("one"), mutation.command(None) + "\n")?;
    let yosys = std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into());
    let line = format!("ulimit -t {LIMIT}; exec {yosys} -q -p '{PROOF}'");
    let proof = crate::command::Cmd::new("sh").args(["-c", &line]).folder(flat.folder());
    Ok(proof.probe().is_some())
}

/// As [`equivalent`]; what was tried in vain is not tried again, as long as the block is the same.
///
/// # Errors
/// A file cannot be read or written.
pub fn tried(flat: &Flat, mutation: &Mutation) -> Result<bool> {
    let file = flat.folder().join("tried");
    let before = if file.exists() { crate::project::read(&file)? } else { String::new() };
    let line = format!("{} {mutation}", flat.sha256);
    if before.lines().any(|tried| tried == line) {
        return Ok(false);
    }
    let proved = equivalent(flat, mutation)?;
    if !proved {
        crate::project::write(&file, before + &line + "\n")?;
    }
    Ok(proved)
}

/// The mutants that a person says to be no fault, by block and name, each with the reason.
#[derive(Debug)]
pub struct Reasons(BTreeMap<(String, String), String>);

impl Reasons {
    /// From the file: a paragraph for each reason, its text first, then a line `BLOCK: MUTANT` each.
    ///
    /// # Errors
    /// A mutant without a reason, or a reason without a mutant.
    pub fn parse(text: &str) -> Result<Self> {
        let mut reasons = BTreeMap::new();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        for paragraph in lines.split(|line| line.trim().is_empty()).filter(|lines| !lines.is_empty()) {
            let mutant = |line: &&str| line.contains(": -mode ");
            let (mutants, words): (Vec<&str>, Vec<&str>) = paragraph.iter().copied().partition(mutant);
            ensure!(!words.is_empty(), "{FILE} has no reason for {:?}", mutants[0]);
            ensure!(!mutants.is_empty(), "{FILE} has a reason for nothing: {:?}", words[0]);
            for line in mutants {
                let (block, name) = line.split_once(": ").context("no block")?;
                reasons.insert((block.to_owned(), name.to_owned()), words.join(" "));
            }
        }
        Ok(Self(reasons))
    }

    /// The reason for this one.
    pub fn get(&self, block: &str, mutation: &Mutation) -> Option<&str> {
        self.0.get(&(block.to_owned(), mutation.to_string())).map(String::as_str)
    }
}

/// Of so many mutants, at most so many may be called equivalent by a reason alone.
pub fn bound(mutants: usize) -> usize {
    mutants / 50
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stand_with_their_mutants() {
        let text = "# Title\n\nNobody reads it\nin that state.\na/b: -mode inv -cell $and$1 -port Y -portbit 0\nc: -mode inv -cell x -port A -portbit 2\n";
        let reasons = Reasons::parse(text).unwrap();
        let list = "mutate -mode inv -cell $and$1 -port Y -portbit 0";
        let mutation = &Mutation::list(list).unwrap()[0];
        assert_eq!(reasons.get("a/b", mutation), Some("Nobody reads it in that state."));
        assert_eq!(reasons.get("c", mutation), None);
        assert!(Reasons::parse("a/b: -mode inv -cell x -port A -portbit 2\n").is_err());
        assert!(Reasons::parse("Because.\n").is_err());
    }

    #[test]
    fn two_of_a_hundred_may_be_argued() {
        assert_eq!((bound(49), bound(100), bound(1000)), (0, 2, 20));
    }

    #[test]
    fn a_fault_is_not_proved_to_be_none_and_what_nobody_sees_is() {
        let folder = tempfile::tempdir().unwrap();
        // The second bit of `state` is written and never seen; the memory makes both sides wait for it.
        let verilog = "module top(clock, go, at, q);\n  input wire clock;\n  input wire go;\n  input wire [1:0] at;\n  output wire q;\n\
                       reg [1:0] state;\n  reg row;\n  reg memory [3:0];\n  initial state = 0;\n\
                       always @(posedge clock) begin\n    state <= {go, go ^ state[0]};\n    row <= memory[at];\n    if (go) memory[at] <= state[0];\n  end\n\
                       wire twice = go & (go | state[0]);\n  assign q = state[0] ^ row ^ twice;\nendmodule\n";
        let flat = Flat::new(verilog, folder.path().join("flat")).unwrap();
        let all = flat.list("-list 400 -seed 1").unwrap();
        let of = |port: &str, cell: &str| -> Vec<bool> {
            let some = all.iter().filter(|m| m.port == port && m.cell.contains(cell) && m.mode == "const0");
            some.map(|mutation| equivalent(&flat, mutation).unwrap()).collect()
        };
        // `go & (go | x)` is `go & (go | 0)`, and not `go & 0`.
        assert_eq!(of("Y", "$and"), [false]);
        assert_eq!(of("B", "$or"), [true], "{all:?}");
    }
}
