//! Host memory: rings and descriptors, of which some cannot be read.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_spec::doorbell::token;
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};
use viaduct_spec::register::event_code;

use super::queue::{Descriptor, Ending, Name, WRAP};
use super::{Answer, World};

impl World {
    /// The beats that answer an access.
    pub fn answer(&mut self) {
        let get = |world: &Self, field| world.access.get(&world.bench, field);
        let (address, length) = (get(self, "address"), get(self, "length"));
        let (region, tag, user) = (get(self, "region"), get(self, "tag"), get(self, "user"));
        assert_eq!((get(self, "by_offset"), get(self, "write")), (1, 0));
        assert_eq!(get(self, "span"), length);
        // Nobody compares the key here, and no peer has asked.
        assert_eq!((get(self, "key"), get(self, "remote")), (0, 0));
        let data: Vec<u64>;
        let mut refused = false;
        let mut failed = false;
        let mut bytes = length as usize;
        // What a beat without bytes shows.
        let nothing = self.rng.random();
        if get(self, "system") == 1 {
            self.seen.lines += 1;
            assert_eq!(get(self, "clip"), 0);
            assert!(length % 8 == 0 && length > 0 && address % 64 + length <= 64, "{address:x} {length}");
            let queue = self
                .queues
                .values_mut()
                .find(|queue| queue.ring_region == region && address >> 6 >= queue.ring_offset)
                .expect("a ring");
            assert_eq!(tag, queue.system_tag);
            let first = (address - (queue.ring_offset << 6)) as usize / 8;
            data = queue.slots[first..first + length as usize / 8].to_vec();
            if self.rng.random_bool(self.errors / 2.0) {
                refused = self.rng.random();
                failed = !refused;
                // Words before the failure may be good tokens.
                bytes = if failed { 8 * self.rng.random_range(0..data.len()) } else { 0 };
            }
            // The line is judged when it arrives, but nothing can change it: slots are written once.
            let there = bytes / 8;
            for (n, &word) in data.iter().enumerate().take(there + 1) {
                let position = queue.position(queue.read);
                if queue.read == queue.due.len() {
                    assert!(queue.over, "the token of {position}, which is not posted");
                    let (region, words) = (0, [0; 8]);
                    let offset = word & ((1 << 34) - 1);
                    let ending = Ending::Refused;
                    queue.due.push_back(Descriptor {
                        queue: queue.name,
                        region,
                        offset,
                        short: token::SHORT.get(&[word]) == 1,
                        position,
                        ending,
                        words,
                        wrong: false,
                    });
                }
                let descriptor = &mut queue.due[queue.read];
                queue.read += 1;
                let word = if n == there { nothing } else { word };
                if n < there && position == token::POSITION.get(&[word]) && token::REGION.get(&[word]) != 0 {
                    continue;
                }
                // A place without a descriptor: it is asked for in region 0, and refused.
                self.seen.wrong += 1;
                (descriptor.region, descriptor.offset) = (0, word & ((1 << 34) - 1));
                descriptor.short = token::SHORT.get(&[word]) == 1;
                descriptor.ending = Ending::Refused;
                descriptor.wrong = true;
            }
            let under_way = 1 + self.answers.iter().filter(|answer| answer.line).count();
            self.seen.lines_at_once = self.seen.lines_at_once.max(under_way);
        } else {
            assert_eq!((get(self, "clip"), address % 64), (1, 0));
            let asked = (region, address >> 6, tag);
            let queue = self
                .queues
                .values_mut()
                .find(|queue| queue.next().is_some_and(|next| (next.region, next.offset, queue.tag) == asked))
                .expect("the next of a queue");
            let descriptor = queue.due[queue.asked].clone();
            assert_eq!(length as usize, descriptor.bytes());
            queue.asked += 1;
            queue.ended |= queue.over && descriptor.wrong;
            queue.read = queue.read.max(queue.asked);
            let ahead = (descriptor.position + WRAP - queue.done) % WRAP;
            assert!(
                ahead < 1 << queue.ring_log2,
                "{descriptor:?} is a turn of the ring ahead of {}",
                queue.done
            );
            let fetched = queue.held + queue.asked as u64;
            let window = if descriptor.queue.1 { RECEIVE_AHEAD } else { SEND_WINDOW } as u64;
            assert!(fetched <= window, "{fetched} fetched and not done");
            self.seen.window_full += u64::from(fetched == window);
            if !descriptor.queue.1 {
                self.reserved += 1;
                assert!(self.reserved <= 8, "room for 8 heads");
                self.seen.heads_full += u64::from(self.reserved == 8);
            }
            data = descriptor.words.to_vec();
            match descriptor.ending {
                Ending::Bytes(there) => bytes = there.min(descriptor.bytes()),
                Ending::Refused => (bytes, refused) = (0, true),
                Ending::Failed(words) => (bytes, failed) = (8 * words.min(descriptor.bytes() / 8 - 1), true),
            }
            if descriptor.outcome().2 {
                self.seen.lost += 1;
                self.expect_fault(descriptor.queue, event_code::POST_DESC);
            }
        }
        let mut beats = VecDeque::new();
        for (n, &word) in data.iter().enumerate().take(bytes.div_ceil(8)) {
            let count = (bytes - n * 8).min(8) as u64;
            let last = (n + 1) * 8 >= bytes && !failed;
            beats.push_back([0, user, word, count, last.into(), 0, 0]);
        }
        if refused || failed {
            beats.push_back([0, user, nothing, 0, 1, refused.into(), failed.into()]);
        }
        let due = self.cycle + self.rng.random_range(5..=self.latency);
        self.answers.push_back(Answer { due, line: get(self, "system") == 1, beats });
    }

    fn expect_fault(&mut self, name: Name, code: u8) {
        self.faults.push((name.0, name.1, code.into()));
    }
}
