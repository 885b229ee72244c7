//! Damage on the wire: what it does not stop.

use rand::Rng;
use viaduct_link::damage::Damage;

use super::traffic::Traffic;
use super::world::{quick, seed, World};

#[test]
fn skp_sets_of_one_to_five_move_nothing_away() {
    for odd in [false, true] {
        let mut options = quick(seed("pcie mac skp sets"));
        options.to_endpoint = Damage { skp: true, odd, ..Damage::default() };
        options.from_endpoint = Damage { skp: true, odd: !odd, ..Damage::default() };
        let mut world = World::new(options);
        world.train();
        Traffic::new(4000).run(&mut world, 2_000_000, |_, _| {});
        // Not a packet was lost.
        let counters = world.link.counters();
        assert_eq!((counters.bad_tlps, counters.bad_dllps, counters.missing), (0, 0, 0));
        world.assert_silent();
    }
}

#[test]
fn packets_in_either_byte_come_whole() {
    let mut options = quick(seed("pcie mac odd packets"));
    options.side.mischief.gaps = 5;
    options.to_endpoint = Damage { skp: true, ..Damage::default() };
    let mut world = World::new(options);
    world.train();
    Traffic::new(4000).run(&mut world, 2_000_000, |_, _| {});
    let counters = world.link.counters();
    assert_eq!((counters.bad_tlps, counters.bad_dllps, counters.missing), (0, 0, 0));
    world.assert_silent();
}

#[test]
fn packets_survive_all_kinds_of_damage() {
    for round in 0..6 {
        let mut options = quick(seed("pcie mac damage") + round);
        options.to_endpoint = Damage::ALL;
        options.from_endpoint = Damage::ALL;
        if round % 2 == 1 {
            options.side.mischief.gaps = 5;
        }
        let mut world = World::new(options);
        world.train();
        Traffic::new(3000).run(&mut world, 10_000_000, |world, _| {
            if world.random.random_range(0..20_000) == 0 {
                world.port.retrain();
            }
        });
        world.assert_lane();
    }
}

#[test]
fn training_survives_bad_symbols() {
    for round in 0..20 {
        let mut options = quick(seed("pcie mac bad training") + round);
        options.to_endpoint = Damage { flagged: 500, silent: 500, lost: 200, doubled: 200, ..Damage::ALL };
        options.from_endpoint = options.to_endpoint;
        let mut world = World::new(options);
        world.until(20_000_000, |world| world.in_l0);
        world.assert_lane();
    }
}

#[test]
fn a_root_port_that_cuts_its_packets_stops_nothing() {
    let mut options = quick(seed("pcie mac cuts"));
    options.side.mischief.cuts = true;
    let mut world = World::new(options);
    world.train();
    Traffic::new(1000).run(&mut world, 1_000_000, |world, passed| {
        if passed % 1313 == 0 {
            world.port.retrain();
        }
        assert!(world.link_up);
    });
    world.assert_lane();
}
