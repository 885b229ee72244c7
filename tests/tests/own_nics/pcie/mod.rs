//! RTL NICs behind PCI Express links, whatever `VIADUCT_LINK` names: what only a link can do to them.

mod damage;
mod resets;
mod skipping;

use viaduct_link::link::Counters;
use viaduct_sim::pcie::Options;
use viaduct_sim::setup::{HostLink, Kind, Setup};
use viaduct_tests::world::{quick, World};

/// Two RTL NICs, each behind a link.
fn linked(seed: u64, options: Options) -> Setup {
    Setup { kinds: vec![Kind::Rtl; 2], link: HostLink::Pcie(options), ..quick(seed) }
}

/// What the root port of a NIC has seen and done.
fn link(world: &World, nic: usize) -> Counters {
    world.net.network().link_counters(nic).expect("it has a link")
}
