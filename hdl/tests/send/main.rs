//! Tests of the send side, on the exported Verilog in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;

mod eth_transmit;
mod frames;
mod gather;
mod port;
mod transmit;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}
