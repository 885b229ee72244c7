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

/// A frame to ourselves.
#[derive(Debug, Clone)]
pub struct Turned {
    /// When it was made.
    pub began: Cycle,
    /// When it comes.
    pub arrives: Cycle,
    /// The frame.
    pub frame: Vec<u8>,
}

/// Frames that have been made, and the VI whose turn is next.
#[derive(Debug, Clone, Default)]
pub struct Outbox {
    turn: usize,
    /// Frames to ourselves.
    loopback: VecDeque<Turned>,
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
    pub fn turn_round(&mut self, mut turned: Turned) {
        let before = self.loopback.back().map_or(0, |before| before.arrives);
        turned.arrives = turned.arrives.max(before);
        self.loopback.push_back(turned);
    }

    /// When the next frame to ourselves arrives.
    pub fn arrival(&self) -> Option<Cycle> {
        self.loopback.front().map(|turned| turned.arrives)
    }

    /// The next frame to ourselves, if it has arrived.
    pub fn take_arrived(&mut self, now: Cycle) -> Option<Turned> {
        self.arrival().filter(|when| *when <= now)?;
        self.take_turned()
    }

    /// The next frame to ourselves, whenever it arrives.
    pub fn take_turned(&mut self) -> Option<Turned> {
        self.loopback.pop_front()
    }

    /// The frame for the wire.
    pub fn take_wire(&mut self) -> Option<Vec<u8>> {
        self.wire.take()
    }
}
