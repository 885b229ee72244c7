//! Tests of the edge and of the DMA engines on their exported Verilog, in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;

mod beat;
mod complete;
mod dma_read;
mod dma_write;
mod read_time;
mod receive;
mod transmit;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}
