//! A block with many mutants in it, as Verilog: made by yosys, named by what it stands for.

use super::mutation::Mutation;
use crate::command::Cmd;
use crate::coverage::source;
use crate::project;
use anyhow::{bail, ensure, Context, Result};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The input that chooses a mutant; 0 is none. hdl/verilate knows it.
pub const SELECT: &str = "mutsel";
/// Its width.
pub const SELECT_BITS: usize = 16;
/// The variable in which hdl/verilate finds the folder and the number of the mutant.
pub const VARIABLE: &str = "VIADUCT_MUTANT";

/// From a block's Verilog to cells, in one module, without the bits that lead nowhere: RustHDL writes literals of 32 bits and bundles
/// of which a block reads some fields. VERILATOR is what the tests see of the memories.
const FLATTEN: &str = "read_verilog -DVERILATOR block.v; hierarchy -check -top top; proc; flatten; opt -nodffe -nosdff; wreduce; \
                       opt -nodffe -nosdff; memory_collect; opt_clean; write_ilang flat.il";

/// What is in a module that only Verilator sees, and that has no mutants: the random bits of a clock crossing, which are no hardware
/// (`hdl/src/clocks/crossing.rs`), and a pin's registers for two bits a cycle, whose values at power-up yosys forgets.
const ASIDE: [&str; 3] = ["function [31:0] draw(", "assign pad = clock", "negedge clock"];

/// A block, and the folder for what is made of it.
#[derive(Debug)]
pub struct Flat {
    folder: PathBuf,
    /// SHA-256 of the block's Verilog.
    pub sha256: String,
    /// Modules that stay as they are: see [`ASIDE`].
    kept: String,
}

impl Flat {
    /// Reads the block into the folder.
    ///
    /// # Errors
    /// yosys refuses it.
    pub fn new(verilog: &str, folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let (readable, kept) = set_aside(verilog);
        let readable = format!("// {FLATTEN}\n{readable}");
        let flat = Self { folder, sha256: sha256(verilog), kept };
        let (source, made) = (flat.folder.join("block.v"), flat.folder.join("flat.il"));
        if !made.exists() || project::read(&source).ok().as_deref() != Some(readable.as_str()) {
            // Last what says that the rest is whole.
            let part = flat.folder.join("block.part");
            project::write(&part, &readable)?;
            flat.yosys(&FLATTEN.replace("block.v", "block.part"))?;
            std::fs::rename(&part, &source).with_context(|| source.display().to_string())?;
        }
        Ok(flat)
    }

    /// What tests are told, to have this mutant: of 0, the block without one.
    pub fn mutant(&self, number: usize) -> String {
        format!("{}:{number}", self.folder.display())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of the modules that stay as they are.
    pub fn aside(&self) -> impl Iterator<Item = &str> {
        let modules = self.kept.lines().filter_map(|line| line.strip_prefix("module "));
        modules.filter_map(|rest| rest.split([' ', '(']).next())
    }

    /// Draws mutants: `count`, or as many as there are.
    ///
    /// # Errors
    /// yosys fails.
    pub fn draw(&self, count: usize, seed: u64) -> Result<Vec<Mutation>> {
        // Some are at places that are none.
        let mut list = self.list(&format!("-list {} -seed {}", count + count / 2 + 8, seed % (1 << 31)))?;
        list.truncate(count);
        Ok(list)
    }

    /// The mutants that yosys lists with these options.
    pub fn list(&self, options: &str) -> Result<Vec<Mutation>> {
        self.yosys(&format!("read_ilang flat.il; mutate {options} -o list"))?;
        Mutation::list(&project::read(&self.folder.join("list"))?)
    }

    /// Writes the block with these mutants, numbered from 1.
    ///
    /// # Errors
    /// yosys fails, or there are too many.
    pub fn write(&self, mutations: &[Mutation]) -> Result<()> {
        ensure!(mutations.len() < 1 << SELECT_BITS, "{} mutants are too many for one model", mutations.len());
        let lines: Vec<String> = mutations.iter().zip(1..).map(|(m, n)| m.command(Some(n))).collect();
        project::write(&self.folder.join("mutants"), lines.join("\n") + "\n")?;
        let mut script = String::from("read_ilang flat.il; script mutants; ");
        script.push_str("opt_clean; write_verilog -noattr mutated.v");
        self.yosys(&script)?;
        let text = project::read(&self.folder.join("mutated.v"))?;
        project::write(&self.folder.join(format!("{}.v", self.sha256)), with_select(&text)? + &self.kept)
    }

    /// Writes the whole NIC with the mutants of this block, if it is in it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_nic(&self, nic: &str, block: &str) -> Result<bool> {
        let mutated = project::read(&self.folder.join(format!("{}.v", self.sha256)))?;
        let Some(text) = compose(nic, block, &mutated)? else { return Ok(false) };
        project::write(&self.folder.join(format!("{}.v", sha256(nic))), text)?;
        Ok(true)
    }

    /// Runs yosys in the folder.
    pub fn yosys(&self, script: &str) -> Result<String> {
        let yosys = std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into());
        Cmd::new(yosys).args(["-q", "-p", script]).folder(&self.folder).read()
    }
}

/// SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Verilog with what has no mutants ([`ASIDE`]) marked as a black box, and those modules.
fn set_aside(verilog: &str) -> (String, String) {
    let (mut readable, mut kept) = (String::new(), String::new());
    for part in verilog.split_inclusive("endmodule") {
        let aside = ASIDE.iter().any(|text| part.contains(text));
        // Comments may have the word, too.
        let start =
            if part.starts_with("module ") { Some(0) } else { part.find("\nmodule ").map(|at| at + 1) };
        let Some(start) = start.filter(|_| aside) else {
            readable.push_str(part);
            continue;
        };
        let (before, module) = part.split_at(start);
        readable.push_str(before);
        readable.push_str("(* blackbox *)\n");
        // All of the head; ports may be declared behind it.
        let mut is_head = true;
        let declares = |line: &&str| {
            let line = line.trim();
            let keeps = is_head || ["input ", "output "].iter().any(|word| line.starts_with(word));
            is_head &= !line.ends_with(");") || line.starts_with("//");
            keeps
        };
        module.lines().filter(declares).for_each(|line| readable.push_str(&(line.to_owned() + "\n")));
        readable.push_str("endmodule");
        kept.push_str(module);
        kept.push('\n');
    }
    (readable, kept)
}

/// The block with the input, which it has not if no mutant is in it.
fn with_select(verilog: &str) -> Result<String> {
    if verilog.contains(&format!(" {SELECT};")) {
        return Ok(verilog.to_owned());
    }
    let (before, rest) = verilog.split_once("module top(").context("yosys wrote no module top")?;
    let (ports, body) = rest.split_once(");").context("module top has no ports")?;
    Ok(format!("{before}module top({ports}, {SELECT});\n  input [{}:0] {SELECT};{body}", SELECT_BITS - 1))
}

/// The NIC in which each instance of the block is the mutated one; none if it has no such instance. The instances ask the top
/// for the number themselves.
fn compose(nic: &str, block: &str, mutated: &str) -> Result<Option<String>> {
    let modules = source::modules(nic);
    let alone = source::modules(block).remove("top").context("the block has no module top")?;
    let instances: Vec<&String> =
        modules.iter().filter(|(_, module)| module.text == alone.text).map(|(name, _)| name).collect();
    if instances.is_empty() {
        return Ok(None);
    }
    let declared = format!("input [{}:0] {SELECT};", SELECT_BITS - 1);
    let inside = mutated.replacen(&format!(", {SELECT}"), "", 1).replacen(&declared, "", 1);
    let wire = format!("wire [{}:0] {SELECT};", SELECT_BITS - 1);
    let number = format!("wire [{}:0] {SELECT} = top.{SELECT};", SELECT_BITS - 1);
    let inside = match inside.contains(&wire) {
        true => inside.replacen(&wire, &number, 1),
        false => bail!("yosys does not declare {SELECT}"),
    };
    let mut text = String::new();
    let mut inside_instance = false;
    for line in nic.lines() {
        let name = line.strip_prefix("module ").and_then(|rest| rest.split('(').next());
        if let Some(name) = name.map(str::trim) {
            inside_instance = instances.iter().any(|instance| *instance == name);
            if inside_instance {
                text.push_str(&inside.replacen("module top(", &format!("module {name}("), 1));
            } else if name == "top" && line.ends_with('(') {
                text.push_str(&format!("{line}\n    input  wire [{}:0] {SELECT},\n", SELECT_BITS - 1));
                continue;
            } else if name == "top" {
                let line = line.replacen(");", &format!(",{SELECT});"), 1);
                text.push_str(&format!("{line}\n    input wire  [{}:0] {SELECT};\n", SELECT_BITS - 1));
                continue;
            }
        }
        if !inside_instance {
            text.push_str(line);
            text.push('\n');
        }
        inside_instance &= !line.starts_with("endmodule");
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "module top(a,q);\n  input wire a;\n  output wire q;\n  assign q = a;\nendmodule\n";
    const NIC: &str =
        "module top(a,q);\n  input wire a;\n  output wire q;\n  top$b b(.a(a), .q(q));\nendmodule\n\
                       module top$b(a,q);\n  input wire a;\n  output wire q;\n  assign q = a;\nendmodule\n";
    const MUTATED: &str = "module top(a, q, mutsel);\n  input a;\n  output q;\n  input [15:0] mutsel;\n  wire [15:0] mutsel;\n  assign q = a ^ (mutsel == 1);\nendmodule\n";

    #[test]
    fn the_nic_has_the_mutants_of_its_block() {
        let text = compose(NIC, BLOCK, MUTATED).unwrap().unwrap();
        assert!(text.starts_with("module top(a,q,mutsel);\n    input wire  [15:0] mutsel;\n"), "{text}");
        assert!(text.contains("module top$b(a, q);\n"), "{text}");
        assert!(text.contains("wire [15:0] mutsel = top.mutsel;\n  assign q = a ^"), "{text}");
        assert_eq!(text.matches("endmodule").count(), 2);
        let other = BLOCK.replace("= a;", "= ~a;");
        assert!(compose(NIC, &other, MUTATED).unwrap().is_none());
    }

    #[test]
    fn the_nic_may_declare_its_ports_in_the_head() {
        let ports = "(\n    input  wire a,\n    output wire q\n);\n";
        let block = format!("module top {ports}    assign q = a;\nendmodule\n");
        let nic = format!(
            "module top {ports}    b one (\n        .a(a),\n        .q(q)\n    );\nendmodule\n{}",
            block.replace("top", "b")
        );
        let text = compose(&nic, &block, MUTATED).unwrap().unwrap();
        assert!(
            text.starts_with("module top (\n    input  wire [15:0] mutsel,\n    input  wire a,\n"),
            "{text}"
        );
        assert!(text.contains("module b(a, q);\n"), "{text}");
        assert_eq!(text.matches("endmodule").count(), 2);
    }

    #[test]
    fn what_is_no_hardware_is_set_aside() {
        for text in [
            "function [31:0] draw(input [31:0] last);",
            "assign pad = clock ? a : q;",
            "always @(negedge clock) q <= a;",
        ] {
            let other = BLOCK.replace("assign q = a;", text).replace("top", "top$r");
            let (readable, kept) = set_aside(&(BLOCK.to_owned() + &other));
            assert!(readable.contains("(* blackbox *)\nmodule top$r(a,q);\n"), "{readable}");
            assert!(!readable.contains(text) && kept.contains(text));
        }
        assert_eq!(set_aside(BLOCK).1, "");
        let head = "// A module for a test.\nmodule r (\n    input  wire clock,\n    output wire q\n);\n";
        let other = format!("\n{head}    assign pad = clock;\n    x y (\n        .a(q)\n    );\nendmodule\n");
        let (readable, _) = set_aside(&(BLOCK.to_owned() + &other));
        let boxed = head.replace("module r", "(* blackbox *)\nmodule r");
        assert!(readable.ends_with(&format!("{boxed}endmodule\n")), "{readable}");
    }

    #[test]
    fn the_random_bits_of_a_crossing_are_found() {
        let crossing = project::Project::find().unwrap().root.join("hdl/src/clocks/crossing.rs");
        let text = project::read(&crossing).unwrap();
        assert!(text.contains(ASIDE[0]), "a crossing draws its random bits in another way now");
    }

    #[test]
    fn a_block_without_a_mutant_has_the_input_too() {
        assert!(with_select(BLOCK)
            .unwrap()
            .starts_with("module top(a,q, mutsel);\n  input [15:0] mutsel;\n"));
        assert_eq!(with_select(MUTATED).unwrap(), MUTATED);
    }
}
