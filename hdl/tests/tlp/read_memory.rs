//! The memory of the read slots: packets of any length, from any place of any slot, lie where they belong.

use rand::Rng;
use viaduct_hdl::dma::ReadMemory;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

const WORDS: u64 = 128;

fn tick(bench: &mut Bench) {
    bench.tick();
    for port in ["start", "more", "low", "high"] {
        bench.set(port, 0);
    }
}

#[test]
fn packets_lie_where_they_belong() {
    let mut bench = Bench::new("read_memory", &verilog(ReadMemory::default()));
    let mut rng = crate::random(&bench);
    let mut expected = vec![None; 16 * WORDS as usize];
    for _ in 0..400 {
        let slot = rng.random_range(0..16);
        let word = rng.random_range(0..WORDS);
        let words: Vec<u64> =
            (0..rng.random_range(1..=WORDS - word)).map(|_| u64::from(rng.random::<u32>())).collect();
        for (place, value) in (word..).zip(&words) {
            expected[(slot * WORDS + place) as usize] = Some(*value);
        }
        bench.set("start", 1);
        bench.set("slot", slot);
        bench.set("word", word);
        bench.set("data", words[0] << 32 | u64::from(rng.random::<u32>()));
        bench.set("high", 1);
        tick(&mut bench);
        assert_eq!(bench.get("fill"), word.div_ceil(2) % 64, "{word}");
        for (done, pair) in (2..).step_by(2).zip(words[1..].chunks(2)) {
            // What counts only with `start` may be anything.
            bench.set("slot", rng.random_range(0..16));
            bench.set("word", rng.random_range(0..WORDS));
            bench.set("more", 1);
            bench.set("low", 1);
            bench.set("high", u64::from(pair.len() == 2));
            bench.set("data", pair[0] | pair.get(1).map_or(0, |word| word << 32));
            tick(&mut bench);
            if pair.len() == 2 {
                assert_eq!(bench.get("fill"), (word + done).div_ceil(2) % 64, "{word} + {done}");
            }
        }
    }
    for (row, pair) in (0..).zip(expected.chunks(2)) {
        bench.set("read_row", row);
        tick(&mut bench);
        let found = bench.get("read_data");
        for (half, word) in [found & 0xffff_ffff, found >> 32].into_iter().zip(pair) {
            assert!(word.is_none_or(|word| word == half), "row {row}");
        }
    }
}
