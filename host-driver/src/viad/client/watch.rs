//! A session that has descriptors to wait on: viad says when something was raised in a notice page, and a thread signals those who wait for it.

use std::{
    array::from_fn,
    os::fd::OwnedFd,
    sync::{Arc, PoisonError},
};

use rustix::io::Errno;
use viaduct_spec::profile::VECTORS;

use super::{
    super::{
        notice::{CONNECTION_EVENTS, EVENTS},
        protocol::Request,
        sleepers::Words,
    },
    Bell, Client,
};
use crate::{device::DeviceError, kernel_agent::AgentError, thread, wakeup::Wakeup};

/// What the notice pages say: the vectors, then the session's own page.
type Said = [Option<u32>; VECTORS + 2];

impl Bell {
    fn said(&self) -> Said {
        from_fn(|n| match n.checked_sub(VECTORS) {
            // There are fewer of them than a byte can count.
            None => self.notice.generation(n as u8),
            Some(0) => self.own.generation(EVENTS),
            Some(_) => self.own.generation(CONNECTION_EVENTS),
        })
    }

    /// Signals those who wait for what has been raised since.
    fn signal(&self, before: &mut Said) {
        let now = self.said();
        let waiting =
            self.waiting.vectors.iter().chain([&self.waiting.events, &self.waiting.connection_events]);
        for ((before, now), wakeups) in before.iter_mut().zip(now).zip(waiting) {
            if *before != now {
                *before = now;
                wakeups.signal();
            }
        }
    }
}

impl Client {
    /// From now on `wakeup` is signalled when there are events of connections.
    pub(in crate::viad) fn wake_on_connection_event(&self, wakeup: &Arc<Wakeup>) -> Result<(), AgentError> {
        self.bell.waiting.connection_events.add(wakeup);
        self.watch_pages()
    }

    /// From now on viad says when something was raised. What is raised behind this call is signalled.
    pub(super) fn watch_pages(&self) -> Result<(), AgentError> {
        let mut is_begun = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_begun {
            return Ok(());
        }
        let bell = Arc::clone(&self.bell);
        let mut before = bell.said();
        let (answer, files) = self.call(&Request::Watch)?;
        let Some(file) = files.into_iter().next() else { return Err(self.wrong(&answer)) };
        let system = |source| DeviceError::System { request: "a thread".into(), source };
        let body = move || {
            while is_told(&file) {
                bell.signal(&mut before);
            }
            // The session is over.
            bell.end("viad ended, or closed the session (its log says why)".into());
        };
        thread::spawn("viad-wakeups", body).map_err(system)?;
        *is_begun = true;
        Ok(())
    }
}

/// Waits until viad says something; false: it will say nothing any more.
fn is_told(file: &OwnedFd) -> bool {
    // However often it was said, it is heard once.
    let mut bytes = [0; 64];
    loop {
        match rustix::io::read(file, &mut bytes) {
            Err(Errno::INTR) => {}
            said => return said.is_ok_and(|bytes| bytes > 0),
        }
    }
}
