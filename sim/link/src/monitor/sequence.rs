//! A side as a sender of TLPs: sequence numbers and replays.

use std::collections::BTreeMap;

use super::grant::Cost;
use super::lane::Fault;
use super::rule::Rule;

/// Sequence numbers count modulo this.
pub const MODULUS: u16 = 4096;
/// Symbol times that the seam may be away from the timers.
const SLACK: u64 = 64;

/// Why a replay may begin.
#[derive(Debug, Clone, Copy, Default)]
struct Cause {
    /// Since when REPLAY_TIMER runs.
    timer: Option<u64>,
    /// When there was a Nak, or Recovery.
    excuse: Option<u64>,
    /// A Nak asks for a replay since then.
    nak: Option<u64>,
}

/// The sender.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    /// The next new number.
    next: u16,
    /// TLPs behind that number which were read; one before them was not.
    ahead: BTreeMap<u16, Cost>,
    /// The oldest unacknowledged number.
    oldest: u16,
    /// The number that follows the TLP sent last.
    place: u16,
    cause: Cause,
    /// As it was when the packet under way began.
    seen: Cause,
    /// When the last replay began.
    replayed: u64,
    /// When the last Ack or Nak came.
    answered: Option<u64>,
}

fn distance(from: u16, to: u16) -> u16 {
    to.wrapping_sub(from) % MODULUS
}

impl Sequence {
    /// TLPs that are not acknowledged.
    fn unacknowledged(&self) -> u16 {
        distance(self.oldest, self.next)
    }

    /// A packet begins.
    pub fn begins(&mut self) {
        self.seen = self.cause;
    }

    /// A TLP was sent; it began and ended at these times. The limits are those of
    /// REPLAY_TIMER and of a packet. Says whether it is a new one.
    pub fn tlp(
        &mut self,
        number: u16,
        cost: Cost,
        times: (u64, u64),
        limits: (u64, u64),
        faults: &mut Vec<Fault>,
    ) -> bool {
        let ((began, ended), (limit, packet)) = (times, limits);
        // It goes on where it was, or leaves out what is acknowledged by now.
        let gone = distance(self.place, self.oldest);
        let done = if gone < MODULUS / 2 { gone } else { 0 };
        let goes_on = distance(self.place, number) <= done;
        if !goes_on && distance(number, self.oldest) < MODULUS / 2 {
            let waited = self.seen.timer.map_or(0, |since| began.saturating_sub(since));
            // It may have been made ready a packet ago.
            let excused = self.cause.excuse.is_some_and(|at| at + packet + SLACK >= self.replayed);
            if !excused && waited + SLACK < limit {
                faults.push((Rule::ReplayEarly, format!("TLP {number} after {waited} symbols")));
            }
            // A Nak that came meanwhile, not in the same cycle, asks for another one.
            let again = self.cause.nak.filter(|nak| *nak > began + 2);
            self.cause = Cause { timer: Some(ended), nak: again, ..self.cause };
            self.replayed = began;
        } else if goes_on {
            // With the oldest one a replay has begun as well.
            let covers = distance(number, self.oldest) < MODULUS / 2;
            self.cause.nak = self.cause.nak.filter(|nak| !covers || *nak > began + 2);
        } else {
            faults.push((Rule::Sequence, format!("TLP {number} instead of {}", self.place)));
        }
        // A wire may have damaged those before it. They come again, and are new then; so is this one, behind them.
        let new = number == self.next;
        self.place = (number + 1) % MODULUS;
        if new {
            self.next = self.place;
            self.ahead.remove(&number);
        } else if distance(self.next, number) < MODULUS / 2 {
            self.ahead.insert(number, cost);
        }
        if self.unacknowledged() >= MODULUS / 2 {
            faults.push((Rule::Unacknowledged, format!("{} TLPs", self.unacknowledged())));
        }
        self.cause.timer = Some(self.cause.timer.unwrap_or(ended)).filter(|_| self.unacknowledged() > 0);
        new
    }

    /// The number of a nullified TLP is the next new one's.
    pub fn nullified(&self, number: u16, faults: &mut Vec<Fault>) {
        if number != self.next && number != self.place {
            faults.push((Rule::Sequence, format!("the nullified TLP {number} instead of {}", self.next)));
        }
    }

    /// The receiver has taken all up to this number, and some of them it alone has read: they never come again. Says what each one costs
    /// that is thereby known to be sent and was not counted, as far as it was read.
    pub fn told(&mut self, number: u16) -> Vec<Option<Cost>> {
        let unread = distance(self.next, (number + 1) % MODULUS);
        let mut costs = vec![];
        if unread >= MODULUS / 2 {
            return costs;
        }
        while costs.len() < usize::from(unread) || self.ahead.contains_key(&self.next) {
            costs.push(self.ahead.remove(&self.next));
            self.next = (self.next + 1) % MODULUS;
        }
        costs
    }

    /// An Ack or a Nak has come. The limit is that of REPLAY_TIMER. A sender that is not in L0 may not hear it: then its own timer
    /// has the replay, and nothing is due for the Nak.
    pub fn answered(&mut self, number: u16, nak: bool, heard: bool, now: u64, limit: u64) {
        let count = distance(self.oldest, (number + 1) % MODULUS);
        if count > self.unacknowledged() {
            return;
        }
        if count > 0 {
            // The timer may have ended before it came.
            if self.cause.timer.is_some_and(|since| now + SLACK >= since + limit) {
                self.cause.excuse = Some(now);
            }
            self.oldest = (number + 1) % MODULUS;
            self.cause.timer = Some(now).filter(|_| self.unacknowledged() > 0);
        }
        self.answered = Some(now);
        if nak || !heard {
            // A TLP that is under way may be replayed too, but need not.
            self.cause.excuse = Some(now);
        }
        if nak && heard {
            self.cause.nak = Some(now);
        }
        if self.unacknowledged() == 0 {
            (self.cause.timer, self.cause.nak) = (None, None);
        }
    }

    /// The link is retrained since then: a replay may follow, and its time begins anew.
    pub fn retrained(&mut self, now: u64) {
        // Its time may have been set back. What came just before then, or since, it may have missed.
        let missed = |at: u64| at + SLACK >= now;
        self.cause.timer = self.cause.timer.map(|at| at.min(now));
        self.cause.nak = self.cause.nak.filter(|at| !missed(*at));
        if self.unacknowledged() > 0 || self.answered.is_some_and(missed) {
            self.cause.excuse = Some(now);
        }
    }

    /// A replay is overdue: REPLAY_TIMER is this long at most, and half of that is enough behind a Nak.
    pub fn is_late(&mut self, now: u64, longest: u64, packet: u64) -> bool {
        let late = |since: u64, time: u64| now > since + time + packet + SLACK;
        let timer = self.cause.timer.is_some_and(|since| late(since, longest));
        let nak = self.cause.nak.is_some_and(|since| late(since, longest / 2));
        if timer || nak {
            (self.cause.timer, self.cause.nak) = (Some(now), None);
        }
        timer || nak
    }
}
