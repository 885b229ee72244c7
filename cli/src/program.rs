//! Programs that this one starts: they have the simulated NIC in them.

use std::path::PathBuf;

use anyhow::{ensure, Result};

/// A program.
pub struct Program {
    /// The name of its file.
    pub name: &'static str,
    /// Names the file in the environment, if it is not beside this program.
    pub variable: &'static str,
    /// The package that it is built from.
    pub package: &'static str,
    /// What it is, for people.
    pub what: &'static str,
}

impl Program {
    /// Where it is: named by the environment, or beside this program.
    pub fn locate(&self) -> Result<PathBuf> {
        let Self { name, variable, package, what } = self;
        if let Some(path) = std::env::var_os(variable) {
            let path = PathBuf::from(path);
            ensure!(path.is_file(), "{variable} names {}, which is no file", path.display());
            return Ok(path);
        }
        let path = std::env::current_exe()?.with_file_name(name);
        ensure!(
            path.is_file(),
            "no {what} at {}: name it in {variable}, or build it with `cargo build -p {package}` in Viaduct's sources",
            path.display()
        );
        Ok(path)
    }
}
