//! Frames that wait for a receive which is posted and not fetched, and what of their VIs has come behind them (FRAME-11,
//! FRAME-12).

use std::collections::{BTreeSet, VecDeque};

use super::frame::Reading;
use crate::clock::Cycle;

/// Bytes, and frames, that there is room for.
const ROOM: usize = 16 * 1024;
const PLACES: usize = 13;
/// Frames wait for this many cycles while they leave less than half of the room.
const PATIENCE: Cycle = 1 << 14;

/// A frame whose VI is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matched {
    /// One of a connection.
    Packet(Reading),
    /// One of the raw channel.
    Raw(Vec<u8>),
}

impl Matched {
    fn bytes(&self) -> usize {
        match self {
            Self::Packet(reading) => reading.packet.body.len(),
            Self::Raw(frame) => frame.len(),
        }
    }
}

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub struct Held {
    frames: VecDeque<(usize, Matched)>,
    /// Since when they have left less than half of the room.
    crowded: Option<Cycle>,
    /// VIs whose frames are dropped until one of their receives is fetched or their state changes.
    deaf: BTreeSet<usize>,
}

impl Held {
    /// Whether frames of this VI wait or are dropped: one that comes goes behind them.
    pub fn concerns(&self, vi: usize) -> bool {
        self.deaf.contains(&vi) || self.frames.iter().any(|(other, _)| *other == vi)
    }

    /// A frame waits. Whether there was room: if not, it is lost.
    pub fn add(&mut self, vi: usize, frame: Matched, now: Cycle) -> bool {
        // FRAME-12: the room for frames that wait.
        let bytes = self.bytes() + frame.bytes();
        if self.deaf.contains(&vi) || self.frames.len() == PLACES || bytes > ROOM {
            return false;
        }
        self.frames.push_back((vi, frame));
        self.watch(now);
        true
    }

    /// A receive of a VI may have been fetched, or its state has changed: its next frame is not dropped.
    pub fn hear(&mut self, vi: usize) {
        self.deaf.remove(&vi);
    }

    /// All that wait, in their order: each is looked at again.
    pub fn take(&mut self) -> VecDeque<(usize, Matched)> {
        self.crowded = None;
        std::mem::take(&mut self.frames)
    }

    /// When the oldest frame has left too little room for too long.
    pub fn deadline(&self) -> Option<Cycle> {
        self.crowded.map(|since| since + PATIENCE)
    }

    /// If that time has come, the frames of the oldest one's VI are dropped: how many.
    pub fn drop_overdue(&mut self, now: Cycle) -> usize {
        if self.deadline().is_none_or(|when| now < when) {
            return 0;
        }
        let Some((vi, _)) = self.frames.front() else { return 0 };
        let (vi, before) = (*vi, self.frames.len());
        // FRAME-12: the VI's frames are dropped until one of its receives is fetched or its state changes.
        self.frames.retain(|(other, _)| *other != vi);
        self.deaf.insert(vi);
        self.crowded = None;
        self.watch(now);
        before - self.frames.len()
    }

    fn bytes(&self) -> usize {
        self.frames.iter().map(|(_, frame)| frame.bytes()).sum()
    }

    fn watch(&mut self, now: Cycle) {
        let crowded = 2 * self.bytes() > ROOM || self.frames.len() > 8;
        self.crowded = crowded.then(|| self.crowded.unwrap_or(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule FRAME-12.
    #[test]
    fn what_leaves_too_little_room_for_too_long_is_dropped_with_its_vi_s_others() {
        let mut held = Held::default();
        let frame = |length| Matched::Raw(vec![0; length]);
        assert!(held.add(3, frame(5000), 10));
        assert!(held.add(4, frame(100), 20));
        assert_eq!(held.deadline(), None, "half of the room is left");
        assert!(held.add(3, frame(5000), 30));
        assert!(!held.add(5, frame(8000), 40), "no room");
        let due = held.deadline().expect("it is crowded");
        assert_eq!(due, 30 + PATIENCE);
        assert_eq!(held.drop_overdue(due - 1), 0);
        assert_eq!(held.drop_overdue(due), 2);
        assert!(!held.add(3, frame(100), due), "its VI's frames are dropped");
        assert!(held.concerns(3) && held.concerns(4) && !held.concerns(5));
        assert_eq!(Vec::from(held.take()), [(4, frame(100))]);
        held.hear(3);
        assert!(!held.concerns(3));
    }
}
