//! Clippy's lints in a run of all parts: clippy compiles, as rustc would, what the part `build` builds, and says meanwhile what it
//! finds. So nothing is compiled once for its lints and once for the tests.

use crate::command::Cmd;
use crate::project::Project;
use anyhow::{ensure, Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Names to cargo what compiles the workspace's own packages in rustc's place. All calls of cargo in a run must have it, or each
/// would compile anew what the other has.
pub const WRAPPER: &str = "RUSTC_WORKSPACE_WRAPPER";

/// The compiler with clippy's lints.
///
/// # Errors
/// There is no rustc, or no clippy beside it.
pub fn driver(project: &Project) -> Result<PathBuf> {
    let sysroot = Cmd::new("rustc").args(["--print", "sysroot"]).folder(&project.root).read()?;
    let driver = Path::new(sysroot.trim()).join("bin/clippy-driver");
    ensure!(driver.exists(), "there is no {}: rustup component add clippy", driver.display());
    Ok(driver)
}

/// Fails if the build of everything, with these features, has told a warning. Cargo keeps what a package's compiler said, and says it again.
///
/// # Errors
/// There was a warning, or something does not compile.
pub fn check(project: &Project, features: &[&str]) -> Result<()> {
    let build = project.cargo("build")?.args(["--workspace", "--all-targets", "--message-format", "json"]);
    let build = match features.is_empty() {
        true => build,
        false => build.arg("--features").arg(features.join(",")),
    };
    println!("$ {build}");
    let (compiled, warnings) = warnings(&build.read()?)?;
    warnings.iter().for_each(|warning| print!("{warning}"));
    println!("{} warnings in {compiled} targets", warnings.len());
    ensure!(warnings.is_empty(), "{} warnings", warnings.len());
    ensure!(compiled > 0, "cargo named no target that it has compiled");
    Ok(())
}

/// How many targets cargo has compiled, and the compiler's diagnostics, as a person reads them.
fn warnings(messages: &str) -> Result<(usize, Vec<String>)> {
    let (mut compiled, mut found) = (0, Vec::new());
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).with_context(|| format!("cargo says {line}"))?;
        match message["reason"].as_str() {
            Some("compiler-artifact") => compiled += 1,
            Some("compiler-message") => {
                let text = message["message"]["rendered"].as_str();
                found.push(text.with_context(|| format!("a diagnostic without text: {line}"))?.to_owned());
            }
            _ => {}
        }
    }
    // The library and its tests say the same.
    found.sort();
    found.dedup();
    Ok((compiled, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_compiler_says_is_found_once() {
        let warning =
            r#"{"reason":"compiler-message","message":{"level":"warning","rendered":"warning: x\n"}}"#;
        let artifact = r#"{"reason":"compiler-artifact","target":{}}"#;
        let other = r#"{"reason":"build-finished","success":true}"#;
        let text = [artifact, warning, artifact, warning, other].join("\n");
        assert_eq!(warnings(&text).unwrap(), (2, vec!["warning: x\n".to_owned()]));
        assert_eq!(warnings(&[artifact, other].join("\n")).unwrap(), (1, vec![]));
        assert!(warnings("what is this").is_err());
    }

    #[test]
    fn clippy_s_compiler_is_beside_rustc() {
        assert!(driver(&Project::find().unwrap()).unwrap().ends_with("bin/clippy-driver"));
    }
}
