//! The crates that users link, built as a user would have them: a copy of their sources alone, in
//! another folder, with no Verilator, no C++ compiler and none of our hardware crates to be found.

use crate::command::Cmd;
use crate::project::{read, write, Project};
use anyhow::{bail, ensure, Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What a Rust build may use. `cc` links; it is there as a linker only.
const ALLOWED: [&str; 3] = ["cc", "ld", "as"];
/// What must not be found.
const FORBIDDEN: [&str; 6] = ["c++", "g++", "clang++", "verilator", "verilator_bin", "yosys"];

/// A folder that goes when its owner does.
struct Elsewhere(PathBuf);

impl Elsewhere {
    fn make() -> Result<Elsewhere> {
        let folder = std::env::temp_dir().join(format!("viaduct-alone-{}", std::process::id()));
        // What a killed run left under the same number is ours to replace; a stranger's is not.
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Elsewhere(folder))
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        // A left-over folder in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies, and builds.
pub fn build(project: &Project) -> Result<()> {
    let manifest = read(&project.root.join("Cargo.toml"))?;
    let crates = list(&manifest, "default-members")?;
    let elsewhere = Elsewhere::make()?;
    let sources = elsewhere.0.join("sources");
    fs::create_dir(&sources)?;
    write(&sources.join("Cargo.toml"), replace_list(&manifest, "members", &crates)?)?;
    fs::copy(project.root.join("Cargo.lock"), sources.join("Cargo.lock"))?;
    for name in &crates {
        // A crate in another one's folder came with it.
        if !sources.join(name).exists() {
            copy(&project.root.join(name), &sources.join(name))?;
        }
    }

    let programs = elsewhere.0.join("bin");
    fs::create_dir(&programs)?;
    for name in ALLOWED {
        if let Some(program) = which(name) {
            symlink(program, programs.join(name))?;
        }
    }
    // The toolchain's own programs, since rustup's stand-ins would put their folder on the PATH.
    let sysroot = Cmd::new("rustc").args(["--print", "sysroot"]).folder(&project.root).read()?;
    for name in ["cargo", "rustc"] {
        symlink(Path::new(sysroot.trim()).join("bin").join(name), programs.join(name))?;
    }
    for name in FORBIDDEN {
        ensure!(!programs.join(name).exists(), "{name} can be found");
    }

    let mut build = Cmd::new(programs.join("cargo"))
        .named("cargo")
        .args(["build", "--workspace"])
        .folder(&sources)
        .env("PATH", &programs)
        // Dependencies stay built from run to run; the copies are always new.
        .ambient("CARGO_TARGET_DIR", project.scratch("alone")?);
    for (name, _) in std::env::vars_os() {
        if leads_to_tools(&name) {
            build = build.env_remove(name);
        }
    }
    println!("{} in {}", crates.join(", "), sources.display());
    build.run()
}

/// Variables that would lead a build script to a compiler or Verilator past the PATH, or change
/// which cargo runs.
fn leads_to_tools(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CC", "CXX", "CFLAGS", "CXXFLAGS", "AR", "CARGO", "RUSTC", "CARGO_BUILD_TARGET_DIR"].contains(&&*name)
        || ["CC_", "CXX_", "HOST_", "TARGET_", "VERILATOR", "CARGO_PKG_", "CARGO_MANIFEST"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// Where the PATH has a program.
fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Copies a folder, without what is hidden or built.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}

/// Where the value of a list of strings stands in Cargo.toml: from its `[` to its `]`.
fn span(manifest: &str, key: &str) -> Result<std::ops::Range<usize>> {
    let head = format!("\n{key} = [");
    let start = manifest.find(&head).with_context(|| format!("Cargo.toml has no {key}"))?;
    let open = start + head.len() - 1;
    let close = manifest[open..].find(']').with_context(|| format!("{key} does not end"))?;
    Ok(open..open + close + 1)
}

/// The strings of a list in Cargo.toml.
pub fn list(manifest: &str, key: &str) -> Result<Vec<String>> {
    let value = &manifest[span(manifest, key)?];
    let strings: Vec<String> = value.split('"').skip(1).step_by(2).map(String::from).collect();
    if strings.is_empty() {
        bail!("{key} of Cargo.toml is empty");
    }
    Ok(strings)
}

/// Cargo.toml with another list.
fn replace_list(manifest: &str, key: &str, strings: &[String]) -> Result<String> {
    let quoted: Vec<String> = strings.iter().map(|string| format!("{string:?}")).collect();
    let mut manifest = manifest.to_string();
    manifest.replace_range(span(&manifest, key)?, &format!("[{}]", quoted.join(", ")));
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace]\nmembers = [\"a\",\n  \"b\", \"c/d\"]\n\
                            # what users link\ndefault-members = [\"a\"]\nresolver = \"2\"\n";

    #[test]
    fn cuts_the_workspace_down() {
        assert_eq!(list(MANIFEST, "members").unwrap(), ["a", "b", "c/d"]);
        assert_eq!(list(MANIFEST, "default-members").unwrap(), ["a"]);
        let cut = replace_list(MANIFEST, "members", &["a".into()]).unwrap();
        assert_eq!(list(&cut, "members").unwrap(), ["a"]);
        assert!(cut.ends_with("resolver = \"2\"\n"));
        assert!(list("[workspace]\n", "members").is_err());
    }

    #[test]
    fn the_hardware_crates_are_not_what_users_link() {
        let manifest = read(&Project::find().unwrap().root.join("Cargo.toml")).unwrap();
        let crates = list(&manifest, "default-members").unwrap();
        for hardware in ["hdl", "hdl/verilate", "hdl/verilog", "sim", "tests"] {
            assert!(!crates.iter().any(|name| name == hardware), "{hardware}");
        }
        assert!(crates.iter().any(|name| name == "vipl"));
    }

    /// What crates.io asks for and shows. xtask is built with these crates, and is nobody's to link.
    #[test]
    fn what_users_link_can_be_published() {
        let root = Project::find().unwrap().root;
        let manifest = read(&root.join("Cargo.toml")).unwrap();
        for name in list(&manifest, "default-members").unwrap().iter().filter(|name| *name != "xtask") {
            let own = read(&root.join(name).join("Cargo.toml")).unwrap();
            for key in ["license", "readme", "keywords", "categories", "rust-version"] {
                assert!(own.contains(&format!("\n{key}.workspace = true\n")), "{name}: {key}");
                assert!(manifest.contains(&format!("\n{key} = ")), "{key}");
            }
            assert!(own.contains("\ndescription = \"") && !own.contains("\npublish"), "{name}");
        }
    }

    #[test]
    fn copies_sources_only() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for name in ["src", "target", ".hidden"] {
            fs::create_dir_all(from.join(name)).unwrap();
            fs::write(from.join(name).join("file"), name).unwrap();
        }
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/file")).unwrap(), "src");
        assert!(!to.join("target").exists() && !to.join(".hidden").exists());
    }

    #[test]
    fn no_variable_names_a_compiler() {
        for name in ["CXX", "CXXFLAGS", "CXX_x86_64-unknown-linux-gnu", "VERILATOR_ROOT", "CARGO"] {
            assert!(leads_to_tools(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "HTTPS_PROXY"] {
            assert!(!leads_to_tools(OsStr::new(name)), "{name}");
        }
    }
}
