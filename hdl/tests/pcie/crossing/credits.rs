//! Credits and configuration as the core sees them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::pcie::bus::{CoreConfig, Limits};

use super::world::{Tlp, World, PERIODS};
use crate::bundle::Bundle;
use crate::clock::seed;

const SHOWN: [&str; 5] = ["credit_ph", "credit_pd", "credit_nph", "credit_ch", "credit_cd"];

#[test]
fn the_core_sees_what_is_allowed_less_what_has_left() {
    let seed = seed("crossing credits");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::new("pcie crossing", seed + round as u64, periods);
        let mut random = ChaCha8Rng::seed_from_u64(seed + round as u64);
        // Posted headers and data, non-posted headers, completion headers and data: allowed, and used.
        let (mut allowed, mut used) = ([0u64; 5], [0u64; 5]);
        for _ in 0..200 {
            for index in 0..5 {
                let most = [127, 2047, 127, 127, 2047][index] - (allowed[index] - used[index]);
                allowed[index] += random.random_range(0..=most.min(300));
            }
            limits(&mut world, allowed, false);
            world.run(60);
            let tlp = Tlp::random(&mut random);
            let costs = match tlp.class() {
                0 => [1, tlp.cost(), 0, 0, 0],
                1 => [0, 0, 1, 0, 0],
                _ => [0, 0, 0, 1, tlp.cost()],
            };
            let fits = (0..5).all(|index| used[index] + costs[index] <= allowed[index]);
            if fits {
                world.offer(&tlp);
                world.run(600);
                (0..5).for_each(|index| used[index] += costs[index]);
            }
            let expected: Vec<u64> = (0..5).map(|index| allowed[index] - used[index]).collect();
            let shown: Vec<u64> = SHOWN.iter().map(|port| world.dut.get(port)).collect();
            assert_eq!(shown, expected, "seed {seed}, round {round}");
        }
        limits(&mut world, allowed, true);
        world.run(60);
        assert_eq!(SHOWN.map(|port| world.dut.get(port)), [0xFF, 0xFFF, 0xFF, 0xFF, 0xFFF]);
        // A link that comes up again has allowed nothing.
        limits(&mut world, [0; 5], false);
        world.reset();
        assert_eq!(SHOWN.map(|port| world.dut.get(port)), [0; 5]);
    }
}

#[test]
fn credits_that_our_own_packets_took_are_not_there() {
    let seed = seed("crossing own credits");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::new("pcie crossing", seed + round as u64, periods);
        let mut random = ChaCha8Rng::seed_from_u64(seed + round as u64);
        let tlp = std::iter::repeat_with(|| Tlp::random(&mut random))
            .find(|tlp| tlp.class() == 2 && tlp.cost() > 0)
            .unwrap();
        let cost = tlp.cost();
        limits(&mut world, [0, 0, 0, 1, cost], false);
        world.run(60);
        world.offer(&tlp);
        world.run(600);
        // The limits fall below what has left the core, and then there is one more of each.
        for (headers, units, left) in [(0, cost - 1, 0), (1, cost, 0), (2, cost + 1, 1)] {
            limits(&mut world, [0, 0, 0, headers, units], false);
            world.run(60);
            let shown = SHOWN.map(|port| world.dut.get(port));
            assert_eq!(shown, [0, 0, 0, left, left], "seed {seed}, round {round}");
        }
    }
}

fn limits(world: &mut World, allowed: [u64; 5], endless: bool) {
    let [ph, pd, nph, ch, cd] = allowed;
    let mut fields = vec![
        ("posted.headers", ph & 0xFF),
        ("posted.data", pd & 0xFFF),
        ("non_posted.headers", nph & 0xFF),
        ("completions.headers", ch & 0xFF),
        ("completions.data", cd & 0xFFF),
    ];
    if endless {
        for class in ["posted", "non_posted", "completions"] {
            fields.push((Box::leak(format!("{class}.endless_headers").into_boxed_str()), 1));
            fields.push((Box::leak(format!("{class}.endless_data").into_boxed_str()), 1));
        }
    }
    Bundle::of::<Limits>("core_limits").set(&mut world.dut, &fields);
}

#[test]
fn the_credits_of_a_packet_are_gone_in_the_cycle_after_its_last_beat() {
    let mut world = World::new("pcie crossing", 1, PERIODS[1]);
    limits(&mut world, [10, 100, 0, 0, 0], false);
    world.eager = [100; 4];
    world.run(60);
    world.offer(&Tlp { words: vec![0x4000_0001, 0xF, 0x1000, 7], bar: 0 });
    while world.edge.left.is_empty() {
        assert_eq!(world.dut.get("credit_ph"), 10);
        world.run(1);
    }
    world.run(1);
    assert_eq!((world.dut.get("credit_ph"), world.dut.get("credit_pd")), (9, 99));
}

#[test]
fn the_core_sees_each_change_of_the_configuration_whole() {
    let seed = seed("crossing configuration");
    let names = [
        "max_payload",
        "max_read",
        "rcb",
        "extended_tag",
        "bus_master",
        "function_reset",
        "msix_enable",
        "msix_mask",
    ];
    for periods in PERIODS {
        let mut world = World::new("pcie crossing", seed, periods);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..100 {
            let id: u64 = random.random_range(0..0x1_0000);
            let flags =
                names.map(|name| (name, random.random_range(0..if name.starts_with("max") { 6 } else { 2 })));
            let fields: Vec<(&str, u64)> = flags.into_iter().chain([("requester_id", id)]).collect();
            let before: Vec<u64> =
                fields.iter().map(|(name, _)| world.dut.get(&format!("cfg_{name}"))).collect();
            Bundle::of::<CoreConfig>("core_config").set(&mut world.dut, &fields);
            let after: Vec<u64> = fields.iter().map(|(_, value)| *value).collect();
            for cycle in 0..60 {
                let now: Vec<u64> =
                    fields.iter().map(|(name, _)| world.dut.get(&format!("cfg_{name}"))).collect();
                assert!(now == after || now == before && cycle < 40, "{now:?} after {cycle} cycles");
                world.run(1);
            }
        }
        // The end of a function-level reset goes back.
        world.dut.set("core_reset_done", 1);
        world.run(20);
        assert_eq!(world.dut.get("function_reset_done"), 1);
    }
}
