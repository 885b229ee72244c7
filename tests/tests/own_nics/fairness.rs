//! How long a virtual interface waits for its turn when all of them have work: docs/architecture.md, Fairness.

use std::collections::BTreeMap;

use viaduct_driver::address::Service;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::status;
use viaduct_spec::handle::queue_pair;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::{control, registers};
use viaduct_tests::frame::{timed_capture, Reading};
use viaduct_tests::raw::{Completion, Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, World};

/// Messages of a VI's turn: the tokens that it has at hand.
const TURN: usize = 16;
/// Turns of every other VI between two of one VI.
const OTHERS: usize = VIS - 1;
/// RDMA writes that each VI has posted: a whole ring.
const POSTED: usize = RawVi::SLOTS as usize;
const MTU: usize = 1024;

/// What was on the wire while all VIs were loaded: cycle and VI of each packet.
fn packets(length: impl Fn(usize) -> usize) -> Vec<(u64, usize)> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wire.pcap");
    let setup = Setup { kinds: vec![Kind::Rtl], pcap: Some(file.clone()), ..quick(71) };
    let world = World::new(&setup);
    let hosts = [0, 1].map(|nic| world.host(nic));
    let attributes = MemoryAttributes { tag: hosts[1].tag, rdma_write: true, rdma_read: false };
    let target = hosts[1].register_as(0, 1 << 16, attributes);
    let mut vis: Vec<[RawVi; 2]> = (0..VIS)
        .map(|_| {
            let [mut a, mut b] =
                hosts.each_ref().map(|host| RawVi::open(host, Service::UnreliableDelivery, MTU as u32));
            a.connect(&mut b);
            [a, b]
        })
        .collect();
    // Everything is posted before anything is served.
    let device = hosts[0].device.clone();
    let enabled = device.read32(Bar::Registers, registers::CONTROL).expect("the NIC is there");
    let sends = control::SEND_ENABLE.mask() << control::SEND_ENABLE.lo;
    device.write32(Bar::Registers, registers::CONTROL, enabled & !(sends as u32)).expect("the NIC is there");
    let mut places = Vec::new();
    for _ in 0..POSTED {
        for (number, [vi, _]) in vis.iter_mut().enumerate() {
            let write = Descriptor::of(&hosts[0], 0, length(number)).write_to(target.address, target.handle);
            let bytes = write.encode();
            // Descriptors of one VI's are the same: they lie in one place but for what is completed.
            let place = 0x20000 + 64 * places.len();
            hosts[0].memory.write(place, &bytes);
            let token = hosts[0].region.token(hosts[0].memory.address(place), vi.sends);
            vi.post_token(viaduct_driver::agent::vis::Direction::Send, token);
            places.push(place);
        }
    }
    world.arrived(0);
    device.write32(Bar::Registers, registers::CONTROL, enabled).expect("the NIC is there");
    world.settle();
    for place in places {
        let completion = Completion::read(&hosts[0].memory, place);
        assert_eq!(completion.status, status::DONE | status::OP_RDMA_WRITE);
    }
    let numbers: BTreeMap<u64, usize> = vis
        .iter()
        .enumerate()
        .map(|(number, [_, peer])| (queue_pair::VI.get(&[peer.vi.info().queue_pair.into()]), number))
        .collect();
    world.captured(&file);
    let frames = timed_capture(&file).into_iter();
    frames
        .map(|(when, frame)| {
            let to = u64::from(Reading::of(&frame).queue_pair);
            (when, numbers[&queue_pair::VI.get(&[to])])
        })
        .collect()
}

/// The longest wait of a VI for its next turn: packets of others, and cycles.
fn longest_wait(packets: &[(u64, usize)], vi: usize) -> (usize, u64) {
    let own = packets.iter().enumerate().filter(|(_, (_, owner))| *owner == vi);
    let mut last = (0, packets[0].0);
    let mut longest = (0, 0);
    for (at, (when, _)) in own {
        longest = (longest.0.max(at - last.0), longest.1.max(when - last.1));
        last = (at + 1, *when);
    }
    longest
}

fn report(name: &str, packets: &[(u64, usize)], vis: impl Iterator<Item = usize>) -> (usize, u64) {
    let waits: Vec<(usize, u64)> = vis.map(|vi| longest_wait(packets, vi)).collect();
    let most = waits.iter().map(|wait| wait.0).max().expect("VIs");
    let cycles = waits.iter().map(|wait| wait.1).max().expect("VIs");
    let all = packets.last().expect("packets").0 - packets[0].0;
    println!(
        "{name}: {} packets in {all} cycles; a VI waited for {most} at most, {cycles} cycles",
        packets.len()
    );
    (most, cycles)
}

#[test]
fn no_vi_waits_for_more_than_a_turn_of_every_other_one() {
    let packets = packets(|_| 64);
    assert_eq!(packets.len(), POSTED * VIS);
    let (most, cycles) = report("small messages", &packets, 0..VIS);
    // The rule allows a turn of TURN messages each; with all posted at once, a round is four of each at most.
    assert!(most <= 4 * OTHERS, "{most} messages");
    // And it is a share, not only a bound: in each round everybody has had a turn who had something left.
    let mut sent = [0; VIS];
    for (number, round) in packets.chunks_exact(8 * VIS).enumerate() {
        let before = sent;
        round.iter().for_each(|(_, vi)| sent[*vi] += 1);
        for (vi, (before, now)) in before.iter().zip(&sent).enumerate() {
            assert!(*before == POSTED || now > before, "VI {vi} in round {number}");
        }
    }
    assert_eq!(sent, [POSTED; VIS]);
    let all = packets[packets.len() - 1].0 - packets[0].0;
    // In cycles as in messages: no slower while somebody waits than on the whole.
    let pace = all / packets.len() as u64 + 1;
    assert!(cycles <= (most as u64 + 2) * pace * 5 / 4, "{cycles} for {most} messages, {pace} cycles each");
}

#[test]
fn long_messages_of_one_make_the_others_wait_for_its_turn_and_no_more() {
    const LONG: usize = 1 << 14;
    let packets = packets(|vi| if vi == 0 { LONG } else { 64 });
    assert_eq!(packets.len(), POSTED * (OTHERS + LONG / MTU));
    let (most, _) = report("one with long messages", &packets, 1..VIS);
    assert!(most <= TURN * (OTHERS - 1) + TURN * LONG / MTU, "{most} packets");
    // The one with long messages has its turns as well.
    let (most, _) = report("that one", &packets, 0..1);
    assert!(most <= TURN * OTHERS, "{most} packets");
}

/// Cycles of three messages whose receives have been fetched, while so many of the receiver's VIs, all in Error, have a whole ring
/// of receives to give back.
fn messages_beside(broken: usize) -> u64 {
    let mut scene = Scene::on(World::new(&Setup { kinds: vec![Kind::Rtl], ..quick(72) }));
    let mut vis: Vec<RawVi> = (0..broken)
        .map(|_| {
            let [mut a, mut b] =
                scene.hosts.each_ref().map(|host| RawVi::new(host, Service::ReliableDelivery, MTU as u32));
            a.connect(&mut b);
            b.vi.break_off().expect("the NIC answers");
            b
        })
        .collect();
    let [a, b] = &mut scene.hosts;
    let [from, to] = &mut scene.bystanders;
    let receives = [0; 3].map(|_| to.receive(b, &Descriptor::of(b, 0x1000, 500)));
    scene.world.settle();
    // All is posted before anything is served.
    let device = b.device.clone();
    let enabled = device.read32(Bar::Registers, registers::CONTROL).expect("the NIC is there");
    let serves = control::SEND_ENABLE.mask() << control::SEND_ENABLE.lo;
    device.write32(Bar::Registers, registers::CONTROL, enabled & !(serves as u32)).expect("the NIC is there");
    let mut places = Vec::new();
    for _ in 0..POSTED {
        places.extend(vis.iter_mut().map(|vi| vi.receive(b, &Descriptor::of(b, 0, 100))));
    }
    scene.world.arrived(1);
    device.write32(Bar::Registers, registers::CONTROL, enabled).expect("the NIC is there");
    let start = scene.world.now();
    for _ in receives {
        from.send(a, &Descriptor::of(a, 0x100, 500));
    }
    let complete = |places: &[usize]| {
        places.iter().filter(|place| Completion::read(&b.memory, **place).is_complete()).count()
    };
    scene.world.until("three messages", 100_000, || complete(&receives) == 3);
    let (cycles, back) = (scene.world.now() - start, complete(&places));
    println!(
        "{broken} VIs in Error: {cycles} cycles, {back} of {} receives given back by then",
        places.len()
    );
    assert!(broken == 0 || back < places.len(), "they were given back before");
    scene.world.settle();
    assert_eq!(complete(&places), places.len());
    cycles
}

#[test]
fn vis_in_error_that_give_back_their_receives_hold_no_frame_up() {
    let (alone, beside) = (messages_beside(0), messages_beside(VIS - 2));
    assert!(beside < 3 * alone, "{alone} cycles alone, {beside} beside VIs in Error");
}
