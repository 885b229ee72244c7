//! What a network may do to a NIC beyond losing its frames: it asks for silence in storms, and brings frames of shapes that are not ours.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_driver::address::Service;
use viaduct_sim::fabric::Link;
use viaduct_sim::setup::Kind;
use viaduct_spec::register::counter;
use viaduct_tests::load::Load;
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, seeds, World};

/// Both NICs are asked for silence again and again, and ask for it themselves because their hosts take writes slowly: nothing is lost.
#[test]
fn storms_of_pauses_both_ways_lose_nothing() {
    for seed in seeds(&[1, 2, 3]) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut setup = quick(seed);
        setup.kinds = vec![Kind::Rtl; 2];
        setup.network.link = Link { storms: [300, 1000, 4000][seed as usize % 3], ..setup.network.link };
        let mut load = Load::new(Scene::on(World::new(&setup)), Service::UnreliableDelivery);
        // No write is taken until both ask for silence; then writes come and go.
        slow(&load.scene.world, [true; 2]);
        let port = |world: &World, nic| world.net.network().counters(nic).1;
        let asked = || [0, 1].iter().all(|nic| port(&load.scene.world, *nic).asked > 0);
        load.scene.world.until("both ask for silence", 100_000, asked);
        for _ in 0..12 {
            slow(&load.scene.world, [random.random(), random.random()]);
            load.scene.world.run(random.random_range(500..3000));
        }
        slow(&load.scene.world, [false; 2]);
        load.finish();
        for nic in [0, 1] {
            assert_eq!(load.scene.world.counter(nic, counter::DROP_OVERFLOW), 0, "NIC {nic} asked too late");
            let port = port(&load.scene.world, nic);
            assert!(port.held > 0 && port.asked > 0, "seed {seed}: NIC {nic}: {port:?}");
        }
        load.scene.others_go_on();
    }
}

/// Whether each host takes no writes.
fn slow(world: &World, hosts: [bool; 2]) {
    for (nic, slow) in hosts.into_iter().enumerate() {
        let mut network = world.net.network();
        network.root_complex(nic).expect("an RTL NIC").withhold([slow, false, false]);
    }
}

/// Frames with two tags, jumbo frames and runts, all in between a message: an RTL NIC and a model drop and count the same.
#[test]
fn frames_of_other_shapes_are_dropped_and_counted() {
    let counted = |kind: Kind, seed: u64| {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut setup = quick(seed);
        setup.kinds = vec![kind; 2];
        let mut load = Load::new(Scene::on(World::new(&setup)), Service::ReliableDelivery);
        load.finish();
        load.scene.world.settle();
        let before = load.scene.world.counters(1);
        load.post();
        for n in 0..60 {
            load.scene.world.inject(1, &odd_frame(&mut random, n));
            load.scene.world.run(random.random_range(0..300));
        }
        load.finish();
        load.scene.world.settle();
        let all = load.scene.world.counters(1).since(&before);
        load.scene.others_go_on();
        all.into_iter().filter(|(name, _)| name.starts_with("DROP_")).collect::<Vec<_>>()
    };
    for seed in seeds(&[11, 12]) {
        let rtl = counted(Kind::Rtl, seed);
        assert_eq!(rtl, counted(Kind::Model, seed), "seed {seed}");
        assert_eq!(rtl.iter().map(|(_, count)| count).sum::<u64>(), 60, "seed {seed}: {rtl:?}");
    }
}

/// A frame to NIC 1 that it has to drop.
fn odd_frame(random: &mut ChaCha8Rng, number: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 9];
    let length = match number % 4 {
        // A service tag alone, and before a customer's.
        0 => {
            frame.extend([0x88, 0xA8, 0x20, 5]);
            if random.random() {
                frame.extend([0x81, 0, 0x20, 6]);
            }
            frame.extend([8, 0, 0x45, 0]);
            random.random_range(60..1500)
        }
        // Two tags of a customer's.
        1 => {
            frame.extend([0x81, 0, 0x20, 5, 0x81, 0, 0x20, 6, 8, 0, 0x45, 0]);
            random.random_range(60..1500)
        }
        // A jumbo frame.
        2 => {
            frame.extend([8, 0, 0x45, 0]);
            random.random_range(4230..9216)
        }
        // A runt.
        _ => random.random_range(1..60),
    };
    frame.resize_with(length, || random.random());
    frame
}
