//! Latency and bandwidth by size, beside libfabric's own provider for TCP on the same machine: measured in turns, since the machine is busy with the
//! simulation, and not equally so at all times.

use super::{counters, counters::Sample, pair, Bench};
use crate::guest::simulator::Kind;
use anyhow::{bail, ensure, Context, Result};
use std::time::{Duration, Instant};

/// How often each is measured; the median counts.
const ROUNDS: usize = 5;
/// How long one exchange may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Between two looks at a NIC.
const PAUSE: Duration = Duration::from_millis(50);
/// What is measured beside the provider, on the loopback interface.
const BESIDE: &str = "tcp";

/// What one exchange has taken.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figure {
    /// Of a message one way, in microseconds of the wall's time.
    micros: f64,
    /// In 10^6 bytes a second of the wall's time.
    rate: f64,
    /// Of a message one way, in microseconds of the NICs' time; 0 if it went through none.
    device: f64,
}

/// Measures, and prints a table for docs/mpi.md.
pub fn measure(bench: &Bench) -> Result<()> {
    let sizes: &[(u64, u64)] = match bench.kind {
        Kind::Model => &[(64, 500), (1 << 10, 500), (4 << 10, 200), (64 << 10, 50), (1 << 20, 10)],
        Kind::Rtl => &[(64, 100), (1 << 10, 100), (4 << 10, 50), (64 << 10, 10)],
    };
    println!("| bytes | via, us | MB/s | us of the NICs' time | {BESIDE}, us | MB/s |");
    println!("|---|---|---|---|---|---|");
    for (size, count) in sizes {
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (found, provider) in found.iter_mut().zip(["via", BESIDE]) {
                let exchange = pair::Exchange { provider, endpoint: "msg", size: *size, count: *count };
                found.push(one(bench, exchange)?);
            }
        }
        let [via, tcp] = found;
        println!(
            "| {size} | {:.1} | {:.2} | {:.1} | {:.1} | {:.2} |",
            median(&via, |figure| figure.micros),
            median(&via, |figure| figure.rate),
            median(&via, |figure| figure.device),
            median(&tcp, |figure| figure.micros),
            median(&tcp, |figure| figure.rate),
        );
    }
    Ok(())
}

fn one(bench: &Bench, exchange: pair::Exchange) -> Result<Figure> {
    let pair = pair::start(bench, exchange)?;
    let device = match exchange.provider {
        BESIDE => None,
        _ => Some(message_time(bench, exchange)?),
    };
    let (rate, micros) = read(&pair::finish(pair, LIMIT)?)?;
    Ok(Figure { micros, rate, device: device.unwrap_or_default() })
}

/// How long a message takes one way, in microseconds of the NIC's time: between the first and the last look at it while the messages go. The NIC's clock
/// runs on while the programs start and end, which is not to be counted.
fn message_time(bench: &Bench, exchange: pair::Exchange) -> Result<f64> {
    let name = bench.stage.name(0);
    let before = counters::sample(bench.project, &name)?;
    let (start, all) = (Instant::now(), exchange.bytes() / 2);
    let mut looks = Vec::new();
    loop {
        let look = counters::sample(bench.project, &name)?;
        let come = look.bytes.saturating_sub(before.bytes);
        if come >= all {
            return between(&looks, exchange.size);
        }
        if come > 0 {
            looks.push(look);
        }
        ensure!(start.elapsed() < LIMIT, "{come} of {all} bytes have come after {LIMIT:?}");
        std::thread::sleep(PAUSE);
    }
}

/// The time of one message one way, of looks at a NIC in their order: each message that it receives is one of two that go one after the other.
fn between(looks: &[Sample], size: u64) -> Result<f64> {
    let [first, .., last] = looks else { bail!("the exchange is too short to be looked at twice") };
    let messages = last.bytes.saturating_sub(first.bytes) as f64 / size as f64;
    ensure!(messages >= 1.0, "no message has come between two looks");
    Ok((last.micros - first.micros) / (2.0 * messages))
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
    fn a_message_s_time_is_that_between_the_looks_and_nothing_before_or_behind_them() {
        let look = |micros: f64, messages: u64| Sample { micros, bytes: 1000 + 64 * messages };
        let looks = [look(5000.0, 10), look(5030.0, 16), look(5100.0, 30)];
        assert_eq!(between(&looks, 64).unwrap(), 2.5);
        assert!(between(&looks[..1], 64).is_err() && between(&[looks[0], looks[0]], 64).is_err());
    }

    #[test]
    fn the_median_is_none_of_the_extremes() {
        let figures = [5.0, 1.0, 100.0].map(|micros| Figure { micros, rate: 0.0, device: 0.0 });
        assert_eq!(median(&figures, |figure| figure.micros), 5.0);
    }
}
