//! RDMA reads between two NICs: both sides are the whole NIC.

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_driver::agent::MemoryAttributes;
use viaduct_driver::rows::{self, Rights};
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{table, transmit};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::Frame;
use viaduct_tests::pages::TwoPages;
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, random_conditions, seeds, World};

const RELIABLE: Service = Service::ReliableDelivery;
const READ: u32 = status::DONE | status::OP_RDMA_READ;
const WROTE: u32 = status::DONE | status::OP_RDMA_WRITE;
const SENT: u32 = status::DONE | status::OP_SEND;
/// Where in a host's memory the peer may read, and how much.
const AT: usize = 0x8000;
const BYTES: usize = 0x8000;
/// Where answers go.
const TO: usize = 0x2003;
/// Ticks without progress after which a request is sent again: few, so that a test of losses is short.
const TIMEOUT: u64 = 64;

/// Two VIs, each of which may read the other host's memory.
struct Readers {
    scene: Scene,
    vis: [RawVi; 2],
    regions: [Region; 2],
}

impl Readers {
    fn new(mtu: u32) -> Self {
        Self::on(World::new(&quick(5)), mtu, 4)
    }

    /// On a wire so long that all requests are out before the first answer is back.
    fn far(depth: u32) -> Self {
        let mut setup = quick(5);
        setup.network.link.latency = 1500;
        Self::on(World::new(&setup), 1024, depth)
    }

    fn on(world: World, mtu: u32, depth: u32) -> Self {
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
            let mut words = rows::transmit(own.first_psn, RELIABLE, false, depth);
            transmit::TIMEOUT.put(&mut words, TIMEOUT);
            row(table::TRANSMIT, &words);
            let rights = Rights { write: false, read: true, reads: 4 };
            let words = rows::Receive::connected(&own, &peer, tag, rights).words();
            row(table::RECEIVE, &words);
        }
        Self { scene, vis, regions }
    }

    /// A read of the peer's memory, into these pieces of one's own.
    fn descriptor(&self, host: usize, offset: usize, pieces: &[(usize, usize)]) -> Descriptor {
        let from = self.regions[1 - host];
        let mut descriptor = Descriptor::new().segment(from.address + offset as u64, from.handle, 0);
        descriptor.control = control::OP_RDMAREAD;
        let host = &self.scene.hosts[host];
        pieces.iter().fold(descriptor, |descriptor, &(at, length)| {
            descriptor.segment(host.memory.address(at), host.region.handle, length)
        })
    }

    fn post(&mut self, host: usize, descriptor: &Descriptor) -> usize {
        self.vis[host].send(&mut self.scene.hosts[host], descriptor)
    }

    fn read(&mut self, host: usize, offset: usize, pieces: &[(usize, usize)]) -> usize {
        let descriptor = self.descriptor(host, offset, pieces);
        self.post(host, &descriptor)
    }

    #[track_caller]
    fn done(&self, host: usize, place: usize, length: usize) {
        let completion = self.scene.world.complete(&self.scene.hosts[host], place);
        assert_eq!(completion, Completion { status: READ, length: length as u32, immediate: 0 });
    }

    /// What was read is in these pieces.
    #[track_caller]
    fn arrived(&self, host: usize, offset: usize, pieces: &[(usize, usize)]) {
        let mut offset = AT + offset;
        for &(at, length) in pieces {
            let (here, there) = (&self.scene.hosts[host].memory, &self.scene.hosts[1 - host].memory);
            assert!(here.read(at, length) == there.read(offset, length), "{length} bytes at {at:#x}");
            offset += length;
        }
    }

    fn status(&self, host: usize, place: usize) -> u32 {
        self.scene.world.complete(&self.scene.hosts[host], place).status
    }

    /// Host 1's VI has not the right to be read.
    fn allow_none(&self) {
        let [own, peer] = [1, 0].map(|n| self.vis[n].vi.info());
        let row = rows::Receive::connected(&own, &peer, self.scene.hosts[1].tag, Rights::default());
        self.scene.world.commit(1, table::RECEIVE, self.vis[1].index().into(), &row.words());
    }

    /// A send of one packet from host 0 to host 1.
    fn exchange_one(&mut self) {
        let receive = Descriptor::of(&self.scene.hosts[1], 0, 100);
        self.vis[1].receive(&mut self.scene.hosts[1], &receive);
        let send = Descriptor::of(&self.scene.hosts[0], 0x1000, 100);
        let sent = self.post(0, &send);
        assert_eq!(self.status(0, sent), SENT);
    }
}

#[test]
fn reads_of_all_sizes_bring_the_bytes_and_no_more() {
    for mtu in [256, 1024, 4096] {
        let mut readers = Readers::new(mtu);
        for length in [0, 1, 3, 8, 255, 256, 257, mtu as usize - 1, mtu as usize, mtu as usize + 1, 9000] {
            let before = readers.scene.hosts[0].memory.read(TO - 64, length + 128);
            let place = readers.read(0, 5, &[(TO, length)]);
            readers.done(0, place, length);
            readers.arrived(0, 5, &[(TO, length)]);
            let after = readers.scene.hosts[0].memory.read(TO - 64, length + 128);
            assert_eq!((&after[..64], &after[64 + length..]), (&before[..64], &before[64 + length..]));
        }
        readers.scene.others_go_on();
    }
}

#[test]
fn a_read_goes_into_as_many_segments_as_it_says() {
    let mut readers = Readers::new(256);
    let pieces: Vec<_> = (0..40).map(|n| (0x1000 + 300 * n, [1, 0, 7, 64, 255, 256, 100][n % 7])).collect();
    let length = pieces.iter().map(|piece| piece.1).sum();
    // Another VI's long receives come between, so that nothing of the descriptor can stay where it is looked at.
    let place = readers.read(0, 77, &pieces);
    let other = readers.read(1, 3, &[(0x6000, 5000), (0x4000, 0), (0x4001, 777)]);
    readers.done(0, place, length);
    readers.done(1, other, 5777);
    readers.arrived(0, 77, &pieces);
    readers.arrived(1, 3, &[(0x6000, 5000), (0x4001, 777)]);
}

#[test]
fn many_reads_and_sends_are_under_way_in_both_directions_at_once() {
    for seed in seeds(&[1, 2, 3]) {
        for depth in [1, 4] {
            let mut readers = Readers::on(World::new(&random_conditions(seed)), 512, depth);
            let mut reads = Vec::new();
            let mut others = Vec::new();
            for n in 0..6 {
                for host in 0..2 {
                    let length = [4000, 1, 512, 0, 1300, 2048][n];
                    let at = 0x10000 + 0x1000 * n;
                    reads.push((host, n * 100, at, length, readers.read(host, n * 100, &[(at, length)])));
                    let host_there = &mut readers.scene.hosts[1 - host];
                    let descriptor = Descriptor::of(host_there, 0x100 * n, 100);
                    let receive = readers.vis[1 - host].receive(host_there, &descriptor);
                    readers.scene.world.arrived(1 - host);
                    let descriptor = Descriptor::of(&readers.scene.hosts[host], AT + 200 * n, 100);
                    others.push((host, n, receive, readers.post(host, &descriptor)));
                }
            }
            for (host, offset, at, length, place) in reads {
                readers.done(host, place, length);
                readers.arrived(host, offset, &[(at, length)]);
            }
            for (host, n, receive, send) in others {
                assert_eq!(readers.status(host, send), SENT);
                assert_eq!(readers.status(1 - host, receive), status::DONE | status::OP_RECEIVE);
                let hosts = &readers.scene.hosts;
                assert_eq!(
                    hosts[1 - host].memory.read(0x100 * n, 100),
                    hosts[host].memory.read(AT + 200 * n, 100)
                );
            }
            readers.scene.others_go_on();
        }
    }
}

/// An answer of more packets would leave too few PSNs to tell old from new.
#[test]
fn a_read_of_too_many_packets_is_a_length_error() {
    for (length, error) in [(1 << 28, status::RDMA_PROT_ERROR), ((1 << 28) + 1, status::LENGTH_ERROR)] {
        let mut readers = Readers::new(256);
        let (info, tag) = (readers.vis[0].vi.info(), readers.scene.hosts[0].tag);
        let row = rows::gather(tag, RELIABLE, info.mtu, 1 << 30);
        readers.scene.world.commit(0, table::GATHER, readers.vis[0].index().into(), &row);
        // The peer's region is not as long, and nobody looks at a segment of ours before its answer comes.
        let place = readers.read(0, 0, &[(TO, length)]);
        assert_eq!(readers.status(0, place), READ | error, "{length} bytes");
        assert_eq!(readers.vis[0].state(), ViState::Error);
    }
}

#[test]
fn a_fence_waits_for_the_reads_before_it() {
    let mut readers = Readers::new(256);
    // The send carries what the read brings: without the fence it would be read before.
    for fenced in [true, false] {
        let at = 0x1000;
        readers.scene.hosts[0].memory.write(at, &[0x5A; 8000]);
        let read = readers.read(0, 0, &[(at, 8000)]);
        let host = &mut readers.scene.hosts[1];
        let descriptor = Descriptor::of(host, 0x1000, 64);
        let receive = readers.vis[1].receive(host, &descriptor);
        readers.scene.world.arrived(1);
        let mut descriptor = Descriptor::of(&readers.scene.hosts[0], at + 7900, 64);
        descriptor.control |= if fenced { control::QFENCE } else { 0 };
        let send = readers.post(0, &descriptor);
        let behind = readers.read(0, 9, &[(0x4000, 100)]);
        assert_eq!(readers.status(1, receive), status::DONE | status::OP_RECEIVE);
        readers.done(0, read, 8000);
        assert_eq!(readers.status(0, send), SENT);
        readers.done(0, behind, 100);
        readers.arrived(0, 9, &[(0x4000, 100)]);
        let [here, there] = &readers.scene.hosts;
        let brought = there.memory.read(0x1000, 64) == there.memory.read(AT + 7900, 64);
        assert_eq!(brought, fenced);
        assert!(fenced || there.memory.read(0x1000, 64) == [0x5A; 64]);
        assert_eq!(here.memory.read(at, 8000), there.memory.read(AT, 8000));
    }
}

#[test]
fn a_lost_frame_is_made_good() {
    // Two reads: request, request, 5 packets, 3 packets; the first frame has number 0 or 1.
    for lost in 0..11 {
        let mut readers = Readers::new(1024);
        readers.scene.world.lose([lost]);
        let first = readers.read(0, 11, &[(0x1001, 4500), (0x4003, 600)]);
        let second = readers.read(0, 6000, &[(0x6000, 3000)]);
        readers.done(0, first, 5100);
        readers.done(0, second, 3000);
        readers.arrived(0, 11, &[(0x1001, 4500), (0x4003, 600)]);
        readers.arrived(0, 6000, &[(0x6000, 3000)]);
        assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
        readers.scene.world.lose([]);
        readers.scene.others_go_on();
    }
}

/// Linux's soft-RoCE goes on with the opcodes of the whole read: MIDDLE ... LAST, or a LAST alone, where we would begin with
/// FIRST or say ONLY.
#[test]
fn the_rest_of_a_read_is_taken_with_the_opcodes_of_the_whole() {
    const PACKETS: u64 = 5;
    const MTU: usize = 1024;
    let length = 4 * MTU + 904;
    for kind in [Kind::Rtl, Kind::Model] {
        for missing in 1..PACKETS {
            let setup = Setup { kinds: vec![kind], ..quick(5) };
            let mut readers = Readers::on(World::new(&setup), MTU as u32, 4);
            let [own, peer] = [0, 1].map(|n| readers.vis[n].vi.info());
            let world = &readers.scene.world;
            let before = world.net.network().fabric().counters().roce_frames;
            // The request, what comes of its answer, what is missing of it, and the request for that.
            world.lose(missing + 2..=PACKETS + 2);
            let place = readers.read(0, 100, &[(TO, length)]);
            let world = &readers.scene.world;
            let asked = || world.net.network().fabric().counters().roce_frames == before + PACKETS + 2;
            world.until("it is asked for again", 100_000, asked);
            let data = readers.scene.hosts[1].memory.read(AT + 100, length);
            for packet in missing..PACKETS {
                let at = packet as usize * MTU;
                let rest = &data[at..length.min(at + MTU)];
                let (code, body) = match packet == PACKETS - 1 {
                    true => (opcode::RC_READ_RESPONSE_LAST, [&[syndrome::ACK, 0, 0, 1], rest].concat()),
                    false => (opcode::RC_READ_RESPONSE_MIDDLE, rest.to_vec()),
                };
                let psn = own.first_psn + packet as u32;
                world.inject(0, &Frame::new(&peer, &own, code, psn, &body).bytes());
            }
            readers.done(0, place, length);
            readers.arrived(0, 100, &[(TO, length)]);
            assert_eq!(readers.scene.world.counter(0, counter::DROP_RESPONSE), 0, "{kind:?}, {missing}");
            // And the connection goes on.
            let place = readers.read(0, 0, &[(TO, 100)]);
            readers.done(0, place, 100);
            readers.scene.world.settle();
        }
    }
}

#[test]
fn duplicates_change_nothing() {
    for doubled in 0..9 {
        let mut readers = Readers::new(1024);
        let faults = Faults { duplicate: [doubled].into(), ..Faults::default() };
        readers.scene.world.net.network().fabric_mut().set_faults(faults);
        let first = readers.read(0, 11, &[(0x1001, 3000)]);
        let second = readers.read(0, 6000, &[(0x6000, 3000)]);
        readers.done(0, first, 3000);
        readers.done(0, second, 3000);
        readers.arrived(0, 11, &[(0x1001, 3000)]);
        readers.arrived(0, 6000, &[(0x6000, 3000)]);
    }
}

#[test]
fn a_read_that_may_not_be_is_refused_and_breaks_both_ends() {
    let wrong: [fn(&mut Readers, &mut Descriptor); 4] = [
        |_, read| read.segments[0].handle ^= 1 << 20,
        |_, read| read.segments[0].address += BYTES as u64 - 100,
        |readers, read| {
            // Another tag's.
            let host = &readers.scene.hosts[1];
            let tag = host.agent.create_tag().expect("a tag");
            let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: true };
            read.segments[0].handle = host.register_as(AT, BYTES, attributes).handle;
        },
        |readers, read| {
            let host = &readers.scene.hosts[1];
            read.segments[0].handle = host.register(AT, BYTES, host.tag).handle;
        },
    ];
    for wrong in wrong {
        let mut readers = Readers::new(1024);
        let good = readers.read(0, 0, &[(0x1000, 2000)]);
        let mut read = readers.descriptor(0, 0, &[(0x4000, 1500)]);
        wrong(&mut readers, &mut read);
        let before = readers.scene.hosts[0].memory.read(0x4000, 1500);
        let place = readers.post(0, &read);
        let behind = readers.read(0, 0, &[(0x5000, 10)]);
        readers.done(0, good, 2000);
        assert_eq!(readers.status(0, place), READ | status::RDMA_PROT_ERROR);
        assert!(readers.status(0, behind) & (status::DESC_FLUSHED_ERROR | status::TRANSPORT_ERROR) != 0);
        assert_eq!(readers.scene.hosts[0].memory.read(0x4000, 1500), before);
        assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Error));
        let events = readers.scene.events(1);
        assert_eq!(events.iter().map(|event| event.code).collect::<Vec<_>>(), [event_code::RDMAR_PROT]);
        readers.scene.others_go_on();
    }
}

/// A read, a send, and a write that is refused: only the read's answer is lost.
#[test]
fn a_read_whose_answer_is_lost_before_a_refusal_is_not_what_was_refused() {
    let mut readers = Readers::far(4);
    let b = &mut readers.scene.hosts[1];
    let receive = readers.vis[1].receive(b, &Descriptor::of(b, 0x1000, 10));
    readers.scene.world.settle();
    readers.scene.world.lose([4]);
    let read = readers.read(0, 0, &[(0x1000, 100)]);
    let [a, b] = &mut readers.scene.hosts;
    let send = readers.vis[0].send(a, &Descriptor::of(a, 0x100, 10));
    let write = Descriptor::of(a, 0x100, 10).write_to(b.memory.address(AT), readers.regions[1].handle);
    let write = readers.vis[0].send(a, &write);
    assert_eq!(readers.status(0, read), READ | status::TRANSPORT_ERROR);
    assert_eq!(readers.status(0, send), SENT);
    assert_eq!(readers.status(0, write), WROTE | status::RDMA_PROT_ERROR);
    assert_eq!(readers.status(1, receive), status::DONE | status::OP_RECEIVE);
    let events = [(0, event_code::CONN_LOST, false), (1, event_code::RDMAW_PROT, true)];
    for (host, code, receive) in events {
        assert_eq!(readers.scene.events(host), [readers.vis[host].event(code, receive, true)]);
    }
    readers.scene.others_go_on();
}

#[test]
fn a_segment_of_ones_own_that_may_not_be_written_breaks_the_vi() {
    let mut readers = Readers::new(1024);
    let mut read = readers.descriptor(0, 0, &[(0x1000, 1500), (0x4000, 100)]);
    read.segments[2].handle ^= 1 << 20;
    let place = readers.post(0, &read);
    assert_eq!(readers.status(0, place), READ | status::PROTECTION_ERROR);
    assert_eq!(readers.vis[0].state(), ViState::Error);
    let events = readers.scene.events(0);
    assert_eq!(events.iter().map(|event| event.code).collect::<Vec<_>>(), [event_code::CONN_LOST]);
    readers.scene.others_go_on();
}

/// Status and events of a message that nobody answers; 3 retries.
fn unanswered(read: bool) -> (u32, Vec<u8>) {
    let mut readers = Readers::new(1024);
    let own = readers.vis[0].vi.info();
    let mut words = rows::transmit(own.first_psn, RELIABLE, false, 4);
    transmit::TIMEOUT.put(&mut words, TIMEOUT);
    transmit::RETRIES.put(&mut words, 3);
    readers.scene.world.commit(0, table::TRANSMIT, readers.vis[0].index().into(), &words);
    readers.scene.world.lose(1..20);
    let place = if read {
        readers.read(0, 0, &[(0x1000, 3000)])
    } else {
        let send = Descriptor::of(&readers.scene.hosts[0], 0x1000, 3000);
        readers.post(0, &send)
    };
    let status = readers.status(0, place);
    readers.scene.world.settle();
    (status, readers.scene.events(0).iter().map(|event| event.code).collect())
}

#[test]
fn a_read_that_nobody_answers_is_an_event_of_its_own() {
    let lost = (READ | status::TRANSPORT_ERROR, vec![event_code::RDMA_TRANSPORT]);
    assert_eq!(unanswered(true), lost);
    assert_eq!(unanswered(false), (SENT | status::TRANSPORT_ERROR, vec![event_code::CONN_LOST]));
}

#[test]
fn a_peer_that_allows_no_reads_refuses_and_counts() {
    let mut readers = Readers::new(1024);
    readers.allow_none();
    let place = readers.read(0, 0, &[(0x1000, 10)]);
    assert_eq!(readers.status(0, place), READ | status::RDMA_PROT_ERROR);
    readers.scene.world.settle();
    let codes: Vec<_> = readers.scene.events(1).iter().map(|event| event.code).collect();
    assert_eq!(codes, [event_code::RDMAR_PROT]);
    assert_eq!(readers.scene.world.counter(1, counter::READS_SERVED), 0);
}

/// Where an answer goes is read from its descriptor when it comes.
#[test]
fn a_read_whose_descriptor_is_gone_when_its_answer_comes_breaks_the_vi() {
    let mut readers = Readers::far(4);
    let host = &mut readers.scene.hosts[0];
    let place = host.place(256);
    let region = host.register(place & !0xFFF, 0x1000, host.tag);
    let descriptor = readers.descriptor(0, 0, &[(0x1000, 100), (0x2000, 100), (0x3000, 100)]);
    let host = &readers.scene.hosts[0];
    host.memory.write(place, &descriptor.encode());
    let token = readers.vis[0].token(Direction::Send, &region, host.memory.address(place));
    readers.vis[0].post_token(Direction::Send, token);
    readers.scene.world.run(1000);
    let row = u32::from(region.index());
    readers.scene.world.commit(0, table::REGION, row, &[0; 4]);
    readers.scene.world.settle();
    let codes: Vec<_> = readers.scene.events(0).iter().map(|event| (event.code, event.broke)).collect();
    let expected = match readers.scene.world.is_model(0) {
        // It knows where the answer goes, and finds that it cannot say so.
        true => vec![(event_code::COMP_PROT, true)],
        false => vec![(event_code::CONN_LOST, true), (event_code::COMP_PROT, false)],
    };
    assert_eq!((codes, readers.vis[0].state()), (expected, ViState::Error));
    assert!(!Completion::read(&readers.scene.hosts[0].memory, place).is_complete());
    readers.scene.others_go_on();
}

/// Its head is in one page, the rest in the next; the bus has nothing there any more when the answer comes.
#[test]
fn a_read_the_rest_of_whose_descriptor_is_nowhere_when_its_answer_comes_breaks_the_vi() {
    let mut readers = Readers::far(4);
    let place = 0x1DFC0;
    let pages = TwoPages::around(&readers.scene.world, &readers.scene.hosts[0], place);
    let descriptor = readers.descriptor(0, 0, &[(0x1000, 100), (0x2000, 100), (0x3000, 100)]);
    let host = &readers.scene.hosts[0];
    host.memory.write(place, &descriptor.encode());
    let token = readers.vis[0].token(Direction::Send, &pages.region, host.memory.address(place));
    readers.vis[0].post_token(Direction::Send, token);
    readers.scene.world.run(1000);
    pages.lose_second(&readers.scene.world, &readers.scene.hosts[0]);
    readers.scene.world.settle();
    let (vi, events) = (&readers.vis[0], readers.scene.events(0));
    if readers.scene.world.is_model(0) {
        // It knows where the answer goes.
        assert_eq!((events, readers.status(0, place)), (vec![], READ));
    } else {
        let event = vi.event(event_code::CONN_LOST, false, true);
        assert_eq!((events, readers.status(0, place)), (vec![event], READ | status::TRANSPORT_ERROR));
    }
    // The bus has told what is not there; nothing else happened to the NIC.
    let Scene { world, hosts, bystanders } = &mut readers.scene;
    world.exchange(hosts, bystanders, 3000);
}

/// A read request of `vis[0]`'s, so many packets after its first.
fn request(readers: &Readers, ahead: u32, length: u32) -> Vec<u8> {
    let [from, to] = [0, 1].map(|n| readers.vis[n].vi.info());
    let region = readers.regions[1];
    let address = region.address.to_be_bytes();
    let body: Vec<u8> = [&address[..], &region.handle.to_be_bytes(), &length.to_be_bytes()].concat();
    Frame::new(&from, &to, opcode::RC_READ_REQUEST, from.first_psn.wrapping_add(ahead), &body).bytes()
}

/// What host 1's NIC has counted of reads: served, duplicates, at another PSN.
fn told(readers: &Readers) -> [u64; 3] {
    [counter::READS_SERVED, counter::DUPLICATES, counter::DROP_PSN]
        .map(|number| readers.scene.world.counter(1, number))
}

/// A duplicate read request of so many bytes is dropped, and nothing else comes of it.
fn drops(mut readers: Readers, length: u32) {
    readers.scene.world.inject(1, &request(&readers, 0, length));
    readers.scene.world.settle();
    assert_eq!(told(&readers), [0, 0, 1]);
    assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
    readers.scene.others_go_on();
}

/// The responder remembers READ_DEPTH reads, here four.
#[test]
fn a_duplicate_read_request_is_answered_while_its_read_is_remembered_and_dropped_otherwise() {
    let mut readers = Readers::new(1024);
    // A send, and six reads behind it.
    readers.exchange_one();
    for _ in 0..6 {
        let read = readers.read(0, 0, &[(0x1000, 10)]);
        readers.done(0, read, 10);
    }
    let mut expected = told(&readers);
    assert_eq!(expected, [6, 0, 0]);
    for ahead in [0, 1, 2, 3, 6, 3] {
        readers.scene.world.inject(1, &request(&readers, ahead, 10));
        readers.scene.world.settle();
        match ahead {
            3.. => (expected[0], expected[1]) = (expected[0] + 1, expected[1] + 1),
            _ => expected[2] += 1,
        }
        assert_eq!(told(&readers), expected, "the request {ahead} packets behind the first");
    }
    assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
    readers.scene.others_go_on();
}

#[test]
fn a_duplicate_read_request_to_a_vi_that_allows_no_reads_is_dropped() {
    let mut readers = Readers::new(1024);
    readers.allow_none();
    readers.exchange_one();
    drops(readers, 10);
}

/// 2^23 packets and one byte of one more.
#[test]
fn a_duplicate_read_request_that_no_read_can_have_been_is_dropped() {
    let mut readers = Readers::new(256);
    readers.exchange_one();
    drops(readers, (1 << 31) + 1);
}

/// No answer is back when they are counted: the wire is long.
#[test]
fn as_many_reads_are_under_way_as_the_depth_allows() {
    for depth in [1, 2, 4] {
        let mut readers = Readers::far(depth);
        let frames = |readers: &Readers| readers.scene.world.net.network().fabric().counters().roce_frames;
        let before = frames(&readers);
        let places = [0; 6].map(|_| readers.read(0, 0, &[(0x1000, 100)]));
        readers.scene.world.run(1500);
        assert_eq!(frames(&readers) - before, u64::from(depth), "requests, depth {depth}");
        for place in places {
            readers.done(0, place, 100);
        }
        readers.scene.others_go_on();
    }
}
