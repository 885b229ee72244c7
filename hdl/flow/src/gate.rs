//! The lint gate: no latch, no combinational loop, nothing undriven, nothing that Verilator, yosys or Icarus warns of.

use std::process::Command;

use anyhow::Result;

use super::tool;

/// What Verilator's `-Wall` may say about every block, and why.
const WAIVED: [(&str, &str); 5] = [
    ("UNUSEDSIGNAL", "a bundle crosses a block whole, and a block reads the fields it needs"),
    ("CMPCONST", "an unrolled loop compares with its first and last number"),
    ("PINCONNECTEMPTY", "an output that nobody listens to is named at the instance, with nothing behind it"),
    ("VARHIDDEN", "an instance has its field's name, as a port below may; no module refers to one above it"),
    ("DECLFILENAME", "a block and the modules within it are one file, `top.v`"),
];

/// What yosys must not say besides its warnings, and what each of these means.
const REFUSED: [(&str, &str); 2] =
    [("Latch inferred for", "a signal is not assigned on every path"), ("Found and reported", "")];

/// The arguments with which Icarus runs its front end alone, with all warnings, for the Verilog of 2005.
const ICARUS: [&str; 7] = ["-Wall", "-g2005", "-t", "null", "-s", "top", "top.v"];

/// Goes down to gates, so that a loop is one of bits and not of whole vectors. The large profile is not taken so far: its logic is the
/// board profile's, where loops are looked for, and its memories would take a minute. The gates are not optimised before the check: so a
/// loop that a constant would have cut is refused, too, and the core takes half the time. Registers are kept out of memories: yosys 0.23
/// takes a part of a wider register into a memory and leaves its input behind, a wire without a driver that nothing depends on.
const SCRIPT: &str = if cfg!(feature = "large") {
    "read_verilog top.v; hierarchy -check -top top; proc; check"
} else {
    "read_verilog top.v; hierarchy -check -top top; proc; flatten; opt_expr; opt_clean; memory -nomap -nordff; techmap; check"
};

/// Everything that is wrong with a block's Verilog; empty if nothing is. A text in which the same tools have found no fault
/// is not checked again.
///
/// # Errors
/// A tool is missing or a file cannot be written.
pub fn check(name: &str, verilog: &str) -> Result<Vec<String>> {
    let mut flags: Vec<String> =
        ["--lint-only", "-Wall", "--top-module", "top", "top.v"].map(Into::into).into();
    flags.extend(WAIVED.iter().map(|(name, _)| format!("-Wno-{name}")));
    let versions = [
        tool::text(&tool::run(Command::new(tool::yosys()).arg("-V"))?),
        tool::text(&tool::run(Command::new(tool::verilator()).arg("--version"))?),
        tool::text(&tool::run(Command::new(tool::icarus()).arg("-V"))?),
    ];
    let inputs = format!("{}{SCRIPT}\n{REFUSED:?}\n{flags:?}\n{ICARUS:?}\n{verilog}", versions.concat());
    let found = tool::once("lint", name, &inputs, |folder| {
        tool::write(&folder.join("top.v"), verilog)?;
        let mut wrong = Vec::new();
        match tool::run_yosys(SCRIPT, folder) {
            Ok(log) => wrong.extend(complaints(&log)),
            Err(error) => wrong.push(error.to_string()),
        }
        let output = tool::run(Command::new(tool::verilator()).args(&flags).current_dir(folder))?;
        if !output.status.success() {
            wrong.push(format!("verilator:\n{}", tool::text(&output).trim_end()));
        }
        let output = tool::run(Command::new(tool::icarus()).args(ICARUS).current_dir(folder))?;
        let said = tool::text(&output);
        if !output.status.success() || !said.is_empty() {
            wrong.push(format!("icarus:\n{}", said.trim_end()));
        }
        Ok(wrong.join("\n"))
    })?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    tool::forget("lint", name)?;
    Ok(vec![found])
}

/// What yosys found, from its log.
fn complaints(log: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in log.lines() {
        for (words, meaning) in REFUSED {
            if line.contains(words) && !line.contains("Found and reported 0 problems") {
                wrong.push(format!("yosys: {} {meaning}", line.trim()).trim_end().to_owned());
            }
        }
        if line.contains("Warning: ") {
            wrong.push(format!("yosys: {}", line.trim()));
        }
    }
    wrong.dedup();
    wrong
}
