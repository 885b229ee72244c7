//! What the manager has decided is carried out: rows are written, VIs broken, frames sent, and those who wait are told.

use std::{sync::atomic::Ordering, time::Duration};

use super::{Connector, Link, State};
use crate::{
    cm::{ConnectionId, End, Event, Refusal},
    kernel_agent::AgentError,
};

impl Connector {
    /// Deals with the manager's events, and sends its frames.
    pub(super) fn settle(&self, state: &mut State, now: Duration) -> Result<(), AgentError> {
        let mut heard = false;
        while let Some(event) = state.manager.next_event() {
            tracing::debug!(?event, "of a connection");
            state.events.push(event.clone());
            heard = true;
            if let Err(error) = self.deal(state, &event, now) {
                self.tell(state, heard);
                return Err(error);
            }
        }
        self.tell(state, heard);
        self.flush(state)
    }

    /// Wakes those who wait if there is an event, or something is due earlier than they know.
    fn tell(&self, state: &mut State, heard: bool) {
        let due = state.manager.deadline();
        let earlier = due.is_some_and(|due| state.due.is_none_or(|known| due < known));
        state.due = due;
        if heard || earlier {
            self.told.fetch_add(1, Ordering::Release);
            self.raw.wake();
        }
        if heard {
            self.wakeups.signal();
        }
    }

    /// Sends the manager's frames, as far as there is room.
    pub(super) fn flush(&self, state: &mut State) -> Result<(), AgentError> {
        loop {
            let Some(frame) = state.unsent.take().or_else(|| state.manager.next_frame()) else {
                return Ok(());
            };
            match self.raw.send(&frame) {
                Ok(()) => {}
                Err(AgentError::RawFull) => {
                    state.unsent = Some(frame);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn deal(&self, state: &mut State, event: &Event, now: Duration) -> Result<(), AgentError> {
        let id = event.id();
        match event {
            Event::Incoming { request, .. } => {
                state.links.insert(id, Link::Incoming { peer: request.peer });
            }
            Event::Met { peer, .. } => self.make_ready(state, id, peer, now),
            Event::Established { .. } => {}
            Event::Withdrawn { .. }
            | Event::Refused { .. }
            | Event::Disconnected { .. }
            | Event::Lost { .. } => {
                if let Some(Link::Connected { vi }) = state.links.remove(&id) {
                    match self.agent.break_vi(vi) {
                        // Its owner was quicker.
                        Ok(()) | Err(AgentError::UnknownVi(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(())
    }

    /// The other end is known: this one's VI is connected to it. If that cannot be, it is refused.
    fn make_ready(&self, state: &mut State, id: ConnectionId, peer: &End, now: Duration) {
        let Some(link) = state.links.get_mut(&id) else { return };
        let connected = match *link {
            Link::Asking { vi, own } => own
                .agree(peer)
                .is_ok_and(|agreement| self.agent.connect_vi_as(vi, &agreement).is_ok())
                .then_some(Link::Connected { vi }),
            // It is not this end's to connect any more.
            Link::Incoming { .. } | Link::Connected { .. } => None,
        };
        if let Some(connected) = connected {
            *link = connected;
            // Gone: its end is among the events.
            let _ = state.manager.ready(id, now);
        } else if state.manager.reject(id, &[], now).is_ok() {
            state.links.remove(&id);
            // Its event is told with the one that is dealt with.
            state.events.push(Event::Refused { id, refusal: Refusal::Mismatch, data: Vec::new() });
        }
    }
}
