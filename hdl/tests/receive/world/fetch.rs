//! Fetch: it brings what is posted, a few descriptors ahead.

use crate::bundle::Bundle;
use rand::Rng;
use viaduct_hdl::bus;
use viaduct_spec::profile::RECEIVE_AHEAD;

use super::World;

impl World {
    /// Fetch: brings at most RECEIVE_AHEAD descriptors ahead of what is consumed, word by word.
    pub(super) fn fetch(&mut self) {
        if self.fills.is_empty() {
            let vi = self.random.random_range(0..64usize);
            let vi = if self.calm { self.now as usize % 64 } else { vi };
            let done = self.consumed(vi as u64);
            let queue = &mut self.queues[vi];
            if queue.filled < queue.fetchable && (queue.filled as u64) < done + RECEIVE_AHEAD as u64 {
                self.fills.push_back((vi, queue.filled));
            }
        }
        self.bench.set("ahead_valid", 0);
        self.bench.set("filled_valid", 0);
        let Some((vi, position)) = self.fills.front().copied() else { return };
        if self.queues[vi].posted.len() <= position {
            // Emptied by a commit meanwhile.
            self.fills.pop_front();
            self.fill_word = 0;
            return;
        }
        let descriptor = self.queues[vi].posted[position].clone();
        let bench = &mut self.bench;
        if self.fill_word < 8 {
            let word = descriptor.words.get(self.fill_word as usize).copied().unwrap_or(0);
            bench.set("ahead_valid", 1);
            let fields = [
                ("vi", vi as u64),
                ("slot", (position % RECEIVE_AHEAD) as u64),
                ("index", self.fill_word),
                ("data", word),
            ];
            Bundle::of::<bus::AheadWord>("ahead").set(bench, &fields);
            self.fill_word += 1;
        } else {
            bench.set("filled_valid", 1);
            let fields = [
                ("vi", vi as u64),
                ("slot", (position % RECEIVE_AHEAD) as u64),
                ("region", self.descriptors),
                ("offset", Self::offset(vi, position)),
                ("words", descriptor.held),
                ("lost", descriptor.lost.into()),
                ("position", (position as u64 + 1) % (1 << 14)),
            ];
            Bundle::of::<bus::Filled>("filled").set(bench, &fields);
            self.queues[vi].filled += 1;
            self.fill_word = 0;
            self.fills.pop_front();
        }
    }
}
