//! A request of ours is on its way to the other side.

use std::{
    sync::{Arc, Mutex, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use viaduct_driver::{
    cm::{ConnectionId, Event, Refusal},
    kernel_agent::connection_agent::ConnectorError,
};

use super::{failure::Failure, of_end, Wire, SLICE};
use crate::{
    connections::{Answer, Endpoint, PeerRequest},
    Error,
};

/// Begins an attempt at a connection.
pub(super) trait Begin {
    fn begin<V: Endpoint>(
        &self,
        vi: V,
        ask: impl FnOnce() -> Result<ConnectionId, ConnectorError>,
    ) -> Result<Attempt<V>, Error>;
}

impl Begin for Arc<Wire> {
    fn begin<V: Endpoint>(
        &self,
        vi: V,
        ask: impl FnOnce() -> Result<ConnectionId, ConnectorError>,
    ) -> Result<Attempt<V>, Error> {
        let name = vi.name();
        self.enter(name, None)?;
        let asked = vi.begin().and_then(|()| Ok(ask()?));
        let id = asked.as_ref().ok().copied();
        let ended = self.state().attempts.get_mut(&name).is_some_and(|attempt| attempt.ask(id));
        let outcome = match asked {
            Ok(id) if !ended => {
                return Ok(Attempt { wire: Arc::clone(self), vi, id, progress: Mutex::default() });
            }
            Ok(id) => self.agent.disconnect(id).map_err(Error::from).and(Err(Failure::Ended.into())),
            Err(error) => Err(error),
        };
        let told = vi.end(false);
        self.state().attempts.remove(&name);
        told.and(outcome)
    }
}

/// A request of ours on its way.
pub(super) struct Attempt<V: Endpoint> {
    wire: Arc<Wire>,
    pub(super) vi: V,
    pub(super) id: ConnectionId,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// What the other end is, and has said, when it is known.
    met: Option<Answer>,
    /// How it ended: whoever asks is told the same.
    outcome: Option<Result<Answer, Failure>>,
}

impl Progress {
    fn heard(&mut self, event: Event) -> Option<Result<Answer, Failure>> {
        match event {
            Event::Met { peer, data, .. } => {
                self.met = Some(Answer { attributes: of_end(&peer), data });
                None
            }
            Event::Established { .. } => {
                Some(self.met.take().ok_or(Failure::Refused(Refusal::Rejected, Vec::new())))
            }
            Event::Refused { refusal, data, .. } => Some(Err(Failure::Refused(refusal, data))),
            _ => Some(Err(Failure::Gone)),
        }
    }
}

impl<V: Endpoint> Attempt<V> {
    /// One that was accepted: what the other side is, is known.
    pub(super) fn accepted(wire: &Arc<Wire>, vi: V, id: ConnectionId, answer: Answer) -> Self {
        let progress = Mutex::new(Progress { met: Some(answer), outcome: None });
        Self { wire: Arc::clone(wire), vi, id, progress }
    }

    /// What an event of its connection brings it to, if that is its end.
    pub(super) fn heard(&self, event: Event) -> Option<Result<Answer, Failure>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).heard(event)
    }

    fn look(&self, progress: &mut Progress, timeout: Duration) -> Result<Answer, Error> {
        if let Some(outcome) = &progress.outcome {
            return Ok(outcome.clone()?);
        }
        let start = Instant::now();
        let outcome = loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.wire.agent.wait_event(left, |event| event.id() == self.id)? {
                Some(event) => {
                    if let Some(outcome) = progress.heard(event) {
                        break outcome;
                    }
                }
                None if self.wire.has_ended(self.vi.name(), self.id) => break Err(Failure::Ended),
                None if left.is_zero() => return Err(Error::NotDone),
                None => {}
            }
        };
        let outcome = self.wire.conclude(&self.vi, self.id, outcome);
        progress.outcome = Some(outcome.clone());
        Ok(outcome?)
    }

    pub(super) fn wait(&self) -> Result<Answer, Error> {
        loop {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            match self.look(&mut progress, SLICE) {
                Err(Error::NotDone) => {}
                result => return result,
            }
        }
    }
}

impl PeerRequest for Attempt<Arc<dyn Endpoint>> {
    fn done(&self) -> Result<Answer, Error> {
        // Whoever waits for it looks himself.
        match self.progress.try_lock() {
            Ok(mut progress) => self.look(&mut progress, Duration::ZERO),
            Err(TryLockError::Poisoned(progress)) => self.look(&mut progress.into_inner(), Duration::ZERO),
            Err(TryLockError::WouldBlock) => Err(Error::NotDone),
        }
    }

    fn wait(&self) -> Result<Answer, Error> {
        Attempt::wait(self)
    }
}

impl<V: Endpoint> Drop for Attempt<V> {
    fn drop(&mut self) {
        // One that is not over is withdrawn; its VI may be connected already. Of a device that is gone nothing is to be withdrawn.
        let claimed = self.wire.state().claim(self.vi.name(), self.id);
        if claimed.is_some() {
            let _ = self.wire.give_up(&self.vi, self.id);
        }
    }
}
