//! The error ring brings events, which are taken or waited for.

use std::{
    sync::{MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use viaduct_spec::register::{event, event_code};

use super::{Agent, AgentError, Event, State, CHECK, EVENT_VECTOR, MAX_CQ_ENTRIES};
use crate::{
    queues::consumer_ring::ConsumerRing,
    wait::{turn, Turn, LONGEST_SLEEP},
};

impl Agent {
    /// Takes the events that the NIC has put into the error ring, oldest first. Those of VIs and queues that are gone are among them.
    pub fn take_events(&self) -> Result<Vec<Event>, AgentError> {
        let mut state = self.state()?;
        self.empty_error_ring(&mut state)?;
        Ok(state.events.drain(..).collect())
    }

    /// Takes what is in the error ring out of it. Before an index is another VI's or queue's, so that each event is known to be of the one that
    /// it is of.
    pub(super) fn empty_error_ring(&self, state: &mut State) -> Result<(), AgentError> {
        // A NIC that never runs dry is broken.
        let mut errors = self.errors();
        for _ in 0..MAX_CQ_ENTRIES {
            let Some(entry) = errors.take()? else { break };
            let word = [entry.token];
            let (code, index) = (event::CODE.get(&word) as u8, event::VI.get(&word) as u16);
            let life = match code {
                event_code::CQ_OVERRUN => state.cq_life(index),
                _ => state.vi_life(index),
            };
            if state.events.len() >= MAX_CQ_ENTRIES {
                state.events.pop_front();
            }
            let event = Event {
                code,
                vi: index,
                life: life.unwrap_or_default(),
                receive: event::RECEIVE.get(&word) != 0,
                broke: event::BROKE.get(&word) != 0,
            };
            let name = event.meaning().map_or("unknown", |meaning| meaning.name);
            tracing::debug!(name, ?event, "the NIC tells");
            state.events.push_back(event);
        }
        Ok(())
    }

    /// [`Agent::take_events`], as soon as there is one: waits for `timeout` at most, then there are none.
    pub fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, AgentError> {
        let start = Instant::now();
        let mut looks = 0u32;
        loop {
            if let Some(events) = self.look_for_events()? {
                return Ok(events);
            }
            let left = || timeout.saturating_sub(start.elapsed()).min(LONGEST_SLEEP);
            match turn(self, EVENT_VECTOR, left, || self.arm_events(), || self.look_for_events())? {
                Turn::Found(events) => return Ok(events),
                Turn::Over => return Ok(Vec::new()),
                Turn::Slept(true) => {}
                Turn::Slept(false) => self.check()?,
                Turn::Polls => {
                    self.pause();
                    // Looks and not time: in a deterministic simulation the question comes at the same place in every run.
                    looks = looks.wrapping_add(1);
                    if looks % CHECK == 0 {
                        self.check()?;
                    }
                }
            }
        }
    }

    /// Events, if there are some.
    fn look_for_events(&self) -> Result<Option<Vec<Event>>, AgentError> {
        let events = self.take_events()?;
        self.check_alarm()?;
        Ok((!events.is_empty()).then_some(events))
    }

    /// Asks for one interrupt of [`EVENT_VECTOR`]: when there is an event that has not been taken, or at once.
    pub fn arm_events(&self) -> Result<(), AgentError> {
        Ok(self.errors().arm()?)
    }

    fn errors(&self) -> MutexGuard<'_, ConsumerRing> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
