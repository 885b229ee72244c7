//! The programs that the tests start.

use std::path::PathBuf;

/// A program of the workspace, built beside this test.
///
/// # Panics
/// It has not been built.
pub fn program(name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os("VIADUCT_SIM").filter(|_| name == "viaduct-sim") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test has a path");
    let path = test.ancestors().nth(2).expect("target/<profile>/deps/<test>").join(name);
    assert!(path.exists(), "{} is not built: run the suite by `cargo xtask test`", path.display());
    path
}
