//! Device time: cycles of the NIC's clock.

use std::time::{Duration, Instant};

/// Nanoseconds of a cycle: 125 MHz.
pub const CYCLE_NS: u64 = 8;
/// log2 of the cycles in a tick of the time base: 1.024 us.
pub const TICK_LOG2: u32 = 7;

/// A point in device time, in cycles since power-up.
pub type Cycle = u64;

/// The time base that the NIC sees at this cycle; it wraps.
pub fn ticks(cycle: Cycle) -> u32 {
    (cycle >> TICK_LOG2) as u32
}

/// The first cycle from `now` on at which the time base has reached `deadline`. A deadline up to
/// 2^31 ticks back is past.
pub fn reached(now: Cycle, deadline: u32) -> Cycle {
    let ahead = deadline.wrapping_sub(ticks(now)) as i32;
    if ahead <= 0 {
        return now;
    }
    ((now >> TICK_LOG2) + ahead as u64) << TICK_LOG2
}

/// Device time as a duration since power-up.
pub fn duration(cycle: Cycle) -> Duration {
    Duration::from_nanos(cycle.saturating_mul(CYCLE_NS))
}

/// Device time that follows the wall from a moment on: while the NICs are idle.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    wall: Instant,
    cycle: Cycle,
}

impl Anchor {
    /// Now, on both clocks.
    pub fn new(cycle: Cycle) -> Self {
        Self { wall: Instant::now(), cycle }
    }

    /// The cycle that the wall clock has reached.
    pub fn cycle(&self) -> Cycle {
        self.cycle + (self.wall.elapsed().as_nanos() / u128::from(CYCLE_NS)) as u64
    }

    /// How long the wall clock still needs to reach a cycle.
    pub fn until(&self, cycle: Cycle) -> Duration {
        duration(cycle.saturating_sub(self.cycle)).saturating_sub(self.wall.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_reached_when_its_tick_begins() {
        assert_eq!(reached(1000, ticks(1000) + 2), ((1000 >> 7) + 2) << 7);
        assert_eq!(ticks(reached(1000, 55)), 55);
        assert_eq!(ticks(reached(1000, 55) - 1), 54);
        assert_eq!(reached(1000, ticks(1000)), 1000);
        assert_eq!(reached(1000, 0), 1000, "past");
    }

    #[test]
    fn the_time_base_wraps() {
        let now = (1u64 << 39) - 128;
        assert_eq!(ticks(now), u32::MAX);
        assert_eq!(reached(now, 3), (1 << 39) + 3 * 128);
    }

    #[test]
    fn an_anchor_follows_the_wall() {
        let anchor = Anchor::new(500);
        std::thread::sleep(Duration::from_millis(2));
        assert!(anchor.cycle() >= 500 + 250_000);
        assert_eq!(anchor.until(600), Duration::ZERO);
        assert!(anchor.until(500 + 125_000_000) > Duration::from_millis(500));
    }
}
