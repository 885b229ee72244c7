//! Device time that stands still while hosts do something about what their NICs have told them. A simulation is slow beside a host, or a host beside a
//! simulation: either way what a host takes says nothing of the NICs.

use std::time::{Duration, Instant};

/// Whether device time stands.
pub(super) struct Hold {
    /// How long the hosts must have done nothing.
    quiet: Duration,
    /// How often the NICs had told them of something when it was looked last.
    told: u64,
    until: Option<Instant>,
}

impl Hold {
    /// Time passes at first.
    pub(super) fn new(quiet: Duration) -> Self {
        Self { quiet, told: 0, until: None }
    }

    /// So often the NICs have told of something now: time stands if that is more than before.
    pub(super) fn look(&mut self, told: u64, now: Instant) {
        if told != self.told {
            self.told = told;
            self.until = Some(now + self.quiet);
        }
    }

    /// A host has done something: what stands stays so for longer.
    pub(super) fn extend(&mut self, now: Instant) {
        if self.left(now).is_some() {
            self.until = Some(now + self.quiet);
        }
    }

    /// How long time still stands, if it does.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        self.until.and_then(|until| until.checked_duration_since(now)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_from_what_is_told_until_hosts_have_been_quiet() {
        let (quiet, start) = (Duration::from_millis(10), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut hold = Hold::new(quiet);
        assert_eq!(hold.left(start), None, "nothing was told");
        hold.extend(start);
        assert_eq!(hold.left(start), None, "what a host does by itself takes time");
        hold.look(1, start);
        assert_eq!(hold.left(at(4)), Some(Duration::from_millis(6)));
        hold.extend(at(4));
        assert_eq!(hold.left(at(13)), Some(Duration::from_millis(1)));
        assert_eq!(hold.left(at(14)), None, "it has been quiet for so long");
        hold.look(1, at(15));
        assert_eq!(hold.left(at(15)), None, "nothing new was told");
        hold.look(2, at(15));
        assert_eq!(hold.left(at(15)), Some(quiet));
    }
}
