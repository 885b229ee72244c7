//! The replay buffer and its timer (section 3.5.2).

use std::collections::VecDeque;

use super::dllp::SEQUENCES;
use super::limits::{MAX_UNACKNOWLEDGED, REPLAYS};

/// What an Ack or Nak did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It names a TLP that is not unacknowledged: a protocol error, and ignored.
    Impossible,
    /// It was taken.
    Taken,
}

/// A TLP to send again, or for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Its sequence number.
    pub sequence: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// It is the first one of a replay.
    pub begins_replay: bool,
}

/// The transmitter's side of Ack and Nak.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// Sent and not acknowledged, oldest first.
    buffer: VecDeque<Vec<u8>>,
    /// NEXT_TRANSMIT_SEQ.
    next: u16,
    /// The next one of the buffer to send again.
    again: Option<usize>,
    /// The replay has not sent its first TLP.
    fresh: bool,
    /// Since when REPLAY_TIMER runs.
    timer: Option<u64>,
    /// REPLAY_NUM.
    count: u8,
    /// The link is to be retrained before the replay.
    retrain: bool,
}

impl Replay {
    /// TLPs that are not acknowledged.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Everything is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// A new TLP may be sent: no replay is under way, and there is room.
    pub fn has_room(&self, window: u16) -> bool {
        self.again.is_none()
            && !self.retrain
            && self.buffer.len() < usize::from(window.min(MAX_UNACKNOWLEDGED))
    }

    /// The sequence number of the next new TLP.
    pub fn next_sequence(&self) -> u16 {
        self.next
    }

    /// A new TLP is sent.
    pub fn push(&mut self, bytes: Vec<u8>) -> Numbered {
        let sequence = self.next;
        self.next = (self.next + 1) % SEQUENCES;
        self.buffer.push_back(bytes.clone());
        Numbered { sequence, bytes, begins_replay: false }
    }

    /// The next TLP of a replay.
    pub fn again(&mut self) -> Option<Numbered> {
        let index = self.again.filter(|_| !self.retrain)?;
        let bytes = self.buffer.get(index)?.clone();
        self.again = Some(index + 1).filter(|next| *next < self.buffer.len());
        let sequence = self.oldest().wrapping_add(index as u16) % SEQUENCES;
        let begins_replay = std::mem::take(&mut self.fresh);
        Some(Numbered { sequence, bytes, begins_replay })
    }

    fn oldest(&self) -> u16 {
        self.next.wrapping_sub(self.buffer.len() as u16) % SEQUENCES
    }

    /// The last symbol of a TLP has been sent.
    pub fn finished(&mut self, now: u64, begins_replay: bool) {
        if begins_replay {
            self.timer = Some(now);
        } else {
            self.timer.get_or_insert(now);
        }
        self.timer = self.timer.filter(|_| !self.is_empty());
    }

    /// An Ack, or a Nak.
    pub fn answer(&mut self, sequence: u16, nak: bool, now: u64) -> Answer {
        // How many TLPs it acknowledges: 0 if it names the last one that was.
        let count = (sequence.wrapping_sub(self.oldest()).wrapping_add(1)) % SEQUENCES;
        if usize::from(count) > self.buffer.len() {
            // An old number is a late Ack; what was not sent is an error.
            let behind = self.next.wrapping_sub(1).wrapping_sub(sequence) % SEQUENCES;
            return if behind <= SEQUENCES / 2 { Answer::Taken } else { Answer::Impossible };
        }
        self.buffer.drain(..usize::from(count));
        let length = self.buffer.len();
        self.again = self.again.map(|index| index.saturating_sub(usize::from(count)));
        self.again = self.again.filter(|index| *index < length);
        if count > 0 {
            self.count = 0;
            // A replay whose first TLP was acknowledged by then restarts it all the same.
            self.timer = self.timer.map(|_| now).filter(|_| length > 0);
        }
        if nak && length > 0 {
            self.start();
        }
        Answer::Taken
    }

    /// Time passes. Says whether the timer ended.
    pub fn tick(&mut self, now: u64, limit: u64) -> bool {
        let ended = self.timer.is_some_and(|since| now.saturating_sub(since) >= limit);
        if ended {
            self.start();
        }
        ended
    }

    /// A replay begins, the fourth one with Recovery.
    fn start(&mut self) {
        self.timer = None;
        self.again = Some(0);
        self.fresh = true;
        self.count += 1;
        if self.count == REPLAYS {
            self.count = 0;
            self.retrain = true;
        }
    }

    /// The link is to be retrained.
    pub fn wants_recovery(&self) -> bool {
        self.retrain
    }

    /// It has been.
    pub fn recovered(&mut self) {
        self.retrain = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u16) -> Replay {
        let mut replay = Replay::default();
        for number in 0..count {
            assert_eq!(replay.push(vec![number as u8]).sequence, number);
            replay.finished(u64::from(number), false);
        }
        replay
    }

    #[test]
    fn a_nak_replays_what_follows_it() {
        let mut replay = filled(5);
        assert_eq!(replay.answer(1, true, 9), Answer::Taken);
        assert!(!replay.has_room(u16::MAX));
        let again: Vec<_> = std::iter::from_fn(|| replay.again()).collect();
        assert_eq!(again.iter().map(|tlp| tlp.sequence).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(again.iter().map(|tlp| tlp.begins_replay).collect::<Vec<_>>(), [true, false, false]);
        assert!(replay.has_room(u16::MAX));
    }

    #[test]
    fn the_fourth_replay_without_progress_asks_for_recovery() {
        let mut replay = filled(2);
        for round in 1..=4 {
            assert!(replay.tick(10_000 * round, 711));
            assert!(!replay.tick(10_000 * round + 9_000, 711), "it is held until the first TLP is sent");
            assert_eq!(replay.wants_recovery(), round == 4);
            if round < 4 {
                while let Some(tlp) = replay.again() {
                    replay.finished(10_000 * round, tlp.begins_replay);
                }
            }
        }
        assert_eq!(replay.again(), None, "not before");
        replay.recovered();
        assert_eq!(replay.again().map(|tlp| tlp.sequence), Some(0));
    }

    #[test]
    fn progress_forgets_the_replays_before() {
        let mut replay = filled(20);
        for round in 0..20 {
            replay.answer(4095, true, round);
            replay.answer(4095, true, round);
            replay.answer(4095, true, round);
            assert!(!replay.wants_recovery());
            replay.answer(round as u16, false, round);
        }
        assert!(replay.is_empty());
        assert!(!replay.tick(1 << 30, 711), "nothing runs");
    }

    #[test]
    fn answers_for_what_was_not_sent_are_refused() {
        let mut replay = filled(3);
        assert_eq!(replay.answer(3, false, 0), Answer::Impossible);
        assert_eq!(replay.answer(2000, true, 0), Answer::Impossible);
        assert_eq!(replay.len(), 3);
        assert_eq!(replay.answer(2, false, 0), Answer::Taken);
        assert_eq!(replay.answer(0, false, 0), Answer::Taken, "late");
        assert_eq!(replay.answer(1, true, 0), Answer::Taken, "late");
        assert_eq!(replay.again(), None);
    }

    #[test]
    fn at_most_2047_are_unacknowledged() {
        let replay = filled(2047);
        assert!(!replay.has_room(u16::MAX));
        assert!(filled(2046).has_room(u16::MAX));
        assert!(!filled(8).has_room(8));
    }
}
