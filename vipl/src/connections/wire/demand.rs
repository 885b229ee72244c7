//! Connections begin when they are first asked for, and a thread hears what peers say from then on.

use std::{
    sync::{atomic::Ordering, Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread::JoinHandle,
};

use viaduct_driver::{kernel_agent::KernelAgent, wakeup::Wakeups};

use super::{Wire, SLICE};
use crate::Error;

/// The connections of a NIC, once somebody has asked for them.
#[derive(Default)]
pub(crate) struct OnDemand {
    begun: Mutex<Option<(Arc<Wire>, JoinHandle<()>)>>,
    lost: Arc<Wakeups>,
}

impl OnDemand {
    /// Its connections, begun when they are first asked for: from then on a thread hears what peers say.
    pub fn begin(&self, agent: &Arc<dyn KernelAgent>) -> Result<Arc<Wire>, Error> {
        let mut wire = self.lock();
        if let Some((wire, _)) = &*wire {
            return Ok(Arc::clone(wire));
        }
        let begun = Wire::of(Arc::clone(agent).connections()?, Arc::clone(&self.lost));
        let (heard, agent) = (Arc::clone(&begun), Arc::downgrade(agent));
        let thread = viaduct_driver::thread::spawn("vipl-connections", move || listen(&heard, &agent));
        *wire = Some((Arc::clone(&begun), thread.map_err(Error::Memory)?));
        Ok(begun)
    }

    /// Its connections, if they have been begun.
    pub fn begun(&self) -> Option<Arc<Wire>> {
        self.lock().as_ref().map(|(wire, _)| Arc::clone(wire))
    }

    /// Those who are woken when the other side has ended a connection.
    pub fn lost(&self) -> &Wakeups {
        &self.lost
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Arc<Wire>, JoinHandle<()>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OnDemand {
    fn drop(&mut self) {
        let begun = self.lock().take();
        if let Some((wire, thread)) = begun {
            wire.stop.store(true, Ordering::Release);
            drop(wire);
            let _ = thread.join();
        }
    }
}

/// Hears what peers say while nobody waits.
fn listen(wire: &Wire, agent: &Weak<dyn KernelAgent>) {
    while !wire.stop.load(Ordering::Acquire) {
        if wire.agent.receive_events(wire.agent.event_count(), SLICE).is_err() {
            // Nothing comes any more: whoever waits looks, and hears why.
            wire.lost.signal();
            wire.parted.signal();
            if let Some(agent) = agent.upgrade() {
                (0..agent.vectors()).for_each(|vector| agent.wake(vector));
            }
            return;
        }
        wire.note_ends();
    }
}
