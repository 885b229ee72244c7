//! A side as a receiver of TLPs: its Acks and Naks.

use std::collections::VecDeque;

use super::lane::Fault;
use super::rule::Rule;
use super::sequence::MODULUS;

/// Symbol times that the seam may be away from the timers.
const SLACK: u64 = 64;
/// Symbols of the shortest TLP: framing, number, three double words, LCRC.
const SHORTEST: u64 = 2 + 2 + 12 + 4;

/// The receiver.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The next number that it takes.
    next: u16,
    /// What that was before it trained and said otherwise.
    highest: u16,
    /// The last number that it named.
    named: u16,
    /// Taken and not acknowledged: number, time.
    pending: VecDeque<(u16, u64)>,
    /// When something was wrong that calls for a Nak.
    reason: Option<u64>,
    /// When it took the last TLP.
    took: Option<u64>,
    /// It trained about then, and may have missed TLPs up to this number.
    unsure: Option<u16>,
    /// A Nak was sent since the last TLP that it took for sure. Then it may owe none (NAK_SCHEDULED, section 3.5.3.1):
    /// Recovery changes nothing of that, and a TLP that passes meanwhile does not, either.
    nakked: bool,
    /// When a TLP ended that.
    cleared: Option<u64>,
    /// A damaged TLP came at this time.
    damaged: Option<u64>,
    /// It may have taken TLPs that the monitor could not read, from then on and until then.
    blind: Option<(u64, u64)>,
}

impl Default for Answer {
    fn default() -> Self {
        let (pending, named) = (VecDeque::new(), MODULUS - 1);
        Self {
            next: 0,
            highest: 0,
            named,
            pending,
            reason: None,
            took: None,
            unsure: None,
            nakked: false,
            cleared: None,
            damaged: None,
            blind: None,
        }
    }
}

impl Answer {
    /// A good TLP has come, perhaps while it trains. A Nak may have been made ready a packet ago.
    pub fn tlp(&mut self, number: u16, now: u64, packet: u64, trains: bool) {
        if number == self.next {
            self.next = (number + 1) % MODULUS;
            if self.next.wrapping_sub(self.highest) % MODULUS < MODULUS / 2 {
                self.highest = self.next;
            }
            self.took = Some(now);
            if trains {
                self.unsure = Some(number);
            } else if self.unsure.is_none() {
                self.pending.push_back((number, now));
                if std::mem::take(&mut self.nakked) {
                    self.cleared = Some(now);
                }
            }
            self.damaged = None;
            self.reason = self.reason.filter(|at| now <= at + packet + SLACK);
        } else if self.next.wrapping_sub(number) % MODULUS > MODULUS / 2 {
            self.reason = Some(now);
        }
    }

    /// A TLP has come whole, but with a wrong LCRC.
    pub fn damaged(&mut self, now: u64) {
        self.reason = Some(now);
        if !self.nakked {
            self.damaged.get_or_insert(now);
        }
    }

    /// Anything has come that it may take for a damaged TLP.
    pub fn disturbed(&mut self, now: u64) {
        self.reason = Some(now);
    }

    /// What comes the monitor cannot read for sure, and the side may read it or not.
    pub fn blind(&mut self, now: u64) {
        let since = self.blind.map_or(now, |(since, _)| since);
        (self.blind, self.reason, self.damaged) = (Some((since, now)), Some(now), None);
    }

    /// It may have taken TLPs that the monitor could not read, and has not said so yet.
    pub fn is_blind(&self) -> bool {
        self.blind.is_some()
    }

    /// It trains: it left L0 up to a packet before, and may have missed what came since.
    pub fn left(&mut self, now: u64, packet: u64) {
        // Its own packet, its first training set and the wires lie between.
        let window = packet + 2 * SLACK;
        self.pending.retain(|(_, since)| since + window < now);
        (self.reason, self.damaged) = (Some(now), None);
        self.nakked |= self.cleared.take_if(|cleared| *cleared + window >= now).is_some();
        if self.took.is_some_and(|took| took + window >= now) {
            self.unsure = Some(self.next.wrapping_sub(1) % MODULUS);
        }
    }

    /// It names a TLP in an Ack or a Nak. Within this time it names what it has taken. Says whether it names one that it alone can
    /// have read.
    pub fn names(
        &mut self,
        number: u16,
        nak: bool,
        (now, limit): (u64, u64),
        faults: &mut Vec<Fault>,
    ) -> bool {
        let last = self.highest.wrapping_sub(1) % MODULUS;
        let behind = last.wrapping_sub(number) % MODULUS;
        if behind == 0 {
            self.blind = self.blind.filter(|(_, until)| now <= until + limit);
        }
        // No more than have room in that time.
        let room = |since: u64| u64::from(MODULUS - behind) * SHORTEST <= (now + limit).saturating_sub(since);
        let unread = behind > MODULUS / 2 && self.blind.is_some_and(|(since, _)| room(since));
        if unread {
            // It says itself what it has taken.
            (self.next, self.highest) = ((number + 1) % MODULUS, (number + 1) % MODULUS);
        } else if behind > MODULUS / 2 {
            faults.push((Rule::AckUnsent, format!("{number} is named, {last} was the last one")));
            return false;
        }
        if number.wrapping_sub(self.named) % MODULUS > MODULUS / 2 {
            faults.push((Rule::AckBackwards, format!("{number} is named after {}", self.named)));
            return false;
        }
        if number != self.named && !nak {
            // It has taken something since its last Nak.
            self.nakked = false;
        }
        self.named = number;
        if number.wrapping_sub(self.next) % MODULUS < MODULUS / 2 {
            // It had taken more than its last Nak said.
            self.next = (number + 1) % MODULUS;
        }
        while self
            .pending
            .front()
            .is_some_and(|(taken, _)| number.wrapping_sub(*taken) % MODULUS < MODULUS / 2)
        {
            self.pending.pop_front();
        }
        self.unsure = self.unsure.filter(|unsure| number.wrapping_sub(*unsure) % MODULUS >= MODULUS / 2);
        let (reason, unsure) = (self.reason, self.unsure);
        if nak && (reason.is_some() || unsure.is_some()) {
            (self.reason, self.unsure) = (None, None);
            if unsure.is_some() {
                // It says itself what it takes next.
                self.next = (number + 1) % MODULUS;
                self.pending.clear();
            }
            (self.nakked, self.damaged) = (true, None);
        } else if nak {
            faults.push((Rule::NakWithoutReason, format!("a Nak of {number}")));
        }
        unread
    }

    /// An Ack is overdue.
    pub fn ack_is_late(&mut self, now: u64, limit: u64) -> bool {
        let late = self.pending.front().is_some_and(|(_, since)| now > since + limit + SLACK);
        if late {
            self.pending.clear();
        }
        late
    }

    /// A Nak is overdue.
    pub fn nak_is_late(&mut self, now: u64, limit: u64) -> bool {
        self.damaged.take_if(|since| now > *since + limit + SLACK).is_some()
    }
}
