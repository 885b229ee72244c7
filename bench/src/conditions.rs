//! What is measured under which conditions.

use viaduct_sim::fabric::Link;
use viaduct_sim::pcie;
use viaduct_sim::root_complex::Split;
use viaduct_sim::setup::{HostLink, Setup};
use vipl::Mtu;

use crate::bound::{Bus, Physics};
use crate::loss::Loss;
use crate::way::Way;

/// Of everything that is random but for what is lost; nothing measured depends on it.
pub const SEED: u64 = 1;
/// Cycles of cable and switch.
const LATENCY: u64 = 64;

/// What is measured under which conditions. Those of the bus are the same for all, but for the round trip: MaxPayload 256,
/// MaxReadRequest 512, completions cut at 64 bytes as seldom as they may be.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// Sends, RDMA writes or RDMA reads.
    pub way: Way,
    /// Whether the second host posts as the first does, at the same time. Sends cannot.
    pub both: bool,
    /// Bytes a cycle on the wire.
    pub rate: u64,
    /// Whether the endpoint's RTL and a lane of PCI Express are between the card and its host.
    pub lane: bool,
    /// Cycles from a read on the bus to its first completion.
    pub round_trip: u64,
    /// Frames that the wire loses.
    pub loss: Loss,
    /// Path MTU.
    pub mtu: Mtu,
    /// Connections.
    pub connections: usize,
    /// Bytes of a message.
    pub message: usize,
    /// Sends posted at a time on each connection; receives are twice as many.
    pub window: usize,
}

impl Conditions {
    /// What is usual: a send of 8 bytes on one connection over the fast wire, which loses nothing.
    pub const USUAL: Self = Self {
        way: Way::Send,
        both: false,
        rate: 8,
        lane: false,
        round_trip: 62,
        loss: Loss::NONE,
        mtu: Mtu::MAX,
        connections: 1,
        message: crate::SHORT,
        window: 16,
    };

    /// What the bound depends on.
    pub fn physics(&self) -> Physics {
        let bus = self.setup().network.bus.conditions;
        Physics {
            bus: if self.lane { Bus::Lane } else { Bus::Edge },
            round_trip: bus.round_trip,
            max_payload: 128 << bus.max_payload,
            max_read: 128 << bus.max_read,
            rate: self.rate,
        }
    }

    /// The simulation.
    pub fn setup(&self) -> Setup {
        let link = if self.lane { HostLink::Pcie(pcie::Options::default()) } else { HostLink::Core };
        let mut setup = Setup { seed: SEED, link, ..Setup::default() };
        setup.network.link = Link { latency: LATENCY, rate: self.rate, ..Link::default() };
        let bus = &mut setup.network.bus.conditions;
        (bus.round_trip, bus.max_payload, bus.max_read, bus.rcb) = (self.round_trip, 1, 2, 64);
        bus.split = Split::Largest;
        setup
    }
}
