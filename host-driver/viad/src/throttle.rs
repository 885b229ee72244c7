//! How many requests a user may make, all of its sessions together: a bucket of tokens. Who has none waits, alone.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Users that are remembered although their buckets are full.
const USERS: usize = 1024;

/// All users' buckets. Who leaves and comes again finds its own as it was.
#[derive(Debug)]
pub struct Throttles {
    rate: u32,
    burst: u32,
    users: Mutex<HashMap<u32, Throttle>>,
}

impl Throttles {
    /// `rate` a second for each user, and `burst` at once.
    pub fn new(rate: u32, burst: u32) -> Self {
        Self { rate, burst, users: Mutex::default() }
    }

    /// A user makes a request: how long it waits first.
    pub fn take(&self, uid: u32, now: Instant) -> Duration {
        // Numbers: what a thread that panicked left is usable.
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.len() > USERS {
            users.retain(|_, throttle| !throttle.is_full(now));
        }
        let new = || Throttle::new(self.rate, self.burst, now);
        users.entry(uid).or_insert_with(new).take(now)
    }
}

/// One user's bucket.
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

    /// Tokens at this moment.
    fn tokens(&self, now: Instant) -> f64 {
        let earned = now.saturating_duration_since(self.last).as_secs_f64() * self.rate;
        (self.tokens + earned).min(self.burst)
    }

    /// It has been left alone for long.
    fn is_full(&self, now: Instant) -> bool {
        self.tokens(now) >= self.burst
    }

    /// Takes a token: how long to wait first.
    pub fn take(&mut self, now: Instant) -> Duration {
        self.tokens = self.tokens(now) - 1.0;
        self.last = self.last.max(now);
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
    fn a_users_sessions_share_a_bucket_and_others_have_their_own() {
        let start = Instant::now();
        let throttles = Throttles::new(1000, 10);
        assert!((0..10).all(|_| throttles.take(1, start).is_zero()));
        assert!(!throttles.take(1, start).is_zero() && throttles.take(2, start).is_zero());
        // Those with full buckets are forgotten when there are many.
        for uid in 3..2000 {
            throttles.take(uid, start + Duration::from_secs(uid.into()));
        }
        let users = throttles.users.lock().expect("no panic").len();
        assert!(users <= USERS + 1, "{users}");
    }

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
