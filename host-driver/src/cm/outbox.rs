//! Frames on their way out.

use std::collections::{BTreeMap, VecDeque};

use super::{
    arp::Arp,
    config::Config,
    datagram::{Datagram, Host},
    mad::Mad,
    message::Message,
    request::Party,
};

/// Frames of several parties, so many at most of all together. Each party in its turn has one sent; where there is no room, who has the
/// most loses its last.
#[derive(Debug)]
struct Shared {
    most: usize,
    frames: usize,
    queues: BTreeMap<Party, VecDeque<Vec<u8>>>,
    /// Whose turn it is, or the next one's behind it.
    turn: Party,
    dropped: u64,
}

impl Shared {
    fn new(most: usize) -> Self {
        Self { most, frames: 0, queues: BTreeMap::new(), turn: 0, dropped: 0 }
    }

    fn push(&mut self, party: Party, frame: Vec<u8>) {
        let own = self.queues.get(&party).map_or(0, VecDeque::len);
        if self.frames >= self.most {
            self.dropped += 1;
            match self.queues.values_mut().max_by_key(|queue| queue.len()) {
                Some(longest) if longest.len() > own + 1 => {
                    longest.pop_back();
                    self.frames -= 1;
                }
                _ => return,
            }
        }
        self.queues.entry(party).or_default().push_back(frame);
        self.frames += 1;
    }

    fn pop(&mut self) -> Option<Vec<u8>> {
        let later = self.queues.range_mut(self.turn..).next().map(|(party, _)| *party);
        let party = later.or_else(|| self.queues.keys().next().copied())?;
        let queue = self.queues.get_mut(&party)?;
        let frame = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&party);
        }
        self.turn = party.wrapping_add(1);
        self.frames -= usize::from(frame.is_some());
        frame
    }
}

/// Frames on their way out, and those to ourselves, which no network carries back.
#[derive(Debug)]
pub(super) struct Outbox {
    own: Host,
    pkey: u16,
    psn: u32,
    frames: Shared,
    looped: Shared,
}

impl Outbox {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            own: config.own,
            pkey: config.pkey,
            psn: 0,
            frames: Shared::new(config.limits.frames),
            looped: Shared::new(config.limits.frames),
        }
    }

    /// Sends a message of a party's.
    pub(super) fn message(&mut self, party: Party, target: Host, transaction: u64, message: &Message) {
        let mad = Mad { transaction, message: *message }.encode();
        let Self { own: source, pkey, psn, .. } = *self;
        let frame = Datagram { target, source, identification: 0, pkey, psn, mad }.encode();
        self.psn = (psn + 1) & 0xff_ffff;
        let queue = if target.mac == source.mac { &mut self.looped } else { &mut self.frames };
        queue.push(party, frame);
    }

    /// Sends an ARP packet of a party's.
    pub(super) fn arp(&mut self, party: Party, arp: &Arp) {
        self.frames.push(party, arp.encode());
    }

    /// The next frame for the network.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.frames.pop()
    }

    /// Whether there are frames for ourselves.
    pub(super) fn has_looped(&self) -> bool {
        self.looped.frames > 0
    }

    /// The next frame for ourselves.
    pub(super) fn next_looped(&mut self) -> Option<Vec<u8>> {
        self.looped.pop()
    }

    /// Frames that found no room.
    pub(super) fn dropped(&self) -> u64 {
        self.frames.dropped + self.looped.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sends_much_keeps_nobody_else_from_sending() {
        let mut shared = Shared::new(16);
        for n in 0..1000u32 {
            shared.push(7, n.to_le_bytes().into());
        }
        assert_eq!((shared.frames, shared.dropped), (16, 984));
        // There is room for others, at the expense of who has the most.
        (0..3).for_each(|n| shared.push(1, vec![n]));
        (0..2).for_each(|n| shared.push(9, vec![10 + n]));
        assert_eq!((shared.frames, shared.dropped), (16, 989));
        let of_others = |frame: &Vec<u8>| frame.len() == 1;
        let sent: Vec<Vec<u8>> = std::iter::from_fn(|| shared.pop()).collect();
        assert_eq!(sent.len(), 16);
        // In turns, each party's in the order in which it sent them.
        let places = sent.iter().enumerate().filter(|(_, frame)| of_others(frame));
        let (places, theirs): (Vec<usize>, Vec<u8>) = places.map(|(at, frame)| (at, frame[0])).unzip();
        assert_eq!(theirs, [0, 10, 1, 11, 2]);
        assert!(places.iter().all(|at| *at < 9), "{places:?}");
        let flood = sent.iter().filter(|frame| !of_others(frame)).map(|frame| frame[0]);
        assert_eq!(flood.collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
        assert!(shared.queues.is_empty() && shared.frames == 0);
        // When all have as much, the newcomer is the one that loses.
        (0..16).for_each(|party| shared.push(party, vec![0]));
        shared.push(3, vec![1]);
        assert_eq!((shared.frames, shared.dropped), (16, 990));
    }
}
