//! Test programs, and one test at a time of them on a mutant.

use super::verilog::VARIABLE;
use crate::command::Cmd;
use crate::project::{self, Project};
use anyhow::{bail, Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable with the name of the block.
const BLOCK: &str = "VIADUCT_BLOCK";

/// A program of tests.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    folder: PathBuf,
    /// Its tests' names.
    pub tests: Vec<String>,
    /// Changes when the program does.
    pub version: String,
    /// The block that it is about, for the tests that ask (hdl/tests/faultless).
    block: String,
}

/// The programs of some packages, by `package::program`.
#[derive(Debug)]
pub struct Programs(BTreeMap<String, Program>);

/// How a test on a mutant ended.
#[derive(Debug, PartialEq)]
pub enum End {
    /// It found no fault.
    Passed,
    /// It failed.
    Failed,
    /// It did not end in time.
    Late,
}

/// A run of one test.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub end: End,
    /// Whether one of its models had the mutant in it.
    pub met: bool,
    /// How long it took.
    pub time: Duration,
}

impl Programs {
    /// Builds the packages' tests, if they are not built, and lists them.
    ///
    /// # Errors
    /// They cannot be built.
    pub fn find(project: &Project, packages: &[&str]) -> Result<Self> {
        let filter: Vec<String> = packages.iter().map(|package| format!("package(={package})")).collect();
        // All of the workspace: what the other parts of the suite have built.
        let list = project.cargo("nextest")?.args(["list", "--workspace", "--message-format", "json", "-E"]);
        Self::parse(&list.arg(filter.join(" | ")).read()?)
    }

    /// From nextest's list.
    fn parse(text: &str) -> Result<Self> {
        let list: Value = serde_json::from_str(text).context("nextest's list is no JSON")?;
        let suites = list["rust-suites"].as_object().context("nextest lists no programs")?;
        let mut programs = BTreeMap::new();
        for (name, suite) in suites {
            let text = |key: &str| suite[key].as_str().with_context(|| format!("{name} has no {key}"));
            let tests = suite["testcases"].as_object().with_context(|| format!("{name} has no tests"))?;
            let wanted = |(_, test): &(&String, &Value)| {
                test["filter-match"]["status"] == "matches" && test["ignored"] == false
            };
            let tests: Vec<String> = tests.iter().filter(wanted).map(|(test, _)| test.clone()).collect();
            let path = PathBuf::from(text("binary-path")?);
            let version = version(&path);
            let program = Program { path, folder: text("cwd")?.into(), tests, version, block: String::new() };
            programs.insert(name.clone(), program);
        }
        Ok(Self(programs))
    }

    /// One of them.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn get(&self, name: &str) -> Result<&Program> {
        self.0.get(name).with_context(|| format!("there is no test program {name}"))
    }
}

/// Size and time of a file.
fn version(path: &Path) -> String {
    let seen = std::fs::metadata(path).and_then(|data| Ok((data.len(), data.modified()?)));
    let time = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    seen.map_or(String::new(), |(length, modified)| format!("{length}-{}", time(modified).as_millis()))
}

/// Runs what a judge has on a mutant; what it prints goes into the file `log`.
///
/// # Errors
/// It cannot be started.
pub fn watch(mut command: Command, limit: Duration, log: &Path) -> Result<Run> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    command.stdout(file.try_clone()?).stderr(file).stdin(Stdio::null()).process_group(0);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut pause = Duration::from_millis(1);
    let status = loop {
        if let Some(status) = child.try_wait().context("waiting for a test")? {
            break Some(status);
        }
        if start.elapsed() > limit {
            // With what it has started, which is in its group.
            Cmd::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).run_quietly()?;
            child.wait().context("waiting for a test")?;
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let time = start.elapsed();
    let end = match status {
        None => End::Late,
        Some(status) if status.success() => End::Passed,
        Some(_) => End::Failed,
    };
    let printed = std::fs::read(log).with_context(|| log.display().to_string())?;
    let printed = String::from_utf8_lossy(&printed);
    let met = printed.lines().any(|line| line.contains("mutant ") && line.contains(" in block "));
    Ok(Run { end, met, time })
}

impl Program {
    /// The same about this block.
    pub fn about(&self, block: &str) -> Self {
        Self { block: block.into(), ..self.clone() }
    }

    /// Runs one test on a mutant (`FOLDER:NUMBER`); what it prints goes into the file `log`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, test: &str, mutant: &str, limit: Duration, log: &Path) -> Result<Run> {
        let arguments = ["--exact", test, "--nocapture", "--test-threads", "1", "--include-ignored"];
        let mut command = Cmd::new(&self.path)
            .args(arguments)
            .env(VARIABLE, mutant)
            .env(BLOCK, &self.block)
            .folder(&self.folder)
            .tethered()
            .command();
        // The crates' own folders are what tests look for their files in.
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("RUST_BACKTRACE", "0");
        let run = watch(command, limit, log)?;
        if run.end == End::Passed && !project::read(log)?.contains("test result: ok. 1 passed") {
            bail!("{test} was not run: see {}", log.display());
        }
        Ok(run)
    }

    /// The tests whose names begin with one of these.
    pub fn of<'a>(&'a self, modules: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let tests = self.tests.iter().map(String::as_str);
        tests.filter(|test| modules.iter().any(|module| test.starts_with(module)))
    }
}

/// The last lines of what a test printed.
///
/// # Errors
/// The file cannot be read.
pub fn last_words(log: &Path) -> Result<String> {
    let text = project::read(log)?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(12)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_nextest_is_read() {
        let list = r#"{"rust-suites": {"h::a": {"binary-path": "/b", "cwd": "/c", "testcases": {
            "x::one": {"ignored": false, "filter-match": {"status": "matches"}},
            "x::off": {"ignored": true, "filter-match": {"status": "matches"}},
            "y::other": {"ignored": false, "filter-match": {"status": "mismatch"}}}},
            "h::none": {"binary-path": "/b", "cwd": "/c"}}}"#;
        assert!(Programs::parse(list).unwrap_err().to_string().contains("h::none has no tests"));
        let list = list.replace(r#""cwd": "/c"}}}"#, r#""cwd": "/c", "testcases": {}}}}"#);
        let programs = Programs::parse(&list).unwrap();
        assert_eq!(programs.get("h::a").unwrap().tests, ["x::one"]);
        assert_eq!(programs.get("h::a").unwrap().of(&["y::"]).count(), 0);
        assert!(programs.get("h::other").is_err());
        assert!(Programs::parse("{}").is_err() && Programs::parse("x").is_err());
    }

    #[test]
    fn a_run_ends_in_one_of_three_ways() {
        let folder = tempfile::tempdir().unwrap();
        let program = |text: &str| {
            let path = folder.path().join("program");
            project::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            Cmd::new("chmod").arg("+x").arg(&path).run_quietly().unwrap();
            Program {
                path,
                folder: folder.path().into(),
                tests: Vec::new(),
                version: String::new(),
                block: String::new(),
            }
        };
        let log = folder.path().join("log");
        let run = |text: &str| program(text).run("a::b", "/m:3", Duration::from_secs(1), &log);
        let passed =
            run("echo mutant 3 in block x $2 $VIADUCT_MUTANT; echo test result: ok. 1 passed").unwrap();
        assert_eq!((passed.end, passed.met), (End::Passed, true));
        assert!(last_words(&log).unwrap().starts_with("mutant 3 in block x a::b /m:3\n"));
        let failed = run("exit 101").unwrap();
        assert_eq!((failed.end, failed.met), (End::Failed, false));
        assert_eq!(run("sleep 60").unwrap().end, End::Late);
        assert!(run("echo test result: ok. 0 passed").is_err(), "no such test");
    }
}
