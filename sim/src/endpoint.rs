//! A PCI function as its host has it: what crosses the bus, or stands in for the bus where there is none.

use std::fs::File;

use crate::clock::Cycle;
use crate::memory::Memory;
use crate::root_complex::{Access, BusCounters, LoadId, RootComplex, Violation};

/// The host's side of a function.
pub trait Endpoint {
    /// A store of the host. It is posted.
    fn store(&mut self, now: Cycle, access: Access, value: u64);

    /// A load of the host; its answer comes later.
    fn load(&mut self, now: Cycle, access: Access) -> LoadId;

    /// Takes the answer of a load, if it has come.
    fn answer(&mut self, load: LoadId) -> Option<u64>;

    /// Takes the answer of a load, if it has come, even while writes before it wait for a client.
    fn answer_now(&mut self, load: LoadId) -> Option<u64>;

    /// Accesses of the host on their way to it.
    fn backlog(&self) -> usize;

    /// Reads configuration space.
    fn config_read(&self, offset: usize, data: &mut [u8]);

    /// Writes configuration space.
    fn config_write(&mut self, now: Cycle, offset: usize, data: &[u8]);

    /// Function reset.
    fn reset(&mut self, now: Cycle);

    /// A reset is not over: what it sent before may still reach memory.
    fn is_resetting(&self, now: Cycle) -> bool;

    /// Its link to the root complex goes down for so many cycles. Who has no such link is reset.
    fn link_down(&mut self, now: Cycle, cycles: u64);

    /// The memory that it reaches.
    fn memory(&mut self) -> &mut Memory;

    /// What has gone over its bus.
    fn counters(&self) -> BusCounters;

    /// Rules of the bus that it has broken.
    fn violations(&self) -> &[Violation];

    /// Gives its interrupt vectors from `start` on an eventfd each, or takes it away.
    fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>);

    /// Raises a vector for the host, without the NIC.
    fn raise(&mut self, vector: usize);
}

impl Endpoint for RootComplex {
    fn store(&mut self, now: Cycle, access: Access, value: u64) {
        self.store(now, access, value);
    }

    fn load(&mut self, now: Cycle, access: Access) -> LoadId {
        self.load(now, access)
    }

    fn answer(&mut self, load: LoadId) -> Option<u64> {
        self.answer(load)
    }

    fn answer_now(&mut self, load: LoadId) -> Option<u64> {
        self.answer_now(load)
    }

    fn backlog(&self) -> usize {
        self.backlog()
    }

    fn config_read(&self, offset: usize, data: &mut [u8]) {
        self.config_read(offset, data);
    }

    fn config_write(&mut self, now: Cycle, offset: usize, data: &[u8]) {
        self.config_write(now, offset, data);
    }

    fn reset(&mut self, now: Cycle) {
        self.reset(now);
    }

    fn is_resetting(&self, now: Cycle) -> bool {
        self.is_resetting(now)
    }

    fn link_down(&mut self, now: Cycle, cycles: u64) {
        self.link_down(now, cycles);
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn counters(&self) -> BusCounters {
        self.counters()
    }

    fn violations(&self) -> &[Violation] {
        self.violations()
    }

    fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>) {
        self.set_vectors(now, start, eventfds);
    }

    fn raise(&mut self, vector: usize) {
        RootComplex::raise(self, vector);
    }
}
