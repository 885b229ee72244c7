//! Whose turn it is to send, and the way out: the wire, or back to ourselves.

use std::collections::VecDeque;

use crate::clock::Cycle;

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the link.
    Wire,
    /// Back into this NIC.
    Loopback,
}

/// Frames that have been made, and the VI whose turn is next.
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    turn: usize,
    /// Frames to ourselves, and when they come.
    loopback: VecDeque<(Cycle, Vec<u8>)>,
    /// The frame that was made last, for the wire.
    wire: Option<Vec<u8>>,
}

impl Outbox {
    /// The VI whose turn it is, of `count` those that are ready.
    pub fn next(&mut self, count: usize, ready: impl Fn(usize) -> bool) -> Option<usize> {
        let vi = (0..count).map(|n| (self.turn + n) % count).find(|vi| ready(*vi))?;
        self.turn = (vi + 1) % count;
        Some(vi)
    }

    /// A frame for the wire.
    pub fn send(&mut self, frame: Vec<u8>) {
        self.wire = Some(frame);
    }

    /// A frame to ourselves, which arrives then; but behind those before it, whatever is chosen meanwhile.
    pub fn turn_round(&mut self, arrives: Cycle, frame: Vec<u8>) {
        let before = self.loopback.back().map_or(0, |(when, _)| *when);
        self.loopback.push_back((arrives.max(before), frame));
    }

    /// When the next frame to ourselves arrives.
    pub fn arrival(&self) -> Option<Cycle> {
        self.loopback.front().map(|(when, _)| *when)
    }

    /// The next frame to ourselves, if it has arrived.
    pub fn take_arrived(&mut self, now: Cycle) -> Option<Vec<u8>> {
        self.arrival().filter(|when| *when <= now)?;
        self.take_turned()
    }

    /// The next frame to ourselves, whenever it arrives.
    pub fn take_turned(&mut self) -> Option<Vec<u8>> {
        self.loopback.pop_front().map(|(_, frame)| frame)
    }

    /// The frame for the wire.
    pub fn take_wire(&mut self) -> Option<Vec<u8>> {
        self.wire.take()
    }
}
