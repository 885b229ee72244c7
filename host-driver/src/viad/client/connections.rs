//! Connections by way of viad: [`ConnectionAgent`] at the client's side.

use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    super::{
        ask::ask,
        notice::CONNECTION_EVENTS,
        protocol::{Answer, Request, MOST_CONNECTION_EVENTS},
    },
    Client,
};
use crate::{
    cm::{ConnectionId, Discriminator, Event, EventQueue, ListenerId},
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent, ConnectorError},
        control::{control_calls, methods_of},
        AgentError, ViName,
    },
    wakeup::Wakeup,
};

/// The longest sleep in [`ConnectionAgent::receive_events`].
const SLICE: Duration = Duration::from_millis(100);

/// Events that were fetched from viad.
#[derive(Debug, Default)]
pub(super) struct Heard {
    connection_events: EventQueue,
    /// What the session's page said when they were.
    told: u32,
}

impl Client {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        // A thread that panicked with the lock held has left nothing half changed.
        self.connection_events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches events, if viad says that there are any: whether it did.
    fn fetch(&self) -> Result<bool, AgentError> {
        // Nobody looks for an event between its being fetched and its being here.
        let mut heard = self.heard();
        let told = Client::notices(self, CONNECTION_EVENTS);
        if told == heard.told {
            return Ok(false);
        }
        loop {
            let events = match self.call(&Request::TakeConnectionEvents)?.0 {
                Answer::ConnectionEvents(events) => events,
                other => return Err(self.wrong(&other)),
            };
            let last = events.len() < MOST_CONNECTION_EVENTS;
            events.into_iter().for_each(|event| heard.connection_events.push(event));
            if last {
                heard.told = told;
                return Ok(true);
            }
        }
    }

    /// What viad calls a connection that was asked for.
    pub(super) fn connection(&self, request: &Request) -> Result<ConnectionId, ConnectorError> {
        match self.call(request)?.0 {
            Answer::Connection(id) => Ok(id),
            Answer::Unconnected(error) => Err(error.into()),
            other => Err(self.wrong(&other).into()),
        }
    }

    fn decide(&self, id: ConnectionId, request: &Request) -> Result<(), ConnectorError> {
        match self.call(request)?.0 {
            Answer::Done => Ok(()),
            Answer::Unconnected(error) => {
                if error.is_gone() {
                    self.heard().connection_events.forget(id);
                }
                Err(error.into())
            }
            other => Err(self.wrong(&other).into()),
        }
    }
}

impl ConnectionAgent for Client {
    control_calls! { methods_of ConnectionAgent ask }

    fn unlisten(&self, own: ListenerId) -> Result<(), AgentError> {
        // viad refuses those that are still there.
        self.done(&Request::Unlisten(own))?;
        let untaken = |event: &Event| matches!(event, Event::Incoming { listener, .. } if *listener == own);
        loop {
            let Some(event) = self.heard().connection_events.take(untaken) else { return Ok(()) };
            self.disconnect(event.id())?;
        }
    }

    fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError> {
        self.decide(id, &Request::Accept(id, vi, data.to_vec()))
    }

    fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError> {
        self.decide(id, &Request::Reject(id, data.to_vec()))
    }

    fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError> {
        let done = self.done(&Request::Disconnect(id));
        self.heard().connection_events.forget(id);
        done
    }

    fn take_event(&self, is: &mut dyn FnMut(&Event) -> bool) -> Option<Event> {
        self.heard().connection_events.take(is)
    }

    fn event_count(&self) -> u64 {
        self.heard().told.into()
    }

    fn on_connection_event(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        self.wake_on_connection_event(wakeup)
    }

    fn receive_events(&self, seen: u64, timeout: Duration) -> Result<(), AgentError> {
        let page = Client::notices(self, CONNECTION_EVENTS);
        // What another thread has fetched may be what this one waits for.
        if self.fetch()? || timeout.is_zero() || ConnectionAgent::event_count(self) != seen {
            return self.check_here();
        }
        self.sleep_until_notice(CONNECTION_EVENTS, page, timeout.min(SLICE));
        self.check_here()?;
        self.fetch().map(drop)
    }
}
