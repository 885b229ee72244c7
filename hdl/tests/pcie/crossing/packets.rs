//! Packets cross whole, once and in order.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::world::{Tlp, World, PERIODS};
use crate::clock::seed;

#[test]
fn packets_of_every_kind_cross_whole_and_in_order() {
    let seed = seed("crossing packets");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let seed = seed + round as u64;
        let mut world = World::new("pcie crossing", seed, periods);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut given, mut offered) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            world.eager = [(); 4].map(|()| [5, 30, 80, 100][random.random_range(0..4)]);
            let mut reads = 0;
            for _ in 0..random.random_range(1..20) {
                let tlp = Tlp::random(&mut random);
                // As many reads as the endpoint grants.
                reads += usize::from(tlp.is_read());
                if reads <= 8 {
                    world.give(&tlp);
                    given.push(tlp);
                }
                let tlp = Tlp { bar: 0, ..Tlp::random(&mut random) };
                world.offer(&tlp);
                offered.push(tlp);
            }
            let mut left = 2_000_000 / 64;
            while world.edge.heard.len() < given.len()
                || world.sent.len() < offered.len()
                || !world.is_empty()
            {
                left -= 1;
                assert!(left > 0, "seed {seed}: stuck");
                world.run(64);
            }
        }
        assert_eq!(world.sent, offered, "seed {seed}");
        // Reads among themselves, and all others among themselves, keep their order; no read passes another packet.
        for is_read in [false, true] {
            let of = |list: &[Tlp]| {
                list.iter().filter(|tlp| tlp.is_read() == is_read).cloned().collect::<Vec<_>>()
            };
            assert_eq!(of(&world.edge.heard), of(&given), "seed {seed}");
        }
        let mut others = 0;
        let mut ahead = given.iter().scan(0, |count, tlp| {
            *count += usize::from(!tlp.is_read());
            Some((tlp.is_read(), *count))
        });
        for tlp in &world.edge.heard {
            others += usize::from(!tlp.is_read());
            if tlp.is_read() {
                let before = ahead.by_ref().find(|(is_read, _)| *is_read).expect("it was given").1;
                assert!(others >= before, "seed {seed}: a read has passed a packet");
            }
        }
        world.run(64);
        assert_eq!(world.freed, given.iter().filter(|tlp| tlp.is_read()).count() as u64);
    }
}

#[test]
fn a_read_that_waits_holds_nothing_up() {
    let mut world = World::new("pcie crossing", 1, PERIODS[0]);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    world.eager = [100, 100, 100, 0];
    let read = || Tlp { words: vec![1, 0xF, 0xFE00_0000], bar: 0 };
    let mut given = Vec::new();
    for _ in 0..8 {
        world.give(&read());
    }
    while given.len() < 40 {
        let tlp = Tlp::random(&mut random);
        if !tlp.is_read() {
            world.give(&tlp);
            given.push(tlp);
        }
    }
    world.run(10_000);
    assert_eq!((&world.edge.heard, world.freed), (&given, 0));
    world.eager[3] = 100;
    world.run(400);
    assert_eq!(world.edge.heard[40..], vec![read(); 8]);
    assert_eq!(world.freed, 8);
}

#[test]
fn what_is_under_way_when_the_link_falls_is_gone() {
    let seed = seed("crossing reset");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..20 {
        let mut world = World::new("pcie crossing", seed + round, PERIODS[round as usize % PERIODS.len()]);
        world.eager = [100, 60, 100, 30];
        for _ in 0..20 {
            world.give(&Tlp::random(&mut random));
            world.offer(&Tlp::random(&mut random));
        }
        world.run(random.random_range(1..300));
        world.forget();
        world.reset();
        world.forget();
        world.eager = [100; 4];
        let tlp = Tlp { words: vec![0x4000_0001, 0xF, 0x1000, 0x1234_5678], bar: 2 };
        let up = Tlp { bar: 0, ..tlp.clone() };
        world.give(&tlp);
        world.offer(&up);
        world.run(100);
        assert_eq!(
            (&world.edge.heard[..], &world.sent[..]),
            (&[tlp][..], &[up][..]),
            "seed {seed}, round {round}"
        );
    }
}
