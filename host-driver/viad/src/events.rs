//! Asynchronous errors: each goes to the session whose VI or completion queue it is of.

use std::{
    collections::HashMap,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::Duration,
};

use viaduct_driver::{
    agent::{Agent, EVENT_VECTOR},
    kernel_agent::{AgentError, CqName, Event, ViName},
    wait::{turn, Turn, LONGEST_SLEEP},
};
use viaduct_spec::register::event_code;

use crate::inbox::Inbox;

/// How often one looks where there are no interrupts.
const LOOK: Duration = Duration::from_millis(5);

/// What an event is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A virtual interface.
    Vi(ViName),
    /// A completion queue.
    Cq(CqName),
}

impl Subject {
    fn of(event: &Event) -> Self {
        match event.code {
            event_code::CQ_OVERRUN => Self::Cq(CqName { index: event.vi, life: event.life }),
            // A VI's life has no more bits.
            _ => Self::Vi(ViName { index: event.vi, life: event.life as u16 }),
        }
    }
}

/// Takes the NIC's events and hands them out.
pub struct Events {
    agent: Arc<Agent>,
    owners: Mutex<HashMap<Subject, Arc<Inbox>>>,
    stopped: AtomicBool,
}

impl Events {
    /// Of VIs that nobody has yet.
    pub fn new(agent: Arc<Agent>) -> Self {
        Self { agent, owners: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// A VI or completion queue is a session's.
    pub fn own(&self, subject: Subject, inbox: &Arc<Inbox>) {
        self.lock().insert(subject, Arc::clone(inbox));
    }

    /// It is nobody's any more, and nobody hears of it.
    pub fn disown(&self, subject: Subject) {
        self.lock().remove(&subject);
    }

    /// Hands out what there is: how many.
    pub fn collect(&self) -> Result<usize, AgentError> {
        let owners = self.lock();
        let events = self.agent.take_events()?;
        for event in &events {
            match owners.get(&Subject::of(event)) {
                Some(inbox) => inbox.put_error(*event),
                // Of one that has just gone.
                None => tracing::debug!(?event, "an event of what no client has"),
            }
        }
        Ok(events.len())
    }

    /// Hands out events until [`Events::stop`].
    ///
    /// # Errors
    /// The device's: it is gone.
    pub fn run(&self) -> Result<(), AgentError> {
        while !self.stopped.load(Ordering::Relaxed) {
            let look = || Ok::<_, AgentError>((self.collect()? > 0).then_some(()));
            match turn(&*self.agent, EVENT_VECTOR, || LONGEST_SLEEP, || self.agent.arm_events(), look)? {
                Turn::Found(()) | Turn::Over | Turn::Slept(true) => {}
                Turn::Slept(false) => self.agent.check()?,
                Turn::Polls => {
                    if self.collect()? == 0 {
                        std::thread::sleep(LOOK);
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends [`Events::run`] within [`LONGEST_SLEEP`].
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Subject, Arc<Inbox>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overrun_is_of_its_completion_queue_and_all_else_of_a_vi() {
        let event = |code| Event { code, vi: 5, life: 9, receive: false, broke: true };
        assert_eq!(Subject::of(&event(event_code::CQ_OVERRUN)), Subject::Cq(CqName { index: 5, life: 9 }));
        assert_eq!(Subject::of(&event(event_code::CONN_LOST)), Subject::Vi(ViName { index: 5, life: 9 }));
    }
}
