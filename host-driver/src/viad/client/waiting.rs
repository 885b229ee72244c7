//! Those who wait on descriptors for what viad raises.

use viaduct_spec::profile::VECTORS;

use crate::wakeup::Wakeups;

/// Those who wait on descriptors.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// For a vector, by its number.
    pub(super) vectors: [Wakeups; VECTORS],
    /// For asynchronous errors.
    pub(super) events: Wakeups,
    /// For events of connections.
    pub(super) connection_events: Wakeups,
}

impl Waiting {
    /// Whatever they wait for, they are to look.
    pub(super) fn signal_all(&self) {
        self.vectors.iter().chain([&self.events, &self.connection_events]).for_each(Wakeups::signal);
    }
}
