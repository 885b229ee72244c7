//! A round: bursts on some of the connections, and the order in which their descriptors are posted.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::{Generator, BURST};
use crate::operation::{Operation, Post};

impl Generator {
    /// A burst on some of the connections, in one or both directions.
    pub(super) fn round(&mut self) {
        let mut sends = Vec::new();
        let mut receives = Vec::new();
        let mixed = self.wild && self.random.random();
        let only = self.random.random_range(0..self.connections.len());
        self.most = if mixed { 3 } else { BURST };
        for connection in 0..self.connections.len() {
            // What may come in any order has to be little.
            if mixed && connection != only {
                continue;
            }
            if !mixed && self.connections.len() > 1 && self.chance(4) {
                continue;
            }
            let both = self.random.random() && !mixed;
            self.flawless = both && self.connections[connection].is_reliable();
            let first = self.random.random_range(0..2);
            for turn in 0..if both { 2 } else { 1 } {
                let end = 2 * connection + (first ^ turn);
                self.burst(end, &mut sends, &mut receives);
            }
        }
        shuffle_queues(&mut self.random, &mut sends);
        shuffle_queues(&mut self.random, &mut receives);
        if mixed {
            self.interleave(sends, receives);
        } else {
            self.operations.extend(receives.into_iter().map(Operation::Post));
            self.arm();
            self.operations.push(Operation::Arrive);
            self.operations.extend(sends.into_iter().map(Operation::Post));
        }
        self.arm();
        if self.wild && self.random.random() {
            self.interrupt();
        }
    }

    /// Posts in any order: receives may come behind the messages that want them.
    fn interleave(&mut self, sends: Vec<Post>, receives: Vec<Post>) {
        let (mut sends, mut receives) = (sends.into_iter().peekable(), receives.into_iter().peekable());
        while sends.peek().is_some() || receives.peek().is_some() {
            let next = if self.random.random() { receives.next() } else { sends.next() };
            self.operations.extend(next.map(Operation::Post));
            if self.chance(4) {
                let frames = self.random.random_range(1..10);
                self.operations.push(Operation::Pause(frames));
            }
        }
    }

    /// An agent or a user does something while the messages are on their way.
    fn interrupt(&mut self) {
        let frames = self.random.random_range(1..20);
        self.operations.push(Operation::Pause(frames));
        let connection = self.random.random_range(0..self.connections.len());
        let end = 2 * connection + self.random.random_range(0..2);
        match self.random.random_range(0..7) {
            0..=2 => self.operations.push(Operation::Disconnect(end)),
            3 => self.deregister(end),
            4 => {
                let nic = self.random.random_range(0..2);
                self.reset(nic);
            }
            6 => self.resize(),
            _ => self.stray(end),
        }
    }

    /// Now and then a consumer asks to be told.
    fn arm(&mut self) {
        if self.chance(3) {
            let end = self.random.random_range(0..2 * self.connections.len());
            self.operations.push(Operation::Arm(end, self.random.random()));
        }
    }
}

/// Brings posts into another order, those of a queue staying in theirs.
fn shuffle_queues(random: &mut ChaCha8Rng, posts: &mut Vec<Post>) {
    let mut queues: Vec<Vec<Post>> = Vec::new();
    for post in posts.drain(..) {
        match queues.iter_mut().find(|queue| queue[0].end == post.end) {
            Some(queue) => queue.push(post),
            None => queues.push(vec![post]),
        }
    }
    queues.iter_mut().for_each(|queue| queue.reverse());
    while !queues.is_empty() {
        let queue = random.random_range(0..queues.len());
        posts.extend(queues[queue].pop());
        if queues[queue].is_empty() {
            queues.swap_remove(queue);
        }
    }
}
