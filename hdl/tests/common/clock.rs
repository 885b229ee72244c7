//! A clock that the test turns itself, and a model that has such clocks.

use viaduct_verilate::{Dut, Handle, Options};

/// The seed of a test: `VIADUCT_SEED`, or always the same one; printed.
pub fn seed(name: &str) -> u64 {
    let seed = std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x6d61_6331);
    println!("{name}, seed {seed} (VIADUCT_SEED={seed})");
    seed
}

/// A model whose clocks the test drives itself.
pub fn clockless(name: &str, verilog: &str, seed: u64) -> Dut {
    let options = Options { clock: "none".into(), ..Options::named(name) };
    match Dut::seeded(verilog, &options, seed) {
        Ok(mut dut) => {
            // From here on an edge is one.
            dut.eval();
            dut
        }
        Err(error) => panic!("{error}"),
    }
}

/// A clock: where it stands, and when it turns next.
pub struct Clock {
    pub half: u64,
    pub next: u64,
    pub level: bool,
    port: Handle,
}

impl Clock {
    /// The port's clock with a period in femtoseconds.
    pub fn new(dut: &Dut, port: &str, period: u64, phase: u64) -> Self {
        Self { half: period / 2, next: phase + period / 2, level: false, port: dut.port(port) }
    }

    /// Turns the clock; whether it has risen.
    pub fn turn(&mut self, dut: &mut Dut) -> bool {
        self.level = !self.level;
        self.next += self.half;
        dut.write(self.port, self.level.into());
        dut.eval();
        self.level
    }
}
