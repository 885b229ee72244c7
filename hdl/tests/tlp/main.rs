//! Tests of the edge and of the DMA engines on their exported Verilog, in Verilator.

#[path = "../common/bundle.rs"]
mod bundle;

mod beat;
mod complete;
mod dma_read;
mod dma_write;
mod enabled_bytes;
mod packet_sort;
mod read_memory;
mod read_time;
mod receive;
mod transmit;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_verilate::Bench;

/// The bench's own random numbers.
fn random(bench: &Bench) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(bench.seed())
}

/// How long an access is, often so long as is usual, and where it begins but for its place in the page: also where addresses grow longer.
fn random_extent(random: &mut ChaCha8Rng, usual: u64) -> (u64, u64) {
    let length = match random.random_range(0..4) {
        0 => random.random_range(1..=16),
        1 => random.random_range(1..=300),
        2 => usual,
        _ => random.random_range(1..=4096),
    };
    let base = match random.random_range(0..4) {
        0 => 0x1_0000,
        1 => 0xFFFF_F000,
        2 => 0x7_FFFF_F000,
        _ => random.random::<u64>() >> 8,
    };
    (length, base)
}
