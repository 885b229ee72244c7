//! Somebody who listens, until he is dropped.

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use viaduct_driver::cm::{ConnectionId, Event, ListenerId};

use super::{asked::Asked, discriminator, of_end, Wire, SLICE};
use crate::{
    connections::{Incoming, NetAddress},
    readiness::Readiness,
    Error,
};

/// Hears all requests for an address until it is dropped: [`crate::connections::Connections::listen`]. Requests that nobody has taken are refused then.
pub struct Listener {
    wire: Arc<Wire>,
    id: ListenerId,
    readiness: Readiness,
}

impl Listener {
    pub(super) fn new(wire: &Arc<Wire>, local: &NetAddress, backlog: u32) -> Result<Self, Error> {
        let id = listen(wire, local, backlog)?;
        Ok(Self { wire: Arc::clone(wire), id, readiness: Readiness::default() })
    }

    /// Waits for the next request, or until `give_up` says so. Time-outs: None is for ever.
    ///
    /// # Errors
    /// [`Error::Timeout`]; the device's.
    pub fn next(
        &self,
        timeout: Option<Duration>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Box<dyn Incoming>, Error> {
        Ok(Box::new(self.wire.next_request(self.id, timeout, give_up)?))
    }

    /// The next request, if there is one. It does not wait.
    ///
    /// # Errors
    /// [`Error::NotDone`]; the device's.
    pub fn try_next(&self) -> Result<Box<dyn Incoming>, Error> {
        match self.next(Some(Duration::ZERO), &|| false) {
            Err(Error::Timeout) => Err(Error::NotDone),
            result => result,
        }
    }

    /// A descriptor for poll(2), epoll(7) and the like, which is readable when there may be a request. It belongs to the listener, and is to be used
    /// as [`crate::Cq::fd`]: take what there is ([`Listener::try_next`]), arm, look once more, and only then wait.
    ///
    /// # Errors
    /// The device's; the process may have no more descriptors.
    pub fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        let wakeup = self.readiness.get(|wakeup| Ok(self.wire.agent.on_connection_event(wakeup)?))?;
        Ok(Readiness::fd(wakeup))
    }

    /// Makes [`Listener::fd`] say when a request comes from now on.
    ///
    /// # Errors
    /// As [`Listener::fd`].
    pub fn arm(&self) -> Result<(), Error> {
        self.readiness.get(|wakeup| Ok(self.wire.agent.on_connection_event(wakeup)?))?.clear();
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Of an agent that is gone nobody asks any more.
        let _ = self.wire.agent.unlisten(self.id);
    }
}

/// From now on all requests for `local` are heard, of which so many may wait to be decided on.
pub(super) fn listen(wire: &Wire, local: &NetAddress, backlog: u32) -> Result<ListenerId, Error> {
    if backlog == 0 {
        return Err(Error::Backlog);
    }
    Ok(wire.agent.listen_for_all(discriminator(local)?, backlog)?)
}

impl Wire {
    /// Waits for the next request that a listener gets.
    pub(super) fn next_request(
        self: &Arc<Self>,
        own: ListenerId,
        timeout: Option<Duration>,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Asked, Error> {
        let start = Instant::now();
        let mine = |event: &Event| matches!(event, Event::Incoming { listener, .. } if *listener == own);
        loop {
            let left = timeout.map_or(SLICE, |timeout| timeout.saturating_sub(start.elapsed()).min(SLICE));
            match self.agent.wait_event(left, mine)? {
                Some(Event::Incoming { id, request, .. }) => return Ok(self.asked(id, request)),
                _ if left.is_zero() || give_up() => return Err(Error::Timeout),
                _ => {}
            }
        }
    }

    /// Somebody has asked.
    pub(super) fn asked(
        self: &Arc<Self>,
        id: ConnectionId,
        request: viaduct_driver::cm::event::Incoming,
    ) -> Asked {
        let (host, ip) = (request.host.mac.into(), request.host.ip);
        let remote = NetAddress { host, discriminator: request.from.as_bytes().to_vec() };
        let attributes = of_end(&request.peer);
        let (wire, data) = (Arc::clone(self), request.data);
        Asked { wire, id, remote, ip, attributes, data, settled: Mutex::new(false) }
    }
}
