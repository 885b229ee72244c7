//! Two VIs that read each other's memory.

use viaduct_driver::device_protocol::rows::{self, Rights};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_spec::descriptor::control;
use viaduct_spec::tables::{table, transmit};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use super::{AT, BYTES, READ, RELIABLE, SENT, TIMEOUT};

/// Two VIs, each of which may read the other host's memory.
pub struct Readers {
    pub scene: Scene,
    pub vis: [RawVi; 2],
    pub regions: [Region; 2],
}

impl Readers {
    /// With four reads under way at most.
    pub fn new(mtu: u32) -> Self {
        Self::on(World::new(&quick(5)), mtu, 4)
    }

    /// On a wire so long that all requests are out before the first answer is back.
    pub fn far(depth: u32) -> Self {
        let mut setup = quick(5);
        setup.network.link.latency = 1500;
        Self::on(World::new(&setup), 1024, depth)
    }

    pub fn on(world: World, mtu: u32, depth: u32) -> Self {
        let scene = Scene::on(world);
        let vis = pair(&scene.hosts, RELIABLE, mtu);
        let regions = [0, 1].map(|n| {
            let host = &scene.hosts[n];
            let attributes = MemoryAttributes { tag: host.tag, rdma_write: false, rdma_read: true };
            host.register_as(AT, BYTES, attributes)
        });
        for (n, vi) in vis.iter().enumerate() {
            let (own, peer, tag) = (vi.vi.info(), vis[1 - n].vi.info(), scene.hosts[n].tag);
            let row = |table, words: &[u64]| scene.world.commit(n, table, vi.index().into(), words);
            row(table::GATHER, &rows::gather(tag, RELIABLE, own.mtu, 1 << 16));
            let mut words = rows::transmit(peer.starting_psn, RELIABLE, false, depth);
            transmit::TIMEOUT.put(&mut words, TIMEOUT);
            row(table::TRANSMIT, &words);
            let rights = Rights { write: false, read: true, reads: 4 };
            let words = rows::Receive::connected(&own, &peer, tag, rights).words();
            row(table::RECEIVE, &words);
        }
        Self { scene, vis, regions }
    }

    /// A read of the peer's memory, into these pieces of one's own.
    pub fn descriptor(&self, host: usize, offset: usize, pieces: &[(usize, usize)]) -> Descriptor {
        let from = self.regions[1 - host];
        let mut descriptor = Descriptor::new().segment(from.address + offset as u64, from.handle, 0);
        descriptor.control = control::OP_RDMAREAD;
        let host = &self.scene.hosts[host];
        pieces.iter().fold(descriptor, |descriptor, &(at, length)| {
            descriptor.segment(host.memory.address(at), host.region.handle, length)
        })
    }

    /// Posts a descriptor of one's own; its place.
    pub fn post(&mut self, host: usize, descriptor: &Descriptor) -> usize {
        self.vis[host].send(&mut self.scene.hosts[host], descriptor)
    }

    /// Posts a read; its place.
    pub fn read(&mut self, host: usize, offset: usize, pieces: &[(usize, usize)]) -> usize {
        let descriptor = self.descriptor(host, offset, pieces);
        self.post(host, &descriptor)
    }

    /// The read ends well.
    #[track_caller]
    pub fn done(&self, host: usize, place: usize, length: usize) {
        let completion = self.scene.world.complete(&self.scene.hosts[host], place);
        assert_eq!(completion, Completion { status: READ, length: length as u32, immediate: 0 });
    }

    /// What was read is in these pieces.
    #[track_caller]
    pub fn arrived(&self, host: usize, offset: usize, pieces: &[(usize, usize)]) {
        let mut offset = AT + offset;
        for &(at, length) in pieces {
            let (here, there) = (&self.scene.hosts[host].memory, &self.scene.hosts[1 - host].memory);
            assert!(here.read(at, length) == there.read(offset, length), "{length} bytes at {at:#x}");
            offset += length;
        }
    }

    /// How it ended.
    pub fn status(&self, host: usize, place: usize) -> u32 {
        self.scene.world.complete(&self.scene.hosts[host], place).status
    }

    /// Host 1's VI has not the right to be read.
    pub fn allow_none(&self) {
        let [own, peer] = [1, 0].map(|n| self.vis[n].vi.info());
        let row = rows::Receive::connected(&own, &peer, self.scene.hosts[1].tag, Rights::default());
        self.scene.world.commit(1, table::RECEIVE, self.vis[1].index().into(), &row.words());
    }

    /// A send of one packet from host 0 to host 1.
    pub fn exchange_one(&mut self) {
        let receive = Descriptor::of(&self.scene.hosts[1], 0, 100);
        self.vis[1].receive(&mut self.scene.hosts[1], &receive);
        let send = Descriptor::of(&self.scene.hosts[0], 0x1000, 100);
        let sent = self.post(0, &send);
        assert_eq!(self.status(0, sent), SENT);
    }
}
