//! A VI whose peer writes: the peer's frames are made by hand.

use viaduct_driver::address::{ConnectionInfo, Service};
use viaduct_driver::device_protocol::rows::{self, Rights};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::setup::Setup;
use viaduct_spec::layout::Field;
use viaduct_spec::tables::{receive, table};
use viaduct_spec::wire::opcode;
use viaduct_tests::frame::{Frame, Reading};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

use super::{AT, BYTES, IMMEDIATE, UNRELIABLE};

/// A VI of host 1 whose peer, host 0, may write to some of its memory; the peer's frames are made here.
pub struct Target {
    pub scene: Scene,
    pub vis: [RawVi; 2],
    pub region: Region,
    pub mtu: usize,
    /// PSN of the next packet.
    pub psn: u32,
    /// The folder of the capture, and all that was on the wire in it.
    pub folder: tempfile::TempDir,
}

/// A RECEIVE row for a VI that is connected.
fn receive_row(
    own: &ConnectionInfo,
    peer: &ConnectionInfo,
    psn: u32,
    service: Service,
    tag: u16,
) -> [u64; 2] {
    let row = rows::Receive::connected(own, peer, tag, Rights::default());
    rows::Receive { psn, service, ..row }.words()
}

impl Target {
    /// With the PSN that the peer begins with.
    pub fn new(service: Service, mtu: u32, bits: &[(Field, u64)]) -> Self {
        Self::at(service, mtu, None, bits)
    }

    /// With the PSN that comes first.
    pub fn at(service: Service, mtu: u32, psn: Option<u32>, bits: &[(Field, u64)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let setup = Setup { pcap: Some(folder.path().join("wire.pcap")), ..quick(11) };
        let scene = Scene::on(World::new(&setup));
        let vis = pair(&scene.hosts, service, mtu);
        let host = &scene.hosts[1];
        let attributes = MemoryAttributes { tag: host.tag, rdma_write: true, rdma_read: false };
        let region = host.register_as(AT, BYTES, attributes);
        let [own, peer] = [vis[1].vi.info(), vis[0].vi.info()];
        let psn = psn.unwrap_or(own.starting_psn);
        let mut words = receive_row(&own, &peer, psn, service, host.tag);
        receive::RDMA_WRITE.put(&mut words, 1);
        bits.iter().for_each(|(field, value)| field.put(&mut words, *value));
        scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &words);
        Self { scene, vis, region, mtu: mtu as usize, psn, folder }
    }

    /// A packet of the peer's; it takes the next PSN.
    pub fn packet(&mut self, op: u8, body: &[u8]) -> Frame {
        let [from, to] = [self.vis[0].vi.info(), self.vis[1].vi.info()];
        let class = if from.service == UNRELIABLE { 0x20 } else { 0 };
        let last = matches!(op, 2..=5 | 8..=11);
        let frame =
            Frame { ack_request: class == 0 && last, ..Frame::new(&from, &to, class | op, self.psn, body) };
        self.psn = (self.psn + 1) & 0xFF_FFFF;
        frame
    }

    /// An RDMA write in as many packets as it needs.
    pub fn write(&mut self, offset: usize, data: &[u8], immediate: bool) -> Vec<Frame> {
        let reth = |target: &Self| {
            let address = target.region.address + offset as u64;
            [
                &address.to_be_bytes()[..],
                &target.region.handle.to_be_bytes(),
                &(data.len() as u32).to_be_bytes(),
            ]
            .concat()
        };
        let carried = if immediate { IMMEDIATE.to_be_bytes().to_vec() } else { vec![] };
        let chunks: Vec<&[u8]> = data.chunks(self.mtu).collect();
        if chunks.len() <= 1 {
            let body = [&reth(self)[..], &carried, data].concat();
            return vec![self.packet(opcode::RC_WRITE_ONLY + u8::from(immediate), &body)];
        }
        let last = chunks.len() - 1;
        let packets = chunks.iter().enumerate().map(|(n, chunk)| match n {
            0 => {
                let body = [&reth(self)[..], chunk].concat();
                self.packet(opcode::RC_WRITE_FIRST, &body)
            }
            n if n == last => {
                self.packet(opcode::RC_WRITE_LAST + u8::from(immediate), &[&carried[..], chunk].concat())
            }
            _ => self.packet(opcode::RC_WRITE_MIDDLE, chunk),
        });
        packets.collect()
    }

    /// Frames of the peer's come in.
    pub fn inject(&self, frames: &[Frame]) {
        frames.iter().for_each(|frame| self.scene.world.inject(1, &frame.bytes()));
        self.scene.world.settle();
    }

    /// Posts a receive; its place.
    pub fn post(&mut self, length: usize) -> usize {
        let place = {
            let host = &mut self.scene.hosts[1];
            self.vis[1].receive(host, &Descriptor::of(host, 0, length))
        };
        self.scene.world.settle();
        place
    }

    /// What stands in a receive.
    pub fn completion(&self, place: usize) -> Completion {
        Completion::read(&self.scene.hosts[1].memory, place)
    }

    /// Bytes that the peer may write.
    pub fn memory(&self, offset: usize, length: usize) -> Vec<u8> {
        self.scene.hosts[1].memory.read(AT + offset, length)
    }

    /// A counter of the target's NIC.
    pub fn counter(&self, number: u64) -> u64 {
        self.scene.world.counter(1, number)
    }

    /// The acknowledgements that the VI's peer got: PSN, syndrome, MSN. Ends the capture.
    pub fn answers(&self) -> Vec<(u32, u8, u32)> {
        let to = self.vis[0].vi.info().queue_pair;
        let frames = self.scene.world.captured(&self.folder.path().join("wire.pcap"));
        let readings = frames.iter().map(|frame| Reading::of(frame));
        let ours = readings.filter(|r| r.opcode == opcode::RC_ACKNOWLEDGE && r.queue_pair == to);
        ours.map(|r| {
            let word = u32::from_be_bytes(r.body[..4].try_into().expect("an AETH"));
            (r.psn, (word >> 24) as u8, word & 0xFF_FFFF)
        })
        .collect()
    }
}
