//! Processes post, ring and finish; the agent makes queues anew.

use rand::Rng;
use viaduct_spec::doorbell::{encode, short, token};
use viaduct_spec::profile::REGIONS;

use super::queue::{Descriptor, Ending, Name, Queue, BACKLOG, WRAP};
use super::World;

impl World {
    /// The agent makes a queue anew, with a ring somewhere else.
    pub fn renew(&mut self, name: Name) {
        self.rings += 1;
        let rng = &mut self.rng;
        let any = if rng.random_bool(0.4) { 3 } else { rng.random_range(3..=13) };
        let ring_log2 = self.ring_log2.unwrap_or(any);
        let fresh = Queue {
            name,
            ring_log2,
            ring_offset: rng.random_range(0..1 << 34),
            ring_region: 1 + self.rings % (REGIONS as u64 - 1),
            tag: rng.random_range(1..1 << 16),
            system_tag: rng.random_range(1..1 << 16),
            open: self.errors == 0.0 || rng.random_bool(0.95),
            slots: (0..1 << ring_log2).map(|_| rng.random()).collect(),
            ..Default::default()
        };
        self.commits.push_back((name, fresh));
    }

    /// Writes some descriptors into the ring; rings for them now or later.
    pub fn post(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        let rng = &mut self.rng;
        if queue.wrong {
            return;
        }
        let size = 1 << queue.ring_log2;
        let room = size.min(self.backlog) - (queue.posted + WRAP - queue.done) % WRAP;
        let batch = match rng.random_range(0..4) {
            _ if self.backlog > BACKLOG => room,
            0 => rng.random_range(0..=12),
            _ => 1,
        };
        let stale = rng.random_bool(self.errors).then(|| rng.random_range(0..4));
        for n in 0..batch.min(room) {
            // Most regions exist; one that does not is asked for as region 0, which does not exist either.
            let named = rng.random_range(1..REGIONS as u64 + 20);
            let region = crate::existing(named);
            let offset = self.next_offset;
            self.next_offset += 1;
            let mut token = encode(named as u16, offset, queue.posted as u16);
            let is_short = rng.random();
            if is_short {
                token = short(token);
            }
            let slot = (queue.posted % size) as usize;
            queue.slots[slot] = token;
            if stale == Some(n) && n + 1 < batch.min(room) {
                // Of region 0, or of another position.
                queue.slots[slot] = if rng.random() {
                    token & !(token::REGION.mask() << 34)
                } else {
                    token ^ 1 << rng.random_range(50..64)
                };
            }
            let ending = match rng.random_range(0..20) {
                0 => Ending::Bytes(rng.random_range(1..=64)),
                1 => Ending::Refused,
                2 => Ending::Failed(rng.random_range(0..8)),
                _ => Ending::Bytes(64),
            };
            if queue.open {
                let words = rng.random();
                let position = queue.posted;
                let short = is_short;
                let descriptor =
                    Descriptor { queue: name, region, offset, short, position, ending, words, wrong: false };
                queue.due.push_back(descriptor);
            }
            queue.posted = (queue.posted + 1) % WRAP;
            queue.unrung = Some(token);
        }
        if rng.random_bool(self.errors / 2.0) {
            // A posted count beyond the ring; the token with it is not looked at.
            let beyond = rng.random_range(size + 1..WRAP - BACKLOG);
            queue.posted = (queue.posted + beyond) % WRAP;
            queue.unrung = Some(encode(7, 0, 0));
            queue.wrong = true;
            (queue.overrun, queue.over) = (queue.open, queue.open);
        }
        if queue.wrong || rng.random_bool(0.8) {
            self.ring(name);
        }
    }

    pub fn ring(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        let Some(token) = queue.unrung.take() else { return };
        let inline = self.rng.random_bool(0.9);
        // `doorbell` takes no store for a queue that is not open; this block must not rely on it.
        queue.row = (queue.posted, inline.then_some(token & ((1 << 50) - 1)));
        self.push(name);
    }

    pub fn push(&mut self, (vi, receive): Name) {
        let run = &mut self.run[usize::from(receive)];
        if !run.contains(&vi) {
            run.push_back(vi);
        }
    }

    /// The other side finishes the oldest descriptor it holds: position first, requeue after.
    pub fn finish(&mut self, name: Name) {
        let queue = self.queues.get_mut(&name).unwrap();
        if queue.held == 0 {
            return;
        }
        queue.held -= 1;
        queue.done = (queue.done + 1) % WRAP;
        let delay = if self.rng.random() { 0 } else { self.rng.random_range(0..12) };
        self.requeues.push((self.cycle + delay, name));
    }
}
