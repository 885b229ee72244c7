//! The programs as users start them.

use std::path::PathBuf;
use std::process::Command;

/// A program of the workspace, built beside this test.
///
/// # Panics
/// It has not been built.
pub fn program(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    let path: PathBuf = folder.join(name);
    assert!(path.exists(), "{} is not built: run the suite by `cargo xtask test`", path.display());
    Command::new(path)
}
