//! Two NICs under load: long messages both ways.

use viaduct_driver::address::Service;
use viaduct_spec::descriptor::{status, COMPLETION_OFFSET};

use crate::memory::difference;
use crate::raw::{pair, Completion, Descriptor, RawVi};
use crate::scene::Scene;

/// Two hosts whose NICs send long messages to each other, both ways.
pub struct Load {
    /// The hosts.
    pub scene: Scene,
    /// Where each host's send is.
    pub sends: [usize; 2],
    /// Where each host's receive is.
    pub receives: [usize; 2],
    /// Their VIs, connected.
    pub vis: [RawVi; 2],
}

/// Status of a receive that has taken a message.
pub const RECEIVED: u32 = status::DONE | status::OP_RECEIVE;
/// Bytes of a message.
pub const LENGTH: usize = 30_000;
/// Where each host's message comes to.
pub const RECEIVES: usize = 0x10000;

impl Load {
    /// Connects two VIs of this service, and posts.
    pub fn new(scene: Scene, service: Service) -> Self {
        let mut load =
            Self { vis: pair(&scene.hosts, service, 1024), scene, sends: [0; 2], receives: [0; 2] };
        load.post();
        load
    }

    /// Posts a receive and a send on each side.
    pub fn post(&mut self) {
        let hosts = &mut self.scene.hosts;
        for n in [0, 1] {
            let into = Descriptor::of(&hosts[n], RECEIVES, LENGTH);
            self.receives[n] = self.vis[n].receive(&mut hosts[n], &into);
        }
        self.scene.world.run(600);
        for n in [0, 1] {
            let from = Descriptor::of(&hosts[n], 0x1000, LENGTH);
            self.sends[n] = self.vis[n].send(&mut hosts[n], &from);
        }
    }

    /// All messages arrive whole.
    pub fn finish(&mut self) {
        let Self { scene, sends, receives, .. } = self;
        for n in [0, 1] {
            let other = &scene.hosts[1 - n];
            let received = scene.world.complete(other, receives[1 - n]);
            assert_eq!((received.status, received.length), (RECEIVED, LENGTH as u32));
            assert_eq!(other.memory.read(RECEIVES, LENGTH), scene.hosts[n].memory.read(0x1000, LENGTH));
            assert_eq!(scene.world.complete(&scene.hosts[n], sends[n]).status & status::DONE, status::DONE);
        }
    }

    /// Each byte where a host receives is what its peer sent or what was `before`; a receive that is done well has all; nothing else of the
    /// host's memory has changed but the completions of the load. Whether a part of the message alone is there.
    pub fn is_of_a_message_or_before(&self, host: usize, before: &[u8]) -> bool {
        let (seed, memory) = (self.scene.world.seed, &self.scene.hosts[host].memory);
        let sent = self.scene.hosts[1 - host].memory.read(0x1000, LENGTH);
        let (into, now) = (RECEIVES..RECEIVES + LENGTH, memory.snapshot());
        for at in 0..LENGTH {
            let byte = now[RECEIVES + at];
            let known = byte == sent[at] || byte == before[RECEIVES + at];
            assert!(known, "seed {seed}: byte {at} of host {host} is of neither message nor before");
        }
        let received = Completion::read(memory, self.receives[host]);
        let whole = now[into.clone()] == sent;
        let good = received.status != RECEIVED || whole && received.length as usize == LENGTH;
        assert!(good, "seed {seed}: host {host}: a message that is not whole: {received:x?}");
        let mut expected = before.to_vec();
        let completions = [self.sends[host], self.receives[host]].map(|place| {
            let at = place + COMPLETION_OFFSET as usize;
            at..at + 8
        });
        for range in completions.into_iter().chain([into.clone()]) {
            expected[range.clone()].copy_from_slice(&now[range]);
        }
        assert_eq!(difference(&now, &expected), None, "seed {seed}: host {host}");
        !whole && now[into.clone()] != before[into]
    }

    /// Both hosts open their NICs anew, and talk.
    pub fn anew(self) {
        let Self { scene, vis, .. } = self;
        let Scene { world, hosts, bystanders } = scene;
        drop((vis, bystanders, hosts));
        let mut scene = Scene::on(world);
        scene.world.exchange(&mut scene.hosts, &mut scene.bystanders, 3000);
    }
}
