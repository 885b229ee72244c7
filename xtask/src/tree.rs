//! This tree, and that of another commit beside it: both run the same load, the program `sim/examples/load`, which is put into the other one.

use crate::command::Cmd;
use crate::need::Need;
use crate::project::{self, Project};
use crate::setup;
use anyhow::{bail, Context, Result};
use std::path::{Path, PathBuf};

/// The folder of the load.
const LOAD: &str = "sim/examples/load";
/// The program of the bench.
const BENCH: &str = "viaduct-bench";

/// A tree that is built for itself: its own sources, flags and target folder.
pub struct Tree {
    /// What it is called.
    pub name: String,
    project: Project,
    /// Cargo's target folder.
    target: PathBuf,
}

/// That of a commit, and this one as it is, with the load built in each.
///
/// # Errors
/// There is no such commit, or it cannot build the load.
pub fn both(project: &Project, commit: &str) -> Result<[Tree; 2]> {
    setup::ensure(project, &[Need::Simulator])?;
    let trees = [Tree::of(project, commit)?, Tree::here(project)?];
    for tree in &trees {
        // One selection of packages: cargo may build the simulator anew for another.
        let packages = ["-p", "viaduct-sim", "-p", "viaduct-bench"];
        let build = tree.cargo("build")?.args(packages).args(["--example", "load", "--bin", BENCH]).run();
        build
            .with_context(|| format!("{} does not build {LOAD}: it has not what that asks for", tree.name))?;
    }
    Ok(trees)
}

impl Tree {
    fn here(project: &Project) -> Result<Self> {
        let programs = project.built_folder()?;
        let target = programs.parent().context("cargo's programs lie in a folder of its own")?.to_owned();
        Ok(Self { name: "this tree".into(), project: Project::at(project.root.clone()), target })
    }

    /// The commit's tree, in a folder of its own. It is not one of git's work trees: nobody has to tell git when it goes.
    fn of(project: &Project, commit: &str) -> Result<Self> {
        let git = || Cmd::new("git").folder(&project.root);
        let known = git().args(["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")]).probe();
        let Some(hash) = known.map(|hash| hash.trim().to_owned()) else {
            bail!("git knows no commit {commit} here");
        };
        let trees = project.scratch("trees")?;
        let root = trees.join(&hash);
        if !root.exists() {
            let (archive, part) = (trees.join(format!("{hash}.tar")), trees.join(format!("{hash}.part")));
            if part.exists() {
                std::fs::remove_dir_all(&part).with_context(|| part.display().to_string())?;
            }
            std::fs::create_dir_all(&part).with_context(|| part.display().to_string())?;
            git().args(["archive", "--output"]).arg(&archive).arg(&hash).run()?;
            Cmd::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&part).run()?;
            std::fs::remove_file(&archive).with_context(|| archive.display().to_string())?;
            std::fs::rename(&part, &root).with_context(|| root.display().to_string())?;
        }
        put(&project.root.join(LOAD), &root.join(LOAD))?;
        let target = root.join("target");
        Ok(Self { name: hash[..8].to_owned(), project: Project::at(root), target })
    }

    /// Cargo in this tree.
    fn cargo(&self, subcommand: &str) -> Result<Cmd> {
        Ok(self.project.cargo(subcommand)?.ambient("CARGO_TARGET_DIR", &self.target))
    }

    /// The bench of this tree.
    pub fn bench(&self) -> Cmd {
        Cmd::new(self.target.join("debug").join(BENCH))
    }

    /// The load of this tree.
    pub fn load(&self, task: &str) -> Cmd {
        Cmd::new(self.target.join("debug/examples/load")).arg(task)
    }

    /// A new folder for what the tree makes.
    pub fn made(&self, project: &Project, what: &str) -> Result<PathBuf> {
        let folder = project.scratch(what)?.join(self.name.replace(' ', "-"));
        if folder.exists() {
            // What an earlier run left must not pass for this one's.
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }
}

/// Makes one folder of files what another is. A file that is the same is left alone: cargo would build it again.
fn put(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let names = |folder: &Path| -> Result<Vec<std::ffi::OsString>> {
        let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        entries.map(|entry| Ok(entry.with_context(|| folder.display().to_string())?.file_name())).collect()
    };
    let wanted = names(from)?;
    for name in names(to)?.iter().filter(|name| !wanted.contains(name)) {
        std::fs::remove_file(to.join(name)).with_context(|| to.join(name).display().to_string())?;
    }
    for name in &wanted {
        let text = project::read(&from.join(name))?;
        if std::fs::read_to_string(to.join(name)).ok().as_ref() != Some(&text) {
            project::write(&to.join(name), text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_what_another_is_and_what_is_the_same_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("a/to"));
        std::fs::create_dir_all(&from).unwrap();
        std::fs::create_dir_all(&to).unwrap();
        for (file, text) in [("from/new", "1"), ("from/other", "2"), ("from/same", "3"), ("a/to/other", "0")]
        {
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        std::fs::write(to.join("same"), "3").unwrap();
        std::fs::write(to.join("old"), "4").unwrap();
        let made = || std::fs::metadata(to.join("same")).unwrap().modified().unwrap();
        let before = made();
        put(&from, &to).unwrap();
        let read = |name: &str| std::fs::read_to_string(to.join(name)).ok();
        assert_eq!(
            ["new", "other", "same", "old"].map(read),
            [Some("1".into()), Some("2".into()), Some("3".into()), None]
        );
        assert_eq!(made(), before);
    }

    #[test]
    fn a_commit_that_git_does_not_know_is_named() {
        let project = Project::find().unwrap();
        let error = Tree::of(&project, "no-such-commit").err().unwrap();
        assert!(error.to_string().contains("no-such-commit"), "{error}");
    }
}
