//! The model as its host has it. There is no bus: what crosses it takes half a round trip.

use std::fs::File;

use super::{Model, Request};
use crate::clock::Cycle;
use crate::endpoint::Endpoint;
use crate::memory::Memory;
use crate::root_complex::{in_table, Access, BusCounters, LoadId, Violation};
use crate::watch::Seen;

impl Endpoint for Model {
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

    fn answer_now(&mut self, load: LoadId) -> Option<u64> {
        self.answer(load)
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

    fn is_resetting(&self, _now: Cycle) -> bool {
        false
    }

    fn link_down(&mut self, now: Cycle, _cycles: u64) {
        self.reset(now);
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.device.host.memory
    }

    fn counters(&self) -> BusCounters {
        self.device.host.counters
    }

    fn violations(&self) -> &[Violation] {
        &[]
    }

    fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>) {
        let stores = self.device.host.interrupts.set(start, eventfds);
        self.write_table(now, stores);
    }

    fn raise(&mut self, vector: usize) {
        self.device.host.interrupts.raise(vector);
    }
}
