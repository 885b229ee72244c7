//! A copy of this clone, in which code can be broken: under the target folder, and built there with a target folder of its own.

use crate::command::Cmd;
use crate::mutate::verilog::sha256;
use crate::project::{self, Project};
use anyhow::{ensure, Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every block's Verilog, by the file that it is exported to.
type Texts = BTreeMap<String, String>;

/// The copy.
pub struct Copy {
    project: Project,
    folder: PathBuf,
    sound: Texts,
}

/// What became of the Verilog.
pub enum Made {
    /// The code does not compile, or no Verilog can be made of the design.
    Nothing,
    /// It is what it was.
    Same,
    /// These blocks are others.
    Other(Broken),
}

/// Blocks that are not what they were: a folder in which the tests find what they are now, and one with what they were.
pub struct Broken {
    broken: PathBuf,
    sound: PathBuf,
    /// How many.
    pub blocks: usize,
}

impl Broken {
    /// What tells a test to run the broken blocks: see hdl/verilate.
    pub fn mutant(&self) -> String {
        format!("{}:1", self.broken.display())
    }

    /// What tells it to run the sound ones, and to say so.
    pub fn sound(&self) -> String {
        format!("{}:0", self.sound.display())
    }
}

impl Copy {
    /// Copies what has changed since the last time, and exports the Verilog.
    ///
    /// # Errors
    /// It cannot be copied, or does not build.
    pub fn new(project: &Project) -> Result<Self> {
        let folder = project.scratch("rules")?;
        let tree = folder.join("tree");
        copy(&project.root, &tree)?;
        let copied = Project { root: tree, venv: project.venv.clone() };
        let mut copy = Self { project: copied, folder, sound: Texts::new() };
        copy.build()?.run()?;
        let sound = copy.folder.join("verilog");
        ensure!(copy.export(&sound)?, "nothing can be exported in {}", copy.project.root.display());
        copy.sound = texts(&sound)?;
        ensure!(!copy.sound.is_empty(), "no block was exported to {}", sound.display());
        Ok(copy)
    }

    /// Writes this text in place of a file's; what becomes of the Verilog is kept in a folder of this name. The file is as it was again then.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn with(&self, file: &str, text: &str, name: &str) -> Result<Made> {
        let path = self.project.root.join(file);
        let before = project::read(&path)?;
        project::write(&path, text)?;
        let made = self.make(name);
        project::write(&path, before)?;
        made
    }

    fn make(&self, name: &str) -> Result<Made> {
        let verilog = self.folder.join("broken");
        if self.build()?.probe().is_none() || !self.export(&verilog)? {
            return Ok(Made::Nothing);
        }
        let now = texts(&verilog)?;
        let folder = empty(self.folder.join("made").join(name))?;
        let (broken, sound) = (empty(folder.join("broken"))?, empty(folder.join("sound"))?);
        let mut blocks = 0;
        for (block, old) in &self.sound {
            let new = now.get(block).with_context(|| format!("{block} was not exported"))?;
            if new != old {
                let file = format!("{}.v", sha256(old));
                project::write(&broken.join(&file), new)?;
                project::write(&sound.join(&file), old)?;
                blocks += 1;
            }
        }
        Ok(if blocks == 0 { Made::Same } else { Made::Other(Broken { broken, sound, blocks }) })
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn build(&self) -> Result<Cmd> {
        let build =
            self.project.cargo("build")?.args(["--quiet", "-p", "viaduct-flow", "--bin", "viaduct-export"]);
        Ok(build.ambient("CARGO_TARGET_DIR", self.target()))
    }

    /// Whether it could.
    fn export(&self, folder: &Path) -> Result<bool> {
        let folder = empty(folder.to_owned())?;
        let program = self.target().join("debug/viaduct-export");
        Ok(Cmd::new(program).args(["export", "--out"]).arg(folder).probe().is_some())
    }
}

/// A folder with nothing in it.
fn empty(folder: PathBuf) -> Result<PathBuf> {
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// All files below a folder, by their paths there.
fn texts(folder: &Path) -> Result<Texts> {
    let mut found = Texts::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            found.extend(texts(&path)?.into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
        } else {
            found.insert(name, project::read(&path)?);
        }
    }
    Ok(found)
}

/// What is in a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Makes `to` what `from` is, without what cargo or git keep there. Files that are the same stay as they are: cargo builds what is newer.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let mut wanted = names(from)?;
    wanted.retain(|name| name != "target" && !name.starts_with('.'));
    for name in names(to)?.iter().filter(|name| !wanted.contains(name)) {
        let path = to.join(name);
        let gone = if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        gone.with_context(|| path.display().to_string())?;
    }
    for name in &wanted {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_dir() {
            copy(&from, &to)?;
            continue;
        }
        let text = std::fs::read(&from).with_context(|| from.display().to_string())?;
        if std::fs::read(&to).ok().as_ref() != Some(&text) {
            project::write(&to, text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_follows_what_it_is_of_and_leaves_alone_what_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for place in ["a/b", "target/x", ".git"] {
            std::fs::create_dir_all(from.join(place)).unwrap();
        }
        for file in ["a/same", "a/b/changes", "a/goes", "target/x/y", ".git/z"] {
            project::write(&from.join(file), file).unwrap();
        }
        copy(&from, &to).unwrap();
        let time = |file: &str| std::fs::metadata(to.join(file)).unwrap().modified().unwrap();
        let before = time("a/same");
        project::write(&from.join("a/b/changes"), "new").unwrap();
        std::fs::remove_file(from.join("a/goes")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        copy(&from, &to).unwrap();
        let found = texts(&to).unwrap();
        let pair = |file: &str, text: &str| (file.to_owned(), text.to_owned());
        assert_eq!(found, [pair("a/b/changes", "new"), pair("a/same", "a/same")].into());
        assert_eq!(time("a/same"), before);
    }
}
