//! Two hosts on which something goes wrong, and two virtual interfaces that must not notice.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::kernel_agent::Event;
use viaduct_spec::descriptor::COMPLETION_OFFSET;
use viaduct_spec::register::counter;

use crate::memory::difference;
use crate::raw::{pair, RawVi};
use crate::world::{quick, Host, World};

/// Two hosts, and two VIs that have nothing to do with what goes wrong.
pub struct Scene {
    /// Their VIs, connected.
    pub bystanders: [RawVi; 2],
    /// The hosts.
    pub hosts: [Host; 2],
    /// The network.
    pub world: World,
}

impl Scene {
    /// On a kind network.
    pub fn new(seed: u64) -> Self {
        Self::on(World::new(&quick(seed)))
    }

    /// On this network.
    pub fn on(world: World) -> Self {
        let hosts = [0, 1].map(|n| world.host(n));
        let bystanders = pair(&hosts, Service::ReliableDelivery, 1024);
        Self { bystanders, hosts, world }
    }

    /// The bystanders talk as if nothing had happened, and nothing has happened to the bus.
    pub fn others_go_on(&mut self) {
        self.world.exchange(&mut self.hosts, &mut self.bystanders, 3000);
        assert!(self.bystanders.iter().all(|vi| vi.state() == ViState::Connected));
        self.world.check();
    }

    /// Takes the events of a host's NIC.
    pub fn events(&self, host: usize) -> Vec<Event> {
        self.hosts[host].agent.take_events().expect("the NIC answers")
    }

    /// Accesses that the protection checker of a host's NIC has refused.
    pub fn refusals(&self, host: usize) -> u64 {
        self.world.counter(host, counter::ACCESS_REFUSED)
    }

    /// Both memories as they are.
    pub fn snapshots(&self) -> [Vec<u8>; 2] {
        [0, 1].map(|host| self.hosts[host].memory.snapshot())
    }

    /// Of the hosts' memory nothing has changed but the completions of these descriptors.
    pub fn unchanged_but(&self, mut before: [Vec<u8>; 2], completions: &[(usize, usize)]) {
        self.world.settle();
        for &(host, place) in completions {
            let completion = place + COMPLETION_OFFSET as usize..place + COMPLETION_OFFSET as usize + 8;
            before[host][completion.clone()]
                .copy_from_slice(&self.hosts[host].memory.read(completion.start, 8));
        }
        for (host, before) in before.iter().enumerate() {
            let now = self.hosts[host].memory.snapshot();
            assert_eq!(difference(&now, before), None, "memory of host {host}");
        }
    }
}
