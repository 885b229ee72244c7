//! Verilator behind one call: Verilog text in, a model to step out.
//!
//! Two users, one path. Tests call [`Dut::build`] (or [`Bench::new`]), which runs Verilator and g++ once per
//! distinct text, keeps the shared library under `target/verilated/<hash>/` and loads it. The simulator's
//! `build.rs` calls [`generate`], which stops at the C++ and hands back the files to compile and the Rust side
//! of the packed `In`/`Out` structs.
//!
//! ```text
//!   Verilog text --> ports --> Verilator --> C++ model + shim --+--> g++ -shared --> Dut / Bench   (tests)
//!                                                               +--> cc in build.rs --> cycle()   (simulator)
//! ```
//!
//! State that the design does not initialise (block RAM, mostly) starts with random contents from a seed: the
//! same seed gives the same run, and a block that relies on memory being zero fails.

mod bench;
mod cache;
mod coverage;
mod dut;
mod error;
mod port;
mod shim;
mod tool;

use std::path::{Path, PathBuf};

pub use bench::Bench;
pub use coverage::COVERAGE;
pub use dut::{Dut, Handle};
pub use error::Error;
pub use port::{Direction, Port};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// How a model is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The block's name, used in messages only.
    pub name: String,
    /// Name of the clock port that `tick` and `cycle` drive.
    pub clock: String,
    /// Prefix of the C++ class and of every C symbol, so that one program can hold several models.
    pub prefix: String,
    /// Compile FST tracing in. It is a fifth slower when off and ten times slower when on.
    pub trace: bool,
    /// Count which lines run and which bits turn; a model is some times as slow then.
    pub coverage: bool,
    /// g++'s optimisation for [`Dut::build`]; short block tests are compiled longer than they run.
    pub optimise: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "top".into(),
            clock: "clock".into(),
            prefix: "viaduct".into(),
            trace: std::env::var_os("VIADUCT_TRACE").is_some(),
            coverage: std::env::var_os(COVERAGE).is_some(),
            optimise: "-O1".into(),
        }
    }
}

impl Options {
    /// The defaults, for a block of this name.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// What [`generate`] leaves for a build script.
#[derive(Clone, Debug)]
pub struct Generated {
    /// C++ files to compile: the model with its shim as one file, and the parts of Verilator's runtime that the
    /// `verilated` crate leaves out.
    pub sources: Vec<PathBuf>,
    /// Include directories those files need.
    pub include_dirs: Vec<PathBuf>,
    /// The top module's ports, in order.
    pub ports: Vec<Port>,
    /// Rust text for `include!`: `In`, `Out`, the opaque `Model`, the `extern "C"` block, and `VERILOG_SHA256` of what the model was
    /// made from.
    pub rust: String,
}

/// Runs Verilator on `verilog` and writes the C++ of the model and its shim into `out_dir`.
///
/// # Errors
/// A missing Verilator, ports that cannot be read, Verilog that Verilator refuses, or files that cannot be
/// written.
pub fn generate(verilog: &str, out_dir: &Path, options: &Options) -> Result<Generated> {
    let ports = port::parse(verilog, &options.name)?;
    let root = tool::verilator_root()?;
    let unit = tool::verilate(verilog, out_dir, &ports, options)?;
    let include = root.join("include");
    let mut sources = vec![unit, include.join("verilated_threads.cpp")];
    if options.trace {
        sources.push(include.join("verilated_fst_c.cpp"));
    }
    if options.coverage {
        sources.push(include.join("verilated_cov.cpp"));
    }
    Ok(Generated {
        sources,
        include_dirs: vec![out_dir.to_owned(), include.clone(), include.join("vltstd")],
        rust: shim::rust(&ports, options)
            + &format!(
                "/// SHA-256 of the Verilog that the model was made from.\npub const VERILOG_SHA256: &str = \"{}\";\n",
                cache::sha256(verilog)
            ),
        ports,
    })
}
