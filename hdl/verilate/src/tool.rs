//! Runs Verilator and g++.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{coverage, Error, Options, Result};

/// Verilator's program: `VERILATOR` if set, else the one on PATH.
fn verilator() -> String {
    std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into())
}

/// The C++ compiler: `CXX` if set, else g++.
fn compiler() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "g++".into())
}

/// The compiler of a model, part of the cache's key: `CXX` if set. Else a model that is optimised for speed is clang's, if the machine
/// has it: the NIC then runs a third faster, and is compiled sooner. All others are g++'s, which has their header beforehand.
pub(crate) fn model_compiler(options: &Options) -> String {
    static CLANG: OnceLock<bool> = OnceLock::new();
    let has_clang = || {
        *CLANG.get_or_init(|| {
            Command::new("clang++").arg("--version").output().is_ok_and(|o| o.status.success())
        })
    };
    match std::env::var("CXX") {
        Ok(chosen) => chosen,
        Err(_) if options.optimise == FAST && has_clang() => "clang++".into(),
        Err(_) => compiler(),
    }
}

/// The archiver: `AR` if set, else ar.
fn archiver() -> String {
    std::env::var("AR").unwrap_or_else(|_| "ar".into())
}

/// Runs a command to its end and gives back what it printed.
fn run(command: &mut Command, block: &str) -> Result<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { tool: tool.clone() },
        _ => Error::Io { path: tool.clone().into(), source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    Err(Error::Tool { tool, block: block.into(), output: text })
}

/// The folder of Verilator's own files.
pub(crate) fn verilator_root() -> Result<PathBuf> {
    let text = run(Command::new(verilator()).args(["--getenv", "VERILATOR_ROOT"]), "-")?;
    Ok(PathBuf::from(text.trim()))
}

/// Verilator's version line, part of the cache's key; asked once a process.
pub(crate) fn verilator_version() -> Result<&'static str> {
    static VERSION: OnceLock<String> = OnceLock::new();
    if let Some(version) = VERSION.get() {
        return Ok(version);
    }
    let version = run(Command::new(verilator()).arg("--version"), "-")?;
    Ok(VERSION.get_or_init(|| version))
}

/// Writes `top.v`, runs Verilator, and writes one C++ file that holds the whole model and the shim.
pub(crate) fn verilate(verilog: &str, dir: &Path, shim: &str, options: &Options) -> Result<PathBuf> {
    fs::create_dir_all(dir).map_err(Error::io(dir))?;
    let source = dir.join("top.v");
    fs::write(&source, verilog).map_err(Error::io(&source))?;
    let class = format!("V{}", options.prefix);
    let mut command = Command::new(verilator());
    command
        .args(["--cc", "-O3", "--top-module", "top", "--prefix", &class])
        .args(["--x-assign", "unique", "--x-initial", "unique"])
        .args(["--timescale", "1ns/1ns"])
        // The lint gate is where warnings count; here they would only hide the error.
        .args(["-Wno-fatal", "-Wno-lint", "-Wno-style"])
        .arg("--Mdir")
        .arg(dir);
    if options.trace {
        command.arg("--trace-fst");
    }
    if options.coverage {
        let configuration = dir.join("coverage.vlt");
        fs::write(&configuration, coverage::configuration(verilog)).map_err(Error::io(&configuration))?;
        command.args(coverage::arguments(verilog)).arg(configuration);
    }
    run(command.arg(&source), &options.name)?;

    let mut parts = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io(dir))? {
        let name = entry.map_err(Error::io(dir))?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&class) && name.ends_with(".cpp") && !name.contains("__ALL") {
            parts.push(name.into_owned());
        }
    }
    parts.sort();
    let mut text: String = parts.iter().map(|part| format!("#include \"{part}\"\n")).collect();
    text.push_str(shim);
    let unit = dir.join("model.cpp");
    fs::write(&unit, text).map_err(Error::io(&unit))?;
    Ok(unit)
}

/// Flags every C++ file of a test model is compiled with. Symbols stay inside each library, so that models in one
/// process do not take each other's runtime.
fn flags(command: &mut Command, root: &Path, optimise: &str) {
    let include = root.join("include");
    // clang has no such symbols, and does not know the flag.
    if !command.get_program().to_string_lossy().contains("clang") {
        command.arg("-fno-gnu-unique");
    }
    command
        .args(["-std=gnu++17", "-fPIC", "-pthread", "-w", "-fvisibility=hidden"])
        .args(["-DVM_COVERAGE=0", "-DVM_SC=0"])
        .arg(optimise)
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("vltstd"));
}

/// What every model includes, and the optimisation it is compiled with beforehand. Compiling it is half of g++'s work for a block.
const HEADER: &str = "model.h";
const HEADER_OPTIMISE: &str = "-O1";
/// The optimisation of a model that runs for longer than it is compiled.
const FAST: &str = "-O2";

/// Compiles Verilator's runtime to one relocatable object, and its header for the models of blocks.
pub(crate) fn compile_runtime(dir: &Path, options: &Options) -> Result<()> {
    let root = verilator_root()?;
    let header = dir.join(HEADER);
    fs::write(&header, "#include <memory>\n#include \"verilated.h\"\n").map_err(Error::io(&header))?;
    let mut command = Command::new(compiler());
    flags(&mut command, &root, HEADER_OPTIMISE);
    command.args(["-x", "c++-header"]).arg(&header).arg("-o").arg(dir.join(format!("{HEADER}.gch")));
    run(&mut command, "Verilator's header")?;
    let mut parts = vec!["verilated.cpp", "verilated_threads.cpp"];
    if options.trace {
        parts.push("verilated_fst_c.cpp");
    }
    if options.coverage {
        parts.push("verilated_cov.cpp");
    }
    for part in &parts {
        let mut command = Command::new(compiler());
        flags(&mut command, &root, "-O1");
        command
            .arg("-c")
            .arg(root.join("include").join(part))
            .arg("-o")
            .arg(dir.join(part.replace(".cpp", ".o")));
        run(&mut command, "Verilator's runtime")?;
    }
    Ok(())
}

/// Compiles the model in `dir`, and makes `model.so` of it, with Verilator's runtime, and a static library, with those parts of the
/// runtime that the crate `verilated` leaves out.
pub(crate) fn compile_model(dir: &Path, runtime: &Path, options: &Options) -> Result<()> {
    let (object, header) = (dir.join("model.o"), runtime.join(HEADER));
    let runtime = objects(runtime)?;
    let mut compile = Command::new(model_compiler(options));
    flags(&mut compile, &verilator_root()?, &options.optimise);
    if options.optimise == HEADER_OPTIMISE {
        compile.arg("-include").arg(header);
    }
    compile.arg("-I").arg(dir).arg("-c").arg(dir.join("model.cpp")).arg("-o").arg(&object);
    run(&mut compile, &options.name)?;
    let mut link = Command::new(compiler());
    link.args(["-shared", "-pthread", "-o"]).arg(dir.join("model.so")).arg(&object).args(&runtime);
    if options.trace {
        link.arg("-lz");
    }
    run(&mut link, &options.name)?;
    let mut archive = Command::new(archiver());
    archive.arg("crs").arg(dir.join(library_file(options))).arg(&object);
    archive.args(runtime.iter().filter(|object| !object.ends_with("verilated.o")));
    run(&mut archive, &options.name)?;
    fs::remove_file(&object).map_err(Error::io(&object))
}

/// The name of a model's static library.
pub(crate) fn library_file(options: &Options) -> String {
    format!("lib{}_model.a", options.prefix)
}

/// The object files of a folder, in order.
fn objects(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut objects: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(Error::io(folder))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "o"))
        .collect();
    objects.sort();
    Ok(objects)
}
