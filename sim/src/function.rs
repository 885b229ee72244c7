//! What a network steps: a NIC with the host's side of its bus and its port at the switch. The RTL with its root
//! complex and its MAC is one, the functional model another.

use crate::clock::Cycle;
use crate::fabric::Mac;
use crate::memory::Memory;
use crate::root_complex::{Access, BusCounters, LoadId, RootComplex, Violation};

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

    /// The memory that it reaches.
    fn memory(&mut self) -> &mut Memory;

    /// What has gone over its bus.
    fn bus_counters(&self) -> BusCounters;

    /// Rules of the bus that it has broken.
    fn violations(&self) -> &[Violation];

    /// Its root complex, if it has one that is simulated packet by packet.
    fn root_complex(&mut self) -> Option<&mut RootComplex>;
}
