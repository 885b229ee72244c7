//! Exports the Verilog of the NIC and of the PCI Express endpoint from RustHDL, has Verilator make C++ of it, and compiles that in.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use viaduct_verilate::{archive, Options};

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
    let options = Options {
        // src/rtl.rs makes a model that traces when a waveform is asked for: tracing makes it three times as long to compile.
        trace: false,
        // The large profile runs one test, which is shorter than its compilation.
        optimise: if cfg!(feature = "large") { "-O1" } else { "-O2" }.into(),
        ..Options::named("nic")
    };
    // Each prefix is one of the library's name and of every symbol. The endpoint has two clocks, which are inputs like others.
    let endpoint = Options {
        name: "pcie_endpoint".into(),
        prefix: "pcie_endpoint".into(),
        clock: "none".into(),
        ..options.clone()
    };
    link(&out, &viaduct_hdl::export::nic(), &options)?;
    link(&out, &viaduct_hdl::export::pcie_endpoint(), &endpoint)?;
    println!("cargo:rustc-link-lib=dylib=stdc++");
    Ok(())
}

/// Leaves a model's Verilog and its Rust side as `<name>.v` and `<name>.rs`, and has the model linked.
fn link(out: &Path, verilog: &str, options: &Options) -> Result<(), String> {
    let name = &options.name;
    let model = archive(verilog, options).map_err(|error| format!("the Verilated {name}: {error}"))?;
    write(&out.join(format!("{name}.rs")), &model.rust)?;
    write(&out.join(format!("{name}.v")), verilog)?;
    let folder = model.file.parent().unwrap_or(out);
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static={}_model", options.prefix);
    // What is linked must be there, also when somebody has emptied the models' folder since.
    println!("cargo:rerun-if-changed={}", model.file.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
