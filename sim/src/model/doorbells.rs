//! BAR 2: doorbell pages of virtual interfaces, and behind them those of completion queues.

use viaduct_spec::doorbell::{arm, cq_index, cq_page, page, token};
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};
use viaduct_spec::tables::{completion_queue, work_queue};

use super::tables::{Rows, Tables};

/// The high double word of a doorbell: a store of it alone rings without a token.
const HIGH: u64 = 4;

/// What a store says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doorbell {
    /// Descriptors are posted.
    Post {
        /// The VI.
        vi: usize,
        /// To the receive queue.
        receive: bool,
        /// Of the last one.
        position: u16,
        /// Its token.
        inline: Option<u64>,
    },
    /// The consumer of a work queue waits for an interrupt.
    Arm {
        /// The VI.
        vi: usize,
        /// The receive queue's.
        receive: bool,
        /// It has seen what is before this position.
        seen: u16,
    },
    /// The consumer of a completion queue has taken so many entries.
    Index {
        /// The queue.
        queue: usize,
        /// Entries, modulo 2^18.
        index: u64,
    },
    /// It waits for an interrupt, and has seen so many.
    ArmCq {
        /// The queue.
        queue: usize,
        /// Entries, modulo 2^18.
        seen: u64,
    },
}

impl Doorbell {
    /// Of a store, naturally aligned; `None`: it is ignored.
    pub fn of(offset: u64, length: usize, value: u64, tables: &Tables) -> Option<Self> {
        let number = (offset >> DOORBELL_SHIFT) as usize;
        let within = offset & ((1 << DOORBELL_SHIFT) - 1);
        match number.checked_sub(VIS) {
            None => Self::of_vi(number, within, length, value, tables),
            Some(queue) => Self::of_cq(queue, within, length, value, tables),
        }
    }

    fn of_vi(vi: usize, within: u64, length: usize, value: u64, tables: &Tables) -> Option<Self> {
        let seen = arm::POSITION.get(&[value]) as u16;
        let (doorbell, receive, word) = match (within, length) {
            (page::SEND_ARM, 8) => (Self::Arm { vi, receive: false, seen }, false, None),
            (page::RECEIVE_ARM, 8) => (Self::Arm { vi, receive: true, seen }, true, None),
            _ => {
                let (receive, word, whole) = match (within, length) {
                    (page::SEND, 8) => (false, value, true),
                    (page::RECEIVE, 8) => (true, value, true),
                    (at, 4) if at == page::SEND + HIGH => (false, value << 32, false),
                    (at, 4) if at == page::RECEIVE + HIGH => (true, value << 32, false),
                    _ => return None,
                };
                let position = token::POSITION.get(&[word]) as u16;
                let inline = whole.then_some(word);
                (Self::Post { vi, receive, position, inline }, receive, Some(word))
            }
        };
        let open = Rows::new(tables, vi).work_queue(receive).is(work_queue::OPEN);
        // Region 0 does not exist, so a word that names it is no token.
        (open && word.is_none_or(|word| token::REGION.get(&[word]) != 0)).then_some(doorbell)
    }

    fn of_cq(queue: usize, within: u64, length: usize, value: u64, tables: &Tables) -> Option<Self> {
        let live = tables.completion_queue.get(queue).is_some_and(|row| row.is(completion_queue::LIVE));
        if !live || length != 8 {
            return None;
        }
        let index = cq_index::INDEX.get(&[value]);
        match within {
            cq_page::INDEX => Some(Self::Index { queue, index }),
            cq_page::ARM => Some(Self::ArmCq { queue, seen: index }),
            _ => None,
        }
    }
}
