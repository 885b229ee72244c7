//! Mutants that are no fault: proved by yosys, or with a reason in hdl/mutants/equivalent.txt.

use super::cut;
use super::mutation::Mutation;
use super::verilog::{sha256, Flat};
use anyhow::{ensure, Context, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Where the reasons are.
pub const FILE: &str = "hdl/mutants/equivalent.txt";

/// How long one proof may take, in seconds of the processor.
const LIMIT: u32 = 60;

/// Both circuits from the same registers and memories on: each signal of the one is that of the other, now and, by induction, in every
/// cycle. What starts otherwise cannot be equal in the first cycle, which is the induction's base. The names in `aside` are not compared.
/// What `memories` makes logic of needs no name by which the two of it are made one.
fn script(memories: &str) -> String {
    format!(
        "read_ilang flat.il; {memories}; rename top gold; design -stash gold; \
         read_ilang flat.il; script one; {memories}; rename top gate; design -stash gate; \
         design -copy-from gold gold; design -copy-from gate gate; equiv_make -blacklist aside gold gate both; \
         hierarchy -top both; opt_clean; equiv_struct; equiv_simple; equiv_struct; equiv_simple; equiv_induct; \
         tee -q -o status equiv_status"
    )
}

/// A ROM has no name; the others are two black boxes that have one.
const ROMS: &str = "memory_map -rom-only";
/// All are registers: what is on a memory's pins while it is not written does not matter then.
const ALL: &str = "memory_map";
/// For blocks whose memories have so many bits at most.
const FEW: u64 = 4096;

/// So many proofs of a mutant are tried, each without the signals inside the block that differ in the one before.
const ROUNDS: u32 = 4;

/// Whether yosys' induction proves it. A signal inside may differ, as long as nobody sees it: then it is each side's own, and whatever it leads
/// to is proved without it.
fn induced(flat: &Flat, mutation: &Mutation) -> Result<bool> {
    crate::project::write(&flat.folder().join("one"), mutation.command(None) + "\n")?;
    let module = crate::project::read(&flat.folder().join("flat.il"))?;
    let outputs = outputs(&module);
    Ok(proved(flat, ROMS, &outputs)? || ((1..=FEW).contains(&bits(&module)) && proved(flat, ALL, &outputs)?))
}

fn proved(flat: &Flat, memories: &str, outputs: &BTreeSet<String>) -> Result<bool> {
    let file = |name: &str| flat.folder().join(name);
    let yosys = std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into());
    let line = format!("ulimit -t {LIMIT}; exec {yosys} -q -p '{}'", script(memories));
    let mut aside = BTreeSet::new();
    for _ in 0..ROUNDS {
        let names: Vec<&str> = aside.iter().map(String::as_str).collect();
        crate::project::write(&file("aside"), names.join("\n") + "\n")?;
        let proof = crate::command::Cmd::new("sh").args(["-c", &line]).folder(flat.folder());
        if proof.probe().is_none() {
            return Ok(false);
        }
        match different(&crate::project::read(&file("status"))?) {
            Some(names) if names.is_empty() => return Ok(true),
            Some(names) if names.is_disjoint(outputs) && names.is_disjoint(&aside) => aside.extend(names),
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// The bits of all memories of a module in yosys' language.
fn bits(module: &str) -> u64 {
    let parameter = |cell: &str, name: &str| {
        let line = cell.lines().find_map(|line| line.trim_start().strip_prefix(name));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(u64::from(u32::MAX))
    };
    let cells = module.split("\n  cell ").skip(1).filter(|cell| cell.starts_with("$mem_v2 "));
    cells.map(|cell| parameter(cell, "parameter \\SIZE ") * parameter(cell, "parameter \\WIDTH ")).sum()
}

/// The output ports of a module in yosys' language.
fn outputs(module: &str) -> BTreeSet<String> {
    let wires = module.lines().map(str::split_whitespace).map(|words| words.collect::<Vec<_>>());
    let outputs = wires.filter(|words| words.first() == Some(&"wire") && words.contains(&"output"));
    outputs.filter_map(|words| words.last().map(|name| (*name).to_owned())).collect()
}

/// The signals that yosys could not prove to be the same; none if that is said of what has no name.
fn different(status: &str) -> Option<BTreeSet<String>> {
    if status.contains("Equivalence successfully proven!") {
        return Some(BTreeSet::new());
    }
    let unproven = status.lines().filter_map(|line| line.trim_start().strip_prefix("Unproven $equiv "));
    let name = |line: &str| {
        let signal = line.split_once(": ")?.1.split_whitespace().next()?;
        signal.starts_with('\\').then_some(())?;
        signal.strip_suffix("_gold").map(str::to_owned)
    };
    unproven.map(name).collect::<Option<BTreeSet<String>>>().filter(|names| !names.is_empty())
}

/// Whether it is proved that the mutant does what the block does: as [`cut`] does it, else by yosys' induction. No proof, or none in time,
/// is no. An induction that was tried in vain is not tried again, as long as the block and its script are the same.
///
/// # Errors
/// A file cannot be read or written.
pub fn equivalent(flat: &Flat, mutation: &Mutation) -> Result<bool> {
    if cut::proved(flat, mutation) {
        return Ok(true);
    }
    let file = flat.folder().join("tried");
    let before = if file.exists() { crate::project::read(&file)? } else { String::new() };
    let line = format!("{} {} {mutation}", flat.sha256, sha256(&script(ROMS)));
    if before.lines().any(|tried| tried == line) {
        return Ok(false);
    }
    let proved = induced(flat, mutation)?;
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
    fn what_differs_inside_is_no_fault_if_nobody_sees_it() {
        let folder = tempfile::tempdir().unwrap();
        // While bit 1 of `far` is set nobody looks at bit 0. The table becomes a ROM.
        let rows: String = (0..32).map(|row| format!("    {row}: r = {};\n", row * 37 % 251)).collect();
        let verilog = format!(
            "module top(clock, go, q, r);\n  input wire clock;\n  input wire [4:0] go;\n  output wire q;\n  output reg [7:0] r;\n\
             reg [1:0] far;\n  initial far = 0;\n  always @(posedge clock) far <= go[1:0];\n\
             assign q = |far & ~far[1];\n  always @(*) case (go)\n{rows}    default: r = 0;\n  endcase\nendmodule\n"
        );
        let flat = Flat::new(&verilog, folder.path().join("flat")).unwrap();
        assert!(crate::project::read(&flat.folder().join("flat.il")).unwrap().contains("$mem_v2"), "no ROM");
        let some = flat.list("-list 100 -seed 1").unwrap().into_iter().find(|mutation| mutation.port == "D");
        let far = some.expect("a register");
        let of = |mode: &str, bit, control| {
            equivalent(&flat, &Mutation { mode: mode.into(), bit, control, wire: None, ..far.clone() })
                .unwrap()
        };
        assert!(of("cnot1", 0, Some(1)));
        assert!(!of("cnot0", 0, Some(1)));
        assert!(!of("inv", 1, None));
    }

    #[test]
    fn what_a_memory_is_offered_while_it_is_not_written_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let verilog = "module top(clock, go, at, in, q);\n  input wire clock;\n  input wire go;\n  input wire [1:0] at;\n  input wire [7:0] in;\n\
                       output reg [7:0] q;\n  reg [7:0] memory [3:0];\n  reg [7:0] offer;\n\
                       always @(*) begin\n    offer = 0;\n    if (go) offer = in;\n  end\n\
                       always @(posedge clock) begin\n    q <= memory[at];\n    if (go) memory[at] <= offer;\n  end\nendmodule\n";
        let flat = Flat::new(verilog, folder.path().join("flat")).unwrap();
        assert_eq!(bits(&crate::project::read(&flat.folder().join("flat.il")).unwrap()), 32);
        let all = flat.list("-list 1000 -seed 1").unwrap();
        // `offer` is a multiplexer: A while nothing is written.
        let of = |port: &str| -> Vec<bool> {
            let here =
                |m: &&Mutation| m.cell.contains("mux") && m.port == port && m.mode == "inv" && m.bit == 3;
            all.iter().filter(here).map(|mutation| equivalent(&flat, mutation).unwrap()).collect()
        };
        let (unwritten, written) = (of("A"), of("B"));
        assert!(!unwritten.is_empty() && unwritten.iter().all(|same| *same), "{all:?}");
        assert!(!written.is_empty() && written.iter().all(|same| !same), "{all:?}");
    }

    #[test]
    fn names_that_differ_are_read_from_yosys_report() {
        let line =
            |signal: &str| format!("  Unproven $equiv $auto$equiv_make.cc:274:find_same_wires$1: {signal}\n");
        let names = |text: &str| different(text).map(|names| names.into_iter().collect::<Vec<_>>());
        let two = line("\\a.b_gold [19] \\a.b_gate [19]") + &line("\\c_gold \\c_gate");
        assert_eq!(names(&two), Some(vec!["\\a.b".into(), "\\c".into()]));
        assert_eq!(names(&(two + &line("$auto$1 $auto$2"))), None);
        assert_eq!(
            names("Found 3 $equiv cells in both:\n  Equivalence successfully proven!\n"),
            Some(vec![])
        );
        assert_eq!(names(""), None);
        assert_eq!(
            outputs("  wire width 3 input 1 \\go\n  wire width 2 output 2 \\q\n  wire \\r\n")
                .into_iter()
                .collect::<Vec<_>>(),
            ["\\q"]
        );
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
