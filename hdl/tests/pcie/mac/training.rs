//! Training from power-up to L0.

use rand::Rng;
use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::damage::Damage;

use super::traffic::Traffic;
use super::world::{quick, seed, World, MS};

/// The way to L0 of a link that comes up at the first attempt.
pub const WAY: [u64; 10] = [
    DETECT_QUIET,
    DETECT_ACTIVE,
    POLLING_ACTIVE,
    POLLING_CONFIGURATION,
    LINKWIDTH_START,
    LINKWIDTH_ACCEPT,
    LANENUM_WAIT,
    COMPLETE,
    CONFIGURATION_IDLE,
    L0,
];

#[test]
fn a_cold_link_goes_the_way_of_the_specification_and_moves_packets() {
    let mut world = World::new(quick(seed("pcie mac cold")));
    world.train();
    assert_eq!(world.take_path(), WAY);
    assert_eq!(world.deepest(), L0);
    Traffic::new(200).run(&mut world, 100_000, |_, _| {});
    assert!(world.take_path().is_empty());
    world.assert_silent();
}

/// The endpoint, whose MAC this is, trains a hundred times in `endpoint/training.rs`.
#[test]
fn it_trains_each_time_from_either_side_first_in_any_phase() {
    let seed = seed("pcie mac hundred");
    for round in 0..30 {
        let mut options = quick(seed + round);
        let mut random = <rand_chacha::ChaCha8Rng as rand::SeedableRng>::seed_from_u64(seed ^ round << 20);
        let damage = |bits: u64| Damage {
            odd: bits & 1 == 1,
            inverted: bits & 2 == 2,
            skp: bits & 4 == 4,
            glitches: if bits & 8 == 8 { 2000 } else { 0 },
            ..Damage::default()
        };
        options.to_endpoint = damage(random.random());
        options.from_endpoint = damage(random.random());
        // Now and then the root port comes so late that ours has looked and polled before.
        match round % 10 {
            0 => options.starts = random.random_range(13 * MS..40 * MS),
            1 => options.locks = random.random_range(1..MS),
            _ => options.starts = random.random_range(0..MS),
        }
        options.detection = random.random_range(10..3000);
        options.side.link_number = random.random();
        let inverted = options.to_endpoint.inverted;
        let mut world = World::new(options);
        world.train();
        assert_eq!(world.from.rx_invert, inverted, "{round}");
        Traffic::new(20).run(&mut world, 20_000, |_, _| {});
        world.assert_silent();
    }
}
