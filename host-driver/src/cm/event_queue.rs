//! Events that nobody has taken yet.

use std::collections::VecDeque;

use super::{ConnectionId, Event};

/// Events, oldest first.
#[derive(Debug, Default)]
pub struct EventQueue(VecDeque<Event>);

impl EventQueue {
    /// Another one. A request that was withdrawn before anybody saw it was none, but where it was the one that somebody waits
    /// for: who waits on would not know that nobody listens any more.
    pub fn push(&mut self, event: Event) {
        let awaited =
            |one: &Event| matches!(one, Event::Incoming { id, once: true, .. } if *id == event.id());
        if matches!(event, Event::Withdrawn { .. })
            && !self.0.iter().any(awaited)
            && self.forget(event.id()) > 0
        {
            return;
        }
        self.0.push_back(event);
    }

    /// Another one, for an owner that may take none: of more than `most` the oldest goes.
    pub fn push_within(&mut self, event: Event, most: usize) {
        self.push(event);
        while self.0.len() > most {
            self.0.pop_front();
        }
    }

    /// Takes the oldest that `is` holds of.
    pub fn take(&mut self, is: impl FnMut(&Event) -> bool) -> Option<Event> {
        let at = self.0.iter().position(is)?;
        self.0.remove(at)
    }

    /// Takes the oldest, `most` of them at most.
    pub fn take_some(&mut self, most: usize) -> Vec<Event> {
        self.0.drain(..most.min(self.0.len())).collect()
    }

    /// Of a connection nobody asks any more: how many events there were.
    pub fn forget(&mut self, id: ConnectionId) -> usize {
        let before = self.0.len();
        self.0.retain(|event| event.id() != id);
        before - self.0.len()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::event::Refusal, *};

    #[test]
    fn what_nobody_asks_about_is_not_kept() {
        let id = ConnectionId;
        let mut events = EventQueue::default();
        let refused = |n| Event::Refused { id: id(n), refusal: Refusal::NoMatch, data: Vec::new() };
        // A request that is withdrawn before it is seen leaves nothing; after that, its end.
        for n in 0..1000 {
            events.push(Event::Established { id: id(n) });
            events.push(Event::Withdrawn { id: id(n) });
        }
        assert!(events.is_empty());
        events.push(Event::Withdrawn { id: id(1) });
        assert_eq!(events.forget(id(1)), 1);
        for n in 0..10 {
            events.push_within(refused(n), 3);
        }
        assert_eq!((events.len(), events.forget(id(2))), (3, 0));
        assert_eq!(events.take(|event| event.id() == id(8)), Some(refused(8)));
        assert_eq!(events.take_some(5), [refused(7), refused(9)]);
    }
}
