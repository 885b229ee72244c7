//! Events: what no descriptor can report. They go to the error ring, if there is one.

use viaduct_spec::register::{counter, event};
use viaduct_spec::tables::completion_queue;

use super::device::Device;

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
        let queue = self.tables.completion_queue.iter().position(row);
        // The error ring has no error ring of its own: a refusal by its memory is a loss too.
        let entered = queue.is_some_and(|queue| {
            self.add_entry(queue, event.word(), event.index as u64, event.receive).is_ok()
        });
        if !entered {
            self.counters.count(counter::EVENT_LOST);
        }
    }
}
