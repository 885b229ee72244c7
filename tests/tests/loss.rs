//! Reliable connections over a network that loses, damages, repeats and delays frames: every message once, whole and
//! in order, whatever it takes. Each rule of the requester by itself: `retransmission.rs`.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::Setup;
use viaduct_spec::register::counter;
use viaduct_tests::traffic::{Shape, Traffic, MTUS};
use viaduct_tests::world::{quick, random_conditions, seeds};
use vipl::ReliabilityLevel;

/// Frames that a fault may be made for: more than there are.
const FRAMES: u64 = 20_000;

/// So many in 1000 frames of each kind of fault.
fn faults(seed: u64, permille: [u32; 5]) -> Faults {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0xfa17);
    let mut some =
        |permille| (1..FRAMES).filter(|_| random.random_ratio(permille, 1000)).collect::<BTreeSet<u64>>();
    let [drop, flip_icrc, damage, duplicate, delay] = permille.map(&mut some);
    Faults { drop, flip_icrc, damage, duplicate, delay, ..Faults::default() }
}

fn run(setup: Setup, messages: usize) -> Traffic {
    let shape =
        Shape { nics: 2, pairs: 3, messages, mtus: MTUS, levels: &[ReliabilityLevel::ReliableDelivery] };
    let mut traffic = Traffic::new(&setup, &shape);
    // A time-out is 4 ms, half a million cycles.
    traffic.patience = 30_000_000;
    traffic.run();
    traffic.check_memory();
    let world = &traffic.world;
    let both = |code| [world.counter(0, code), world.counter(1, code)];
    let faults = world.net.network().fabric().counters().faults;
    println!(
        "{} cycles, {faults} faults; sent again {:?}, NAKs {:?}, time-outs {:?}, ghosts {:?}",
        world.now(),
        both(counter::RETRANSMITTED),
        both(counter::NAKS_RECEIVED),
        both(counter::TIMEOUTS),
        both(counter::DROP_RESPONSE),
    );
    traffic
}

fn total(traffic: &Traffic, code: u64) -> u64 {
    traffic.world.counter(0, code) + traffic.world.counter(1, code)
}

#[test]
fn messages_arrive_once_and_in_order_on_a_network_that_loses_frames() {
    let (seeds, mut timeouts) = (seeds(&[1, 2, 3, 4, 5, 6]), 0);
    for &seed in &seeds {
        let traffic = run(Setup { faults: faults(seed, [20, 10, 10, 0, 0]), ..random_conditions(seed) }, 12);
        assert!(total(&traffic, counter::RETRANSMITTED) > 0 && total(&traffic, counter::NAKS_RECEIVED) > 0);
        timeouts += total(&traffic, counter::TIMEOUTS);
    }
    assert!(seeds.len() == 1 || timeouts > 0);
}

#[test]
fn messages_arrive_once_and_in_order_on_a_network_that_repeats_and_delays_frames() {
    for seed in seeds(&[1, 2, 3, 4, 5, 6]) {
        let traffic = run(Setup { faults: faults(seed, [0, 0, 0, 50, 50]), ..random_conditions(seed) }, 12);
        assert!(total(&traffic, counter::DUPLICATES) > 0 && total(&traffic, counter::DROP_RESPONSE) > 0);
        assert!(total(&traffic, counter::NAKS_RECEIVED) > 0);
    }
}

#[test]
fn messages_arrive_once_and_in_order_on_a_network_that_does_everything() {
    for seed in seeds(&[1, 2, 3, 4, 5, 6]) {
        run(Setup { faults: faults(seed, [100, 20, 20, 60, 60]), ..quick(seed) }, 8);
    }
}
