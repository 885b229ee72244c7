//! Proves that a block's Verilog is the block that RustHDL's own writer gives: the same registers with the same values at power-up,
//! and the same logic between registers, memories and ports.
//!
//! ```text
//!   reference ──► flat netlist ──► cut at registers and memories ──┐
//!                                                                  ├──► logic that abc compares
//!   verilog   ──► flat netlist ──► cut at registers and memories ──┘
//! ```
//! A register has the same name in both, so the two need not be matched by search. What is compared has no state, so abc's answer is a
//! proof.

mod netlist;
mod reference;

use std::path::Path;
use std::process::Command;

use anyhow::{bail, ensure, Context, Result};
use viaduct_hdl::blocks::Entry;

use crate::tool;
use netlist::Netlist;

/// From Verilog to a flat netlist with its registers. A ROM stays logic.
const FLATTEN: &str = "hierarchy -check -top top; proc -norom; flatten; opt_clean";

/// From the netlist that was cut to gates.
const GATES: &str = "setundef -undriven -zero; techmap; opt -fast; aigmap; opt_clean -purge";

/// Compares a block's two texts, and says what was compared.
///
/// # Errors
/// They differ; the message says where. Or a tool is missing.
pub fn check(block: &Entry) -> Result<String> {
    let folder = tool::scratch("equal", block.name)?;
    let mut old = read(&folder, "old", &reference::mended(&(block.reference)()))?;
    let mut new = read(&folder, "new", &(block.verilog)())?;
    if old.is_memory() && new.is_memory() {
        return Ok("a memory, which both keep as its author wrote it".into());
    }
    old.drop_constants();
    new.name_as(&old)?;
    let registers = old.registers()?;
    ensure!(registers == new.registers()?, "the registers or their values at power-up differ");
    let memories = old.memories();
    old.cut(&registers)?;
    new.cut(&registers)?;
    ensure!(old.ports() == new.ports(), "ports differ: {:?}", old.difference(&new));
    for (name, netlist) in [("old", &old), ("new", &new)] {
        tool::write(&folder.join(format!("{name}.cut.json")), &netlist.text())?;
        let script = format!("read_json {name}.cut.json; {GATES}; write_blif {name}.blif");
        tool::run_yosys(&script, &folder)?;
    }
    let mut abc = Command::new("yosys-abc");
    let log = tool::text(&tool::run(abc.args(["-c", "cec old.blif new.blif"]).current_dir(&folder))?);
    if !log.contains("Networks are equivalent") {
        bail!("{}", log.trim());
    }
    Ok(format!("{} bits of registers, {memories} memories", registers.len()))
}

/// The flat netlist of a Verilog text. Memories are black boxes in it.
fn read(folder: &Path, name: &str, verilog: &str) -> Result<Netlist> {
    tool::write(&folder.join(format!("{name}.v")), &without_memories(verilog))?;
    tool::run_yosys(&format!("read_verilog {name}.v; {FLATTEN}; write_json {name}.json"), folder)?;
    let path = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Netlist::of(&text)
}

/// The text with each module that has a memory in it declared as a black box.
fn without_memories(verilog: &str) -> String {
    let mut text = String::new();
    for part in verilog.split_inclusive("endmodule") {
        let module = part.lines().position(|line| line.starts_with("module "));
        let Some(start) = module.filter(|_| part.contains("] memory [")) else {
            text += part;
            continue;
        };
        let lines: Vec<&str> = part.lines().collect();
        text += &lines[..start].join("\n");
        let name = lines[start].trim_start_matches("module ").split('(').next().unwrap_or_default().trim();
        let is_port = |line: &&str| ["input ", "output "].iter().any(|word| line.starts_with(word));
        let ports: Vec<String> = lines[start..]
            .iter()
            .map(|line| line.trim())
            .filter(is_port)
            .map(|line| line.trim_end_matches([',', ';']).replace(" reg ", " "))
            .collect();
        text += &format!("\n(* blackbox *)\nmodule {name}({});\nendmodule", ports.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: fn(&str) -> String = |body| {
        format!(
            "module top(input clock, input [1:0] a, output [1:0] q);\n{body}\nassign q = held;\nendmodule\n"
        )
    };

    fn compare(old: fn() -> String, new: fn() -> String, name: &'static str) -> Result<String> {
        check(&Entry { name, verilog: new, reference: old, lut4: 0, dp16kd: 0, mhz: 0 })
    }

    fn stream([valid, data]: [&str; 2]) -> String {
        let body = format!("assign q = {valid} ? {data} : 2'd0;");
        format!("module top(input {valid}, input [1:0] {data}, output [1:0] q);\n{body}\nendmodule\n")
    }

    const OLD: fn() -> String = || {
        BLOCK(
            "wire [1:0] held;\nreg [1:0] held$d;\nregister held_r(.clock(clock), .d(held$d), .q(held));\n\
             always @(*) begin held$d = held; if (a[0]) held$d = a; end",
        )
        .replace("held_r", "held$r")
            + "module register(input clock, input [1:0] d, output reg [1:0] q);\ninitial q = 0;\n\
               always @(posedge clock) q <= d;\nendmodule\n"
    };

    #[test]
    fn what_is_equal_is_proved_and_what_differs_is_found() {
        let equal: fn() -> String = || {
            BLOCK("reg [1:0] held_r = 2'd0;\nwire [1:0] held = held_r;\nalways @(posedge clock) if (a[0]) held_r <= a;")
        };
        assert_eq!(compare(OLD, equal, "test/equal").unwrap(), "2 bits of registers, 0 memories");
        let other: fn() -> String = || {
            BLOCK("reg [1:0] held_r = 2'd0;\nwire [1:0] held = held_r;\nalways @(posedge clock) if (a[1]) held_r <= a;")
        };
        assert!(compare(OLD, other, "test/other").is_err());
        let power: fn() -> String = || {
            BLOCK("reg [1:0] held_r = 2'd1;\nwire [1:0] held = held_r;\nalways @(posedge clock) if (a[0]) held_r <= a;")
        };
        let error = compare(OLD, power, "test/power").unwrap_err().to_string();
        assert!(error.contains("power-up"), "{error}");
    }

    #[test]
    fn the_data_of_a_stream_have_its_name() {
        let old: fn() -> String = || stream(["word$valid", "word$data"]);
        assert!(compare(old, || stream(["word_valid", "word"]), "test/stream").is_ok());
        assert!(compare(old, || stream(["word", "word_valid"]), "test/swapped").is_err());
    }

    #[test]
    fn a_memory_is_a_black_box_in_either_form() {
        let old = "module top$m(a,q);\ninput wire [1:0] a;\noutput reg q;\nreg q memory [3:0];\nreg [1:0] memory [3:0];\nendmodule";
        let new = "module m (\n    input  wire [1:0] a,\n    output reg  q\n);\n    reg [1:0] memory [3:0];\nendmodule";
        for (text, name) in [(old, "top$m"), (new, "m")] {
            let boxed = without_memories(text);
            assert!(boxed.contains("(* blackbox *)"), "{boxed}");
            assert!(boxed.contains(&format!("module {name}(input")), "{boxed}");
            assert!(!boxed.contains("memory"), "{boxed}");
        }
    }
}
