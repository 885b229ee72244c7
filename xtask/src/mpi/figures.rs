//! Latency and bandwidth by size, beside libfabric's own provider for TCP on the same machine. The machine is busy with the simulation, and not equally
//! so at all times: the two are measured in pairs, one right after the other, and what a pair's two times are to each other tells most.

use super::{pair, Bench};
use anyhow::{Context, Result};
use std::time::Duration;

/// How many pairs are measured: an odd number has a middle one.
const PAIRS: usize = 7;
/// How long one exchange may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Sizes of messages, and how many go each way.
const SIZES: &[(u64, u64)] = &[(64, 500), (1 << 10, 500), (4 << 10, 200), (64 << 10, 50), (1 << 20, 10)];

/// The middle one of several figures, the least and the most.
#[derive(Debug, PartialEq)]
struct Spread {
    middle: f64,
    least: f64,
    most: f64,
}

/// Measures, and prints a table for docs/mpi.md.
pub fn measure(bench: &Bench) -> Result<()> {
    let mut table = format!(
        "| bytes | via, us | MB/s | {beside}, us | MB/s | via's time to {beside}'s |\n|---|---|---|---|---|---|\n",
        beside = pair::TCP.provider
    );
    for (size, count) in SIZES {
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            let via = one(bench, pair::MSG, (*size, *count))?;
            pairs.push((via, one(bench, pair::TCP, (*size, *count))?));
        }
        let row = row(*size, &pairs)?;
        println!("{row}");
        table += &(row + "\n");
    }
    println!("\n{table}");
    Ok(())
}

/// Microseconds of a message one way.
fn one(bench: &Bench, way: pair::Way, (size, count): (u64, u64)) -> Result<f64> {
    micros(&pair::run(bench, pair::Exchange { way, size, count }, LIMIT)?)
}

/// A row of the table, of the times of each pair.
fn row(size: u64, pairs: &[(f64, f64)]) -> Result<String> {
    let via = spread(pairs.iter().map(|(via, _)| *via))?;
    let tcp = spread(pairs.iter().map(|(_, tcp)| *tcp))?;
    let ratio = spread(pairs.iter().map(|(via, tcp)| via / tcp))?;
    let time = |Spread { middle, least, most }: &Spread| format!("{middle:.0} ({least:.0} to {most:.0})");
    let rate = |time: &Spread| format!("{:.2}", size as f64 / time.middle);
    let Spread { middle, least, most } = ratio;
    Ok(format!(
        "| {size} | {} | {} | {} | {} | {middle:.2} ({least:.2} to {most:.2}) |",
        time(&via),
        rate(&via),
        time(&tcp),
        rate(&tcp)
    ))
}

/// Microseconds a message, of the last row that fi_pingpong has written: its column before the last one.
fn micros(row: &str) -> Result<f64> {
    let word = row.split_whitespace().rev().nth(1);
    let number = word.and_then(|word| word.parse().ok()).filter(|micros| *micros > 0.0);
    number.with_context(|| format!("fi_pingpong's last row is {row:?}"))
}

/// The middle one, the least and the most of an odd number of figures.
fn spread(figures: impl Iterator<Item = f64>) -> Result<Spread> {
    let mut all: Vec<f64> = figures.collect();
    all.sort_by(f64::total_cmp);
    let (least, most) = all.first().zip(all.last()).context("nothing was measured")?;
    Ok(Spread { middle: all[all.len() / 2], least: *least, most: *most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_pingpong_s_has_the_time() {
        assert_eq!(micros("64 500 =500 62k 0.05s 1.28 49.90 0.02").unwrap(), 49.9);
        assert!(micros("bytes").is_err() && micros("").is_err() && micros("a b c d").is_err());
        assert!(micros("64 500 =500 62k 0.00s 0.00 0.00 0.02").is_err(), "no time to divide by");
    }

    #[test]
    fn a_row_has_the_middle_and_the_extremes_and_a_ratio_is_that_of_a_pair() {
        // The medians of both are 200: it is the pairs that say that one took twice as long.
        let pairs = [(200.0, 100.0), (400.0, 200.0), (100.0, 400.0)];
        let wanted = "| 400 | 200 (100 to 400) | 2.00 | 200 (100 to 400) | 2.00 | 2.00 (0.25 to 2.00) |";
        assert_eq!(row(400, &pairs).unwrap(), wanted);
        assert!(row(64, &[]).is_err());
    }
}
