//! Tests of the blocks for quantities on their exported Verilog, in Verilator.

mod bytes;
mod rings;
mod serial;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}
