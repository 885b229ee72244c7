//! A [`Dut`] in the state every block test starts from: clocked, reset, seeded.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use crate::{Dut, Options};

/// A block under test after reset.
///
/// The seed is `VIADUCT_SEED` if set, else fixed; it is printed, so that a failure can be run again. With
/// `VIADUCT_TRACE` set to a folder, everything is traced to `<folder>/<block>.fst`.
pub struct Bench {
    dut: Dut,
    seed: u64,
}

impl Bench {
    /// Builds the block and holds its `reset`, if it has one, for two cycles.
    ///
    /// # Panics
    /// The model cannot be built; the message says why.
    #[track_caller]
    pub fn new(name: &str, verilog: &str) -> Self {
        Self::seeded(name, verilog, Self::usual_seed())
    }

    /// `VIADUCT_SEED`, or the fixed one.
    pub fn usual_seed() -> u64 {
        std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x7669_6164)
    }

    /// As [`Bench::new`], with a seed of the caller's.
    ///
    /// # Panics
    /// As [`Bench::new`].
    #[track_caller]
    pub fn seeded(name: &str, verilog: &str, seed: u64) -> Self {
        Self::with(&Options::named(name), verilog, seed)
    }

    /// As [`Bench::seeded`], with a model that is made as these options say.
    ///
    /// # Panics
    /// As [`Bench::new`].
    #[track_caller]
    pub fn with(options: &Options, verilog: &str, seed: u64) -> Self {
        let name = &options.name;
        println!("block {name}, seed {seed} (VIADUCT_SEED={seed})");
        let mut dut = match Dut::seeded(verilog, options, seed) {
            Ok(dut) => dut,
            Err(error) => panic!("{error}"),
        };
        if let Some(folder) = std::env::var_os("VIADUCT_TRACE") {
            dut.trace(&PathBuf::from(folder).join(format!("{name}.fst")));
        }
        let mut bench = Self { dut, seed };
        bench.reset();
        bench
    }

    /// Holds `reset` for two cycles; nothing if the block has none.
    pub fn reset(&mut self) {
        if self.dut.has("reset") {
            self.dut.set("reset", 1);
            self.dut.tick();
            self.dut.tick();
            self.dut.set("reset", 0);
        }
        self.dut.eval();
    }

    /// The seed in use, for the test's own random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl Deref for Bench {
    type Target = Dut;

    fn deref(&self) -> &Dut {
        &self.dut
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Dut {
        &mut self.dut
    }
}
