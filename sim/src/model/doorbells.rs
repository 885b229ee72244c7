//! BAR 2: doorbell pages of virtual interfaces, and behind them those of completion queues.

use viaduct_spec::doorbell::{arm, cq_index, cq_page, page, token};
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::register::counter;
use viaduct_spec::tables::{completion_queue, work_queue};

use super::device::Device;

/// The high double word of a doorbell: a store of it alone rings without a token.
const HIGH: u64 = 4;

impl Device {
    /// A store, naturally aligned.
    pub fn store_doorbell(&mut self, offset: u64, length: usize, value: u64) {
        let number = (offset >> DOORBELL_SHIFT) as usize;
        let within = offset & ((1 << DOORBELL_SHIFT) - 1);
        let taken = match number.checked_sub(VIS) {
            None => self.store_vi_page(number, within, length, value),
            Some(queue) => self.store_cq_page(queue, within, length, value),
        };
        if !taken {
            self.counters.count(counter::DOORBELL_IGNORED);
        }
    }

    fn store_vi_page(&mut self, vi: usize, within: u64, length: usize, value: u64) -> bool {
        let (receive, word, whole) = match (within, length) {
            (page::SEND, 8) => (false, value, true),
            (page::RECEIVE, 8) => (true, value, true),
            (at, 4) if at == page::SEND + HIGH => (false, value << 32, false),
            (at, 4) if at == page::RECEIVE + HIGH => (true, value << 32, false),
            (page::SEND_ARM, 8) => return self.arm(vi, false, arm::POSITION.get(&[value]) as u16),
            (page::RECEIVE_ARM, 8) => return self.arm(vi, true, arm::POSITION.get(&[value]) as u16),
            _ => return false,
        };
        // Region 0 does not exist, so a word that names it is no token.
        let open = self.queue_row(vi, receive).is(work_queue::OPEN);
        if !open || token::REGION.get(&[word]) == 0 {
            return false;
        }
        let position = token::POSITION.get(&[word]) as u16;
        self.post(vi, receive, position, whole.then_some(word));
        true
    }

    fn store_cq_page(&mut self, queue: usize, within: u64, length: usize, value: u64) -> bool {
        let live = self.tables.completion_queue.get(queue).is_some_and(|row| row.is(completion_queue::LIVE));
        if !live || length != 8 {
            return false;
        }
        let index = cq_index::INDEX.get(&[value]);
        match within {
            cq_page::INDEX => self.set_index(queue, index),
            cq_page::ARM => self.arm_cq(queue, index),
            _ => return false,
        }
        true
    }
}
