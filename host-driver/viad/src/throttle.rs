//! How many requests a client may make: a bucket of tokens. Who has none waits, alone.

use std::time::{Duration, Instant};

/// One client's bucket.
#[derive(Debug)]
pub struct Throttle {
    rate: f64,
    burst: f64,
    tokens: f64,
    last: Instant,
}

impl Throttle {
    /// `rate` a second, and `burst` at once.
    pub fn new(rate: u32, burst: u32, now: Instant) -> Self {
        Self { rate: rate.into(), burst: burst.into(), tokens: burst.into(), last: now }
    }

    /// Takes a token: how long to wait first.
    pub fn take(&mut self, now: Instant) -> Duration {
        let earned = now.saturating_duration_since(self.last).as_secs_f64() * self.rate;
        self.last = now;
        self.tokens = (self.tokens + earned).min(self.burst) - 1.0;
        if self.tokens >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64((-self.tokens / self.rate).min(1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_a_flood_is_not() {
        let start = Instant::now();
        let mut throttle = Throttle::new(1000, 10, start);
        assert!((0..10).all(|_| throttle.take(start).is_zero()));
        let waits: Vec<Duration> = (0..3).map(|_| throttle.take(start)).collect();
        assert_eq!(waits.iter().map(|wait| wait.as_micros().div_ceil(100)).collect::<Vec<_>>(), [10, 20, 30]);
        // Who has waited goes on.
        assert!(throttle.take(start + Duration::from_millis(4)).is_zero());
        assert!(!throttle.take(start + Duration::from_millis(4)).is_zero());
        // A long rest earns a burst and no more.
        let later = start + Duration::from_secs(3600);
        assert!((0..10).all(|_| throttle.take(later).is_zero()) && !throttle.take(later).is_zero());
    }
}
