//! Every counter, raised on purpose: what two RTL NICs and two models count of the same traffic.
//!
//! Each step waits until everything is at rest, so that what is counted depends on the specification and not on how
//! long anything takes.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd;

use rustix::event::{eventfd, EventfdFlags};
use viaduct_driver::address::{Mac, Service};
use viaduct_driver::agent::cqs::ERROR_RING;
use viaduct_driver::agent::raw::{Filter, RECEIVES};
use viaduct_driver::agent::vis::Direction;
use viaduct_driver::agent::MemoryAttributes;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_driver::rows::{self, Rights};
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::register::{command, command_op, counter, registers};
use viaduct_spec::tables::{receive, table, transmit};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::{pair, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

const UNRELIABLE: Service = Service::UnreliableDelivery;
const RELIABLE: Service = Service::ReliableDelivery;
/// PSN of the first packet of reliable connections: far from the next one that asks for an acknowledgement by itself.
const PSN: u32 = 0x10;
/// Where the peer may write and read.
const AT: usize = 0x8000;

/// What these steps cannot raise, and why. `hdl/tests/interrupt/counted.rs` raises them in the whole NIC, but the last.
const NOT_HERE: [(u64, &str); 4] = [
    (counter::DROP_OVERFLOW, "the fabric pauses in time, as the NIC asks"),
    (counter::TLP_DROPPED, "the model has no TLPs, and the host sends none that is wrong"),
    (counter::READS_LOST, "the host answers every read"),
    (counter::COMMAND_IGNORED, "the model's commands take no time"),
];

/// A step of the traffic between hosts 0 and 1, and what it is there for.
type Step = (&'static str, fn(&mut Scene), &'static [u64]);

const STEPS: &[Step] = &[
    (
        "reliable messages",
        reliable_messages,
        &[
            counter::FRAMES_SENT,
            counter::FRAMES_RECEIVED,
            counter::ACKS_SENT,
            counter::ACKS_RECEIVED,
            counter::MESSAGES_SENT,
            counter::MESSAGES_RECEIVED,
            counter::BYTES_SENT,
            counter::BYTES_RECEIVED,
        ],
    ),
    ("unreliable messages", unreliable_messages, &[counter::MESSAGES_SENT, counter::BYTES_RECEIVED]),
    ("RDMA writes", writes, &[counter::MESSAGES_RECEIVED, counter::BYTES_RECEIVED]),
    ("RDMA reads", reads, &[counter::READS_SERVED, counter::BYTES_SENT, counter::BYTES_RECEIVED]),
    ("a packet is lost", lost_packet, &[counter::NAKS_SENT, counter::NAKS_RECEIVED, counter::DROP_PSN]),
    (
        "an acknowledgement is lost",
        lost_acknowledgement,
        &[counter::TIMEOUTS, counter::RETRANSMITTED, counter::DUPLICATES],
    ),
    ("no receive yet", not_ready, &[counter::RNR_SENT, counter::RNR_RECEIVED]),
    ("an answer to nothing", ghost, &[counter::DROP_RESPONSE]),
    ("an unreliable message loses its first packet", partial, &[counter::DROP_PARTIAL]),
    ("an unreliable packet comes twice", twice, &[counter::DROP_PSN]),
    ("an unreliable message without a receive", no_receive, &[counter::DROP_NO_RECEIVE]),
    (
        "longer than the receive",
        too_long,
        &[counter::MESSAGES_SENT, counter::DESCRIPTOR_ERRORS, counter::VIS_BROKEN],
    ),
    (
        "frames that nobody takes",
        strange_frames,
        &[
            counter::DROP_MALFORMED,
            counter::DROP_ICRC,
            counter::DROP_NOT_OURS,
            counter::DROP_BTH,
            counter::DROP_NO_VI,
            counter::CONGESTION,
        ],
    ),
    ("memory that is not the VI's", refused, &[counter::ACCESS_REFUSED]),
    ("half a doorbell", half_a_doorbell, &[counter::DOORBELL_IGNORED]),
    ("a completion queue without room", cq_overrun, &[counter::CQ_OVERRUNS]),
    ("a queue that is armed", interrupt, &[counter::INTERRUPTS]),
    ("the raw channel", raw, &[counter::RAW_RECEIVED, counter::RAW_DROPPED, counter::BYTES_SENT]),
    // From here on there is no error ring.
    ("no error ring", no_error_ring, &[counter::EVENT_LOST]),
];

/// A reliable connection with its first PSN; `stay`: the second VI waits for receives.
fn reliable(scene: &Scene, stay: bool) -> [RawVi; 2] {
    let vis = pair(&scene.hosts, RELIABLE, 1024);
    let [peer, own] = [vis[0].vi.info(), vis[1].vi.info()];
    let mut row = rows::transmit(PSN, RELIABLE, false, 4);
    transmit::TIMEOUT.put(&mut row, 1000);
    transmit::RNR_RETRIES.put(&mut row, 5);
    scene.world.commit(0, table::TRANSMIT, vis[0].index().into(), &row);
    let rights = Rights { write: true, read: true, reads: 4 };
    let row = rows::Receive::connected(&own, &peer, scene.hosts[1].tag, rights);
    let mut row = rows::Receive { psn: PSN, ..row }.words();
    receive::RNR_STAY.put(&mut row, stay.into());
    receive::RNR_TIMER.put(&mut row, 20);
    scene.world.commit(1, table::RECEIVE, vis[1].index().into(), &row);
    vis
}

fn retire(scene: &Scene, vis: [RawVi; 2]) {
    vis.into_iter().for_each(|vi| vi.retire(&scene.world));
}

/// Posts a receive and sends a message; both complete.
fn message(scene: &mut Scene, vis: &mut [RawVi; 2], length: usize) {
    let [a, b] = &mut scene.hosts;
    let receive = vis[1].receive(b, &Descriptor::of(b, 0x1000, length));
    scene.world.settle();
    let send = vis[0].send(a, &Descriptor::of(a, 0x100, length));
    let [sent, received] = [(&*a, send), (&*b, receive)].map(|(host, at)| scene.world.complete(host, at));
    assert_eq!([sent.length, received.length], [length as u32; 2]);
    scene.world.settle();
}

/// A message that may find no receive.
fn send(scene: &mut Scene, vis: &mut [RawVi; 2], length: usize) {
    let a = &mut scene.hosts[0];
    vis[0].send(a, &Descriptor::of(a, 0x100, length));
    scene.world.settle();
}

fn reliable_messages(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    [0, 1, 100, 3000].into_iter().for_each(|length| message(scene, &mut vis, length));
    retire(scene, vis);
}

fn unreliable_messages(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 256);
    [0, 7, 256, 5000].into_iter().for_each(|length| message(scene, &mut vis, length));
    retire(scene, vis);
}

fn writes(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    let [a, b] = &mut scene.hosts;
    let attributes = MemoryAttributes { tag: b.tag, rdma_write: true, rdma_read: false };
    let region = b.register_as(AT, 0x4000, attributes);
    for (length, immediate) in [(0, None), (100, Some(1)), (2500, None)] {
        if immediate.is_some() {
            vis[1].receive(b, &Descriptor::of(b, 0, 10));
            scene.world.settle();
        }
        let write = Descriptor::of(a, 0x100, length).write_to(region.address, region.handle);
        vis[0].send(a, &immediate.into_iter().fold(write, Descriptor::immediate));
        scene.world.settle();
    }
    retire(scene, vis);
}

fn reads(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    let [a, b] = &mut scene.hosts;
    let attributes = MemoryAttributes { tag: b.tag, rdma_write: false, rdma_read: true };
    let region = b.register_as(AT, 0x4000, attributes);
    for length in [0, 100, 2500] {
        let read = Descriptor::of(a, 0x4000, length).read_from(region.address, region.handle);
        let place = vis[0].send(a, &read);
        assert_eq!(scene.world.complete(a, place).length as usize, length);
        scene.world.settle();
    }
    retire(scene, vis);
}

fn lost_packet(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    scene.world.lose([1]);
    message(scene, &mut vis, 1500);
    retire(scene, vis);
}

fn lost_acknowledgement(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    scene.world.lose([2]);
    message(scene, &mut vis, 900);
    retire(scene, vis);
}

fn not_ready(scene: &mut Scene) {
    let mut vis = reliable(scene, true);
    let a = &mut scene.hosts[0];
    let place = vis[0].send(a, &Descriptor::of(a, 0x100, 700));
    let asked = || scene.world.counter(0, counter::RNR_RECEIVED);
    let before = asked();
    scene.world.until("it is told to wait", 20_000, || asked() > before);
    let [a, b] = &mut scene.hosts;
    vis[1].receive(b, &Descriptor::of(b, 0x1000, 700));
    scene.world.until("its time", 2_000_000, || {
        viaduct_tests::raw::Completion::read(&a.memory, place).is_complete()
    });
    scene.world.settle();
    retire(scene, vis);
}

fn ghost(scene: &mut Scene) {
    let mut vis = reliable(scene, false);
    message(scene, &mut vis, 100);
    let [to, from] = [vis[0].vi.info(), vis[1].vi.info()];
    for (ahead, code) in [(1, syndrome::ACK), (5, syndrome::NAK_SEQUENCE), (9, syndrome::NAK_ACCESS)] {
        let body = (u32::from(code) << 24 | 1).to_be_bytes();
        let frame = Frame::new(&from, &to, opcode::RC_ACKNOWLEDGE, PSN + ahead, &body);
        scene.world.inject(0, &frame.bytes());
        scene.world.settle();
    }
    retire(scene, vis);
}

fn partial(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let b = &mut scene.hosts[1];
    vis[1].receive(b, &Descriptor::of(b, 0x1000, 3000));
    scene.world.settle();
    scene.world.lose([1]);
    send(scene, &mut vis, 3000);
    scene.world.lose([2]);
    send(scene, &mut vis, 3000);
    scene.world.lose([]);
    retire(scene, vis);
}

fn twice(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let number = scene.world.net.network().fabric().counters().roce_frames + 1;
    let faults = Faults { duplicate: [number].into(), ..Faults::default() };
    scene.world.net.network().fabric_mut().set_faults(faults);
    message(scene, &mut vis, 100);
    retire(scene, vis);
}

fn no_receive(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    send(scene, &mut vis, 2500);
    retire(scene, vis);
    // The event is taken, so that the ring is as empty as before.
    scene.events(1);
}

fn too_long(scene: &mut Scene) {
    for level in [UNRELIABLE, RELIABLE] {
        let mut vis =
            if level == RELIABLE { reliable(scene, false) } else { pair(&scene.hosts, level, 1024) };
        let b = &mut scene.hosts[1];
        vis[1].receive(b, &Descriptor::of(b, 0x1000, 2000));
        scene.world.settle();
        // The second packet is the last that fits in part: none of it counts as received.
        send(scene, &mut vis, 2040);
        retire(scene, vis);
        let _ = [scene.events(0), scene.events(1)];
    }
}

fn strange_frames(scene: &mut Scene) {
    let vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let [from, to] = [vis[0].vi.info(), vis[1].vi.info()];
    let good = Frame::new(&from, &to, opcode::UC_SEND_ONLY, from.first_psn, &[7; 100]);
    let mut damaged = good.bytes();
    damaged[60] ^= 1;
    let frames = [
        good.bytes()[..80].to_vec(),
        damaged,
        Frame { macs: [Mac([2, 0, 0, 0, 0, 9]), from.mac], ..good.clone() }.bytes(),
        Frame { pkey: 0x1234, ..good.clone() }.bytes(),
        Frame { queue_pair: to.queue_pair ^ 1 << 20, ..good.clone() }.bytes(),
        Frame { opcode: opcode::CONGESTION, ..good }.bytes(),
    ];
    for frame in frames {
        scene.world.inject(1, &frame);
        scene.world.settle();
    }
    retire(scene, vis);
}

fn refused(scene: &mut Scene) {
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    let a = &mut scene.hosts[0];
    let wrong = a.region.handle ^ 1 << 16;
    vis[0].send(a, &Descriptor::new().segment(a.memory.address(0), wrong, 100));
    scene.world.settle();
    retire(scene, vis);
}

fn half_a_doorbell(scene: &mut Scene) {
    let vi = RawVi::new(&scene.hosts[0], UNRELIABLE, 1024);
    let page = u64::from(vi.index()) << scene.hosts[0].agent.limits().doorbell_shift;
    scene.hosts[0].device.write32(Bar::Doorbells, page, 1).expect("the NIC is there");
    scene.world.settle();
    vi.vi.destroy().expect("the NIC answers");
}

fn cq_overrun(scene: &mut Scene) {
    let cq = scene.hosts[0].agent.create_cq(4).expect("a queue");
    let mut vis = [
        RawVi::with_cqs(&scene.hosts[0], UNRELIABLE, 1024, [Some(cq.index()), None]),
        RawVi::new(&scene.hosts[1], UNRELIABLE, 1024),
    ];
    let [a, b] = &mut vis;
    a.connect(b);
    // No message arrives anywhere: its completion is what counts.
    vis[1].vi.break_off().expect("the NIC answers");
    for _ in 0..12 {
        send(scene, &mut vis, 10);
    }
    retire(scene, vis);
    let _ = [scene.events(0), scene.events(1)];
}

fn interrupt(scene: &mut Scene) {
    let file = File::from(eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd"));
    scene.hosts[1].device.set_interrupts(&[file.as_fd()]).expect("vectors");
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    vis[1].vi.arm(Direction::Receive, 0).expect("the NIC is there");
    scene.world.settle();
    message(scene, &mut vis, 100);
    retire(scene, vis);
}

fn raw(scene: &mut Scene) {
    let channels =
        [0, 1].map(|host| scene.hosts[host].agent.open_raw(Filter::default()).expect("a VI is free"));
    let mut frame = vec![0x5A; 300];
    frame[..6].copy_from_slice(&scene.hosts[1].agent.mac().0);
    frame[12..14].copy_from_slice(&[0x88, 0xB5]);
    channels[0].send(&frame).expect("room");
    scene.world.settle();
    // Nobody takes them.
    for _ in 0..RECEIVES + 2 {
        scene.world.inject(1, &frame);
        scene.world.settle();
    }
    channels.into_iter().for_each(|channel| channel.close().expect("the NIC answers"));
}

fn no_error_ring(scene: &mut Scene) {
    scene.world.commit(1, table::COMPLETION_QUEUE, ERROR_RING.into(), &[0, 0]);
    let mut vis = pair(&scene.hosts, UNRELIABLE, 1024);
    send(scene, &mut vis, 10);
    retire(scene, vis);
}

/// A step's name, and what each NIC has counted in it.
type Counted = (&'static str, [Vec<(&'static str, u64)>; 2]);

/// What each step adds to the counters of both NICs.
fn counted(kind: Kind) -> Vec<Counted> {
    let mut scene = Scene::on(World::new(&Setup { kinds: vec![kind], ..quick(51) }));
    let mut all = Vec::new();
    for (name, step, wanted) in STEPS {
        println!("{kind:?}: {name}");
        let before = [0, 1].map(|nic| scene.world.counters(nic));
        step(&mut scene);
        scene.world.settle();
        scene.world.net.network().fabric_mut().set_faults(Faults::default());
        let more = [0, 1].map(|nic| scene.world.counters(nic).since(&before[nic]));
        for number in *wanted {
            let raised = more.iter().flatten().any(|(counted, _)| *counted == name_of(*number));
            assert!(raised, "{kind:?}: {name} does not raise {}: {more:?}", name_of(*number));
        }
        all.push((*name, more));
    }
    scene.world.check();
    all
}

fn name_of(number: u64) -> &'static str {
    counter::CODES.codes.iter().find(|code| code.value == number).expect("a counter").name
}

#[test]
fn two_rtl_nics_and_two_models_count_the_same() {
    let [rtl, model] = [Kind::Rtl, Kind::Model].map(counted);
    for (rtl, model) in rtl.iter().zip(&model) {
        assert_eq!(rtl, model, "RTL, model");
    }
    let raised: BTreeSet<&str> =
        model.iter().flat_map(|(_, more)| more.iter().flatten().map(|(name, _)| *name)).collect();
    let missing: BTreeSet<&str> =
        counter::CODES.codes.iter().map(|code| code.name).filter(|name| !raised.contains(name)).collect();
    let excused: BTreeSet<&str> = NOT_HERE.iter().map(|(number, _)| name_of(*number)).collect();
    assert_eq!(missing, excused, "counters that no step raises, and those that have a reason");
}

#[test]
fn the_rtl_counts_what_the_model_cannot() {
    let scene = Scene::on(World::new(&Setup { kinds: vec![Kind::Rtl], ..quick(52) }));
    // Two commands at once.
    let mut order = [0];
    command::OP.put(&mut order, command_op::DRAIN.into());
    for _ in 0..2 {
        scene.hosts[1]
            .device
            .write64(Bar::Registers, registers::COMMAND, order[0])
            .expect("the NIC is there");
    }
    scene.world.settle();
    assert_eq!(scene.world.counter(1, counter::COMMAND_IGNORED), 1);
}
