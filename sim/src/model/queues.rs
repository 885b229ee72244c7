//! Work queues: positions, tokens from doorbell or ring, and the descriptors they name.

use viaduct_spec::doorbell::token;
use viaduct_spec::profile::RECEIVE_AHEAD;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::work_queue;

use super::descriptor::Descriptor;
use super::device::Device;
use super::protection::{Access, Place, Right};
use super::tables::{Row, ViState};

/// Positions count modulo this.
const POSITIONS: u16 = 1 << 14;

/// Positions of a ring, each counting every descriptor: posted >= fetched >= completed.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkQueue {
    posted: u16,
    fetched: u16,
    completed: u16,
    /// The token of the one descriptor that is posted and not fetched.
    inline: Option<u64>,
    /// More was posted than the ring holds: it is followed to the first slot that is wrong.
    over: bool,
    /// The oldest position that the consumer has not seen complete, if it waits for an interrupt.
    armed: Option<u16>,
}

fn distance(to: u16, from: u16) -> u16 {
    to.wrapping_sub(from) % POSITIONS
}

impl WorkQueue {
    /// Something is posted and not fetched.
    pub fn has_more(&self) -> bool {
        self.posted != self.fetched
    }

    /// Whether the consumer has not seen all that is complete.
    fn has_news(&self, seen: u16) -> bool {
        (1..=POSITIONS / 2).contains(&distance(self.completed, seen))
    }

    /// One more is complete, in order. Whether the queue's interrupt is due.
    pub fn complete(&mut self) -> bool {
        self.completed = (self.completed + 1) % POSITIONS;
        self.armed.take_if(|_| true).is_some_and(|seen| {
            let news = self.has_news(seen);
            self.armed = (!news).then_some(seen);
            news
        })
    }
}

/// A descriptor that is posted: what names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// The token.
    pub token: u64,
    /// Where the descriptor is.
    pub place: Place,
}

impl Posted {
    fn new(word: u64) -> Self {
        let region = token::REGION.get(&[word]) as u16;
        Self { token: word, place: Place::Offset { region, offset: 64 * token::OFFSET.get(&[word]) } }
    }
}

/// What fetching the next position has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// A descriptor.
    Descriptor(Posted, Descriptor),
    /// None: the slot cannot be read, or does not hold the token of its position, or that names memory that is none of
    /// the VI's.
    Misplaced,
}

/// A receive descriptor that waits for its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    /// What names it.
    pub posted: Posted,
    /// The descriptor.
    pub descriptor: Descriptor,
}

impl Device {
    /// The row of a work queue.
    pub fn queue_row(&self, vi: usize, receive: bool) -> &Row {
        &self.tables.work_queue[2 * vi + usize::from(receive)]
    }

    /// A work queue's positions.
    pub fn queue(&mut self, vi: usize, receive: bool) -> &mut WorkQueue {
        &mut self.vis[vi].queues[usize::from(receive)]
    }

    /// Tag of the VI, as a work queue's row has it: that of descriptors.
    pub fn descriptor_tag(&self, vi: usize, receive: bool) -> u16 {
        self.queue_row(vi, receive).get(work_queue::TAG) as u16
    }

    /// The doorbell: everything up to `position` is posted.
    pub fn post(&mut self, vi: usize, receive: bool, position: u16, inline: Option<u64>) {
        let slots = 1u32 << self.queue_row(vi, receive).get(work_queue::RING_LOG2);
        let queue = self.queue(vi, receive);
        let to = (position + 1) % POSITIONS;
        let room = slots.saturating_sub(distance(queue.posted, queue.completed).into());
        if u32::from(distance(to, queue.posted)) > room {
            // Nobody knows what was posted: the ring says it.
            (queue.over, queue.inline) = (true, None);
            queue.posted = (queue.completed + slots as u16) % POSITIONS;
            self.break_vi(vi, Some((event_code::VI_OVERRUN, receive)));
            return self.serve_queue(vi, receive);
        }
        queue.posted = to;
        queue.inline = inline.filter(|_| distance(to, queue.fetched) == 1);
        if !receive && self.choices.send_cycles != 0 {
            let begins = &mut self.vis[vi].requester.begins;
            *begins = begins.or(Some(self.now + self.choices.send_cycles));
        }
        if receive && self.choices.receive_cycles != 0 {
            return self.refill_later(vi);
        }
        self.serve_queue(vi, receive);
    }

    /// Asks for an interrupt; whether there is such a queue.
    pub fn arm(&mut self, vi: usize, receive: bool, seen: u16) -> bool {
        let row = *self.queue_row(vi, receive);
        if !row.is(work_queue::OPEN) {
            return false;
        }
        let queue = self.queue(vi, receive);
        let news = queue.has_news(seen);
        queue.armed = (!news).then_some(seen);
        if news {
            self.raise(row.get(work_queue::VECTOR));
        }
        true
    }

    /// A row has been committed: an empty queue at position 0.
    pub fn renew_queue(&mut self, vi: usize, receive: bool) {
        *self.queue(vi, receive) = WorkQueue::default();
        if receive {
            self.vis[vi].ahead.clear();
            self.vis[vi].refills = None;
        } else {
            self.vis[vi].requester.forget();
        }
    }

    /// Does for all queues what can be done now.
    pub fn serve_queues(&mut self) {
        for vi in 0..self.vis.len() {
            self.serve_queue(vi, false);
            self.serve_queue(vi, true);
        }
    }

    /// Fetches what a queue may have fetched, or flushes it.
    pub fn serve_queue(&mut self, vi: usize, receive: bool) {
        if !self.may_serve() {
            return;
        }
        match (self.vis[vi].state, receive) {
            (ViState::Connected, false) => self.fetch_sends(vi),
            (_, false) => self.flush_sends(vi),
            (ViState::Error, true) => self.flush_receives(vi),
            (_, true) => self.fetch_receives(vi),
        }
    }

    /// Work queues are served, and memory may be reached.
    pub fn may_serve(&self) -> bool {
        self.registers.sends() && self.host.config.bus_master()
    }

    /// Fetches the descriptor of the next position that is posted; there must be one.
    pub fn fetch(&mut self, vi: usize, receive: bool) -> Fetched {
        let row = *self.queue_row(vi, receive);
        let queue = self.queue(vi, receive);
        let position = queue.fetched;
        queue.fetched = (position + 1) % POSITIONS;
        let word = match queue.inline.take() {
            Some(word) => Some(word),
            None => {
                let slot = u64::from(position) & ((1 << row.get(work_queue::RING_LOG2)) - 1);
                let region = row.get(work_queue::RING_REGION) as u16;
                let offset = 64 * row.get(work_queue::RING_OFFSET) + 8 * slot;
                let access = Access {
                    place: Place::Offset { region, offset },
                    span: 8,
                    tag: row.get(work_queue::SYSTEM_TAG) as u16,
                    right: Right::SystemRead,
                };
                let bytes = self.read(access, 8).ok();
                bytes.and_then(|bytes| bytes.first_chunk().copied()).map(u64::from_le_bytes)
            }
        };
        // What is not the token of this position is one of region 0, which does not exist.
        let word = word.filter(|word| token::POSITION.get(&[*word]) == u64::from(position)).unwrap_or(0);
        let queue = self.queue(vi, receive);
        if queue.over && token::REGION.get(&[word]) == 0 {
            (queue.over, queue.posted) = (false, queue.fetched);
        }
        let posted = Posted::new(word);
        match self.read_descriptor(posted.place, self.descriptor_tag(vi, receive)) {
            Ok(descriptor) => Fetched::Descriptor(posted, descriptor),
            Err(_) => Fetched::Misplaced,
        }
    }

    /// A slot or a token of a queue was wrong: the VI breaks.
    pub fn misplaced(&mut self, vi: usize, receive: bool) {
        self.break_vi(vi, Some((event_code::POST_DESC, receive)));
    }

    fn fetch_receives(&mut self, vi: usize) {
        let most = self.choices.receive_ahead.clamp(1, RECEIVE_AHEAD);
        while self.vis[vi].ahead.len() < most && self.queue(vi, true).has_more() {
            match self.fetch(vi, true) {
                Fetched::Descriptor(posted, descriptor) => {
                    self.vis[vi].ahead.push_back(Some(Receive { posted, descriptor }));
                }
                Fetched::Misplaced => {
                    // It has its place among those that are flushed.
                    self.vis[vi].ahead.push_back(None);
                    return self.misplaced(vi, true);
                }
            }
        }
    }

    /// Whether a receive waits for a message. One that is posted and not fetched is waited for.
    fn has_receive(&mut self, vi: usize) -> bool {
        if self.vis[vi].ahead.is_empty() && self.vis[vi].refills.take().is_some() {
            self.serve_queue(vi, true);
        }
        !self.vis[vi].ahead.is_empty()
    }

    /// Takes the next receive.
    pub fn take_receive(&mut self, vi: usize) -> Option<Receive> {
        if !self.has_receive(vi) {
            return None;
        }
        let taken = self.vis[vi].ahead.pop_front().flatten();
        if self.queue(vi, true).has_more() {
            self.refill_later(vi);
        }
        taken
    }

    fn refill_later(&mut self, vi: usize) {
        let when = self.now + self.choices.receive_cycles;
        self.vis[vi].refills = self.vis[vi].refills.or(Some(when));
    }

    /// A VI in Error: every receive is flushed.
    fn flush_receives(&mut self, vi: usize) {
        loop {
            let next = match self.vis[vi].ahead.pop_front() {
                Some(next) => next,
                None if self.queue(vi, true).has_more() => match self.fetch(vi, true) {
                    Fetched::Descriptor(posted, descriptor) => Some(Receive { posted, descriptor }),
                    Fetched::Misplaced => None,
                },
                None => return,
            };
            match next {
                Some(receive) => self.flush(vi, true, &receive.posted, &receive.descriptor),
                None => self.consume(vi, true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_armed_queue_asks_once() {
        let mut queue =
            WorkQueue { completed: POSITIONS - 1, armed: Some(POSITIONS - 1), ..WorkQueue::default() };
        assert!(queue.complete());
        assert!(!queue.complete(), "disarmed");
        queue.armed = Some(2);
        assert!(!queue.complete(), "positions 1 and before have been seen");
        assert!(queue.complete());
    }
}
