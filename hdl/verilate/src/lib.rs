//! Verilator behind one call: Verilog text in, a model to step out.
//!
//! Verilator and g++ run once per distinct text; what they make is kept under `target/verilated/<hash>/`. Tests call
//! [`Dut::build`] (or [`Bench::new`]), which loads a shared library. The simulator's `build.rs` calls [`archive`] for a
//! static one, and for the Rust side of the packed `In`/`Out` structs; [`library`] is the simulator's model again, with
//! tracing, when a waveform is asked for.
//!
//! ```text
//!   Verilog text --> ports --> Verilator --> C++ model + shim --> g++ --+--> shared library --> Dut, Bench (tests)
//!                                                                       +--> static library --> cycle()    (simulator)
//! ```
//!
//! State that the design does not initialise (block RAM, mostly) starts with random contents from a seed: the
//! same seed gives the same run, and a block that relies on memory being zero fails. Two seeds are special: [`ZEROS`] makes every such
//! bit 0, and [`ONES`] makes it 1.
//!
//! Tests can be run on a faulty block: see [`MUTANT`].

mod bench;
mod cache;
mod coverage;
mod digest;
mod dut;
mod error;
mod mutant;
mod port;
mod shim;
mod tool;

use std::path::PathBuf;

pub use bench::Bench;
pub use coverage::COVERAGE;
pub use dut::{Dut, Handle};
pub use error::Error;
pub use mutant::MUTANT;
pub use port::{Direction, Port};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The seed of a power-up with all bits 0 that the design does not initialise.
pub const ZEROS: u64 = u64::MAX - 1;

/// The seed of a power-up with all such bits 1.
pub const ONES: u64 = u64::MAX;

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
    /// Count which lines run and which bits turn; a model is several times slower then.
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

/// What [`archive`] leaves for a build script.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The library's file, `lib<prefix>_model.a`: the model with its shim, and the parts of Verilator's runtime that the crate
    /// `verilated` leaves out.
    pub file: PathBuf,
    /// The top module's ports, in order.
    pub ports: Vec<Port>,
    /// Rust text for `include!`: `In`, `Out`, the opaque `Model`, the `extern "C"` block, and `VERILOG_SHA256` of what the model was
    /// made from.
    pub rust: String,
}

/// The model of `module top` in `verilog` as a static library. As all models it is compiled once for each text, whatever
/// selection of packages or features cargo builds with.
///
/// # Errors
/// A missing tool, ports that cannot be read, Verilog that Verilator or g++ refuses, or files that cannot be written.
pub fn archive(verilog: &str, options: &Options) -> Result<Archive> {
    let (folder, ports) = cache::archive(verilog, options)?;
    let rust = shim::rust(&ports, options)
        + &format!(
            "/// SHA-256 of the Verilog that the model was made from.\npub const VERILOG_SHA256: &str = \"{}\";\n",
            digest::sha256(verilog)
        );
    Ok(Archive { file: folder.join(tool::library_file(options)), ports, rust })
}

/// The ports of `module top` in `verilog`, in order.
///
/// # Errors
/// They cannot be read.
pub fn ports(verilog: &str) -> Result<Vec<Port>> {
    port::parse(verilog, "top")
}

/// The model of `module top` in `verilog` as a shared library with the same symbols and structs as an [`Archive`]: for a
/// program that holds another model of the same Verilog already.
///
/// # Errors
/// As [`archive`].
pub fn library(verilog: &str, options: &Options) -> Result<PathBuf> {
    Ok(cache::model(verilog, options)?.0)
}
