//! RDMA writes that come in, on the whole NIC: frames made by hand, and those that Linux sent, addressed to our VI and
//! our memory. And the other answers of a responder: receiver not ready, the last word again, Reliable Reception.

use std::path::Path;

use viaduct_driver::address::{ConnectionInfo, Service};
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::agent::MemoryAttributes;
use viaduct_driver::rows::{self, Rights};
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{receive, table};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::{capture, is_roce, Frame, Reading};
use viaduct_tests::raw::{pair, Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const UNRELIABLE: Service = Service::UnreliableDelivery;
const RELIABLE: Service = Service::ReliableDelivery;
const WRITTEN: u32 = status::DONE | status::OP_REMOTE_RDMA_WRITE;
const IMMEDIATE: u32 = 0x1122_3344;
/// Where in the host's memory the peer may write, and how much.
const AT: usize = 0x8000;
const BYTES: usize = 0x4000;

/// A VI of host 1 whose peer, host 0, may write to some of its memory; the peer's frames are made here.
struct Target {
    scene: Scene,
    vis: [RawVi; 2],
    region: Region,
    mtu: usize,
    /// PSN of the next packet.
    psn: u32,
    /// The folder of the capture, and all that was on the wire in it.
    folder: tempfile::TempDir,
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
    fn new(service: Service, mtu: u32, bits: &[(viaduct_spec::layout::Field, u64)]) -> Self {
        Self::at(service, mtu, None, bits)
    }

    /// With the PSN that comes first.
    fn at(service: Service, mtu: u32, psn: Option<u32>, bits: &[(viaduct_spec::layout::Field, u64)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let setup = Setup { pcap: Some(folder.path().join("wire.pcap")), ..quick(11) };
        let scene = Scene::on(World::new(&setup));
        let vis = pair(&scene.hosts, service, mtu);
        let host = &scene.hosts[1];
        let attributes = MemoryAttributes { tag: host.tag, rdma_write: true, rdma_read: false };
        let region = host.register_as(AT, BYTES, attributes);
        let [own, peer] = [vis[1].vi.info(), vis[0].vi.info()];
        let psn = psn.unwrap_or(peer.first_psn);
        let mut words = receive_row(&own, &peer, psn, service, host.tag);
        receive::RDMA_WRITE.put(&mut words, 1);
        bits.iter().for_each(|(field, value)| field.put(&mut words, *value));
        scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &words);
        Self { scene, vis, region, mtu: mtu as usize, psn, folder }
    }

    /// A packet of the peer's; it takes the next PSN.
    fn packet(&mut self, op: u8, body: &[u8]) -> Frame {
        let [from, to] = [self.vis[0].vi.info(), self.vis[1].vi.info()];
        let class = if from.service == UNRELIABLE { 0x20 } else { 0 };
        let last = matches!(op, 2..=5 | 8..=11);
        let frame =
            Frame { ack_request: class == 0 && last, ..Frame::new(&from, &to, class | op, self.psn, body) };
        self.psn = (self.psn + 1) & 0xFF_FFFF;
        frame
    }

    /// An RDMA write in as many packets as it needs.
    fn write(&mut self, offset: usize, data: &[u8], immediate: bool) -> Vec<Frame> {
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

    fn inject(&self, frames: &[Frame]) {
        frames.iter().for_each(|frame| self.scene.world.inject(1, &frame.bytes()));
        self.scene.world.settle();
    }

    fn post(&mut self, length: usize) -> usize {
        let place = {
            let host = &mut self.scene.hosts[1];
            self.vis[1].receive(host, &Descriptor::of(host, 0, length))
        };
        self.scene.world.settle();
        place
    }

    fn completion(&self, place: usize) -> Completion {
        Completion::read(&self.scene.hosts[1].memory, place)
    }

    fn memory(&self, offset: usize, length: usize) -> Vec<u8> {
        self.scene.hosts[1].memory.read(AT + offset, length)
    }

    fn counter(&self, number: u64) -> u64 {
        self.scene.world.counter(1, number)
    }

    /// The acknowledgements that the VI's peer got: PSN, syndrome, MSN. Ends the capture.
    fn answers(&self) -> Vec<(u32, u8, u32)> {
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

fn fill(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|n| (n as u8).wrapping_mul(29) ^ salt ^ (n >> 8) as u8).collect()
}

#[test]
fn a_peer_writes_where_it_may() {
    for service in [UNRELIABLE, RELIABLE, Service::ReliableReception] {
        let mut target = Target::new(service, 1024, &[]);
        let first = target.psn;
        let receive = target.post(100);
        let before = target.scene.snapshots();
        let (mut sent, mut messages) = (Vec::new(), 0);
        for (offset, length) in [(0, 1), (5, 0), (7, 100), (200, 1024), (1301, 5000)] {
            let data = fill(length, offset as u8);
            let frames = target.write(offset, &data, false);
            target.inject(&frames);
            assert_eq!(target.memory(offset, length), data);
            sent.push((offset, data));
            messages += 1;
        }
        let frames = target.write(8000, &fill(3000, 1), true);
        target.inject(&frames);
        sent.push((8000, fill(3000, 1)));
        assert_eq!(
            target.completion(receive),
            Completion { status: WRITTEN | status::IMMEDIATE, length: 3000, immediate: IMMEDIATE }
        );
        assert_eq!(target.counter(counter::MESSAGES_RECEIVED), messages + 1);
        // Nothing else has changed, but the receive.
        let mut expected = before;
        for (offset, data) in &sent {
            expected[1][AT + offset..AT + offset + data.len()].copy_from_slice(data);
        }
        expected[1][receive..receive + 32].copy_from_slice(&target.scene.hosts[1].memory.read(receive, 32));
        target.scene.unchanged_but(expected, &[]);
        assert_eq!(target.vis[1].state(), ViState::Connected);
        target.scene.others_go_on();
        let answers = target.answers();
        if service == UNRELIABLE {
            assert_eq!(answers, []);
        } else {
            let psns = [0, 1, 2, 3, 8, 11].map(|n| (first + n) & 0xFF_FFFF);
            let expected: Vec<_> = (1..).zip(psns).map(|(msn, psn)| (psn, syndrome::ACK, msn)).collect();
            assert_eq!(answers, expected, "{service:?}");
        }
    }
}

#[test]
fn what_may_not_be_written_breaks_the_vi_and_the_nak_is_repeated() {
    let mut target = Target::new(RELIABLE, 1024, &[]);
    let receive = target.post(100);
    let first = target.psn;
    // The last byte lies behind the region; the whole is refused with its first packet.
    let bad = target.write(BYTES - 1999, &fill(2000, 1), false);
    let more = target.write(0, b"more", false);
    let before = target.scene.snapshots();
    target.inject(&bad[..1]);
    assert_eq!(target.vis[1].state(), ViState::Error);
    let events = target.scene.events(1);
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].code, events[0].broke), (event_code::RDMAW_PROT, true));
    assert_eq!(
        target.completion(receive).status,
        status::DONE | status::OP_RECEIVE | status::DESC_FLUSHED_ERROR
    );
    for frame in [&bad[1..], &more].concat() {
        target.inject(&[frame]);
    }
    target.scene.unchanged_but(before, &[(1, receive)]);
    assert_eq!(target.counter(counter::NAKS_SENT), 3);
    target.scene.others_go_on();
    assert_eq!(target.answers(), [(first, syndrome::NAK_ACCESS, 0); 3]);
}

#[test]
fn a_vi_without_the_right() {
    let mut target = Target::new(RELIABLE, 1024, &[(receive::RDMA_WRITE, 0)]);
    let first = target.psn;
    let receive = target.post(100);
    let frames = target.write(0, b"no", true);
    target.inject(&frames);
    assert_eq!(target.completion(receive).status, WRITTEN | status::RDMA_PROT_ERROR);
    assert_eq!(target.scene.events(1)[0].code, event_code::CONN_LOST);
    target.scene.others_go_on();
    assert_eq!(target.answers(), [(first, syndrome::NAK_INVALID, 0)]);
}

#[test]
fn a_receiver_that_is_not_ready_stays() {
    let mut target = Target::new(RELIABLE, 1024, &[(receive::RNR_STAY, 1), (receive::RNR_TIMER, 14)]);
    let first = target.psn;
    let send = target.packet(opcode::RC_SEND_ONLY, b"patience");
    target.inject(std::slice::from_ref(&send));
    target.inject(std::slice::from_ref(&send));
    assert_eq!(target.counter(counter::RNR_SENT), 2);
    assert_eq!((target.vis[1].state(), target.scene.events(1)), (ViState::Connected, vec![]));
    let receive = target.post(100);
    target.inject(&[send]);
    let completion = target.completion(receive);
    assert_eq!((completion.status, completion.length), (status::DONE | status::OP_RECEIVE, 8));
    target.scene.others_go_on();
    let wait = (first, syndrome::RNR_NAK | 14, 0);
    assert_eq!(target.answers(), [wait, wait, (first, syndrome::ACK, 1)]);
}

/// An acknowledgement of Reliable Reception is a round trip of the bus behind one of Reliable Delivery.
#[test]
fn reliable_reception_waits_for_the_bus() {
    const ROUND_TRIP: u64 = 500;
    let times = [RELIABLE, Service::ReliableReception].map(|service| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wire.pcap");
        // The model reaches memory in no time.
        let mut setup = Setup { pcap: Some(file.clone()), kinds: vec![Kind::Rtl], ..quick(12) };
        setup.network.bus.conditions.round_trip = ROUND_TRIP;
        let mut scene = Scene::on(World::new(&setup));
        let mut vis = pair(&scene.hosts, service, 1024);
        let number = vis[1].vi.info().queue_pair;
        let back = vis[0].vi.info().queue_pair;
        // Several at once: one read serves those that wait.
        let [a, b] = &mut scene.hosts;
        let receives: Vec<usize> =
            (0..4).map(|n| vis[1].receive(b, &Descriptor::of(b, 0x1000 * n, 2000))).collect();
        scene.world.settle();
        let sends: Vec<usize> = (0..4).map(|n| vis[0].send(a, &Descriptor::of(a, 0x100 * n, 1500))).collect();
        for (send, receive) in sends.into_iter().zip(receives) {
            assert_eq!(scene.world.complete(&scene.hosts[0], send).status, status::DONE);
            let received = Completion::read(&scene.hosts[1].memory, receive);
            assert_eq!(
                received.status,
                status::DONE | status::OP_RECEIVE,
                "in memory before the acknowledgement"
            );
        }
        scene.world.settle();
        scene.world.check();
        scene.world.captured(&file);
        let mut reader =
            pcap_file::pcap::PcapReader::new(std::fs::File::open(&file).expect("it")).expect("a pcap");
        let (mut sent, mut acknowledged) = (None, None);
        while let Some(packet) = reader.next_packet() {
            let packet = packet.expect("a whole packet");
            let reading = Reading::of(&packet.data);
            if reading.queue_pair == number && reading.opcode == opcode::RC_SEND_LAST {
                sent.get_or_insert(packet.timestamp);
            }
            if reading.queue_pair == back && reading.opcode == opcode::RC_ACKNOWLEDGE {
                acknowledged.get_or_insert(packet.timestamp);
            }
        }
        (acknowledged.expect("an acknowledgement") - sent.expect("a message")).as_nanos() as u64
    });
    println!("{times:?} ns from the last packet to its acknowledgement");
    // Nanoseconds of 125 MHz cycles: one round trip, and what the NIC needs for a read besides.
    let behind = (times[1] - times[0]) / 8;
    assert!((ROUND_TRIP..ROUND_TRIP + 80).contains(&behind), "{times:?}");
}

/// RDMA writes that Linux sent, in runs of PSNs without a hole: their queue pair, address and handle are ours, and
/// whatever else is in them is theirs. What we answer to the last packet of a run is what Linux answered.
#[test]
fn writes_of_linux() {
    let names = [
        "rc_mtu256",
        "rc_mtu4096",
        "rc_psn_wrap",
        "rc_dscp26_ect",
        "rc_ops",
        "rc_pipelined",
        "uc_drop_middle",
    ];
    let (mut messages, mut compared, mut carried) = (0, 0, 0);
    for (name, mtu) in names.into_iter().zip([256, 4096, 1024, 1024, 1024, 1024, 1024]) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/roce");
        let frames: Vec<Vec<u8>> =
            capture(&folder.join(name).with_extension("pcap")).into_iter().filter(|f| is_roce(f)).collect();
        let readings: Vec<Reading> = frames.iter().map(|frame| Reading::of(frame)).collect();
        let is_write = |r: &&Reading| matches!(r.opcode, 0x06..=0x0B | 0x26..=0x2B);
        let Some(client) = readings.iter().find(is_write).map(|r| r.source) else {
            panic!("{name} has no write")
        };
        let writes = readings.iter().filter(is_write).filter(|r| r.source == client);
        let mut runs: Vec<Vec<&Reading>> = Vec::new();
        for write in writes {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|r| (r.psn + 1) & 0xFF_FFFF == write.psn) => {
                    run.push(write)
                }
                _ => runs.push(vec![write]),
            }
        }
        // A run begins where a message does, and its last message is whole.
        runs.retain_mut(|run| {
            let start = run.iter().position(|r| matches!(r.opcode & 0x1F, 6 | 10 | 11)).unwrap_or(run.len());
            run.drain(..start);
            let end = run.iter().rposition(|r| r.opcode & 0x1F >= 8).map_or(0, |n| n + 1);
            run.truncate(end);
            !run.is_empty()
        });
        for run in runs {
            let service = if run[0].opcode & 0x20 == 0 { RELIABLE } else { UNRELIABLE };
            let mut target = Target::at(service, mtu, Some(run[0].psn), &[]);
            let receives: Vec<usize> = (0..4).map(|_| target.post(0)).collect();
            let (mut expected, mut to, mut count, mut immediates) = (fill(BYTES, 0), 0, 0, Vec::new());
            target.scene.hosts[1].memory.write(AT, &expected);
            for reading in &run {
                let mut body = reading.body.clone();
                let op = reading.opcode & 0x1F;
                let mut at = 0;
                if matches!(op, 6 | 10 | 11) {
                    body[..8].copy_from_slice(&(target.region.address + 64).to_be_bytes());
                    body[8..12].copy_from_slice(&target.region.handle.to_be_bytes());
                    (at, to) = (16, 64);
                }
                if matches!(op, 9 | 11) {
                    immediates.push(u32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes")));
                    at += 4;
                }
                let payload = &body[at..];
                expected[to..to + payload.len()].copy_from_slice(payload);
                to += payload.len();
                count += u32::from(op >= 8);
                let frame = Frame { psn: reading.psn, ..target.packet(op, &body) };
                target.inject(&[frame]);
            }
            assert_eq!(target.memory(0, BYTES), expected, "{name}");
            for (receive, immediate) in receives.iter().zip(&immediates) {
                let completion = target.completion(*receive);
                assert_eq!(
                    (completion.status, completion.immediate),
                    (WRITTEN | status::IMMEDIATE, *immediate)
                );
            }
            assert_eq!(target.vis[1].state(), ViState::Connected, "{name}");
            messages += count;
            carried += immediates.len();
            let last = run[run.len() - 1].psn;
            let of_last =
                |r: &&Reading| r.opcode == opcode::RC_ACKNOWLEDGE && r.psn == last && r.source != client;
            if let Some(theirs) = readings.iter().find(of_last) {
                let ours = *target.answers().last().expect("an answer");
                assert_eq!((ours.0, ours.1, ours.2), (last, theirs.body[0], count), "{name}");
                compared += 1;
            }
        }
    }
    println!("{messages} messages, {carried} with immediate data, {compared} answers compared");
    assert!(messages >= 15 && carried >= 2 && compared >= 5);
}
