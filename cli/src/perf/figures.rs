//! Figures of what was measured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bytes of what perftest calls a MB.
const MB: f64 = (1u32 << 20) as f64;

/// Latencies in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latency {
    /// Bytes of a message.
    pub bytes: u32,
    /// Messages that were measured.
    pub iterations: u64,
    /// The shortest.
    pub t_min_usec: f64,
    /// The longest.
    pub t_max_usec: f64,
    /// The median.
    pub t_typical_usec: f64,
    /// The mean.
    pub t_avg_usec: f64,
    /// The standard deviation.
    pub t_stdev_usec: f64,
    /// 99 of 100 are not longer.
    pub percentile_99_usec: f64,
    /// 999 of 1000 are not longer.
    pub percentile_99_9_usec: f64,
}

impl Latency {
    /// Of times there and back, of which each stands for `part` of it. None without times.
    pub fn of(bytes: u32, mut times: Vec<Duration>, part: f64) -> Option<Self> {
        times.sort_unstable();
        let usec = |time: &Duration| time.as_secs_f64() * 1e6 * part;
        // The shortest one that at least `share` of all are not longer than.
        let at = |share: f64| times.get(((times.len() as f64 * share).ceil() as usize).max(1) - 1).map(usec);
        let count = times.len() as f64;
        let mean = times.iter().map(usec).sum::<f64>() / count;
        let variance = times.iter().map(|time| (usec(time) - mean).powi(2)).sum::<f64>() / count;
        Some(Self {
            bytes,
            iterations: times.len() as u64,
            t_min_usec: at(0.0)?,
            t_max_usec: at(1.0)?,
            t_typical_usec: at(0.5)?,
            t_avg_usec: mean,
            t_stdev_usec: variance.sqrt(),
            percentile_99_usec: at(0.99)?,
            percentile_99_9_usec: at(0.999)?,
        })
    }
}

/// Rates of messages, of one end's or of both ends' together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Messages that were measured.
    pub messages: u64,
    /// Messages a second, of all.
    pub average: f64,
    /// Messages a second, of the fastest messages that follow each other. 0: it is not measured.
    pub peak: f64,
}

impl Rates {
    /// Of messages that were posted and complete at these times since the first was posted; `took` is the last one's.
    pub fn of(messages: u64, took: Duration, times: &[[Duration; 2]]) -> Self {
        Self { messages, average: messages as f64 / took.as_secs_f64().max(1e-9), peak: peak(times) }
    }

    /// Both ends' together.
    pub fn and(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            average: self.average + other.average,
            peak: self.peak + other.peak,
        }
    }
}

/// The highest rate, in messages a second, of messages that follow each other, from the post of the first to the end of the last: that of
/// any one, of any two, ... of all. 0 without messages.
fn peak(times: &[[Duration; 2]]) -> f64 {
    // Whether some messages that follow each other took at most `each` seconds a message. Message j ends a run that begins with i if
    // complete[j] - posted[i] <= each * (j + 1 - i).
    let reached = |each: f64| {
        let mut latest = f64::NEG_INFINITY;
        times.iter().enumerate().any(|(n, [posted, complete])| {
            latest = latest.max(posted.as_secs_f64() - each * n as f64);
            complete.as_secs_f64() - each * (n + 1) as f64 <= latest
        })
    };
    let (mut low, mut high) = (0.0, times.last().map_or(0.0, |[_, complete]| complete.as_secs_f64()));
    if high == 0.0 {
        return 0.0;
    }
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if reached(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    1.0 / high.max(1e-12)
}

/// A bandwidth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bandwidth {
    /// Bytes of a message.
    pub bytes: u32,
    /// Messages that were measured, of each end that sends.
    pub iterations: u64,
    /// Highest bandwidth, in MB (2^20 bytes) a second; None with a duration.
    pub bw_peak_mb_per_sec: Option<f64>,
    /// Bandwidth of all messages.
    pub bw_average_mb_per_sec: f64,
    /// Millions of messages a second.
    pub msg_rate_mpps: f64,
}

impl Bandwidth {
    /// Of messages of `bytes` bytes, at rates that may be two ends'.
    pub fn of(bytes: u32, iterations: u64, rates: Rates) -> Self {
        let mb = |rate: f64| rate * f64::from(bytes) / MB;
        Self {
            bytes,
            iterations,
            bw_peak_mb_per_sec: (rates.peak > 0.0).then(|| mb(rates.peak)),
            bw_average_mb_per_sec: mb(rates.average),
            msg_rate_mpps: rates.average / 1e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(count: u64) -> Duration {
        Duration::from_micros(count)
    }

    #[test]
    fn latencies_are_halved_and_ordered() {
        let times = (1..=1000).rev().map(|n| us(2 * n)).collect();
        let is = Latency::of(64, times, 0.5).expect("times");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(close(is.t_min_usec, 1.0) && close(is.t_max_usec, 1000.0), "{is:?}");
        assert!(close(is.t_typical_usec, 500.0) && close(is.t_avg_usec, 500.5), "{is:?}");
        assert!(close(is.percentile_99_usec, 990.0) && close(is.percentile_99_9_usec, 999.0), "{is:?}");
        // Of 1 to n it is the root of (n^2 - 1) / 12.
        assert!(close(is.t_stdev_usec, (999_999.0f64 / 12.0).sqrt()), "{is:?}");
        let one = Latency::of(64, vec![us(8)], 1.0).expect("a time");
        assert!(close(one.t_min_usec, 8.0) && close(one.percentile_99_9_usec, 8.0) && one.iterations == 1);
        assert_eq!(Latency::of(64, Vec::new(), 1.0), None);
    }

    #[test]
    fn the_peak_is_that_of_the_best_run() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        // Alone, one message takes 10 us; the next three take 12 together, from the first one's post to the last one's end.
        let times = [[us(0), us(10)], [us(10), us(20)], [us(11), us(21)], [us(12), us(22)]];
        assert!(close(peak(&times), 3.0 / 12e-6), "{}", peak(&times));
        assert!(close(peak(&times[..1]), 1.0 / 10e-6));
        assert_eq!(peak(&[]), 0.0);
        let average = Rates::of(4, us(22), &times);
        assert!(average.peak >= average.average);
    }

    #[test]
    fn bandwidth_is_in_mb_of_two_to_the_twentieth() {
        let rates = Rates { messages: 10, average: 1000.0, peak: 2000.0 };
        let is = Bandwidth::of(1 << 20, 10, rates.and(Rates { peak: 0.0, ..rates }));
        assert_eq!((is.bw_average_mb_per_sec, is.bw_peak_mb_per_sec), (2000.0, Some(2000.0)));
        assert_eq!(is.msg_rate_mpps, 0.002);
    }
}
