//! What a connection queue, its listeners and its requests have in common.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use viaduct_driver::{
    cm::{ConnectionId, Event, ListenerId},
    kernel_agent::ViName,
    wakeup::Wakeup,
};

use super::{attempt::Attempt, underway::QueueId, State, Wire};
use crate::{connections::Endpoint, readiness::Readiness, Error};

/// What a queue, its listeners and its requests have in common.
pub(super) struct Inner {
    pub(super) wire: Arc<Wire>,
    pub(super) id: QueueId,
    pub(super) members: Mutex<Members>,
    pub(super) readiness: Readiness,
}

/// What goes on by a queue.
#[derive(Default)]
pub(super) struct Members {
    /// Those who listen, and their contexts.
    pub(super) listeners: BTreeMap<ListenerId, u64>,
    /// What is under way, with the program's words for it.
    pub(super) attempts: BTreeMap<ConnectionId, (u64, Attempt<Arc<dyn Endpoint>>)>,
    /// The program's words for connections that it has ended, and that it was not told of.
    pub(super) parted: VecDeque<u64>,
}

impl Inner {
    pub(super) fn members(&self) -> MutexGuard<'_, Members> {
        // Each change of it is one insertion or removal.
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wakeup(&self) -> Result<&Wakeup, Error> {
        self.readiness.get(|wakeup| {
            self.wire.parted.add(wakeup);
            Ok(self.wire.agent.on_connection_event(wakeup)?)
        })
    }

    /// There is an event of its own.
    pub(super) fn signal(&self) {
        if let Ok(wakeup) = self.wakeup() {
            wakeup.signal();
        }
    }

    /// An attempt is this queue's to bring to its end.
    pub(super) fn keep(&self, members: &mut Members, context: u64, attempt: Attempt<Arc<dyn Endpoint>>) {
        let mut state = self.wire.state();
        if let Some(underway) = state.attempts.get_mut(&attempt.vi.name()) {
            underway.leave(Some((self.id, context)));
        }
        drop(state);
        members.attempts.insert(attempt.id, (context, attempt));
    }

    pub(super) fn is_its(&self, members: &Members, state: &State, event: &Event) -> bool {
        match event {
            Event::Incoming { listener, .. } => members.listeners.contains_key(listener),
            event => members.attempts.contains_key(&event.id()) || state.link(event.id(), self.id).is_some(),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for link in self.wire.state().links.values_mut() {
            link.queue = link.queue.filter(|(queue, _)| *queue != self.id);
        }
    }
}

impl State {
    /// The VI that a connection of a queue's is of, and the program's word for it.
    pub(super) fn link(&self, id: ConnectionId, queue: QueueId) -> Option<(ViName, u64)> {
        self.links.iter().find_map(|(vi, link)| {
            let (of, context) = link.queue.filter(|_| link.id == id)?;
            (of == queue).then_some((*vi, context))
        })
    }

    /// The program's word for the connection that a VI has by a queue.
    pub(super) fn context(&self, vi: ViName, queue: QueueId) -> Option<u64> {
        let (of, context) = self.links.get(&vi)?.queue?;
        (of == queue).then_some(context)
    }
}
