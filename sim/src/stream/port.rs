//! A port of the switch, as the network steps it.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, TryRecvError};

use serde::Serialize;

use super::outbox::Outbox;
use crate::clock::Cycle;
use crate::fabric::{Mac, PortCounters};

/// A peer that is connected: the stepping thread's ends of it.
#[derive(Debug)]
pub struct Peer {
    /// Its frames, 14 to 9216 bytes each. The channel has few places, and who fills it waits.
    pub inbox: Receiver<Vec<u8>>,
    /// Frames to it.
    pub outbox: Outbox,
}

/// The port.
#[derive(Debug)]
pub struct StreamPort {
    mac: Mac,
    peer: Option<Peer>,
    /// The peers' frames that have been taken out of an inbox: one, or what a peer has left behind.
    waiting: VecDeque<Vec<u8>>,
    /// Frames that came while no peer was there.
    lost: u64,
}

/// What a port says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamStatus {
    /// A peer is connected.
    pub connected: bool,
    /// Frames for it that came while none was: as on a cable that is not plugged in.
    pub lost: u64,
    /// The link; `sent` is the peer's, `received` what came to it.
    #[serde(flatten)]
    pub link: PortCounters,
}

impl StreamPort {
    /// A port without a peer, of a link that carries `rate` bytes a cycle.
    pub fn new(rate: u64) -> Self {
        Self { mac: Mac::new(rate), peer: None, waiting: VecDeque::new(), lost: 0 }
    }

    /// A peer has come. What the one before has left behind goes first.
    pub fn plug(&mut self, peer: Peer) {
        if let Some(last) = self.peer.replace(peer) {
            self.waiting.extend(last.inbox.try_iter());
        }
        self.look();
    }

    /// Looks whether the peer has sent a frame, or is gone.
    pub fn look(&mut self) {
        let Some(peer) = self.peer.as_ref().filter(|_| self.waiting.is_empty()) else { return };
        match peer.inbox.try_recv() {
            Ok(frame) => self.waiting.push_back(frame),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.peer = None,
        }
    }

    /// When it has to be stepped again; `None`: now.
    pub fn sleeps_until(&self) -> Option<Cycle> {
        (self.waiting.is_empty() && self.mac.is_quiet()).then_some(Cycle::MAX)
    }

    /// Runs on to cycle `to`.
    pub fn step(&mut self, from: Cycle, to: Cycle) {
        self.look();
        while let Some(when) = self.mac.ready().filter(|&when| when < to) {
            let Some(frame) = self.waiting.pop_front() else { break };
            self.mac.send(when.max(from), frame);
            self.look();
        }
        while self.mac.arrival().is_some_and(|when| when <= to) {
            let Some(frame) = self.mac.take() else { break };
            // No network card would hand up a frame whose FCS is wrong.
            if !frame.damaged {
                self.hand_over(frame.data);
            }
        }
        self.mac.pause = self.peer.as_ref().is_some_and(|peer| peer.outbox.is_crowded());
    }

    fn hand_over(&mut self, frame: Vec<u8>) {
        if !self.peer.as_ref().is_some_and(|peer| peer.outbox.push(frame)) {
            self.lost += 1;
        }
    }

    /// Its end of the link.
    pub fn mac_mut(&mut self) -> &mut Mac {
        &mut self.mac
    }

    /// What it says of itself.
    pub fn status(&self) -> StreamStatus {
        StreamStatus { connected: self.peer.is_some(), lost: self.lost, link: self.mac.counters() }
    }
}
