//! What a library asks for connections of its VIs over the wire, wherever the Kernel Agent is: of the connector in its own
//! process ([`crate::agent::connector::Connector`]), or of `viad` ([`crate::viad::Client`]).
//!
//! No call waits for a peer. What comes of it is told by events ([`Event`]), which are kept until they are taken.
//! [`ConnectionAgent::receive_events`] is called by a thread that does nothing else, or by whoever waits for an event.
//!
//! A VI is connected when [`Event::Met`] has come or [`ConnectionAgent::accept`] returns, and its messages may be sent from
//! [`Event::Established`] on. A connection that ends after that leaves it in Error: its owner makes it idle when all that was
//! posted is complete.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    control::{control_calls, declare, methods_of},
    AgentError, ViName,
};
use crate::{
    cm::{CmError, ConnectionId, Discriminator, Event, ListenerId, Target},
    wakeup::Wakeup,
};

/// Why a connection could not be asked for or accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorError {
    /// The agent or its device failed.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The connection manager refused.
    #[error(transparent)]
    Manager(#[from] CmError),
}

/// What is asked for: see [`crate::cm::Request`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// This end: an idle VI.
    pub vi: ViName,
    /// The other one's host.
    pub target: Target,
    /// This side's discriminator.
    pub from: Discriminator,
    /// The discriminator that is asked for.
    pub to: Discriminator,
    /// The consumer's own.
    pub data: Vec<u8>,
    /// How long it may take, by the wall's clock and by the device's.
    pub timeout: Option<Duration>,
}

/// Makes and ends connections. Calls may come from any thread.
pub trait ConnectionAgent: Send + Sync {
    // Its rows in the table of control calls.
    control_calls! { methods_of ConnectionAgent declare }

    /// Waits no longer. Who has asked, and was not taken, is refused.
    ///
    /// # Errors
    /// The agent's.
    fn unlisten(&self, listener: ListenerId) -> Result<(), AgentError>;
    /// Accepts a request with an idle VI, which is connected when this returns.
    ///
    /// # Errors
    /// [`CmError::Gone`]: whoever asked has given up. [`CmError::Peer`]: the ends do not fit, and nothing was done.
    fn accept(&self, id: ConnectionId, vi: ViName, data: &[u8]) -> Result<(), ConnectorError>;
    /// Refuses a request.
    ///
    /// # Errors
    /// [`CmError::Gone`], [`CmError::Data`].
    fn reject(&self, id: ConnectionId, data: &[u8]) -> Result<(), ConnectorError>;
    /// Ends a connection or an attempt at one: the other end is told, and no event comes any more. One that is gone already is
    /// no error. The VI is its owner's to break and make idle.
    ///
    /// # Errors
    /// The agent's.
    fn disconnect(&self, id: ConnectionId) -> Result<(), AgentError>;

    /// Takes the oldest event that `is` holds of.
    fn take_event(&self, is: &mut dyn FnMut(&Event) -> bool) -> Option<Event>;
    /// How often events have come, in whatever thread's call, to where [`ConnectionAgent::take_event`] finds them. Who is to sleep asks
    /// before it looks.
    fn event_count(&self) -> u64;
    /// From now on `wakeup` is signalled when an event has come, and when the agent is gone, for as long as it lives. Who is to miss nothing
    /// clears it, receives events without sleeping ([`ConnectionAgent::receive_events`]), looks, and only then waits. Where no thread receives events, none come.
    ///
    /// # Errors
    /// The agent's.
    fn on_connection_event(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError>;
    /// Receives what events there are; sleeps for `timeout` at most, and not for long, if there is nothing. It does not sleep, or not on,
    /// when [`ConnectionAgent::event_count`] is not `seen` any more: another thread may have heard what this one waits for.
    ///
    /// # Errors
    /// The agent's: it is gone.
    fn receive_events(&self, seen: u64, timeout: Duration) -> Result<(), AgentError>;
}

impl dyn ConnectionAgent {
    /// Waits for an event that `is` holds of, for `timeout` of the wall's clock at most.
    ///
    /// # Errors
    /// As [`ConnectionAgent::receive_events`].
    pub fn wait_event(
        &self,
        timeout: Duration,
        mut is: impl FnMut(&Event) -> bool,
    ) -> Result<Option<Event>, AgentError> {
        let start = Instant::now();
        self.receive_events(self.event_count(), Duration::ZERO)?;
        loop {
            let seen = self.event_count();
            if let Some(event) = self.take_event(&mut is) {
                return Ok(Some(event));
            }
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.receive_events(seen, left)?;
        }
    }
}
