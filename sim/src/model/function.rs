//! The model as a network steps it: a PCI function with an Ethernet port.

use super::Model;
use crate::clock::Cycle;
use crate::endpoint::Endpoint;
use crate::fabric::Mac;
use crate::function::Function;
use crate::watch::Watcher;

impl Function for Model {
    fn sleeps_until(&self, now: Cycle) -> Option<Cycle> {
        let busy = !self.requests.is_empty()
            || !self.returning.is_empty()
            || !self.mac.is_quiet() && !self.holds_frames()
            || self.device.outbox.arrival().is_some()
            || self.waiting.wire
            || self.waiting.loopback;
        let deadline = self.waiting.deadline.unwrap_or(Cycle::MAX);
        (!busy && deadline > now).then_some(deadline)
    }

    fn step(&mut self, from: Cycle, to: Cycle, _never_skip: bool) {
        let mut now = from;
        while let Some(next) = self.next_event(now).filter(|next| *next < to) {
            now = next;
            self.act(now);
        }
        self.device.now = to;
    }

    fn mac(&self) -> &Mac {
        &self.mac
    }

    fn mac_mut(&mut self) -> &mut Mac {
        &mut self.mac
    }

    fn endpoint(&self) -> &dyn Endpoint {
        self
    }

    fn endpoint_mut(&mut self) -> &mut dyn Endpoint {
        self
    }
}

impl Model {
    /// Has a watcher told what passes its edges from now on.
    pub fn watch(&mut self, watcher: Watcher) {
        self.device.host.watch.set(watcher);
        self.tell_bus();
    }
}
