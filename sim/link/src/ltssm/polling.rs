//! Polling (section 4.2.6.2), without Polling.Compliance.

use super::{Ltssm, State};

impl Ltssm {
    pub(super) fn polling(&self) -> Option<State> {
        let times = &self.setup.times;
        if self.state == State::PollingActive {
            let done = self.at.ready.is_some() && self.at.sent >= times.polling_sets;
            return self.within(times.polling_active, done.then_some(State::PollingConfiguration));
        }
        self.within(times.polling_configuration, self.is_answered().then_some(State::ConfigLinkwidthStart))
    }
}
