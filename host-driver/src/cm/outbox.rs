//! Frames on their way out.

use std::collections::VecDeque;

use super::{
    arp::Arp,
    config::Config,
    datagram::{Datagram, Host},
    mad::Mad,
    message::Message,
};

/// Frames on their way out, and those to ourselves, which no network carries back.
#[derive(Debug)]
pub(super) struct Outbox {
    own: Host,
    pkey: u16,
    most: usize,
    psn: u32,
    frames: VecDeque<Vec<u8>>,
    looped: VecDeque<Vec<u8>>,
    /// Frames that found no room.
    pub(super) dropped: u64,
}

impl Outbox {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            own: config.own,
            pkey: config.pkey,
            most: config.limits.frames,
            psn: 0,
            frames: VecDeque::new(),
            looped: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Sends a message.
    pub(super) fn message(&mut self, target: Host, transaction: u64, message: &Message) {
        let mad = Mad { transaction, message: *message }.encode();
        let Self { own: source, pkey, psn, .. } = *self;
        let frame = Datagram { target, source, identification: 0, pkey, psn, mad }.encode();
        self.psn = (psn + 1) & 0xff_ffff;
        let queue = if target.mac == source.mac { &mut self.looped } else { &mut self.frames };
        Self::push(queue, frame, self.most, &mut self.dropped);
    }

    /// Sends an ARP packet.
    pub(super) fn arp(&mut self, arp: &Arp) {
        Self::push(&mut self.frames, arp.encode(), self.most, &mut self.dropped);
    }

    fn push(queue: &mut VecDeque<Vec<u8>>, frame: Vec<u8>, most: usize, dropped: &mut u64) {
        if queue.len() < most {
            queue.push_back(frame);
        } else {
            *dropped += 1;
        }
    }

    /// The next frame for the network.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    /// Whether there are frames for ourselves.
    pub(super) fn has_looped(&self) -> bool {
        !self.looped.is_empty()
    }

    /// The next frame for ourselves.
    pub(super) fn next_looped(&mut self) -> Option<Vec<u8>> {
        self.looped.pop_front()
    }
}
