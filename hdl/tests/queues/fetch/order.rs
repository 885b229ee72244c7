//! What must come out, and in which order.

use super::World;

/// Rule WQ-1.
#[test]
fn every_descriptor_once_and_in_order() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    for (latency, posts, finishes, gather) in [
        (10, 0.02, 0.05, 0.1),
        (150, 0.05, 0.02, 0.5),
        (60, 0.003, 0.2, 0.3),
        (300, 0.1, 0.1, 0.5),
        (9, 0.1, 0.1, 0.01),
    ] {
        (world.latency, world.gather) = (latency, gather);
        world.traffic(12_000, posts, finishes, 0.0);
    }
    println!("{:?}", world.seen);
    let seen = &world.seen;
    assert!(seen.descriptors > 3000 && seen.lines > 500 && seen.lost > 100);
    assert!(seen.heads_full > 20 && seen.window_full > 100);
    assert!(seen.lines_at_once >= 4);
}

/// All slots of a large ring at once: what is left to fetch takes every value below.
#[test]
fn a_large_ring_is_fetched_to_its_end() {
    let mut world = World::new(&[5]);
    world.settle();
    let names = [(5, false), (5, true)];
    (world.ring_log2, world.backlog, world.latency, world.gather) = (Some(13), 1 << 13, 10, 0.9);
    names.into_iter().for_each(|name| world.renew(name));
    while !world.commits.is_empty() {
        world.step();
    }
    let before = world.seen.descriptors;
    for name in names {
        world.post(name);
        world.ring(name);
    }
    let mut patience = 400_000;
    while !world.quiet() {
        names.into_iter().for_each(|name| world.finish(name));
        world.step();
        patience -= 1;
        assert!(patience > 0, "stranded");
    }
    assert_eq!(world.seen.descriptors - before, 2 << 13);
    world.settle();
}
