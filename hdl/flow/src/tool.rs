//! Runs yosys, Verilator and Icarus Verilog.

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

/// Icarus Verilog: `IVERILOG` if set, else the one on PATH.
pub fn icarus() -> String {
    std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into())
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
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
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

/// The result of a step on a block, which depends on `inputs` only: what was found the last time, if `inputs` were
/// the same then, or what `work` finds now in the emptied folder.
pub fn once(
    step: &str,
    block: &str,
    inputs: &str,
    work: impl FnOnce(&Path) -> Result<String>,
) -> Result<String> {
    let folder = folder(step, block);
    let (kept, found) = (folder.join("inputs"), folder.join("found"));
    if fs::read_to_string(&kept).is_ok_and(|before| before == inputs) {
        if let Ok(result) = fs::read_to_string(&found) {
            return Ok(result);
        }
    }
    let folder = scratch(step, block)?;
    let result = work(&folder)?;
    write(&found, &result)?;
    // Last: what is here is whole.
    write(&kept, inputs)?;
    Ok(result)
}

/// Makes [`once`] work again the next time: for a result that may come from a failure of the tool itself.
pub fn forget(step: &str, block: &str) -> Result<()> {
    let kept = folder(step, block).join("inputs");
    fs::remove_file(&kept).with_context(|| kept.display().to_string())
}

/// Writes a file, and names it in the error.
pub fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_inputs_are_worked_on_once() {
        let mut runs = 0;
        let mut find = |inputs: &str| {
            once("test", "once", inputs, |_| {
                runs += 1;
                Ok(format!("found {inputs}"))
            })
            .unwrap()
        };
        let first = format!("{:?}", std::time::SystemTime::now());
        assert_eq!(find(&first), format!("found {first}"));
        assert_eq!(find(&first), format!("found {first}"));
        assert_eq!(find("others"), "found others");
        assert_eq!(find(&first), format!("found {first}"));
        assert_eq!(runs, 3);
        forget("test", "once").unwrap();
        assert!(forget("test", "once").is_err());
        assert!(once("test", "once", "wrong", |_| bail!("wrong")).is_err());
        assert!(once("test", "once", "wrong", |_| bail!("wrong")).is_err());
    }
}
