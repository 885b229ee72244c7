//! Running yosys and Verilator.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{bail, Context, Result};

/// yosys: `VIADUCT_YOSYS` if set, else the one on PATH.
pub fn yosys() -> String {
    std::env::var("VIADUCT_YOSYS").unwrap_or_else(|_| "yosys".into())
}

/// Verilator: `VERILATOR` if set, else the one on PATH.
pub fn verilator() -> String {
    std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into())
}

/// Runs a program to its end, whether it succeeds or not.
pub fn run(command: &mut Command) -> Result<Output> {
    let tool = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(output) => Ok(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("`{tool}` is not installed or not on PATH; run `cargo xtask setup`")
        }
        Err(error) => Err(error).with_context(|| format!("running {tool}")),
    }
}

/// Both outputs of a program as text.
pub fn text(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// Runs yosys on a script in `folder` and gives back its log.
pub fn run_yosys(script: &str, folder: &Path) -> Result<String> {
    let output = run(Command::new(yosys()).arg("-p").arg(script).current_dir(folder))?;
    let log = text(&output);
    if !output.status.success() {
        let end: Vec<&str> = log.lines().rev().take(20).collect();
        bail!("yosys failed:\n{}", end.into_iter().rev().collect::<Vec<_>>().join("\n"));
    }
    Ok(log)
}

/// The folder for what a step writes about a block, inside cargo's target folder: never tracked, and left for a look.
pub fn folder(step: &str, block: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map(PathBuf::from)
        .or_else(|| {
            let program = std::env::current_exe().ok()?;
            Some(program.ancestors().find(|dir| dir.join("CACHEDIR.TAG").exists())?.to_owned())
        })
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    target.join("flow").join(step).join(block.replace('/', "-"))
}

/// That folder, emptied.
pub fn scratch(step: &str, block: &str) -> Result<PathBuf> {
    let folder = folder(step, block);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Writes a file, and names it in the error.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}
