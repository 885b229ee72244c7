//! Asynchronous errors: each goes to the session whose VI or completion queue it is of.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use viaduct_driver::{
    agent::{Agent, AgentError, Event, EVENT_VECTOR, LONGEST_SLEEP},
    viad::{notice::Notice, protocol::MOST_EVENTS},
};
use viaduct_spec::register::event_code;

/// How often one looks where there are no interrupts.
const LOOK: Duration = Duration::from_millis(5);

/// A session's events that it has not taken.
#[derive(Debug, Default)]
pub struct Queue(Mutex<VecDeque<Event>>);

impl Queue {
    /// Takes them, oldest first.
    pub fn take(&self) -> Vec<Event> {
        self.lock().drain(..).collect()
    }

    /// A client that takes none loses the oldest.
    fn put(&self, event: Event) {
        let mut events = self.lock();
        if events.len() >= MOST_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an event is of, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A virtual interface.
    Vi(u16),
    /// A completion queue.
    Cq(u16),
}

impl Subject {
    fn of(event: &Event) -> Self {
        match event.code {
            event_code::CQ_OVERRUN => Self::Cq(event.vi),
            _ => Self::Vi(event.vi),
        }
    }
}

/// Takes the NIC's events and hands them out.
pub struct Events {
    agent: Arc<Agent>,
    notice: Arc<Notice>,
    owners: Mutex<HashMap<Subject, Arc<Queue>>>,
    stopped: AtomicBool,
}

impl Events {
    /// Of VIs that nobody has yet.
    pub fn new(agent: Arc<Agent>, notice: Arc<Notice>) -> Self {
        Self { agent, notice, owners: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// A VI or completion queue is a session's.
    pub fn own(&self, subject: Subject, queue: &Arc<Queue>) {
        self.lock().insert(subject, Arc::clone(queue));
    }

    /// It is nobody's any more. What it has reported by now still goes to its owner.
    pub fn disown(&self, subject: Subject) -> Result<(), AgentError> {
        let collected = self.collect();
        self.lock().remove(&subject);
        collected.map(drop)
    }

    /// Hands out what there is: how many.
    pub fn collect(&self) -> Result<usize, AgentError> {
        let owners = self.lock();
        let events = self.agent.take_events()?;
        for event in &events {
            match owners.get(&Subject::of(event)) {
                Some(queue) => queue.put(*event),
                None => tracing::warn!(?event, "an event of what no client has"),
            }
        }
        drop(owners);
        if !events.is_empty() {
            self.notice.raise(EVENT_VECTOR);
        }
        Ok(events.len())
    }

    /// Hands out events until [`Events::stop`].
    ///
    /// # Errors
    /// The device's: it is gone.
    pub fn run(&self) -> Result<(), AgentError> {
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(seen) = self.agent.generation(EVENT_VECTOR) else {
                if self.collect()? == 0 {
                    std::thread::sleep(LOOK);
                }
                continue;
            };
            // Whatever is there when the arm word is seen, or comes behind it, ends the sleep.
            self.agent.arm_events()?;
            if self.collect()? == 0 && !self.agent.sleep(EVENT_VECTOR, seen, LONGEST_SLEEP) {
                self.agent.check()?;
            }
        }
        Ok(())
    }

    /// Ends [`Events::run`] within [`LONGEST_SLEEP`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Arc<Queue>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overrun_is_of_its_completion_queue_and_all_else_of_a_vi() {
        let event = |code| Event { code, vi: 5, receive: false, broke: true };
        assert_eq!(Subject::of(&event(event_code::CQ_OVERRUN)), Subject::Cq(5));
        assert_eq!(Subject::of(&event(event_code::CONN_LOST)), Subject::Vi(5));
    }
}
