//! The questions to the solver, and its answers.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};

use crate::tool;

/// What yosys-smtbmc says.
#[derive(Debug)]
pub struct Verdict {
    /// It found nothing wrong.
    pub passed: bool,
    /// Labels of the assertions that failed.
    pub failed: Vec<String>,
    /// The rest of what matters.
    notes: Vec<String>,
}

impl Verdict {
    /// Reads what it printed.
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

    /// What failed, in a line.
    pub fn text(&self) -> String {
        let all: Vec<&str> = self.failed.iter().chain(&self.notes).map(String::as_str).collect();
        all.join(", ")
    }
}

/// Runs yosys-smtbmc with z3.
pub fn smt(model: &Path, arguments: &[&str]) -> Result<Verdict> {
    let mut command = Command::new("yosys-smtbmc");
    command.args(["-s", "z3", "--noprogress", "--unroll"]).args(arguments).arg(model);
    Verdict::parse(&tool::text(&tool::run(&mut command)?))
}

/// One step of induction, a question for each assertion. yosys-smtbmc writes the question for all of them together, and no solver answers that:
/// its dummy takes what it asks for from a file.
pub fn singly(folder: &Path, model: &Path) -> Result<()> {
    let (answers, question) = (folder.join("answers"), folder.join("question.smt2"));
    tool::write(&answers, "sat\nunsat\n")?;
    let mut command = Command::new("yosys-smtbmc");
    command.args(["-s", "dummy", "--noprogress", "--unroll", "-i", "-t", "1", "--dummy"]).arg(&answers);
    tool::run(command.arg("--dump-smt2").arg(&question).arg(model))?;
    let text = fs::read_to_string(model).with_context(|| model.display().to_string())?;
    let dump = fs::read_to_string(&question).with_context(|| question.display().to_string())?;
    let (rest, goals) = parted(&text, &dump)?;
    // One process reads the block once.
    let mut questions = rest + "\n";
    for (_, goal) in &goals {
        questions.push_str(&format!("(push)\n(assert (not {goal}))\n{STRATEGY}\n(pop)\n"));
    }
    let file = folder.join("single.smt2");
    tool::write(&file, &questions)?;
    let answers = tool::text(&tool::run(Command::new("z3").arg("-smt2").arg(&file))?);
    let labels: Vec<&str> = goals.iter().map(|(label, _)| label.as_str()).collect();
    all_hold(&labels, &answers)
}

/// Each label has its answer, and that is that nothing breaks it.
fn all_hold(labels: &[&str], answers: &str) -> Result<()> {
    let lines: Vec<&str> = answers.lines().collect();
    for (label, answer) in labels.iter().zip(&lines) {
        ensure!(answer.trim() == "unsat", "induction failed: {label}: {}", answer.trim());
    }
    ensure!(
        lines.len() == labels.len(),
        "{} answers for {} assertions: {answers}",
        lines.len(),
        labels.len()
    );
    Ok(())
}

/// What z3 does with bit vectors alone, for five minutes at most: it makes bits of them once, and asks its SAT solver.
const STRATEGY: &str = "(check-sat-using (then simplify propagate-values solve-eqs elim-uncnstr simplify bit-blast simplify solve-eqs aig sat) :timeout 300000)";

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_assertion_must_hold() {
        assert!(all_hold(&["first", "second"], "unsat\nunsat\n").is_ok());
        for answers in ["unsat\nsat\n", "unsat\nunknown\n", "unsat\n", "unsat\nunsat\nunsat\n", ""] {
            assert!(all_hold(&["first", "second"], answers).is_err(), "{answers:?}");
        }
        let error = all_hold(&["first", "second"], "unsat\nsat\n").unwrap_err();
        assert!(error.to_string().contains("second"), "{error}");
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
