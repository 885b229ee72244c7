//! What a network steps: a NIC with the host's side of its bus and its port at the switch. The RTL with its root
//! complex and its MAC is one, the functional model another.

use std::fs::File;
use std::time::Instant;

use crate::clock::Cycle;
use crate::fabric::Mac;
use crate::memory::Memory;
use crate::model::Choices;
use crate::network::Probe;
use crate::root_complex::{
    Access, BusCounters, Client, DmaAnswer, LoadId, MessageId, RootComplex, Violation,
};
use crate::watch::Watcher;

/// A PCI function with an Ethernet port.
pub trait Function: Send {
    /// When it has to be stepped again; `None`: now.
    fn sleeps_until(&self, now: Cycle) -> Option<Cycle>;

    /// Runs on to cycle `to`. With `never_skip` idle time is simulated too, and must change nothing.
    fn step(&mut self, from: Cycle, to: Cycle, never_skip: bool);

    /// Its port.
    fn mac(&self) -> &Mac;

    /// Its port, for the switch.
    fn mac_mut(&mut self) -> &mut Mac;

    /// A store of the host. It is posted.
    fn store(&mut self, now: Cycle, access: Access, value: u64);

    /// A load of the host; its answer comes later.
    fn load(&mut self, now: Cycle, access: Access) -> LoadId;

    /// Takes the answer of a load, if it has come.
    fn answer(&mut self, load: LoadId) -> Option<u64>;

    /// Accesses of the host on their way to it.
    fn backlog(&self) -> usize;

    /// Reads configuration space.
    fn config_read(&self, offset: usize, data: &mut [u8]);

    /// Writes configuration space.
    fn config_write(&mut self, now: Cycle, offset: usize, data: &[u8]);

    /// Function reset.
    fn reset(&mut self, now: Cycle);

    /// A reset is not over: what it sent before may still reach memory.
    fn is_resetting(&self, _now: Cycle) -> bool {
        false
    }

    /// Its link to the root complex goes down for so many cycles. Who has no such link is reset.
    fn link_down(&mut self, now: Cycle, _cycles: u64) {
        self.reset(now);
    }

    /// Its root complex, if it has one.
    fn root_complex(&mut self) -> Option<&mut RootComplex> {
        None
    }

    /// The memory that it reaches.
    fn memory(&mut self) -> &mut Memory;

    /// What has gone over its bus.
    fn bus_counters(&self) -> BusCounters;

    /// Rules of the bus that it has broken.
    fn violations(&self) -> &[Violation];

    /// Takes the answer of a load, if it has come, even while writes before it wait for a client.
    fn answer_now(&mut self, load: LoadId) -> Option<u64> {
        self.answer(load)
    }

    /// Gives its interrupt vectors from `start` on an eventfd each, or takes it away.
    fn set_vectors(&mut self, now: Cycle, start: usize, eventfds: Vec<Option<File>>);

    /// Raises a vector for the host, without the NIC.
    fn raise(&mut self, vector: usize);

    /// A client that answers DMA messages has come. Who reaches memory through files only has nothing to ask it.
    fn attach(&mut self, _client: Box<dyn Client>) {}

    /// It has gone.
    fn detach(&mut self, _now: Cycle) {}

    /// It has answered a message.
    fn dma_answer(&mut self, _now: Cycle, _id: MessageId, _answer: DmaAnswer) {}

    /// When [`Function::look_at_wall`] has something to do.
    fn wall_deadline(&self) -> Option<Instant> {
        None
    }

    /// Ends what has waited too long for a client.
    fn look_at_wall(&mut self, _now: Cycle, _wall: Instant) {}

    /// What it makes from now on of what the specification leaves open, if it is a model.
    fn choose(&mut self, _choices: Choices) {}

    /// Has its ports looked at from now on, if it has any.
    fn probe(&mut self, _probe: Probe) {}

    /// Has it told what passes its edges from now on.
    fn watch(&mut self, watcher: Watcher);
}
