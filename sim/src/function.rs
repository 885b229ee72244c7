//! What a network steps: a NIC with a port at the switch. The RTL with its root complex and its MAC is one, the functional
//! model another.

use crate::clock::Cycle;
use crate::endpoint::Endpoint;
use crate::fabric::Mac;

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

    /// Its other side, as it is.
    fn endpoint(&self) -> &dyn Endpoint;

    /// Its other side, for its host.
    fn endpoint_mut(&mut self) -> &mut dyn Endpoint;
}
