//! Events: what no descriptor can report. They go to the error ring, if there is one.

use viaduct_spec::register::event;

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
    /// As it stands in an entry of the error ring, in place of a token.
    pub fn word(self) -> u64 {
        let mut word = [0];
        event::CODE.put(&mut word, self.code.into());
        event::VI.put(&mut word, self.index as u64 & event::VI.mask());
        event::RECEIVE.put(&mut word, self.receive.into());
        event::BROKE.put(&mut word, self.broke.into());
        word[0]
    }
}
