//! Queues that are wrong, queues made anew, and a reset.

use rand::Rng;

use super::World;

/// A reset forgets lines and descriptors under way, heads that were not taken and faults that wait.
#[test]
fn a_reset_forgets_what_is_in_flight() {
    let mut world = World::new(&[0, 1, 7]);
    world.settle();
    (world.latency, world.gather, world.errors) = (200, 0.01, 0.001);
    let names: Vec<_> = world.queues.keys().copied().collect();
    let (mut lines, mut heads) = (0, 0);
    for _ in 0..60 {
        for _ in 0..world.rng.random_range(100..1500) {
            for name in &names {
                if world.commits.is_empty() && world.rng.random_bool(0.1) {
                    world.post(*name);
                }
                if world.rng.random_bool(0.05) {
                    world.finish(*name);
                }
            }
            world.step();
        }
        lines += world.answers.iter().filter(|answer| answer.line).count();
        heads += world.untaken;
        world.reset();
    }
    println!("{lines} lines and {heads} heads forgotten, {:?}", world.seen);
    assert!(lines > 10 && heads > 30);
    world.errors = 0.0;
    world.traffic(2000, 0.05, 0.05, 0.0);
}

/// Stale slots and rings that cannot be read, overruns, after which the ring is followed to its end, and queues made anew in
/// the middle of traffic.
/// Rules WQ-6; and LIFE-1: a queue made anew is empty.
#[test]
fn wrong_slots_are_lost_descriptors_and_overrun_rings_are_followed_to_their_end() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    world.errors = 0.05;
    for (latency, posts, finishes) in [(20, 0.02, 0.05), (150, 0.05, 0.1)] {
        world.latency = latency;
        for _ in 0..15 {
            world.traffic(2000, posts, finishes, 0.01);
        }
    }
    println!("{:?}", world.seen);
    let seen = &world.seen;
    assert!(seen.wrong > 10 && seen.overruns > 10 && seen.commits > 40 && seen.descriptors > 500);
}
