//! Whose turn it is, how long it takes, and who waits.

use std::collections::VecDeque;

use rand::Rng;
use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

use super::queue::WRAP;
use super::World;

/// Memory may be far away: while a line or a descriptor of one queue is under way, the others have their turns.
#[test]
fn a_turn_waits_for_no_memory() {
    let mut world = World::new(&(0..8).collect::<Vec<_>>());
    world.settle();
    (world.latency, world.gather) = (100, 1.0);
    let names: Vec<_> = world.queues.keys().copied().collect();
    let start = world.seen.descriptors;
    for _ in 0..6000 {
        for name in &names {
            world.post(*name);
            world.finish(*name);
        }
        world.step();
    }
    let each = 6000.0 / (world.seen.descriptors - start) as f64;
    println!("{each:.1} cycles a descriptor, {:?}", world.seen);
    assert!(each < 16.0, "{each} cycles a descriptor");
    world.settle();
}

/// Gather takes no heads: the sends wait, with tokens at hand, and the receives come all the same.
#[test]
fn sends_that_wait_hold_no_receive_up() {
    let mut world = World::new(&[0, 1, 7, 62, 63]);
    world.settle();
    world.gather = 0.0;
    let names: Vec<_> = world.queues.keys().copied().collect();
    for _ in 0..2000 {
        for name in &names {
            world.post(*name);
            world.ring(*name);
            if name.1 {
                world.finish(*name);
            }
        }
        world.step();
    }
    let before = world.seen.descriptors;
    for _ in 0..2000 {
        for name in names.iter().filter(|name| name.1) {
            world.post(*name);
            world.ring(*name);
            world.finish(*name);
        }
        world.step();
    }
    let receives = world.seen.descriptors - before;
    assert!(world.reserved == 8 && receives > 60, "{} heads, {receives} receives", world.reserved);
    world.gather = 0.1;
    world.settle();
}

/// One process that rings an empty receive queue all the time cannot keep the others from sending.
#[test]
fn a_storm_of_empty_doorbells_starves_nobody() {
    let mut world = World::new(&[0, 1]);
    world.settle();
    let name = (1, false);
    world.post(name);
    world.ring(name);
    let posted = world.queues[&name].due.len();
    assert!(posted > 0);
    for _ in 0..3000 {
        world.push((0, true));
        world.finish(name);
        world.step();
    }
    assert!(world.queues[&name].due.is_empty());
    world.settle();
}

/// Nothing is popped while work queues are not served, and nothing is lost by it.
#[test]
fn disabled_it_waits() {
    let mut world = World::new(&[3]);
    world.settle();
    world.bench.set("enabled", 0);
    for receive in [false, true] {
        for _ in 0..4 {
            world.post((3, receive));
        }
        world.ring((3, receive));
    }
    for _ in 0..300 {
        world.step();
    }
    assert!(world.run.iter().all(|run| run.len() == 1));
    world.bench.set("enabled", 1);
    world.settle();
    assert!(world.seen.descriptors > 1);
}

/// With nobody finishing anything, exactly as much is fetched as the windows allow, and then all is quiet: a queue
/// without room is not looked at over and over.
/// Rules WQ-2 and REQ-1.
#[test]
fn fetches_up_to_the_window_and_rests() {
    let mut world = World::new(&[0, 9]);
    world.settle();
    for _ in 0..25 {
        let names: Vec<_> = world.queues.keys().copied().collect();
        for name in &names {
            for _ in 0..world.rng.random_range(0..30) {
                world.post(*name);
            }
            world.ring(*name);
        }
        for _ in 0..4000 {
            world.step();
        }
        for (name, queue) in &world.queues {
            let window = if name.1 { RECEIVE_AHEAD } else { SEND_WINDOW } as u64;
            let posted = (queue.posted + WRAP - queue.done) % WRAP;
            assert_eq!(queue.held, posted.min(window), "{name:?}");
        }
        assert!(world.run.iter().all(VecDeque::is_empty));
        world.bench.eval();
        assert_eq!(world.bench.get("busy"), 0);
        world.settle();
    }
}
