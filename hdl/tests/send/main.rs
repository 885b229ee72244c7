//! Tests of the send side and of completion, on the exported Verilog in Verilator.

mod ack;
mod bundle;
mod egress;
mod frames;
mod gather;
mod sends;
mod transmit;
mod writer;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}
