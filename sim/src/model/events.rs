//! Events: what no descriptor can report. They wait in EVENT, or go to the error ring when there is one.

use std::collections::VecDeque;

use viaduct_spec::register::{counter, event, EVENT_VECTOR};
use viaduct_spec::tables::completion_queue;

use super::device::Device;

/// The queue behind EVENT.
#[derive(Debug, Default)]
pub struct Events(VecDeque<u64>);

impl Events {
    /// The oldest, or 0.
    pub fn take(&mut self) -> u64 {
        self.0.pop_front().unwrap_or(0)
    }

    /// What [`Events::take`] would give.
    pub fn peek(&self) -> u64 {
        self.0.front().copied().unwrap_or(0)
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Of `event_code`.
    pub code: u8,
    /// The VI; with CQ_OVERRUN the completion queue.
    pub index: usize,
    /// It is the receive queue's.
    pub receive: bool,
    /// The VI broke because of it.
    pub broke: bool,
}

impl Event {
    fn word(self) -> u64 {
        let mut word = [0];
        event::CODE.put(&mut word, self.code.into());
        event::VI.put(&mut word, self.index as u64 & event::VI.mask());
        event::RECEIVE.put(&mut word, self.receive.into());
        event::BROKE.put(&mut word, self.broke.into());
        word[0]
    }
}

impl Device {
    /// Reports an event.
    pub fn report(&mut self, event: Event) {
        let row =
            |row: &super::tables::Row| row.is(completion_queue::LIVE) && row.is(completion_queue::EVENTS);
        if let Some(queue) = self.tables.completion_queue.iter().position(row) {
            // The error ring has no error ring of its own: a refusal by its memory is a loss too.
            if self.add_entry(queue, event.word(), event.index as u64, event.receive).is_err() {
                self.counters.count(counter::EVENT_LOST);
            }
        } else if self.events.0.len() >= self.choices.events {
            self.counters.count(counter::EVENT_LOST);
        } else {
            self.events.0.push_back(event.word());
            self.raise(EVENT_VECTOR.into());
        }
    }
}
