//! Messages in one direction of a connection: they are posted, and looked at as they arrive.

use rand_chacha::ChaCha8Rng;
use vipl::{Operation, Status, Vi};

use super::host::Host;
use super::message::{bytes, Message};
use super::posted::Posted;
use super::{taken, DEPTH};
use crate::memory::difference;
use crate::world::World;

/// Messages in one direction of a connection.
pub struct Flow {
    /// Hosts and VIs: sender, receiver.
    pub hosts: [usize; 2],
    pub vis: [usize; 2],
    pub messages: Vec<Message>,
    pub receives: Posted,
    pub sends: Posted,
    pub posted: [usize; 2],
    /// Receives whose doorbell store has reached the NIC.
    pub ready: usize,
    pub done: [usize; 2],
}

impl Flow {
    pub fn new(hosts: [usize; 2], vis: [usize; 2], messages: Vec<Message>) -> Self {
        let (receives, sends) = (Posted::default(), Posted::default());
        Self { hosts, vis, messages, receives, sends, posted: [0; 2], ready: 0, done: [0; 2] }
    }

    /// Posts the next receive, if there is room.
    pub fn post_receive(&mut self, random: &mut ChaCha8Rng, hosts: &mut [Host], vis: &[Vi]) {
        let Some(message) = self.messages.get(self.posted[1]) else { return };
        if self.posted[1] - self.done[1] == DEPTH {
            return;
        }
        let host = &mut hosts[self.hosts[1]];
        let descriptor = host.build(random, true, &message.receive);
        let place = descriptor.offset();
        vis[self.vis[1]].post_recv(descriptor).expect("posted");
        self.receives.push(host, place, bytes(&message.receive));
        self.posted[1] += 1;
    }

    /// Posts the next send, if its receive is there.
    pub fn post_send(&mut self, random: &mut ChaCha8Rng, hosts: &mut [Host], vis: &[Vi]) {
        // VIA: the receive is posted before the message is sent. The sender knows it from a message, and
        // no message overtakes the store that posted the receive: the test must not know it earlier.
        if self.posted[0] == self.ready || self.posted[0] - self.done[0] == DEPTH {
            return;
        }
        let message = &self.messages[self.posted[0]];
        let host = &mut hosts[self.hosts[0]];
        let mut descriptor = host.build(random, false, &message.send);
        descriptor.set_immediate(message.immediate);
        let place = descriptor.offset();
        vis[self.vis[0]].post_send(descriptor).expect("posted");
        self.sends.push(host, place, bytes(&message.send));
        self.posted[0] += 1;
    }

    /// Takes what is complete, and looks at it.
    pub fn poll(&mut self, world: &World, hosts: &mut [Host], vis: &[Vi]) {
        if world.net.network().backlog(self.hosts[1]) == 0 {
            self.ready = self.posted[1];
        }
        self.sends.check_order(&hosts[self.hosts[0]]);
        self.receives.check_order(&hosts[self.hosts[1]]);
        while let Some(sent) = taken(vis[self.vis[0]].send_done()) {
            let message = &self.messages[self.done[0]];
            self.sends.check_head(&hosts[self.hosts[0]], &sent, Operation::Send);
            assert_eq!((sent.status(), sent.length()), (Status::DONE, message.data.len()));
            self.done[0] += 1;
        }
        while let Some(received) = taken(vis[self.vis[1]].recv_done()) {
            let message = &self.messages[self.done[1]];
            let host = &mut hosts[self.hosts[1]];
            self.receives.check_head(host, &received, Operation::Receive);
            let immediate = if message.immediate.is_some() { Status::IMMEDIATE } else { Status::empty() };
            assert_eq!(
                (received.status(), received.length()),
                (Status::DONE | immediate, message.data.len())
            );
            assert_eq!(received.immediate(), message.immediate);
            let mut data = &message.data[..];
            for &(offset, length) in &message.receive {
                let (here, rest) = data.split_at(length.min(data.len()));
                let arrived = host.sink.read(offset, here.len());
                assert_eq!(difference(&arrived, here), None, "message {} to {offset:#x}", self.done[1]);
                host.sink_expected[offset..offset + here.len()].copy_from_slice(here);
                data = rest;
            }
            self.done[1] += 1;
        }
    }

    /// All messages have arrived.
    pub fn is_done(&self) -> bool {
        self.done == [self.messages.len(); 2]
    }
}
