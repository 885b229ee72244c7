//! From power-up to packets at the core's edge, with all 1024 TS1.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::Damage;
use viaduct_link::generation::Generation;
use viaduct_link::ltssm::MS;

use super::traffic::Traffic;
use super::world::{quick, seed, World, PERIODS};
use crate::mac::training::WAY;

/// Most cycles of a look for a receiver.
const LOOK: u64 = 3000;

/// A cold start on a wire and with a root port that this seed makes; the root port has power from this cycle on, the transceiver from that one.
fn cold(seed: u64, starts: u64, locks: u64) -> World {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut damage = || Damage {
        odd: random.random(),
        inverted: random.random(),
        skp: random.random(),
        glitches: random.random_range(0..2) * 2000,
        ..Damage::default()
    };
    let mut options = quick(seed);
    (options.to_endpoint, options.from_endpoint) = (damage(), damage());
    (options.starts, options.locks) = (starts, locks);
    options.detection = random.random_range(10..LOOK);
    options.ppm = [-600, 0, 600][random.random_range(0..3)];
    options.side.generation = [Generation::First, Generation::Fifth][random.random_range(0..2)];
    // One of the fifth knows numbers up to 31.
    options.side.link_number = random.random_range(0..32);
    let inverted = options.to_endpoint.inverted;
    let mut world = World::new(options, PERIODS[random.random_range(0..PERIODS.len())]);
    world.train();
    assert_eq!(world.from.rx_invert, inverted, "seed {seed}");
    world.enumerate();
    world.traffic = Traffic::of(30);
    world.drain(100_000);
    world.assert_silent();
    world
}

#[test]
fn a_cold_link_trains_a_hundred_times_from_either_side_first_in_any_phase_and_polarity() {
    let seed = seed("endpoint cold");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..100 {
        // The root port or the transceiver is there first, by up to a millisecond. Every 25th time the endpoint is there so early that it
        // looks for a receiver, at 12 ms, and finds none: the root port has power when the look has ended.
        let polls_first = round % 25 == 0;
        let late = random.random_range(8..MS);
        let (starts, locks) = match (polls_first, random.random()) {
            (true, _) => (12 * MS + LOOK + 2 * late, 8),
            (false, true) => (late, 8),
            (false, false) => (0, late),
        };
        let world = cold(seed ^ round << 40, starts, locks);
        let looks = world.path.iter().filter(|(_, state)| *state == DETECT_ACTIVE).count();
        assert!(!polls_first || looks >= 2, "{:?}", world.path);
        let path: Vec<_> = world.path.iter().map(|(_, state)| *state).collect();
        assert!(path.ends_with(&WAY[1..]), "{path:?}");
        let polling =
            world.path.iter().rev().find(|(_, state)| *state == POLLING_ACTIVE).expect("it polled").0;
        let configured =
            world.path.iter().rev().find(|(_, state)| *state == POLLING_CONFIGURATION).expect("it did").0;
        // 1024 sets of 16 symbols.
        assert!(configured - polling >= 8192, "{}", configured - polling);
    }
}
