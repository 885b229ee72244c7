//! Exports the NIC's Verilog from RustHDL, has Verilator make C++ of it, and compiles that in.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use viaduct_hdl::nic::Nic;
use viaduct_verilate::{generate, Options};

/// The header that `verilated` 0.1.2 needs with Verilator 5; `cargo xtask` adds it to CXXFLAGS.
const HEADER: &str = "verilated-compat.h";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CXXFLAGS");
    println!("cargo:rerun-if-env-changed=VERILATOR");
    if let Err(reason) = build() {
        eprintln!("\nviaduct-sim cannot be built: {reason}\n");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    if !env::var("CXXFLAGS").is_ok_and(|flags| flags.contains(HEADER)) {
        return Err(format!(
            "CXXFLAGS does not force sim/{HEADER}, which the crate `verilated` needs with Verilator 5.\n\
             Build through `cargo xtask` (for example `cargo xtask test --only sim`), which adds it,\n\
             or set CXXFLAGS=\"-include <this checkout>/sim/{HEADER}\" yourself."
        ));
    }
    let verilator = env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    if Command::new(&verilator).arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err(format!("`{verilator}` cannot be run. `cargo xtask setup` installs what is missing."));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: this runs under cargo only")?);
    let verilog = viaduct_hdl::export::verilog(Nic::default());
    // Verilator names its files by their content: what an earlier run left would be compiled too.
    let model = out.join("model");
    if model.exists() {
        fs::remove_dir_all(&model).map_err(|error| format!("{}: {error}", model.display()))?;
    }
    // Tracing is compiled in: off, it costs a few per cent, and a second model would double the
    // time to build.
    let options = Options { trace: true, ..Options::named("nic") };
    let generated = generate(&verilog, &model, &options).map_err(|error| error.to_string())?;
    write(&out.join("model.rs"), &generated.rust)?;
    cc::Build::new()
        .cpp(true)
        .std("gnu++17")
        // The large profile runs one test, which is shorter than its compilation.
        .opt_level(if cfg!(feature = "large") { 1 } else { 2 })
        .debug(false)
        .warnings(false)
        .define("VM_COVERAGE", "0")
        .define("VM_SC", "0")
        .define("VM_TRACE", "1")
        .define("VM_TRACE_FST", "1")
        .includes(&generated.include_dirs)
        .files(&generated.sources)
        .try_compile("viaduct_nic_model")
        .map_err(|error| format!("the Verilated NIC does not compile: {error}"))?;
    // The waveforms are compressed.
    println!("cargo:rustc-link-lib=z");
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
