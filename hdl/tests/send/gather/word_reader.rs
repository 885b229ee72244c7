//! Words as they are asked for, in any order, against two memories that answer a cycle late.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::WordReader;
use viaduct_verilate::Bench;

#[test]
fn every_word_is_the_one_that_was_asked_for() {
    let mut bench = Bench::new("word_reader", &verilog(WordReader::default()));
    let mut rng = crate::random(&bench);
    let head: Vec<u64> = (0..8).map(|_| rng.random()).collect();
    let tail: Vec<u64> = (0..512).map(|_| rng.random()).collect();
    // Where the block is, and what it showed.
    let (mut shown, mut word): (Option<usize>, Option<u64>) = (None, None);
    for _ in 0..20_000 {
        let seek = (shown.is_none() || rng.random_bool(0.3)).then(|| {
            let most = if rng.random() { 16 } else { 508 };
            rng.random_range(0..most)
        });
        let step = rng.random_bool(0.4);
        bench.set("seek_valid", seek.is_some().into());
        bench.set("seek", seek.unwrap_or(0));
        bench.set("step", step.into());
        if let Some(shown) = shown {
            bench.set("head_word", head[shown % 8]);
            bench.set("tail_word", tail[shown]);
        }
        bench.eval();
        if let Some(word) = word {
            assert_eq!(bench.get("late"), word, "late is the word of the cycle before");
        }
        word = shown.map(|shown| if shown < 8 { head[shown] } else { tail[shown] });
        if let Some(word) = word {
            assert_eq!(bench.get("word"), word, "word {shown:?}");
        }
        let next = seek.or(shown.map(|shown| (shown + usize::from(step)) as u64)).unwrap();
        assert_eq!(bench.get("index"), next);
        // The last word that there may be.
        shown = Some((next as usize).min(511)).filter(|shown| *shown < 511);
        bench.tick();
    }
}
