//! Latency and bandwidth by size, beside libfabric's own provider for TCP on the same machine: measured in turns, since the machine is busy with the
//! simulation, and not equally so at all times.

use super::{pair, Bench};
use anyhow::{Context, Result};
use std::time::Duration;

/// How often each is measured; the median counts.
const ROUNDS: usize = 5;
/// How long one exchange may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Sizes of messages, and how many go each way.
const SIZES: &[(u64, u64)] = &[(64, 500), (1 << 10, 500), (4 << 10, 200), (64 << 10, 50), (1 << 20, 10)];
/// What is measured beside the provider, on the loopback interface.
const BESIDE: &str = "tcp";

/// What one exchange has taken.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figure {
    /// Of a message one way, in microseconds of the wall's time.
    micros: f64,
    /// In 10^6 bytes a second of the wall's time.
    rate: f64,
}

/// Measures, and prints a table for docs/mpi.md.
pub fn measure(bench: &Bench) -> Result<()> {
    println!("| bytes | via, us | MB/s | {BESIDE}, us | MB/s |");
    println!("|---|---|---|---|---|");
    for (size, count) in SIZES {
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (found, provider) in found.iter_mut().zip(["via", BESIDE]) {
                let exchange = pair::Exchange { provider, endpoint: "msg", size: *size, count: *count };
                found.push(one(bench, exchange)?);
            }
        }
        let [via, tcp] = found;
        println!(
            "| {size} | {:.1} | {:.2} | {:.1} | {:.2} |",
            median(&via, |figure| figure.micros),
            median(&via, |figure| figure.rate),
            median(&tcp, |figure| figure.micros),
            median(&tcp, |figure| figure.rate),
        );
    }
    Ok(())
}

fn one(bench: &Bench, exchange: pair::Exchange) -> Result<Figure> {
    let (rate, micros) = read(&pair::run(bench, exchange, LIMIT)?)?;
    Ok(Figure { micros, rate })
}

/// MB/s and microseconds a message, of the last row that fi_pingpong has written: its columns before the last one.
fn read(row: &str) -> Result<(f64, f64)> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let number = |from_end: usize| words.len().checked_sub(from_end).and_then(|at| words[at].parse().ok());
    number(3).zip(number(2)).with_context(|| format!("fi_pingpong's last row is {row:?}"))
}

/// The middle one of an odd number.
fn median(figures: &[Figure], of: impl Fn(&Figure) -> f64) -> f64 {
    let mut all: Vec<f64> = figures.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_pingpong_s_has_rate_and_time() {
        let row = "64 500 =500 62k 0.05s 1.28 49.90 0.02";
        assert_eq!(read(row).unwrap(), (1.28, 49.9));
        assert!(read("bytes").is_err() && read("").is_err() && read("a b c d").is_err());
    }

    #[test]
    fn the_median_is_none_of_the_extremes() {
        let figures = [5.0, 1.0, 100.0].map(|micros| Figure { micros, rate: 0.0 });
        assert_eq!(median(&figures, |figure| figure.micros), 5.0);
    }
}
