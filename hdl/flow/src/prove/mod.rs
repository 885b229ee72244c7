//! Proofs of the primitives, the arithmetic, the protection checker and the PCI Express endpoint: properties in SystemVerilog around the exported Verilog, yosys and z3.
//!
//! A wrapper in `formal/` instantiates the block beside a model of it and states, under labels, what a user sees;
//! after the line "What makes it so" follow the invariants that carry the induction. They name registers inside the
//! block: a line `// watch: wire = net` connects a wire of the wrapper to a net of the flattened block.
//!
//! Each proof is: every property holds in all states (induction over steps, from a base of bounded checks deeper
//! than twice the block's capacity; one step of a proof that says so needs the first state alone), the interesting states can be reached (cover), and every property a user sees
//! fails on at least one mutant of the block (three, where a proof says so). Covers and mutants start at reset: where that would take too many
//! cycles, a proof says which numbers are smaller for them. A mutant is a text substitution that must match exactly once, and is
//! judged by its one property alone, from reset on: the invariants do not help to find it.

mod solver;
mod wrapper;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};

use crate::tool;
use solver::{singly, smt, Verdict};
use viaduct_hdl::proofs::{all, Engine, Mutant, Proof};
use wrapper::Wrapper;

/// What was shown of a block.
pub struct Proved {
    /// The properties that a user sees, each with how many mutants of the block break it.
    pub properties: Vec<(String, usize)>,
    /// Number of those that only the induction needs.
    pub helpers: usize,
}

/// Runs the proofs whose name contains `only`, or all, and prints a line for each, and one for each of its properties.
///
/// # Errors
/// A tool is missing, a property fails, a mutant survives, or a property has no mutant.
pub fn run(only: Option<&str>) -> Result<()> {
    let proofs: Vec<Proof> =
        all().into_iter().filter(|proof| only.is_none_or(|text| proof.name.contains(text))).collect();
    ensure!(!proofs.is_empty(), "no proof has {:?} in its name", only.unwrap_or_default());
    tool::run(Command::new("z3").arg("--version"))?;
    println!(
        "{:<36} {:<15} {:<9} {:>6} {:>10} {:>8} {:>8}",
        "proof, with its properties", "engine", "holds", "depth", "induction", "mutants", "time"
    );
    let mut wrong = Vec::new();
    for proof in &proofs {
        let start = Instant::now();
        let result = prove(proof);
        let seconds = start.elapsed().as_secs_f32();
        match result {
            Ok(proved) => {
                let count = proved.properties.len() + proved.helpers;
                println!(
                    "{:<36} {:<15} {:<9} {:>6} {:>10} {:>8} {seconds:>6.1} s",
                    format!("{}: {count} properties", proof.name),
                    proof.engine.text(),
                    "unbounded",
                    proof.depth,
                    proof.steps,
                    proof.mutants.len()
                );
                for (property, mutants) in proved.properties {
                    println!(
                        "  {property:<34} {:<15} {:<9} {:>6} {:>10} {mutants:>8}",
                        "", "unbounded", "", ""
                    );
                }
                if proved.helpers > 0 {
                    println!("  {} that the induction needs", proved.helpers);
                }
            }
            Err(error) => {
                println!("{:<19} FAILED {seconds:.1} s\n{error:#}", proof.name);
                wrong.push(proof.name);
            }
        }
    }
    ensure!(wrong.is_empty(), "not proved: {}", wrong.join(", "));
    Ok(())
}

/// One proof with its mutants. All its properties are proved together, so they share its time.
///
/// # Errors
/// As [`run`].
pub fn prove(proof: &Proof) -> Result<Proved> {
    let wrapper = Wrapper::parse(proof.wrapper);
    let mut properties = Vec::new();
    for property in &wrapper.visible {
        let found = proof.mutants.iter().filter(|mutant| mutant.property == property).count();
        ensure!(found >= proof.kills, "property {property} has {found} mutants, not {}", proof.kills);
        properties.push((property.clone(), found));
    }
    let verilog = (proof.verilog)();
    let folder = tool::scratch("prove", proof.name)?;
    let model = build(&folder, &verilog, proof.wrapper, &wrapper, None)?;
    let induction = |folder: &Path, model: &Path| -> Result<()> {
        match proof.engine {
            Engine::Whole => check("induction", smt(model, &["-i", "-t", &proof.steps.to_string()])?),
            Engine::Single => singly(folder, model),
        }
    };

    let depth = proof.depth.to_string();
    let base = &proof.base.to_string();
    check("bounded check", smt(&model, &["--presat", "-t", base])?)?;
    induction(&folder, &model)?;

    // From here on from reset on, and with smaller numbers, if there are any.
    let small = smaller(proof, &verilog)?;
    let searched = match proof.smaller.is_empty() {
        true => model,
        false => {
            let folder = tool::scratch("prove", &format!("{}-smaller", proof.name))?;
            let model = build(&folder, &small.0, &small.1, &wrapper, None)?;
            check("bounded check of the smaller one", smt(&model, &["--presat", "-t", base])?)?;
            induction(&folder, &model).context("the smaller one")?;
            model
        }
    };
    check("cover", smt(&searched, &["-c", "-t", &depth])?)?;
    for mutant in proof.mutants {
        kill(proof, mutant, &small, &wrapper).with_context(|| format!("mutant: {}", mutant.what))?;
    }
    Ok(Proved { helpers: wrapper.labels - properties.len(), properties })
}

/// Block and wrapper with smaller numbers; each must be in one of them.
fn smaller(proof: &Proof, verilog: &str) -> Result<(String, String)> {
    let (mut verilog, mut text) = (verilog.to_owned(), proof.wrapper.to_owned());
    for (from, to) in proof.smaller {
        ensure!(
            verilog.contains(from) || text.contains(from),
            "{from:?} is neither in the block nor in its wrapper"
        );
        (verilog, text) = (verilog.replace(from, to), text.replace(from, to));
    }
    Ok((verilog, text))
}

/// What the solver must not find wrong.
fn check(what: &str, verdict: Verdict) -> Result<()> {
    ensure!(verdict.passed, "{what} failed: {}", verdict.text());
    Ok(())
}

/// A mutant must fail its property, in a run from reset.
fn kill(proof: &Proof, mutant: &Mutant, (verilog, text): &(String, String), wrapper: &Wrapper) -> Result<()> {
    let mutated = mutate(verilog, mutant)?;
    ensure!(
        wrapper.visible.iter().any(|label| label == mutant.property),
        "{} is no property that a user sees",
        mutant.property
    );
    let folder = tool::scratch("prove", &format!("{}-mutant", proof.name))?;
    let model = build(&folder, &mutated, text, wrapper, Some(mutant.property))?;
    let verdict = smt(&model, &["-t", &proof.depth.to_string()])?;
    ensure!(!verdict.passed, "survived: {} still holds to depth {}", mutant.property, proof.depth);
    ensure!(verdict.failed == [mutant.property], "did not fail by {}: {}", mutant.property, verdict.text());
    Ok(())
}

/// The Verilog with the mutant's text in place of the original, which must be there exactly once.
fn mutate(verilog: &str, mutant: &Mutant) -> Result<String> {
    match verilog.matches(mutant.from).count() {
        1 => Ok(verilog.replacen(mutant.from, mutant.to, 1)),
        found => bail!("{:?} is in the Verilog {found} times, not once", mutant.from),
    }
}

/// Writes the files, flattens block and wrapper and gives the path of the SMT model; with `only`, all other properties
/// are taken out.
fn build(folder: &Path, verilog: &str, text: &str, wrapper: &Wrapper, only: Option<&str>) -> Result<PathBuf> {
    let mut verilog = verilog.to_owned();
    for name in &wrapper.abstracted {
        verilog = without(&verilog, name)?;
    }
    tool::write(&folder.join("top.v"), &verilog)?;
    tool::write(&folder.join("proof.sv"), text)?;
    // What properties name must still be there when yosys has taken away what nothing listens to.
    let mut script =
        String::from("read_verilog -formal -sv top.v proof.sv; hierarchy -top proof; proc; flatten; ");
    for (wire, net) in &wrapper.shared {
        script.push_str(&format!("setattr -set keep 1 w:{wire} w:{net} ; "));
    }
    if let Some(label) = only {
        // Early, so that what only the others look at goes with them. The invariants are gone as well: what they name may not be in a mutant.
        script.push_str(&format!("delete proof/t:$assert proof/c:{label} %d; delete proof/t:$cover; "));
    }
    script.push_str("prep -top proof -flatten; memory_map; ");
    for (wire, net) in &wrapper.shared {
        script.push_str(&format!("connect -set {wire} \\{net} ; "));
    }
    if only.is_none() {
        for (wire, net) in &wrapper.watched {
            script.push_str(&format!("connect -set {wire} \\{net} ; "));
        }
    }
    script.push_str("opt -full; dffunmap; ");
    script.push_str("write_smt2 -wires model.smt2");
    tool::run_yosys(&script, folder)?;

    // An assertion that is optimised away, or that yosys did not take for one, proves nothing.
    let model = folder.join("model.smt2");
    let smt = fs::read_to_string(&model).with_context(|| model.display().to_string())?;
    let found = smt.matches("; yosys-smt2-assert ").count();
    let expected = if only.is_some() { 1 } else { wrapper.labels };
    ensure!(found == expected, "{found} assertions in the model, {expected} in the wrapper");
    Ok(model)
}

/// The Verilog without one of its modules.
fn without(verilog: &str, name: &str) -> Result<String> {
    let (before, rest) =
        verilog.split_once(&format!("\nmodule {name} (")).with_context(|| format!("no module {name}"))?;
    let (_, after) = rest.split_once("\nendmodule\n").context("a module has an end")?;
    Ok(format!("{before}\n{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTANT: Mutant = Mutant { what: "m", property: "p", from: "a = b;", to: "a = c;" };

    #[test]
    fn a_mutant_must_match_once() {
        assert_eq!(mutate("x; a = b; y;", &MUTANT).unwrap(), "x; a = c; y;");
        assert!(mutate("a = b; a = b;", &MUTANT).is_err());
        assert!(mutate("a = d;", &MUTANT).is_err());
    }

    #[test]
    fn takes_a_module_out() {
        let text = "a\nmodule x (\n1\nendmodule\nmodule xy (\n2\nendmodule\n";
        assert_eq!(without(text, "x").unwrap(), "a\nmodule xy (\n2\nendmodule\n");
        assert!(without(text, "y").is_err());
    }

    #[test]
    fn what_is_assumed_is_proved() {
        for proof in all() {
            let lines: Vec<&str> = proof.wrapper.lines().map(str::trim).collect();
            for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(": assume(")) {
                let from = index.checked_sub(1).and_then(|above| lines[above].strip_prefix("// from: "));
                let from = from.unwrap_or_else(|| panic!("{}: nobody proves {line}", proof.name));
                if from.starts_with("outside: ") {
                    continue;
                }
                let (name, label) = from.split_once('.').expect("from: a proof, a dot, and a label of it");
                let source = all().into_iter().find(|other| other.name == name);
                let source = source.unwrap_or_else(|| panic!("{}: no proof {name}", proof.name));
                let visible = Wrapper::parse(source.wrapper).visible;
                assert!(
                    visible.iter().any(|found| found == label),
                    "{}: {name} proves no {label}",
                    proof.name
                );
            }
        }
    }
}
