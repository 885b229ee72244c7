//! Completion queues: rings of entries in an agent's arena, with an index and an arm word each.

use viaduct_spec::doorbell::cq_index;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{completion_queue, cq_entry};

use super::device::Device;
use super::events::Event;
use super::protection::{Access, Place, Refused, Right};

/// Bytes of an entry.
const ENTRY_BYTES: u64 = 16;

/// What changes of a completion queue.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompletionQueue {
    /// Entries written since it was created or resized; only its low bits are seen.
    pub written: u64,
    /// Entries that the consumer has taken, modulo 2^18.
    pub index: u64,
    /// The next entry raises the vector.
    pub armed: bool,
    /// CQ_OVERRUN has been reported.
    pub overrun: bool,
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

impl Device {
    /// Writes an entry, if there is room, and raises the queue's vector if it is armed.
    pub fn add_entry(&mut self, queue: usize, token: u64, vi: u64, receive: bool) -> Result<(), Lost> {
        let row = *self.tables.completion_queue.get(queue).ok_or(Lost::Memory)?;
        if !row.is(completion_queue::LIVE) {
            return Err(Lost::Memory);
        }
        let log2 = row.get(completion_queue::RING_LOG2);
        let state = self.cqs[queue];
        if state.waiting() >= 1 << log2 {
            return Err(Lost::Overrun);
        }
        let slot = state.written & ((1 << log2) - 1);
        let mut entry = [0; 2];
        cq_entry::TOKEN.put(&mut entry, token);
        cq_entry::VI.put(&mut entry, vi & cq_entry::VI.mask());
        cq_entry::RECEIVE.put(&mut entry, receive.into());
        cq_entry::PHASE.put(&mut entry, !(state.written >> log2) & 1);
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
        for (n, word) in (0..).zip(entry) {
            let word_access = Access { place: place.plus(8 * n), span: ENTRY_BYTES - 8 * n, ..access };
            self.write(word_access, &word.to_le_bytes()).map_err(|Refused| Lost::Memory)?;
        }
        let state = &mut self.cqs[queue];
        state.written += 1;
        // There has been room.
        state.overrun = false;
        if std::mem::take(&mut state.armed) {
            self.raise(row.get(completion_queue::VECTOR));
        }
        Ok(())
    }

    /// An entry of a VI's was lost for lack of room: reported once, and the VI breaks.
    pub fn overrun(&mut self, queue: usize, vi: usize, receive: bool) {
        self.counters.count(counter::CQ_OVERRUNS);
        if !std::mem::replace(&mut self.cqs[queue].overrun, true) {
            let code = event_code::CQ_OVERRUN;
            self.report(Event { code, index: queue, receive: false, broke: false });
        }
        self.break_vi(vi, Some((event_code::CONN_LOST, receive)));
    }

    /// The consumer's index word.
    pub fn set_index(&mut self, queue: usize, index: u64) {
        self.cqs[queue].index = index;
    }

    /// The consumer's arm word: it has seen so many entries.
    pub fn arm_cq(&mut self, queue: usize, seen: u64) {
        let row = self.tables.completion_queue[queue];
        if !row.is(completion_queue::LIVE) {
            return;
        }
        let state = &mut self.cqs[queue];
        let news = CompletionQueue { index: seen, ..*state }.waiting() != 0;
        state.armed = !news;
        if news {
            self.raise(row.get(completion_queue::VECTOR));
        }
    }

    /// A row has been committed: a new queue, or a resize, of which RESULT is told.
    pub fn renew_cq(&mut self, queue: usize, was_live: bool) {
        let old = std::mem::take(&mut self.cqs[queue]);
        if was_live {
            self.registers.result = old.written & cq_index::INDEX.mask();
            if old.armed {
                self.raise(self.tables.completion_queue[queue].get(completion_queue::VECTOR));
            }
        }
    }
}
