//! A linear function, word by word, against itself.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::ParityMatrix;
use viaduct_verilate::Bench;

/// A linear function that no two bits go through alike: two rotations of each half, and the halves crossed.
fn linear(word: u64) -> u32 {
    let (low, high) = (word as u32, (word >> 32) as u32);
    low.rotate_left(3) ^ (low >> 7) ^ high.rotate_left(13) ^ (high << 5) ^ (high & 0x0f0f_0f0f)
}

#[test]
fn makes_of_each_word_what_the_function_does() {
    let mut bench = Bench::new("parity_matrix", &verilog(ParityMatrix::<64>::new(linear)));
    let mut random = super::random(&bench);
    let words = (0..64).map(|bit| 1 << bit).chain([0, u64::MAX]);
    for word in words.chain((0..1000).map(|_| random.random())).collect::<Vec<u64>>() {
        bench.set("from", word);
        bench.eval();
        assert_eq!(bench.get("to"), u64::from(linear(word)), "of {word:#x}");
    }
}

#[test]
fn no_bit_that_counts_is_lost_in_a_narrow_word() {
    let mut bench = Bench::new("narrow_matrix", &verilog(ParityMatrix::<9>::new(linear)));
    for word in 0..512 {
        bench.set("from", word);
        bench.eval();
        assert_eq!(bench.get("to"), u64::from(linear(word)), "of {word:#x}");
    }
}
