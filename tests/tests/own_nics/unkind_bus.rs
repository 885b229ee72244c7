//! What a root complex may do to a NIC, over RTL: it goes on, and nothing is written that should not be (docs/simulation.md, "The bus"). Resets
//! stand beside it.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_sim::root_complex::{BusCounters, Conditions, Limits, ReadFault, RootComplex};
use viaduct_sim::setup::{Kind, Setup};
use viaduct_sim::tlp::Tlp;
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tlp::completion_status;
use viaduct_tests::load::{Load, LENGTH, RECEIVED};
use viaduct_tests::raw::Completion;
use viaduct_tests::scene::Scene;
use viaduct_tests::sent::SentPackets;
use viaduct_tests::world::{quick, seeds, World};

const SENT: u32 = status::DONE | status::OP_SEND;
/// Ticks of READ_TIMEOUT: 50.3 ms.
pub(super) const READ_TIMEOUT: u32 = 3 << 14;

pub(super) fn rtl(conditions: Conditions, seed: u64) -> Setup {
    let mut setup = quick(seed);
    setup.kinds = vec![Kind::Rtl; 2];
    setup.network.bus.conditions = conditions;
    setup
}

pub(super) fn bus<T>(world: &World, nic: usize, act: impl FnOnce(u64, &mut RootComplex) -> T) -> T {
    let mut network = world.net.network();
    let now = network.now();
    act(now, network.root_complex(nic).expect("an RTL NIC"))
}

pub(super) fn counters(world: &World, nic: usize) -> BusCounters {
    world.net.network().counters(nic).0
}

pub(super) fn no_violations(world: &World) {
    for nic in [0, 1] {
        assert_eq!(world.net.network().violations(nic), [], "seed {}: NIC {nic}", world.seed);
    }
}

pub(super) fn kind() -> Conditions {
    Conditions { round_trip: 16, ..Conditions::default() }
}

/// Sizes that shrink and grow under load, with credits for exactly one packet of the largest.
#[test]
fn sizes_change_under_load_and_no_packet_is_without_credits() {
    for seed in seeds(&[31, 32, 33]) {
        let credits = Limits { posted: Some(2), posted_data: Some(16), ..Limits::default() };
        let conditions = Conditions { credits, stall: 100, ..kind() };
        let mut load = Load::new(Scene::on(World::new(&rtl(conditions, seed))), Service::ReliableDelivery);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..60 {
            load.scene.world.run(random.random_range(16..300));
            for nic in [0, 1] {
                let sizes = (random.random_range(0..=1), random.random_range(0..=5));
                bus(&load.scene.world, nic, |_, bus| bus.set_sizes(sizes.0, sizes.1));
            }
        }
        load.finish();
        load.scene.others_go_on();
    }
}

/// The credits of a class stay away for 2.4 ms: what needs none of them goes on as far as it can, and then all does.
#[test]
fn a_class_without_credits_for_milliseconds_loses_nothing() {
    /// Bytes of a packet, and of the descriptors that a NIC reads.
    const PACKET: u64 = 1024;
    const DESCRIPTORS: u64 = 2 * 64;
    for class in 0..3 {
        let mut load =
            Load::new(Scene::on(World::new(&rtl(kind(), 41 + class as u64))), Service::UnreliableDelivery);
        load.scene.world.run(100);
        let mut classes = [false; 3];
        classes[class] = true;
        for nic in [0, 1] {
            bus(&load.scene.world, nic, |_, bus| bus.withhold(classes));
        }
        let before = [0, 1].map(|nic| counters(&load.scene.world, nic));
        load.scene.world.run(300_000);
        let after = [0, 1].map(|nic| counters(&load.scene.world, nic));
        for nic in [0, 1] {
            let (then, now) = (before[nic], after[nic]);
            // What was on its way is done within its round trip.
            assert!(class != 0 || now.writes - then.writes < 16, "{now:?}");
            assert!(class != 1 || now.reads - then.reads < 16, "{now:?}");
            assert!(then.read_bytes < LENGTH as u64 / 2 && then.writes == 0, "{then:?}");
            // All is read without posted credits; without the others all is written that has been read by the peer.
            let sent = after[1 - nic].read_bytes - DESCRIPTORS;
            match class {
                0 => assert_eq!(now.read_bytes, LENGTH as u64 + DESCRIPTORS),
                1 => {
                    assert!(now.write_bytes >= PACKET && now.write_bytes == sent / PACKET * PACKET, "{now:?}")
                }
                _ => assert_eq!(
                    (sent, now.write_bytes),
                    (LENGTH as u64, LENGTH as u64 + 2 * 8),
                    "and statuses"
                ),
            }
        }
        if class != 2 {
            // Loads are answered.
            for (nic, now) in after.iter().enumerate() {
                let read = now.read_bytes - DESCRIPTORS;
                let frames = if class == 0 { read.div_ceil(PACKET) } else { read / PACKET };
                assert_eq!(load.scene.world.counter(nic, counter::FRAMES_SENT), frames);
            }
        }
        for nic in [0, 1] {
            bus(&load.scene.world, nic, |_, bus| bus.withhold([false; 3]));
        }
        load.finish();
        load.scene.others_go_on();
    }
}

/// Bus Master comes and goes: what waits for it goes on.
#[test]
fn bus_master_may_be_taken_away_for_a_while() {
    let mut load = Load::new(Scene::on(World::new(&rtl(kind(), 51))), Service::ReliableDelivery);
    let mut random = ChaCha8Rng::seed_from_u64(51);
    for _ in 0..20 {
        load.scene.world.run(random.random_range(16..400));
        load.scene.world.net.network().config_write(1, 4, &[2, 0]);
        load.scene.world.run(random.random_range(16..2000));
        load.scene.world.net.network().config_write(1, 4, &[6, 0]);
    }
    load.finish();
    load.scene.others_go_on();
}

/// Reads that are refused, aborted, poisoned, cut short, late or lost, among them those of descriptors: no byte comes to memory that its peer has not
/// sent, no message completes well that is not whole, what ends badly says why, and others go on. What each read ends: failed_reads.rs.
#[test]
fn reads_that_fail_under_load_write_nothing_wrong() {
    const FAULTS: [ReadFault; 7] = [
        ReadFault::Unsupported,
        ReadFault::Aborted,
        ReadFault::Poisoned,
        ReadFault::Cut,
        ReadFault::Missing,
        ReadFault::Late(3000),
        ReadFault::Late(40_000),
    ];
    let mut met = [0; FAULTS.len()];
    for seed in seeds(&[61]).into_iter().flat_map(|first| first..first + 8) {
        let service = [Service::UnreliableDelivery, Service::ReliableDelivery][seed as usize % 2];
        let mut load = Load::new(Scene::on(World::new(&rtl(kind(), seed))), service);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let before = load.scene.snapshots();
        let faults = [0, 1].map(|nic| {
            let first = counters(&load.scene.world, nic).reads;
            let fault = |_| (first + random.random_range(4..40), random.random_range(0..FAULTS.len()));
            let mut faults: BTreeMap<u64, usize> = (0..2).map(fault).collect();
            // The first of them is always met, and the sixteen NICs of eight seeds have each fault for the first.
            faults.insert(
                first + random.random_range(0..4),
                (2 * (seed as usize % FAULTS.len()) + nic) % FAULTS.len(),
            );
            faults
        });
        for (nic, faults) in faults.iter().enumerate() {
            let faults = faults.iter().map(|(number, fault)| (*number, FAULTS[*fault])).collect();
            bus(&load.scene.world, nic, |_, bus| bus.set_faults(faults));
        }
        load.scene.world.run(20_000);
        // The last of them come after their time.
        for _ in 0..8 {
            (0..2).for_each(|nic| bus(&load.scene.world, nic, |_, bus| bus.pass_ticks(READ_TIMEOUT)));
            load.scene.world.run(8000);
        }
        for (nic, faults) in faults.iter().enumerate() {
            let reads = counters(&load.scene.world, nic).reads;
            faults.iter().filter(|(number, _)| **number < reads).for_each(|(_, fault)| met[*fault] += 1);
            bus(&load.scene.world, nic, |_, bus| bus.set_faults(BTreeMap::new()));
        }
        for nic in [0, 1] {
            ended_as_it_may(&load, nic, service.is_reliable(), &before[nic]);
        }
        load.scene.others_go_on();
        load.anew();
    }
    assert!(met.iter().all(|count| *count > 0), "{met:?} of {FAULTS:?}");
}

/// A host whose reads of a load fail: what it received is its peer's, and each error has its cause (docs/semantics.md, WQ-3, WQ-4 and WQ-8).
fn ended_as_it_may(load: &Load, host: usize, reliable: bool, before: &[u8]) {
    load.is_of_a_message_or_before(host, before);
    let status = |host: usize, place| Completion::read(&load.scene.hosts[host].memory, place).status;
    let (sent, received) = (status(host, load.sends[host]), status(host, load.receives[host]));
    let peer_s = status(1 - host, load.sends[1 - host]);
    let (state, events) = (load.vis[host].state(), load.scene.events(host));
    let seed = load.scene.world.seed;
    let all = format!("seed {seed}: host {host}: {sent:x} {received:x} {peer_s:x} {state:?} {events:?}");
    // A send's own error breaks a reliable VI without an event, a place in a ring any VI with one.
    let failed = sent == SENT | status::TRANSPORT_ERROR;
    let broke = events.iter().any(|event| event.broke) || reliable && failed;
    assert_eq!(state, if broke { ViState::Error } else { ViState::Connected }, "{all}");
    let known = [event_code::POST_DESC, event_code::CONN_LOST];
    assert!(events.iter().all(|event| known[..=usize::from(reliable)].contains(&event.code)), "{all}");
    // Who is acknowledged has been received, and so is who lost nothing of what is not acknowledged.
    let whole = received == RECEIVED;
    assert!(peer_s != SENT || whole || broke && !reliable, "{all}");
    if !reliable && !broke {
        assert!(sent == SENT || failed, "{all}");
        assert_eq!(received, if peer_s == SENT { RECEIVED } else { 0 }, "{all}");
    }
}

/// Packets of the host's that make no sense, or are not for this NIC: it drops and counts them, or answers that it does not support them.
#[test]
fn packets_of_nobody_s_change_nothing() {
    for seed in seeds(&[71, 72, 73]) {
        let mut load = Load::new(Scene::on(World::new(&rtl(kind(), seed))), Service::ReliableDelivery);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let sent = [0, 1].map(|nic| SentPackets::of(&load.scene.world, nic));
        let (mut dropped, mut asked) = ([0; 2], [vec![], vec![]]);
        for _ in 0..300 {
            let stranger = Stranger::random(&mut random);
            let nic = random.random_range(0..2);
            dropped[nic] += u64::from(stranger.dropped);
            asked[nic].extend(stranger.tag);
            let (packet, posted) = (stranger.packet, stranger.tag.is_none());
            bus(&load.scene.world, nic, |now, bus| bus.inject(now, packet, stranger.bar, posted));
            load.scene.world.run(random.random_range(1..60));
        }
        load.finish();
        load.scene.world.settle();
        for nic in [0, 1] {
            let refused = |packet| match packet {
                Tlp::Completion(answer) if answer.requester == STRANGER => Some((answer.tag, answer.status)),
                _ => None,
            };
            let answers: Vec<_> = sent[nic].take().into_iter().filter_map(refused).collect();
            let expected: Vec<_> =
                asked[nic].iter().map(|tag| (*tag, completion_status::UNSUPPORTED)).collect();
            assert_eq!(answers, expected, "seed {seed}: NIC {nic} answers");
            let counted = load.scene.world.counter(nic, counter::TLP_DROPPED);
            assert_eq!(counted, dropped[nic], "seed {seed}: NIC {nic} drops");
        }
        load.scene.others_go_on();
    }
}

/// Who sends what is not for a NIC.
const STRANGER: u16 = 0x00F8;

/// A packet that a NIC has to drop or to refuse.
struct Stranger {
    packet: Vec<u32>,
    bar: u8,
    /// It is counted as dropped.
    dropped: bool,
    /// Its tag, if it wants an answer.
    tag: Option<u8>,
}

impl Stranger {
    fn random(random: &mut ChaCha8Rng) -> Self {
        let stranger = u32::from(STRANGER) << 16;
        let address = random.random_range(0..0x8000u32) & !3;
        // Reads that are too long, locked, of configuration or of I/O are answered, as unsupported.
        if random.random_ratio(1, 4) {
            let kind = [0x0000_0008, 0x0100_0001, 0x0400_0001, 0x0200_0001][random.random_range(0..4)];
            let tag: u8 = random.random();
            let packet = vec![kind, stranger | u32::from(tag) << 8 | 0xFF, address];
            return Self { packet, bar: 0, dropped: false, tag: Some(tag) };
        }
        let mut body: Vec<u32> = (0..random.random_range(1..40)).map(|_| random.random()).collect();
        let (length, bytes) = (body.len() as u32, 0xFF | stranger);
        let number = random.random_range(0..9);
        let mut packet = match number {
            // Completions for nothing that is asked: of another requester, for tags beyond ours.
            0 => vec![0x4A00_0000 | length, 4 * length, stranger | random.random_range(0..0x8000)],
            1 => vec![0x4A00_0000 | length, 4 * length, 0x0100_0000 | random.random_range(16..256) << 8],
            // Completions for reads that may be under way, with more bytes left than any read has.
            2 => vec![0x4A00_0000 | length, 0xFFF, 0x0100_0000 | random.random_range(0..0x1000)],
            // With more data than bytes left.
            3 => {
                body.resize(random.random_range(41..100), 0xBAD0_BAD0);
                vec![0x4A00_0000 | body.len() as u32, 4, 0x0100_0000 | random.random_range(0..0x1000)]
            }
            // A message with data, of a vendor's.
            4 => vec![0x7400_0000 | length, stranger | 0x7F, 0, 0],
            // A store that is too long, or poisoned, or to a BAR that there is not.
            5 => {
                body.resize(random.random_range(3..60), 7);
                vec![0x4000_0000 | body.len() as u32, bytes, address]
            }
            6 => {
                body.truncate(1);
                vec![0x4000_4001, stranger | 0xF, address]
            }
            // A store that ends before its data.
            7 => {
                body.clear();
                vec![0x4000_0002, bytes, address & !7]
            }
            // A prefix, or a type that there is not.
            _ => vec![0x8E00_0000 | random.random::<u32>() & 0xFFFF, bytes, address],
        };
        packet.extend(body);
        Self { packet, bar: [0, 2][random.random_range(0..2)], dropped: number != 4, tag: None }
    }
}

/// A NIC that begins just before its time base wraps: time-outs that lie across it end in their time.
#[test]
fn a_time_base_that_wraps_changes_nothing() {
    let run = |time_base: u32| {
        let conditions = Conditions { time_base, ..kind() };
        let world = World::new(&rtl(conditions, 81));
        let mut load = Load::new(Scene::on(world), Service::ReliableDelivery);
        load.scene.world.lose(1..=64);
        let (world, host, place) = (&load.scene.world, &load.scene.hosts[1], load.receives[1]);
        world.until("time-outs end", 3_000_000, || Completion::read(&host.memory, place).is_complete());
        load.finish();
        load.scene.others_go_on();
        load.scene.world.now()
    };
    let plain = run(0);
    assert!(plain > 500_000, "no time-out was waited for: {plain}");
    for base in [0u32.wrapping_sub(200), 0u32.wrapping_sub(1500), 0u32.wrapping_sub(3500), 0x7FFF_F000] {
        assert_eq!(run(base), plain, "time base {base:#x}");
    }
}
