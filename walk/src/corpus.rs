//! The seeds that every run of the suite walks: `corpus.txt`; and fresh ones, drawn from a text.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A line for each: a seed, or the first and the last of many; and what it has found.
const CORPUS: &str = include_str!("corpus.txt");

/// The seeds of the corpus, each once. The error is a line that is none.
pub fn corpus() -> Result<Vec<u64>, String> {
    parse(CORPUS)
}

fn parse(text: &str) -> Result<Vec<u64>, String> {
    let mut seeds = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let word = line.split_whitespace().next().unwrap_or("");
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        let ends = first.parse::<u64>().ok().zip(last.parse::<u64>().ok());
        let (first, last) =
            ends.filter(|(first, last)| first <= last).ok_or_else(|| format!("no seed: {line:?}"))?;
        for seed in first..=last {
            if !seeds.contains(&seed) {
                seeds.push(seed);
            }
        }
    }
    Ok(seeds)
}

/// So many seeds that a text stands for; the same for the same text, and none of the corpus.
pub fn fresh(text: &str, count: usize) -> Vec<u64> {
    // FNV-1a.
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mut random = ChaCha8Rng::seed_from_u64(hash);
    (0..count).map(|_| random.random_range(1_000_000..1 << 40)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_has_each_seed_once() {
        let seeds = corpus().expect("every line is one");
        assert!(seeds.len() > 300 && (1..=300).all(|seed| seeds.contains(&seed)));
        assert_eq!(parse("# a\n 7 why\n1..3\n3..4"), Ok(vec![7, 1, 2, 3, 4]));
        assert_eq!(parse("x"), Err("no seed: \"x\"".into()));
        assert!(parse("4..3").is_err());
    }

    #[test]
    fn a_text_stands_for_its_seeds() {
        assert_eq!(fresh("a", 300), fresh("a", 300));
        let (one, other) = (fresh("a", 300), fresh("b", 300));
        assert!(one.iter().all(|seed| !other.contains(seed)));
        assert_eq!(one[..10], fresh("a", 10));
    }
}
