//! Tests of the primitives on their exported Verilog, in Verilator.

mod arbiter;
#[path = "../common/bundle.rs"]
mod bundle;
mod cast;
mod crc32;
mod lanes;
mod packer;
mod parity_matrix;
mod ram;
mod run_queue;
mod stream;
mod successor;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}
