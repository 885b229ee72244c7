//! How fast the simulation is: processor time for each cycle of a NIC, when no cycle is skipped.
//!
//! `cargo run --example speed [NICS [CYCLES]]`

use rustix::time::{clock_gettime, ClockId};
use viaduct_sim::setup::Setup;

fn processor_ns() -> i128 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let nics = numbers.next().unwrap_or(2);
    let cycles = numbers.next().unwrap_or(500_000) as u64;
    let mut setup = Setup { nics, ..Setup::default() };
    setup.network.never_skip = true;
    let mut network = match setup.build() {
        Ok(network) => network,
        Err(error) => return eprintln!("{error}"),
    };
    let start = processor_ns();
    network.step(cycles);
    let each = (processor_ns() - start) as f64 / cycles as f64 / nics as f64;
    println!("{nics} NICs, {cycles} cycles: {each:.0} ns of processor time per cycle of a NIC");
}
