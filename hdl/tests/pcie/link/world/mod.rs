//! What the tests of the data link layer have in common.

mod alone;
mod device;
mod mac;
mod pair;
mod traffic;

pub use alone::Alone;
pub use device::Device;
pub use pair::{options, Pair};
pub use traffic::{random_tlp, Traffic};

use viaduct_link::tlp::Tlp;

/// The seed of a test: `VIADUCT_SEED`, or always the same one; printed.
pub fn seed(name: &str) -> u64 {
    let seed = std::env::var("VIADUCT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x6c69_6e6b);
    println!("{name}, seed {seed} (VIADUCT_SEED={seed})");
    seed
}

/// A read of a double word.
pub fn read(number: u32) -> Tlp {
    vec![0x0000_0001, 0x0000_000f, number]
}

/// A write of so many double words.
pub fn write(number: u32, length: u32) -> Tlp {
    let mut tlp = vec![0x4000_0000 | length, 0x0000_00ff, number];
    tlp.extend((0..length).map(|at| number.wrapping_mul(0x0101_0101).wrapping_add(at)));
    tlp
}
