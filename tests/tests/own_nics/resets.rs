//! Resets of a NIC under load, over RTL: the function's, the link's and the agent's. It is reset in the documented way, and nothing is written
//! that should not be (docs/architecture.md, "Resets").

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_driver::device::{Bar, PciDevice};
use viaduct_driver::kernel_agent::MemoryAttributes;
use viaduct_sim::root_complex::{Conditions, ReadFault};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{control, counter, registers, state};
use viaduct_spec::tables::table;
use viaduct_tests::load::{Load, LENGTH, RECEIVES};
use viaduct_tests::memory::difference;
use viaduct_tests::raw::{Descriptor, RawVi};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{seeds, Host, World};

use super::unkind_bus::{bus, counters, kind, no_violations, rtl, READ_TIMEOUT};

/// Longest that a reset of the function may take without a read that is lost: some round trips.
const PROMPT: u64 = 4000;

/// Waits for the end of a NIC's reset, and looks whether anything comes to memory after it.
fn silent_after_reset(world: &World, host: &Host, limit: u64) -> u64 {
    let begin = world.now();
    world.until("the reset ends", limit, || !world.net.network().is_resetting(host.index));
    let took = world.now() - begin;
    let (memory, before) = (host.memory.snapshot(), counters(world, host.index));
    world.run(5000);
    assert_eq!(difference(&host.memory.snapshot(), &memory), None, "a write of before the reset");
    let after = counters(world, host.index);
    assert_eq!((after.writes, after.reads), (before.writes, before.reads), "seed {}", world.seed);
    no_violations(world);
    took
}

/// A load on random conditions, which change under way or not, and both memories before anything came.
fn load(random: &mut ChaCha8Rng, seed: u64, changes: u64) -> (Load, [Vec<u8>; 2]) {
    let conditions = Conditions { changes, ..Conditions::random(random) };
    let load = Load::new(Scene::on(World::new(&rtl(conditions, seed))), Service::UnreliableDelivery);
    let before = load.scene.snapshots();
    (load, before)
}

/// Lets a load run before NIC 1 is reset: for any time, or for as much of it behind the first bytes of the message in its host's memory. The rest
/// of the message takes longer than that.
fn run_into(load: &Load, random: &mut ChaCha8Rng, cut: bool, before: &[Vec<u8>; 2]) {
    let world = &load.scene.world;
    if cut {
        let first = RECEIVES..RECEIVES + 8;
        let memory = &load.scene.hosts[1].memory;
        let comes = || memory.read(first.start, first.len()) != before[1][first.clone()];
        world.until("the first bytes of the message come", 200_000, comes);
    }
    world.run(random.random_range(0..3000));
}

/// Completions for tags that were in use before a reset: none is taken, and each is counted.
fn stale_completions_are_dropped(world: &World, host: &Host) {
    const TAGS: u32 = 16;
    // A link that was down has to train first, and the NIC clears its counters behind that.
    world.settle();
    let dropped = || world.counter(host.index, counter::TLP_DROPPED);
    let (before, memory) = (dropped(), host.memory.snapshot());
    bus(world, host.index, |now, bus| {
        for tag in 0..TAGS {
            bus.inject(now, vec![0x4A00_0001, 0x0000_0004, 0x0100_0000 | tag << 8, 0xBAD0_BAD0], 0, true);
        }
    });
    world.run(1000);
    assert_eq!(dropped() - before, u64::from(TAGS), "seed {}", world.seed);
    assert_eq!(difference(&host.memory.snapshot(), &memory), None, "seed {}", world.seed);
}

/// What the load left behind a reset of NIC 1: the other one has sent all. How many hosts have a part of a message.
fn halves(load: &Load, before: &[Vec<u8>; 2]) -> usize {
    let sent = load.scene.world.complete(&load.scene.hosts[0], load.sends[0]);
    assert_eq!(sent.status, status::DONE | status::OP_SEND, "seed {}", load.scene.world.seed);
    (0..2).filter(|host| load.is_of_a_message_or_before(*host, &before[*host])).count()
}

#[test]
fn a_function_reset_under_load_ends_what_has_begun_and_the_nic_goes_on() {
    for (seed, changes) in seeds(&[1, 2, 3, 4, 5, 6]).into_iter().flat_map(|seed| [(seed, 0), (seed, 700)]) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (load, before) = load(&mut random, seed, changes);
        run_into(&load, &mut random, changes > 0, &before);
        load.scene.world.net.network().reset(1);
        // What comes in while it drains is nobody's: the NIC has tags 0 to 15.
        let scene = &load.scene;
        scene.world.run(random.random_range(0..20));
        bus(&scene.world, 1, |now, bus| {
            for tag in 0..16 {
                bus.inject(now, vec![0x4A00_0001, 0x0000_0004, 0x0100_1000 | tag << 8, 0xBAD0_BAD0], 0, true);
            }
        });
        silent_after_reset(&scene.world, &scene.hosts[1], 3 * PROMPT);
        let parts = halves(&load, &before);
        assert!(parts > 0 || changes == 0, "seed {seed}: no message was cut");
        stale_completions_are_dropped(&scene.world, &scene.hosts[1]);
        load.anew();
    }
}

#[test]
fn a_link_that_goes_down_under_load_takes_half_packets_with_it_and_the_nic_goes_on() {
    for (seed, changes) in
        seeds(&[11, 12, 13, 14, 15, 16]).into_iter().flat_map(|seed| [(seed, 0), (seed, 700)])
    {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (load, before) = load(&mut random, seed, changes);
        run_into(&load, &mut random, changes > 0, &before);
        load.scene.world.net.network().link_down(1, random.random_range(1..300));
        silent_after_reset(&load.scene.world, &load.scene.hosts[1], PROMPT);
        let parts = halves(&load, &before);
        assert!(parts > 0 || changes == 0, "seed {seed}: no message was cut");
        stale_completions_are_dropped(&load.scene.world, &load.scene.hosts[1]);
        load.anew();
    }
}

/// Reads that cannot be sent are not waited for.
#[test]
fn a_function_reset_waits_for_no_read_that_cannot_be_sent() {
    for without in ["credits", "bus master"] {
        let load = Load::new(Scene::on(World::new(&rtl(kind(), 21))), Service::UnreliableDelivery);
        let before = load.scene.snapshots();
        let world = &load.scene.world;
        world.run(200);
        match without {
            "credits" => bus(world, 1, |_, bus| bus.withhold([true; 3])),
            _ => world.net.network().config_write(1, 4, &[2, 0]),
        }
        world.run(2000);
        world.net.network().reset(1);
        let took = silent_after_reset(world, &load.scene.hosts[1], PROMPT);
        assert!(took < 500, "without {without}: {took} cycles");
        halves(&load, &before);
        bus(world, 1, |_, bus| bus.withhold([false; 3]));
        load.anew();
    }
}

/// The agent resets a NIC, and waits until it is done.
fn agent_reset(world: &World, nic: usize, limit: u64) {
    let device = world.device(nic);
    let mut order = [0];
    control::RESET.put(&mut order, 1);
    device.write32(Bar::Registers, registers::CONTROL, order[0] as u32).expect("the NIC is there");
    let state = || u64::from(device.read32(Bar::Registers, registers::STATE).expect("the NIC is there"));
    world.until("the agent's reset", limit, || state::COMMAND_BUSY.get(&[state()]) == 0);
}

/// The agent's reset of a NIC whose reads cannot be sent does not wait for ever either.
#[test]
fn the_agent_s_reset_waits_for_no_read_that_cannot_be_sent() {
    let load = Load::new(Scene::on(World::new(&rtl(kind(), 22))), Service::UnreliableDelivery);
    let world = &load.scene.world;
    world.run(200);
    bus(world, 1, |_, bus| bus.withhold([true, true, false]));
    world.run(2000);
    agent_reset(world, 1, 20_000);
    bus(world, 1, |_, bus| bus.withhold([false; 3]));
    world.run(2000);
    no_violations(world);
    load.anew();
}

/// Completions that never come: a reset of the function takes as long as one read may, however many are lost.
#[test]
fn a_function_reset_waits_for_lost_reads_as_long_as_for_one() {
    let load = Load::new(Scene::on(World::new(&rtl(kind(), 23))), Service::UnreliableDelivery);
    let world = &load.scene.world;
    world.run(200);
    let first = counters(world, 1).reads;
    let faults = (first..first + 8).map(|number| (number, ReadFault::Missing)).collect();
    bus(world, 1, |_, bus| bus.set_faults(faults));
    world.run(1000);
    assert!(counters(world, 1).reads >= first + 8);
    world.net.network().reset(1);
    world.run(PROMPT);
    bus(world, 1, |_, bus| bus.pass_ticks(READ_TIMEOUT - 1000));
    world.run(PROMPT);
    assert!(world.net.network().is_resetting(1), "nothing was waited for");
    bus(world, 1, |_, bus| bus.pass_ticks(1000));
    silent_after_reset(world, &load.scene.hosts[1], PROMPT);
    load.anew();
}

/// A reset meets each cycle of a packet's way out, when all that the packets bring has been read. Nothing of them may be left behind the reset: the
/// NIC comes to rest, and takes the rows of the next VI.
#[test]
fn a_reset_in_any_cycle_leaves_nothing_of_an_answer_behind() {
    for cycle in 0..48 {
        let Scene { world, mut hosts, .. } = Scene::on(World::new(&rtl(kind(), 31)));
        let readable = MemoryAttributes { tag: hosts[1].tag, rdma_write: false, rdma_read: true };
        let target = hosts[1].register_as(0x1000, LENGTH, readable);
        let [mut own, mut peer] =
            hosts.each_ref().map(|host| RawVi::open(host, Service::ReliableDelivery, 256));
        own.connect(&mut peer);
        let asks = Descriptor::of(&hosts[0], 0x10000, 7 * 256).read_from(target.address, target.handle);
        own.send(&mut hosts[0], &asks);
        let answers = || world.counter(1, counter::FRAMES_SENT);
        let before = answers();
        world.until("answers", 10_000, || answers() > before);
        world.net.network().step(cycle);
        agent_reset(&world, 1, 20_000);
        let state =
            || u64::from(world.device(1).read32(Bar::Registers, registers::STATE).expect("the NIC is there"));
        world.until("the NIC comes to rest", 20_000, || state::IDLE.get(&[state()]) == 1);
        world.commit(1, table::RECEIVE, 0, &[0; 3]);
    }
}
