//! Completion queues: rings of entries in an agent's arena, with an index and an arm word each.

use viaduct_spec::doorbell::cq_index;
use viaduct_spec::profile::CQS;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{completion_queue, cq_entry};

use super::effect::{Effect, Effects};
use super::event::Event;
use super::memory::Memory;
use super::place::{Access, Place, Refused, Right};
use super::tables::{Row, Tables};

/// Bytes of an entry.
const ENTRY_BYTES: u64 = 16;

/// What changes of a completion queue.
#[derive(Debug, Clone, Copy, Default)]
struct CompletionQueue {
    /// Entries written since it was created or resized; only its low bits are seen.
    written: u64,
    /// Entries that the consumer has taken, modulo 2^18.
    index: u64,
    /// The next entry raises the vector.
    armed: bool,
    /// CQ_OVERRUN has been reported.
    overrun: bool,
}

/// An entry: token, or event, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The descriptor's token; or the event.
    pub token: u64,
    /// The VI.
    pub vi: u64,
    /// It is the receive queue's.
    pub receive: bool,
}

/// Why an entry was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// No room in the ring.
    Overrun,
    /// The ring's memory is no longer valid, or the queue does not exist.
    Memory,
}

impl CompletionQueue {
    /// Entries written and not taken, modulo 2^18.
    fn waiting(&self) -> u64 {
        self.written.wrapping_sub(self.index) & cq_index::INDEX.mask()
    }
}

/// All completion queues.
#[derive(Debug, Clone)]
pub struct CompletionQueues(Vec<CompletionQueue>);

impl CompletionQueues {
    /// All empty.
    pub fn new() -> Self {
        Self(vec![CompletionQueue::default(); CQS])
    }

    /// Writes an entry, if there is room, and raises the queue's vector if it is armed.
    pub fn add(
        &mut self,
        queue: usize,
        entry: Entry,
        tables: &Tables,
        memory: &mut Memory<'_>,
        effects: &mut Effects,
    ) -> Result<(), Lost> {
        let row = tables.completion_queue.get(queue).ok_or(Lost::Memory)?;
        // CQ-4: the queue is not live.
        if !row.is(completion_queue::LIVE) {
            return Err(Lost::Memory);
        }
        let log2 = row.get(completion_queue::RING_LOG2);
        let state = self.0.get_mut(queue).ok_or(Lost::Memory)?;
        // CQ-2: the ring has no room.
        if state.waiting() >= 1 << log2 {
            return Err(Lost::Overrun);
        }
        let slot = state.written & ((1 << log2) - 1);
        let mut words = [0; 2];
        cq_entry::TOKEN.put(&mut words, entry.token);
        cq_entry::VI.put(&mut words, entry.vi & cq_entry::VI.mask());
        cq_entry::RECEIVE.put(&mut words, entry.receive.into());
        // CQ-1: phase 1 in the first lap.
        cq_entry::PHASE.put(&mut words, !(state.written >> log2) & 1);
        let place = Place::Offset {
            region: row.get(completion_queue::RING_REGION) as u16,
            offset: 64 * row.get(completion_queue::RING_OFFSET) + ENTRY_BYTES * slot,
        };
        let access = Access {
            place,
            span: ENTRY_BYTES,
            tag: row.get(completion_queue::SYSTEM_TAG) as u16,
            right: Right::SystemWrite,
        };
        // The word with the phase goes last: who sees it sees the token.
        for (n, word) in (0..).zip(words) {
            let word_access = Access { place: place.plus(8 * n), span: ENTRY_BYTES - 8 * n, ..access };
            memory.write(word_access, &word.to_le_bytes(), effects).map_err(|Refused| Lost::Memory)?;
        }
        state.written += 1;
        // There has been room.
        state.overrun = false;
        // CQ-6: the next entry answers an arm, once.
        if std::mem::take(&mut state.armed) {
            effects.push(Effect::Raise(row.get(completion_queue::VECTOR)));
        }
        Ok(())
    }

    /// An entry was lost for lack of room: counted, and reported once.
    pub fn overrun(&mut self, queue: usize, effects: &mut Effects) {
        effects.count(counter::CQ_OVERRUNS);
        // CQ-2: an overrun is told once, until an entry has had room again.
        let known = self.0.get_mut(queue).is_none_or(|state| std::mem::replace(&mut state.overrun, true));
        if !known {
            let code = event_code::CQ_OVERRUN;
            effects.push(Effect::Report(Event { code, index: queue, receive: false, broke: false }));
        }
    }

    /// The consumer's index word.
    pub fn set_index(&mut self, queue: usize, index: u64) {
        if let Some(state) = self.0.get_mut(queue) {
            state.index = index;
        }
    }

    /// The consumer has taken all that is there.
    pub fn drain(&mut self, queue: usize) {
        if let Some(state) = self.0.get_mut(queue) {
            state.index = state.written;
        }
    }

    /// The consumer's arm word: it has seen so many entries.
    pub fn arm(&mut self, queue: usize, seen: u64, row: &Row, effects: &mut Effects) {
        let Some(state) = self.0.get_mut(queue) else { return };
        // CQ-6: at another index an arm is answered at once.
        let unseen = CompletionQueue { index: seen, ..*state }.waiting() != 0;
        state.armed = !unseen;
        if unseen {
            effects.push(Effect::Raise(row.get(completion_queue::VECTOR)));
        }
    }

    /// A row has been committed: a new queue; or a resize, of which RESULT is told.
    pub fn renew(&mut self, queue: usize, was_live: bool, row: &Row, effects: &mut Effects) -> Option<u64> {
        // CQ-5: what the old ring got is told, and the new one begins at 0.
        let old = std::mem::take(self.0.get_mut(queue)?);
        if !was_live {
            return None;
        }
        if old.armed {
            effects.push(Effect::Raise(row.get(completion_queue::VECTOR)));
        }
        Some(old.written & cq_index::INDEX.mask())
    }
}
