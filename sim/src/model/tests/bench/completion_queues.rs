//! Completion queues, and the one that takes events.

use viaduct_spec::doorbell::cq_page;
use viaduct_spec::layout::Field;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::event;
use viaduct_spec::tables::{completion_queue, cq_entry, table};

use super::layout::{ARENA, ARENA_REGION, CQ_RINGS, CQ_RING_BYTES, ERROR_RING, ERROR_RING_LOG2, SYSTEM_TAG};
use super::{row, Bench};

impl Bench {
    /// A live completion queue of 2^log2 entries.
    pub fn cq(&mut self, nic: usize, queue: u64, log2: u64, more: &[(Field, u64)]) {
        let at = CQ_RINGS + queue * CQ_RING_BYTES;
        self.write(nic, ARENA + at, &vec![0; 16 << log2]);
        let mut words = row(&[
            (completion_queue::RING_OFFSET, at / 64),
            (completion_queue::RING_REGION, ARENA_REGION.into()),
            (completion_queue::RING_LOG2, log2),
            (completion_queue::LIVE, 1),
            (completion_queue::SYSTEM_TAG, SYSTEM_TAG),
        ]);
        more.iter().for_each(|(field, value)| field.put(&mut words, *value));
        self.commit(nic, table::COMPLETION_QUEUE, queue, words);
    }

    /// An entry's two words.
    pub fn entry(&self, nic: usize, queue: u64, slot: u64) -> [u64; 2] {
        let bytes = self.read(nic, ARENA + CQ_RINGS + queue * CQ_RING_BYTES + 16 * slot, 16);
        [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    pub fn cq_word(&mut self, nic: usize, queue: usize, arm: bool, index: u64) {
        let offset = if arm { cq_page::ARM } else { cq_page::INDEX };
        self.ring(nic, VIS + queue, offset, 8, index);
    }

    /// Code, VI, receive queue, broke of each event.
    pub fn events(&mut self, nic: usize) -> Vec<(u8, u64, bool, bool)> {
        let mut events = Vec::new();
        loop {
            let entry = self.entry(nic, ERROR_RING, self.events[nic]);
            if cq_entry::PHASE.get(&entry) == 0 {
                return events;
            }
            self.events[nic] += 1;
            assert!(self.events[nic] < 1 << ERROR_RING_LOG2);
            let word = [cq_entry::TOKEN.get(&entry)];
            let flag = |field: Field| field.get(&word) != 0;
            events.push((
                event::CODE.get(&word) as u8,
                event::VI.get(&word),
                flag(event::RECEIVE),
                flag(event::BROKE),
            ));
        }
    }
}
