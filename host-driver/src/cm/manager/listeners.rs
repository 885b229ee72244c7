//! Who listens for requests, and for which discriminator.

use super::{
    super::{discriminator::Discriminator, id::ListenerId, request::Party},
    Manager, NOBODY,
};

/// Somebody who listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listener {
    pub party: Party,
    pub discriminator: Discriminator,
    /// How many requests may wait to be decided on; None: it listens for one request.
    pub backlog: Option<usize>,
}

impl Manager {
    /// Waits for requests for a discriminator: for the next one, or for all until [`Manager::unlisten`]. Of several listeners
    /// for one discriminator the oldest gets the request.
    pub fn listen(&mut self, discriminator: Discriminator, once: bool) -> ListenerId {
        self.listen_for(NOBODY, discriminator, (!once).then_some(usize::MAX))
    }

    /// [`Manager::listen`] of one of several parties. `backlog`: for all requests, of which so many may wait to be decided on, and more are
    /// refused ([NO_RESOURCES](viaduct_spec::cm::reason::NO_RESOURCES)); None: for the next one.
    pub fn listen_for(
        &mut self,
        party: Party,
        discriminator: Discriminator,
        backlog: Option<usize>,
    ) -> ListenerId {
        let id = self.next_listener;
        self.next_listener += 1;
        self.listeners.insert(id, Listener { party, discriminator, backlog });
        ListenerId(id)
    }

    /// Waits no longer. Requests that are there already stay.
    pub fn unlisten(&mut self, listener: ListenerId) {
        self.listeners.remove(&listener.0);
    }
}
