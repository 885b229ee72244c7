//! The memories against a plain array, with power-up contents unknown.

use rand::Rng;
use rust_hdl::prelude::*;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::{BitRam, LutRam, Ram, ShallowRam};
use viaduct_verilate::Bench;

/// Rows of 72 bits, 32 of them. A row that is written meanwhile reads as before, or as a wrong word if the memory spoils it.
fn reads_what_was_written_a_cycle_later(mut bench: Bench, spoils_collisions: bool) {
    let mut rng = super::random(&bench);
    let mut rows: [Option<[u32; 3]>; 32] = [None; 32];
    let mut checked = 0;
    for _ in 0..5000 {
        let write = rng.random_bool(0.5);
        let (to, from) = (rng.random_range(0..32usize), rng.random_range(0..32usize));
        let word = [rng.random(), rng.random(), rng.random_range(0..256)];
        bench.set("write_enable", write.into());
        bench.set("write_address", to as u64);
        bench.set_wide("write_data", &word);
        bench.set("read_address", from as u64);
        bench.tick();
        let collision = write && to == from;
        match rows[from] {
            Some(row) if collision && spoils_collisions => {
                assert_ne!(bench.get_wide("read_data"), row, "a collision must not look like a good word")
            }
            Some(row) => {
                assert_eq!(bench.get_wide("read_data"), row);
                checked += 1;
            }
            None => {}
        }
        if write {
            rows[to] = Some(word);
        }
    }
    assert!(checked > 4000);
}

#[test]
fn ram_reads_what_was_written_a_cycle_later() {
    reads_what_was_written_a_cycle_later(Bench::new("ram", &verilog(Ram::<Bits<72>, 5>::default())), true);
}

#[test]
fn shallow_ram_reads_what_was_written_a_cycle_later() {
    let bench = Bench::new("shallow_ram", &verilog(ShallowRam::<Bits<72>, 5>::default()));
    reads_what_was_written_a_cycle_later(bench, false);
}

/// Reads and writes rows of a memory with a combinational read port: a row that is written reads as before until the edge, and all others stay.
fn reads_the_old_row_until_the_edge(mut bench: Bench, rows: usize, bits: u32) {
    let mut rng = super::random(&bench);
    let mut rows: Vec<Option<u64>> = vec![None; rows];
    for _ in 0..2000 {
        let write = rng.random_bool(0.5);
        let to = rng.random_range(0..rows.len());
        let from = if rng.random_bool(0.3) { to } else { rng.random_range(0..rows.len()) };
        let word = rng.random_range(0..1 << bits);
        bench.set("write_enable", write.into());
        bench.set("write_address", to as u64);
        bench.set("write_data", word);
        bench.set("read_address", from as u64);
        bench.eval();
        if let Some(row) = rows[from] {
            assert_eq!(bench.get("read_data"), row);
        }
        bench.tick();
        if write {
            rows[to] = Some(word);
        }
        if let Some(row) = rows[from] {
            assert_eq!(bench.get("read_data"), row);
        }
    }
    assert!(rows.iter().all(Option::is_some));
}

#[test]
fn lut_ram_reads_the_old_row_until_the_edge() {
    reads_the_old_row_until_the_edge(Bench::new("lut_ram", &verilog(LutRam::<Bits<9>, 4>::default())), 16, 9);
}

#[test]
fn bit_ram_keeps_the_bits_beside_the_one_that_is_written() {
    reads_the_old_row_until_the_edge(Bench::new("bit_ram", &verilog(BitRam::<6>::default())), 64, 1);
}
