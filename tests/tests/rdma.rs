//! RDMA writes from one whole NIC to another: descriptor to descriptor, at every level, with and without losses.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows::{self, Rights};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{table, transmit};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, random_conditions, seeds, World};

const UNRELIABLE: Service = Service::UnreliableDelivery;
const RELIABLE: Service = Service::ReliableDelivery;
const RECEPTION: Service = Service::ReliableReception;
const WROTE: u32 = status::DONE | status::OP_RDMA_WRITE;
const WRITTEN: u32 = status::DONE | status::OP_REMOTE_RDMA_WRITE;
/// Where the peer may write, and how much.
const AT: usize = 0x8000;
const BYTES: usize = 0x8000;

/// Two VIs, the second of which lets the first write to its memory.
struct Writer {
    scene: Scene,
    vis: [RawVi; 2],
    region: Region,
}

impl Writer {
    fn new(setup: &Setup, service: Service, mtu: u32) -> Self {
        let scene = Scene::on(World::new(setup));
        let vis = pair(&scene.hosts, service, mtu);
        let [peer, own] = [vis[0].vi.info(), vis[1].vi.info()];
        let host = &scene.hosts[1];
        let attributes = MemoryAttributes { tag: host.tag, rdma_write: true, rdma_read: false };
        let region = host.register_as(AT, BYTES, attributes);
        let mut row = rows::transmit(own.starting_psn, service, false, 0);
        transmit::TIMEOUT.put(&mut row, 200);
        scene.world.commit(0, table::TRANSMIT, vis[0].index().into(), &row);
        let rights = Rights { write: true, ..Rights::default() };
        let row = rows::Receive::connected(&own, &peer, host.tag, rights).words();
        scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &row);
        Self { scene, vis, region }
    }

    /// Writes from `from` to `to` of the region; where the descriptor is.
    fn write(&mut self, from: usize, to: usize, length: usize, immediate: Option<u32>) -> usize {
        let [a, _] = &mut self.scene.hosts;
        // Two segments, the first of which is odd.
        let odd = length.min(13);
        let descriptor = Descriptor::of(a, from, odd)
            .segment(a.memory.address(from + odd), a.region.handle, length - odd)
            .write_to(self.region.address + to as u64, self.region.handle);
        let descriptor = immediate.into_iter().fold(descriptor, Descriptor::immediate);
        self.vis[0].send(a, &descriptor)
    }

    fn post(&mut self) -> usize {
        let [_, b] = &mut self.scene.hosts;
        // It is taken by the immediate data; its segments are not touched.
        let place = self.vis[1].receive(b, &Descriptor::of(b, 0, 50));
        self.scene.world.settle();
        place
    }

    fn completion(&self, host: usize, place: usize) -> Completion {
        self.scene.world.complete(&self.scene.hosts[host], place)
    }

    fn memory(&self, to: usize, length: usize) -> Vec<u8> {
        self.scene.hosts[1].memory.read(AT + to, length)
    }
}

fn some(setup: &Setup, service: Service, mtu: u32) -> Writer {
    let mut writer = Writer::new(setup, service, mtu);
    let mut expected = writer.scene.snapshots();
    let receives: Vec<usize> = (0..4).map(|_| writer.post()).collect();
    let mut receives = receives.into_iter();
    let mut places = Vec::new();
    let lengths = [0, 1, 4, 100, mtu as usize, mtu as usize + 1, 0, 3 * mtu as usize, 9000];
    let mut to = 7;
    for (n, length) in lengths.into_iter().enumerate() {
        let immediate = (n % 2 == 1).then_some(0xABCD_0000 + n as u32);
        let from = 0x100 + 3 * n;
        let place = writer.write(from, to, length, immediate);
        let received = immediate.map(|value| (receives.next().expect("one"), value));
        let data = writer.scene.hosts[0].memory.read(from, length);
        expected[1][AT + to..AT + to + length].copy_from_slice(&data);
        places.push((place, length, received));
        to += length + 5;
    }
    for (place, length, received) in places {
        let wrote = writer.completion(0, place);
        assert_eq!((wrote.status, wrote.length as usize), (WROTE, length));
        if let Some((place, immediate)) = received {
            let status = WRITTEN | status::IMMEDIATE;
            assert_eq!(writer.completion(1, place), Completion { status, length: length as u32, immediate });
        }
    }
    writer.scene.world.settle();
    assert_eq!(writer.memory(0, to), expected[1][AT..AT + to]);
    assert_eq!(writer.memory(to, BYTES - to), expected[1][AT + to..AT + BYTES], "nothing behind");
    assert_eq!(writer.scene.world.counter(1, counter::MESSAGES_RECEIVED), lengths.len() as u64);
    assert_eq!(writer.vis.each_ref().map(RawVi::state), [ViState::Connected; 2]);
    assert_eq!([writer.scene.events(0), writer.scene.events(1)], [[], []]);
    writer
}

#[test]
fn writes_of_all_lengths_arrive_at_every_level() {
    for seed in seeds(&[1, 2, 3]) {
        for service in [UNRELIABLE, RELIABLE, RECEPTION] {
            for mtu in [256, 1024, 4096] {
                println!("{service}, MTU {mtu}");
                some(&random_conditions(seed), service, mtu).scene.others_go_on();
            }
        }
    }
}

#[test]
fn writes_and_sends_keep_their_order() {
    let mut writer = Writer::new(&quick(4), RELIABLE, 512);
    let receives: Vec<usize> = (0..6).map(|_| writer.post()).collect();
    let mut places = Vec::new();
    for n in 0..6 {
        // Whoever sees the send sees what was written before it.
        places.push(writer.write(0x100 * n, 0x1000 * n, 2000, None));
        let [a, _] = &mut writer.scene.hosts;
        places.push(writer.vis[0].send(a, &Descriptor::of(a, 0, 50)));
    }
    for (n, receive) in receives.into_iter().enumerate() {
        assert_eq!(writer.completion(1, receive).status, status::DONE | status::OP_RECEIVE);
        assert_eq!(writer.memory(0x1000 * n, 2000), writer.scene.hosts[0].memory.read(0x100 * n, 2000));
    }
    for (n, place) in places.into_iter().enumerate() {
        let operation = [status::OP_RDMA_WRITE, status::OP_SEND][n % 2];
        assert_eq!(writer.completion(0, place).status, status::DONE | operation);
    }
    writer.scene.others_go_on();
}

#[test]
fn writes_arrive_on_a_network_that_loses_and_repeats_frames() {
    for seed in seeds(&[1, 2, 3, 4]) {
        for service in [RELIABLE, RECEPTION] {
            // Some of each message, and of what is sent again.
            let every = |n: u64, of: u64| (1..2000).filter(|f| f % of == n).collect();
            let faults = Faults {
                drop: every(seed, 11),
                duplicate: every(3, 7),
                delay: every(5, 13),
                ..Faults::default()
            };
            let writer = some(&Setup { faults, ..random_conditions(seed) }, service, 512);
            assert!(writer.scene.world.counter(0, counter::RETRANSMITTED) > 0);
        }
    }
}

#[test]
fn a_write_that_the_peer_refuses_is_a_protection_error_at_its_sender() {
    for service in [RELIABLE, RECEPTION] {
        for (to, handle_off) in [(BYTES - 1999, 0), (0, 1 << 16)] {
            let mut writer = Writer::new(&quick(5), service, 1024);
            writer.region.handle ^= handle_off;
            let before = writer.memory(0, BYTES);
            let good = writer.vis[0].send(&mut writer.scene.hosts[0], &Descriptor::new().write_to(0, 0));
            let bad = writer.write(0, to, 2000, None);
            let behind = writer.write(0, 0, 10, None);
            assert_eq!(writer.completion(0, good).status, WROTE, "no bytes need no memory");
            assert_eq!(writer.completion(0, bad).status, WROTE | status::RDMA_PROT_ERROR);
            let behind = writer.completion(0, behind).status;
            let unknown = [status::TRANSPORT_ERROR, status::DESC_FLUSHED_ERROR];
            assert!(unknown.contains(&(behind & status::ERROR_MASK)), "{behind:#x}");
            writer.scene.world.settle();
            assert_eq!(writer.memory(0, BYTES), before);
            assert_eq!(writer.vis.each_ref().map(RawVi::state), [ViState::Error; 2]);
            let codes =
                |host: usize| writer.scene.events(host).iter().map(|event| event.code).collect::<Vec<_>>();
            assert_eq!((codes(0), codes(1)), (vec![event_code::CONN_LOST], vec![event_code::RDMAW_PROT]));
            writer.scene.others_go_on();
        }
    }
}
