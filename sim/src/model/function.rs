//! The model as a network steps it: a PCI function with an Ethernet port.

use std::fs::File;

use super::{Choices, Model, Request};
use crate::clock::Cycle;
use crate::fabric::Mac;
use crate::function::Function;
use crate::memory::Memory;
use crate::root_complex::{in_table, Access, BusCounters, LoadId, Violation};
use crate::watch::{Seen, Watcher};

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

    fn store(&mut self, now: Cycle, access: Access, value: u64) {
        self.device.host.counters.stores += 1;
        if !self.device.host.config.memory() {
            self.device.host.counters.unsupported += 1;
            return;
        }
        // The MSI-X table is not the driver's.
        if !in_table(&access) {
            self.requests.push_back((now + self.there, Request::Store(access, value)));
        }
    }

    fn load(&mut self, now: Cycle, access: Access) -> LoadId {
        self.device.host.counters.loads += 1;
        self.loads += 1;
        let load = LoadId(self.loads);
        if self.device.host.config.memory() && !in_table(&access) {
            self.requests.push_back((now + self.there, Request::Load(access, load)));
        } else {
            self.device.host.counters.unsupported += u64::from(!in_table(&access));
            self.answers.insert(load, access.ones());
        }
        load
    }

    fn answer(&mut self, load: LoadId) -> Option<u64> {
        self.answers.remove(&load)
    }

    fn backlog(&self) -> usize {
        self.requests.len()
    }

    fn config_read(&self, offset: usize, data: &mut [u8]) {
        self.device.host.config.read(offset, data);
    }

    fn config_write(&mut self, now: Cycle, offset: usize, data: &[u8]) {
        if self.device.host.config.write(offset, data).function_reset {
            return self.reset(now);
        }
        self.set_time(now);
        self.tell_bus();
        self.device.serve_queues();
        self.device.send_interrupts();
        self.look();
    }

    fn reset(&mut self, now: Cycle) {
        for (_, request) in self.requests.drain(..) {
            if let Request::Load(access, load) = request {
                self.answers.insert(load, access.ones());
            }
        }
        for (_, load, value) in self.returning.drain(..) {
            self.answers.insert(load, value);
        }
        self.set_time(now);
        self.device.host.watch.tell(|| Seen::FunctionReset);
        self.device.function_reset();
        self.device.host.config.reset();
        let stores = self.device.host.interrupts.restore();
        self.write_table(now, stores);
        self.look();
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.device.host.memory
    }

    fn bus_counters(&self) -> BusCounters {
        self.device.host.counters
    }

    fn violations(&self) -> &[Violation] {
        &[]
    }

    fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>) {
        let stores = self.device.host.interrupts.set(start, eventfds);
        self.write_table(now, stores);
    }

    fn choose(&mut self, choices: Choices) {
        self.device.choices = choices;
    }

    fn raise(&mut self, vector: usize) {
        self.device.host.interrupts.raise(vector);
    }

    fn watch(&mut self, watcher: Watcher) {
        self.device.host.watch.set(watcher);
        self.tell_bus();
    }
}
