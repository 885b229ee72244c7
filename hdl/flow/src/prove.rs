//! Proofs of the primitives: properties in SystemVerilog around the exported Verilog, yosys and z3.
//!
//! A wrapper in `formal/` instantiates the block beside a model of it and states, under labels, what a user sees;
//! after the line "What makes it so" follow the invariants that carry the induction. They name registers inside the
//! block: a line `// watch: wire = net` connects a wire of the wrapper to a net of the flattened block.
//!
//! Each proof is: every property holds in all states (induction over steps, from a base of bounded checks deeper
//! than twice the block's capacity), the interesting states can be reached (cover), and every property a user sees
//! fails on at least one mutant of the block (three, where a proof says so). A mutant is a text substitution that must match exactly once, and is
//! judged by its one property alone, from reset on: the invariants do not help to find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{bail, ensure, Context, Result};

use super::tool;
use viaduct_hdl::proofs::{all, Engine, Mutant, Proof};

/// Runs the proofs whose name contains `only`, or all, and prints a line for each.
///
/// # Errors
/// A tool is missing, a property fails, a mutant survives, or a property has no mutant.
pub fn run(only: Option<&str>) -> Result<()> {
    let proofs: Vec<Proof> =
        all().into_iter().filter(|proof| only.is_none_or(|text| proof.name.contains(text))).collect();
    ensure!(!proofs.is_empty(), "no proof has {:?} in its name", only.unwrap_or_default());
    tool::run(Command::new("z3").arg("--version"))?;
    println!(
        "{:<13} {:>10}  {:<15} {:<9} {:>6} {:>10} {:>8} {:>8}",
        "proof", "properties", "engine", "holds", "depth", "induction", "mutants", "time"
    );
    let mut wrong = Vec::new();
    for proof in &proofs {
        let start = Instant::now();
        let result = prove(proof);
        let seconds = start.elapsed().as_secs_f32();
        match result {
            Ok(properties) => println!(
                "{:<13} {properties:>10}  {:<15} {:<9} {:>6} {:>10} {:>8} {seconds:>6.1} s",
                proof.name,
                proof.engine.text(),
                "unbounded",
                proof.depth,
                proof.steps,
                proof.mutants.len()
            ),
            Err(error) => {
                println!("{:<13} FAILED {seconds:.1} s\n{error:#}", proof.name);
                wrong.push(proof.name);
            }
        }
    }
    ensure!(wrong.is_empty(), "not proved: {}", wrong.join(", "));
    Ok(())
}

/// One proof with its mutants; gives the number of properties.
///
/// # Errors
/// As [`run`].
pub fn prove(proof: &Proof) -> Result<usize> {
    let wrapper = Wrapper::parse(proof.wrapper);
    for property in &wrapper.visible {
        let found = proof.mutants.iter().filter(|mutant| mutant.property == property).count();
        ensure!(found >= proof.kills, "property {property} has {found} mutants, not {}", proof.kills);
    }
    let verilog = (proof.verilog)();
    let folder = tool::scratch("prove", proof.name)?;
    let model = build(&folder, &verilog, proof.wrapper, &wrapper, None)?;

    let depth = proof.depth.to_string();
    let steps = proof.steps.to_string();
    // One step of induction needs no more base than the first state.
    let base = if proof.engine == Engine::Single { "1" } else { &depth };
    let mut checks =
        vec![("bounded check", vec!["--presat", "-t", base]), ("cover", vec!["-c", "-t", &depth])];
    match proof.engine {
        Engine::Whole => checks.push(("induction", vec!["-i", "-t", &steps])),
        Engine::Single => singly(&folder, &model)?,
    }
    for (what, arguments) in checks {
        let verdict = smt(&model, &arguments)?;
        ensure!(verdict.passed, "{what} failed: {}", verdict.text());
    }
    for mutant in proof.mutants {
        kill(proof, mutant, &verilog, &wrapper).with_context(|| format!("mutant: {}", mutant.what))?;
    }
    Ok(wrapper.labels)
}

/// One step of induction, a question for each assertion. yosys-smtbmc writes the question for all of them together, and no solver answers that:
/// its dummy takes what it asks for from a file.
fn singly(folder: &Path, model: &Path) -> Result<()> {
    let (answers, question) = (folder.join("answers"), folder.join("question.smt2"));
    tool::write(&answers, "sat\nunsat\n")?;
    let mut command = Command::new("yosys-smtbmc");
    command.args(["-s", "dummy", "--noprogress", "--unroll", "-i", "-t", "1", "--dummy"]).arg(&answers);
    tool::run(command.arg("--dump-smt2").arg(&question).arg(model))?;
    let text = fs::read_to_string(model).with_context(|| model.display().to_string())?;
    let dump = fs::read_to_string(&question).with_context(|| question.display().to_string())?;
    let (rest, goals) = parted(&text, &dump)?;
    for (label, goal) in goals {
        let file = folder.join("single.smt2");
        tool::write(&file, &format!("{rest}\n(assert (not {goal}))\n{STRATEGY}\n"))?;
        let answer = tool::text(&tool::run(Command::new("z3").args(["-smt2", "-T:300"]).arg(&file))?);
        ensure!(answer.trim() == "unsat", "induction failed: {label}: {}", answer.trim());
    }
    Ok(())
}

/// What z3 does with bit vectors alone: it makes bits of them once, and asks its SAT solver.
const STRATEGY: &str = "(check-sat-using (then simplify propagate-values solve-eqs elim-uncnstr simplify bit-blast simplify solve-eqs aig sat))";

/// The question of yosys-smtbmc without what it asks, and each assertion by its label and its term in the last state.
fn parted(model: &str, dump: &str) -> Result<(String, Vec<(String, String)>)> {
    let labels = model.lines().filter_map(|line| line.strip_prefix("; yosys-smt2-assert "));
    let labels: Vec<&str> = labels.filter_map(|line| line.split_whitespace().nth(1)).collect();
    let asked =
        dump.lines().find(|line| line.starts_with("(assert (not (and |") && line.ends_with(" true)))"));
    let asked = asked.context("yosys-smtbmc asks nothing")?;
    let all = asked.trim_start_matches("(assert (not (and ").trim_end_matches(" true)))");
    let start = format!("(define-fun {all} () Bool (and ");
    let terms = dump.lines().find_map(|line| line.strip_prefix(&start)).context("no assertions")?;
    let terms: Vec<&str> = terms.trim_end_matches("))").split_whitespace().collect();
    ensure!(terms.len() == labels.len(), "{} terms for {} assertions", terms.len(), labels.len());
    // The strategy names its own theory, and the questions on the way are not asked.
    let left_out = ["(exit", "(get-", "(set-logic", "(check-sat", "(set-option :produce-models"];
    let rest: Vec<&str> = dump
        .lines()
        .filter(|line| *line != asked && !left_out.iter().any(|start| line.starts_with(start)))
        .collect();
    let goals = labels.into_iter().zip(terms).map(|(label, term)| (label.to_owned(), term.to_owned()));
    Ok((rest.join("\n"), goals.collect()))
}

/// A mutant must fail its property, in a run from reset.
fn kill(proof: &Proof, mutant: &Mutant, verilog: &str, wrapper: &Wrapper) -> Result<()> {
    let mutated = mutate(verilog, mutant)?;
    ensure!(
        wrapper.visible.iter().any(|label| label == mutant.property),
        "{} is no property that a user sees",
        mutant.property
    );
    let folder = tool::scratch("prove", &format!("{}-mutant", proof.name))?;
    let model = build(&folder, &mutated, proof.wrapper, wrapper, Some(mutant.property))?;
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

/// What the runner needs to know of a wrapper's text.
#[derive(Debug, Default)]
struct Wrapper {
    /// Number of assertions.
    labels: usize,
    /// Labels of those a user sees.
    visible: Vec<String>,
    /// Wires of the wrapper and the nets of the flattened block they show.
    watched: Vec<(String, String)>,
    /// The same, of blocks that the wrapper has itself, and its properties name.
    shared: Vec<(String, String)>,
    /// Blocks for which the wrapper has others, of which less is known.
    abstracted: Vec<String>,
}

impl Wrapper {
    fn parse(text: &str) -> Self {
        let mut wrapper = Self::default();
        let mut inside = false;
        for line in text.lines() {
            inside |= line.contains("// What makes it so");
            if let Some((wire, net)) = line.strip_prefix("// watch: ").and_then(|rest| rest.split_once(" = "))
            {
                wrapper.watched.push((wire.into(), net.into()));
            }
            if let Some((wire, net)) = line.strip_prefix("// share: ").and_then(|rest| rest.split_once(" = "))
            {
                wrapper.shared.push((wire.into(), net.into()));
            }
            wrapper.abstracted.extend(line.strip_prefix("// abstract: ").map(str::to_owned));
            if let Some((before, _)) = line.split_once(": assert(") {
                wrapper.labels += 1;
                let label = before.rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default();
                if !inside {
                    wrapper.visible.push(label.into());
                }
            }
        }
        wrapper
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
    for (_, net) in &wrapper.shared {
        script.push_str(&format!("setattr -set keep 1 w:{net} ; "));
    }
    script.push_str("prep -top proof -flatten; memory_map; ");
    for (wire, net) in &wrapper.shared {
        script.push_str(&format!("connect -set {wire} \\{net} ; "));
    }
    match only {
        // The invariants are gone, and what they look at may not be in a mutant.
        Some(label) => script.push_str(&format!("delete proof/t:$assert proof/c:{label} %d; ")),
        None => {
            for (wire, net) in &wrapper.watched {
                script.push_str(&format!("connect -set {wire} \\{net} ; "));
            }
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

/// What yosys-smtbmc says.
#[derive(Debug)]
struct Verdict {
    passed: bool,
    /// Labels of the assertions that failed.
    failed: Vec<String>,
    /// The rest of what matters.
    notes: Vec<String>,
}

impl Verdict {
    fn parse(log: &str) -> Result<Self> {
        let mut passed = None;
        let (mut failed, mut notes) = (Vec::new(), Vec::new());
        for line in log.lines() {
            if line.contains("Status: PASSED") {
                passed = Some(true);
            } else if line.contains("Status: FAILED") {
                passed = Some(false);
            } else if let Some((_, label)) = line.split_once("Assert failed in proof: ") {
                failed.push(label.split_whitespace().next().unwrap_or_default().to_owned());
            } else if let Some((_, note)) = line.split_once("Unreached cover statement at ") {
                notes.push(format!("not reached: {note}"));
            }
        }
        let passed = passed.with_context(|| format!("yosys-smtbmc came to no end:\n{log}"))?;
        Ok(Self { passed, failed, notes })
    }

    fn text(&self) -> String {
        let all: Vec<&str> = self.failed.iter().chain(&self.notes).map(String::as_str).collect();
        all.join(", ")
    }
}

/// Runs yosys-smtbmc with z3.
fn smt(model: &Path, arguments: &[&str]) -> Result<Verdict> {
    let mut command = Command::new("yosys-smtbmc");
    command.args(["-s", "z3", "--noprogress", "--unroll"]).args(arguments).arg(model);
    Verdict::parse(&tool::text(&tool::run(&mut command)?))
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
    fn reads_labels_and_watches() {
        let text = "// watch: head = dut.head.q\n  if (x) order: assert(a);\n  // What makes it so\n  in: assert(b);";
        let wrapper = Wrapper::parse(text);
        assert_eq!(wrapper.labels, 2);
        assert_eq!(wrapper.visible, ["order"]);
        assert_eq!(wrapper.watched, [("head".to_owned(), "dut.head.q".to_owned())]);
    }

    #[test]
    fn takes_a_module_out() {
        let text = "a\nmodule x (\n1\nendmodule\nmodule xy (\n2\nendmodule\n";
        assert_eq!(without(text, "x").unwrap(), "a\nmodule xy (\n2\nendmodule\n");
        assert!(without(text, "y").is_err());
    }

    #[test]
    fn parts_a_question() {
        let model = "; yosys-smt2-assert 0 first x\n; yosys-smt2-assert 1 second y\n";
        let dump = "(set-logic QF_ABV)\n(define-fun |a| () Bool (and |b| |c| ))\n(assert (not (and |a| true)))\n(check-sat)\n(assert |d|)";
        let (rest, goals) = parted(model, dump).unwrap();
        assert_eq!(rest, "(define-fun |a| () Bool (and |b| |c| ))\n(assert |d|)");
        assert_eq!(goals[1], ("second".to_owned(), "|c|".to_owned()));
        assert!(parted("; yosys-smt2-assert 0 first x\n", dump).is_err());
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

    #[test]
    fn reads_verdicts() {
        let log = "##  0  Assert failed in proof: order (step 8)\n##  0  Status: FAILED\n";
        let verdict = Verdict::parse(log).unwrap();
        assert!(!verdict.passed);
        assert_eq!(verdict.failed, ["order"]);
        assert!(Verdict::parse("##  0  Status: PASSED").unwrap().passed);
        assert!(Verdict::parse("Traceback").is_err());
    }
}
