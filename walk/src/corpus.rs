//! The seeds that every run of the suite walks: `corpus.txt`; and fresh ones, drawn from a text.

use std::collections::HashSet;

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

/// So many seeds that a text stands for, each once, and none of the corpus; the same for the same text.
pub fn fresh(text: &str, count: usize, corpus: &[u64]) -> Vec<u64> {
    // FNV-1a.
    let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mut random = ChaCha8Rng::seed_from_u64(hash);
    distinct(std::iter::repeat_with(|| random.random_range(1_000_000..1 << 40)), count, corpus)
}

/// The first so many that are drawn, each once and none of the corpus.
fn distinct(drawn: impl Iterator<Item = u64>, count: usize, corpus: &[u64]) -> Vec<u64> {
    let mut seen: HashSet<u64> = corpus.iter().copied().collect();
    drawn.filter(|seed| seen.insert(*seed)).take(count).collect()
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
        let (one, other) = (fresh("a", 300, &[]), fresh("b", 300, &[]));
        assert_eq!(one, fresh("a", 300, &[]));
        assert!(one.iter().all(|seed| !other.contains(seed)));
        assert_eq!(one[..10], fresh("a", 10, &[]));
    }

    #[test]
    fn fresh_seeds_are_none_of_the_corpus_and_each_comes_once() {
        let one = fresh("a", 11, &[]);
        let others: Vec<u64> = one.iter().copied().filter(|seed| *seed != one[3]).collect();
        assert_eq!(fresh("a", 10, &one[3..4]), others);
        assert_eq!(distinct([5, 7, 5, 8, 7, 9, 10].into_iter(), 3, &[7]), [5, 8, 9]);
    }
}
