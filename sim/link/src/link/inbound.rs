//! TLPs as they come: their order, and Ack or Nak for them (section 3.5.3).

use super::dllp::{Dllp, SEQUENCES};
use super::limits::DUPLICATES;

/// What is done with a TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the next one.
    Taken,
    /// It came before.
    Duplicate,
    /// One before it is missing.
    Missing,
}

/// The receiver's side of Ack and Nak.
#[derive(Debug, Clone, Default)]
pub struct Inbound {
    /// NEXT_RCV_SEQ.
    next: u16,
    /// NAK_SCHEDULED: no other Nak before a good TLP.
    nak_scheduled: bool,
    /// A Nak is to be sent.
    nak: bool,
    /// An Ack is to be sent at this time.
    ack_at: Option<u64>,
}

impl Inbound {
    /// A TLP with a good LCRC has come; an Ack for it is due at `ack_at`.
    pub fn tlp(&mut self, sequence: u16, now: u64, ack_at: u64) -> Verdict {
        let behind = self.next.wrapping_sub(sequence) % SEQUENCES;
        if behind == 0 {
            self.next = (self.next + 1) % SEQUENCES;
            self.nak_scheduled = false;
            self.ack_at.get_or_insert(ack_at);
            Verdict::Taken
        } else if behind <= DUPLICATES {
            self.ack_at = Some(now);
            Verdict::Duplicate
        } else {
            self.bad();
            Verdict::Missing
        }
    }

    /// A TLP has come damaged.
    pub fn bad(&mut self) {
        self.nak |= !self.nak_scheduled;
        self.nak_scheduled = true;
    }

    /// A Nak is sent without a reason.
    pub fn force_nak(&mut self) {
        self.nak = true;
    }

    /// The Ack or Nak that is due. A Nak acknowledges as well.
    pub fn due(&mut self, now: u64) -> Option<Dllp> {
        let last = self.next.wrapping_sub(1) % SEQUENCES;
        if std::mem::take(&mut self.nak) {
            self.ack_at = None;
            return Some(Dllp::Nak(last));
        }
        self.ack_at.take_if(|at| *at <= now).map(|_| Dllp::Ack(last))
    }

    /// Something is to be sent, if not now.
    pub fn is_pending(&self) -> bool {
        self.nak || self.ack_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tlp_is_taken_once_and_in_order() {
        let mut inbound = Inbound::default();
        for round in 0..10_000_u64 {
            let sequence = (round % 4096) as u16;
            assert_eq!(inbound.tlp((sequence + 1) % 4096, round, round), Verdict::Missing);
            assert_eq!(inbound.tlp(sequence, round, round + 5), Verdict::Taken);
            assert_eq!(inbound.tlp(sequence, round, round + 5), Verdict::Duplicate);
            assert_eq!(inbound.due(round), Some(Dllp::Nak(sequence)), "a Nak for the gap acknowledges");
            assert_eq!(inbound.due(round + 9), None);
        }
    }

    #[test]
    fn there_is_one_nak_until_a_good_tlp() {
        let mut inbound = Inbound::default();
        inbound.bad();
        inbound.bad();
        assert_eq!(inbound.due(0), Some(Dllp::Nak(4095)));
        inbound.bad();
        assert_eq!(inbound.due(0), None);
        assert_eq!(inbound.tlp(0, 0, 10), Verdict::Taken);
        assert_eq!(inbound.due(9), None);
        assert_eq!(inbound.due(10), Some(Dllp::Ack(0)));
        inbound.bad();
        assert_eq!(inbound.due(10), Some(Dllp::Nak(0)));
    }

    #[test]
    fn half_of_all_numbers_are_duplicates() {
        let mut inbound = Inbound { next: 100, ..Inbound::default() };
        assert_eq!(inbound.tlp(99, 0, 0), Verdict::Duplicate);
        assert_eq!(inbound.tlp(100 + 4096 - 2048, 0, 0), Verdict::Duplicate);
        assert_eq!(inbound.tlp(100 + 4096 - 2049, 0, 0), Verdict::Missing);
        assert_eq!(inbound.tlp(101, 0, 0), Verdict::Missing);
    }
}
