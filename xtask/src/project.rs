//! Where the project's things are.

use crate::command::Cmd;
use crate::parts::in_ci;
use crate::version::Version;
use anyhow::{bail, Context, Result};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Names the folder of the Python tools to the programs that xtask starts.
pub const VENV_VARIABLE: &str = "VIADUCT_VENV";

/// This clone.
pub struct Project {
    /// The clone's own folder.
    pub root: PathBuf,
    /// The Python tools, installed by `setup`.
    pub venv: PathBuf,
}

impl Project {
    /// The clone that this program was built from.
    pub fn find() -> Result<Project> {
        // `cargo xtask` sets the variable; a clone that was moved after the build is found by it.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("xtask is not inside the project")?.to_path_buf();
        Ok(Project::at(root))
    }

    /// A clone at `root`.
    pub fn at(root: PathBuf) -> Project {
        let venv = root.join(".viaduct/venv");
        Project { root, venv }
    }

    /// Every call of cargo goes through here: the crate `verilated` builds only with the forced
    /// header, and flags that changed from call to call would build it again each time.
    pub fn cargo(&self, subcommand: &str) -> Result<Cmd> {
        let flags = std::env::var_os("CXXFLAGS");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let command = Cmd::new(cargo)
            .named("cargo")
            .arg(subcommand)
            .folder(&self.root)
            .ambient("CXXFLAGS", self.cxxflags(flags.as_deref())?)
            .ambient(VENV_VARIABLE, &self.venv);
        // In a fresh clone nothing is compiled a second time: what cargo keeps for that would be half of what a run writes.
        let keeps_nothing = in_ci() && std::env::var_os("CARGO_INCREMENTAL").is_none();
        Ok(if keeps_nothing { command.ambient("CARGO_INCREMENTAL", "0") } else { command })
    }

    /// The caller's C++ flags with the forced header of sim/ behind them.
    fn cxxflags(&self, already: Option<&OsStr>) -> Result<OsString> {
        let header = self.root.join("sim/verilated-compat.h");
        if header.as_os_str().to_string_lossy().contains(char::is_whitespace) {
            bail!(
                "compiler flags cannot carry the spaces in {}: move the clone to another folder",
                self.root.display()
            );
        }
        let mut forced = OsString::from("-include ");
        forced.push(&header);
        Ok(match already {
            None => forced,
            Some(flags) if flags.to_string_lossy().contains(&*forced.to_string_lossy()) => flags.to_owned(),
            Some(flags) => [flags, OsStr::new(" "), &forced].into_iter().collect(),
        })
    }

    /// A program that cargo has built for this run: it lies beside xtask itself.
    pub fn built(&self, name: &str) -> Result<Cmd> {
        let folder = self.built_folder()?;
        Ok(Cmd::new(folder.join(name)).ambient(VENV_VARIABLE, &self.venv))
    }

    /// The folder where cargo puts programs.
    pub fn built_folder(&self) -> Result<PathBuf> {
        let xtask = std::env::current_exe().context("where is xtask?")?;
        Ok(xtask.parent().context("xtask is in no folder")?.to_path_buf())
    }

    /// A folder for what a command writes, inside the target folder, so that it is never tracked.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let programs = self.built_folder()?;
        let folder = programs.parent().unwrap_or(&programs).join("xtask").join(name);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// The hash of the commit that is checked out; none where git or its history is not there.
    pub fn commit(&self) -> Option<String> {
        let hash = Cmd::new("git").args(["rev-parse", "HEAD"]).folder(&self.root).probe()?;
        Some(hash.trim().to_owned()).filter(|hash| !hash.is_empty())
    }

    /// The oldest Rust that the workspace promises to build with.
    pub fn rust_version(&self) -> Result<Version> {
        let manifest = read(&self.root.join("Cargo.toml"))?;
        manifest
            .lines()
            .find_map(|line| line.strip_prefix("rust-version = "))
            .and_then(|value| Version::parse(value.trim().trim_matches('"')))
            .context("Cargo.toml has no rust-version")
    }
}

/// Reads a file, and names it in the error.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a file, and names it in the error.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_where_there_is_one() {
        let here = Project::find().unwrap().commit();
        assert!(here.is_none_or(|hash| hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())));
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(Project::at(elsewhere.path().to_owned()).commit(), None);
    }

    #[test]
    fn the_forced_header_comes_behind_the_callers_flags() {
        let project = Project::at("/p".into());
        let flags = |already: &str| project.cxxflags(Some(OsStr::new(already))).unwrap();
        assert_eq!(project.cxxflags(None).unwrap(), "-include /p/sim/verilated-compat.h");
        assert_eq!(flags("-O1 -g"), "-O1 -g -include /p/sim/verilated-compat.h");
        assert_eq!(flags(flags("-O1").to_str().unwrap()), flags("-O1"), "added once");
    }

    #[test]
    fn a_clone_that_flags_cannot_name_is_refused() {
        let error = Project::at("/my clone".into()).cargo("build").unwrap_err();
        assert!(error.to_string().contains("/my clone"), "{error}");
    }

    #[test]
    fn every_cargo_carries_the_header_and_the_python_tools() {
        let cargo = Project::at("/p".into()).cargo("build").unwrap();
        let flags = cargo.get_env("CXXFLAGS").unwrap().to_string_lossy().into_owned();
        assert!(flags.ends_with("-include /p/sim/verilated-compat.h"), "{flags}");
        assert_eq!(cargo.get_env(VENV_VARIABLE).unwrap(), "/p/.viaduct/venv");
    }

    #[test]
    fn the_forced_header_and_the_rust_version_are_where_they_are_looked_for() {
        let project = Project::find().unwrap();
        assert!(project.root.join("sim/verilated-compat.h").is_file());
        assert!(project.rust_version().unwrap() >= Version::parse("1.56").unwrap());
    }
}
