//! Packets from the root port to the root complex, as beats, as its credits allow.
//!
//! A packet that waits for credits is passed by those that the specification lets pass it: posted ones and completions pass reads.

use std::collections::VecDeque;

use viaduct_link::tlp::{payload_dw, Class, Tlp};
use viaduct_spec::tlp::class;

use crate::nic::{NicIn, NicOut};
use crate::tlp::beat;

/// Posted packets and completions that are taken from the root port before any of them has gone: what is behind them stays there, with
/// its credits. Reads are few, by their tags.
const ROOM: usize = 4;

/// The packets.
#[derive(Debug, Default)]
pub struct Upward {
    /// In the order in which they came.
    waiting: VecDeque<Tlp>,
    /// The one that goes, and how many of its beats have gone.
    going: Option<(Tlp, usize)>,
}

impl Upward {
    /// Another packet may come.
    pub fn has_room(&self) -> bool {
        let others = self.waiting.iter().filter(|tlp| Class::of(tlp[0]) != Class::NonPosted);
        others.count() < ROOM
    }

    /// A packet has come.
    pub fn push(&mut self, tlp: Tlp) {
        self.waiting.push_back(tlp);
    }

    /// The link is down: what has not gone is lost.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Nothing is here.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.going.is_none()
    }

    /// Which packet may begin.
    fn next(&self, input: &NicIn) -> Option<usize> {
        let mut posted_waits = false;
        for (place, tlp) in self.waiting.iter().enumerate() {
            let kind = Class::of(tlp[0]);
            // Reads wait for all that is ahead of them, the others for posted packets and for their own.
            let passes = place == 0 || kind != Class::NonPosted && !posted_waits;
            if passes && has_credit(input, kind, tlp[0]) {
                return Some(place);
            }
            posted_waits |= kind != Class::NonPosted;
        }
        None
    }

    /// Shows the next beat, and moves on if the root complex takes it in this cycle.
    pub fn present(&mut self, input: &NicIn, output: &mut NicOut) {
        output.tlp_tx_valid = false;
        if self.going.is_none() {
            let next = self.next(input).and_then(|place| self.waiting.remove(place));
            self.going = next.map(|tlp| (tlp, 0));
        }
        let Some((packet, gone)) = &mut self.going else { return };
        let (data, keep) = beat(packet, *gone);
        output.tlp_tx_valid = true;
        output.tlp_tx_data = data;
        output.tlp_tx_keep = keep;
        output.tlp_tx_last = (*gone + 1) * 2 >= packet.len();
        output.tlp_tx_class = match Class::of(packet[0]) {
            Class::Posted => class::POSTED,
            Class::NonPosted => class::NON_POSTED,
            Class::Completion => class::COMPLETION,
        };
        if input.tlp_tx_ready {
            *gone += 1;
            if output.tlp_tx_last {
                self.going = None;
            }
        }
    }
}

fn has_credit(input: &NicIn, kind: Class, first: u32) -> bool {
    let units = payload_dw(first).div_ceil(4) as u16;
    match kind {
        Class::Posted => input.credit_ph > 0 && input.credit_pd >= units,
        Class::NonPosted => input.credit_nph > 0,
        Class::Completion => input.credit_ch > 0 && input.credit_cd >= units,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];
    const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];
    const ANSWER: [u32; 3] = [0x0A00_0000, 0, 0];

    fn all() -> NicIn {
        NicIn {
            tlp_tx_ready: true,
            credit_ph: 1,
            credit_pd: 1,
            credit_nph: 1,
            credit_ch: 1,
            ..NicIn::default()
        }
    }

    /// First double words in the order in which packets go.
    fn order(upward: &mut Upward, input: &NicIn) -> Vec<u32> {
        let (mut seen, mut first) = (Vec::new(), true);
        for _ in 0..20 {
            let mut output = NicOut::default();
            upward.present(input, &mut output);
            if output.tlp_tx_valid && first {
                seen.push(output.tlp_tx_data as u32);
            }
            first = !output.tlp_tx_valid || output.tlp_tx_last;
        }
        seen
    }

    #[test]
    fn packets_pass_what_they_may_pass_and_nothing_else() {
        let of = |packets: &[&[u32]]| {
            let mut upward = Upward::default();
            packets.iter().for_each(|packet| upward.push(packet.to_vec()));
            upward
        };
        let mixed: [&[u32]; 4] = [&READ, &WRITE, &ANSWER, &READ];
        let firsts = mixed.map(|packet| packet[0]);
        assert_eq!(order(&mut of(&mixed), &all()), firsts, "all have credits: as they came");
        let mut upward = of(&mixed);
        let no_reads = NicIn { credit_nph: 0, ..all() };
        assert_eq!(order(&mut upward, &no_reads), [WRITE[0], ANSWER[0]]);
        assert_eq!(order(&mut upward, &all()), [READ[0]; 2]);
        let mut upward = of(&mixed);
        let no_writes = NicIn { credit_pd: 0, ..all() };
        assert_eq!(order(&mut upward, &no_writes), [READ[0]], "nothing passes a write");
        assert_eq!(order(&mut upward, &all()), [WRITE[0], ANSWER[0], READ[0]]);
        assert!(upward.is_empty());
    }

    #[test]
    fn a_beat_stays_until_it_is_taken_and_reads_take_no_room() {
        let mut upward = Upward::default();
        for _ in 0..30 {
            upward.push(READ.to_vec());
        }
        assert!(upward.has_room());
        for _ in 0..ROOM {
            upward.push(WRITE.to_vec());
        }
        assert!(!upward.has_room());
        let busy = NicIn { tlp_tx_ready: false, ..all() };
        let mut output = NicOut::default();
        for _ in 0..3 {
            upward.present(&busy, &mut output);
            assert!(output.tlp_tx_valid && !output.tlp_tx_last);
            assert_eq!(output.tlp_tx_data as u32, READ[0]);
        }
    }
}
