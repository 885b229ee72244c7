//! How long a vector is quiet after an interrupt.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::VECTORS;

use crate::message::{interrupt, World};

/// Cycles in which whatever may leave has left, and every deadline is found.
const SETTLE: u32 = 40;

fn world() -> World {
    let mut world = World::new();
    for vector in 0..VECTORS as u64 {
        world.program(vector, 0xFEE0_0000, 100 + vector as u32, false);
    }
    world
}

fn message(vector: u64) -> Vec<u32> {
    interrupt(0xFEE0_0000, 100 + vector as u32)
}

/// What the NIC waits for.
fn deadline(world: &mut World) -> Option<u64> {
    world.bench.eval();
    (world.bench.get("deadline_valid") == 1).then(|| world.bench.get("deadline"))
}

#[test]
fn a_vector_rests_after_its_interrupt_and_then_sends_what_came_meanwhile_once() {
    let mut world = world();
    // The low half of the time wraps, all of it wraps.
    for start in [5u64, 0x1_FFF0, 0xFFFF_FFFA, 0x8000_7FFF] {
        world.bench.set("time_now", start);
        world.moderate(3, 20);
        world.raise(3, 0);
        world.ticks(SETTLE);
        assert_eq!(world.take(), [message(3)], "the first one does not wait");
        let end = (start + 20) & 0xFFFF_FFFF;
        assert_eq!((deadline(&mut world), world.busy()), (Some(end), false));
        // Raised three times; another vector goes on.
        for after in 1..20 {
            world.bench.set("time_now", (start + after) & 0xFFFF_FFFF);
            if after % 6 == 1 {
                world.raise(3, 0);
            }
            if after == 10 {
                world.raise(4, 0);
            }
            world.ticks(SETTLE);
            let others = if after == 10 { vec![message(4)] } else { vec![] };
            assert_eq!((world.take(), world.busy()), (others, false), "{after} of 20 ticks");
            assert_eq!((world.pending(), deadline(&mut world)), (1 << 3, Some(end)), "{after} of 20 ticks");
        }
        world.bench.set("time_now", end);
        world.ticks(SETTLE);
        assert_eq!(world.take(), [message(3)], "once, from {start:#x}");
        // It rests again; nothing was raised, and nothing leaves.
        assert_eq!((world.pending(), deadline(&mut world)), (0, Some((end + 20) & 0xFFFF_FFFF)));
        world.bench.set("time_now", (end + 20) & 0xFFFF_FFFF);
        world.ticks(SETTLE);
        assert_eq!((world.take(), deadline(&mut world)), (vec![], None));
        // Without moderation it does not rest.
        world.moderate(3, 0);
        for _ in 0..2 {
            world.raise(3, 0);
            world.ticks(SETTLE);
            assert_eq!((world.take(), deadline(&mut world)), (vec![message(3)], None));
        }
    }
}

#[test]
fn the_agents_reset_lets_everybody_go() {
    let mut world = world();
    world.moderate(6, 0x7FFF);
    world.raise(6, 0);
    world.ticks(SETTLE);
    world.raise(6, 0);
    world.ticks(SETTLE);
    assert_eq!((world.take().len(), world.pending(), deadline(&mut world)), (1, 1 << 6, Some(0x7FFF)));
    world.bench.set("restart", 1);
    world.tick();
    world.bench.set("restart", 0);
    world.moderate(6, 0);
    world.raise(6, 0);
    world.ticks(SETTLE);
    assert_eq!((world.take(), deadline(&mut world)), (vec![message(6)], None));
}

#[test]
fn at_random_no_vector_comes_before_its_time_or_never() {
    let mut world = world();
    let mut random = ChaCha8Rng::seed_from_u64(world.bench.seed());
    let mut ticks = [0u64; VECTORS];
    // Cycle of the last raise that has not left; when the vector may leave again.
    let mut raised = [None; VECTORS];
    let mut rests = [0u64; VECTORS];
    let mut now = random.random::<u32>().into();
    world.bench.set("time_now", now & 0xFFFF_FFFF);
    // Cycles in which the time last moved, and in which the last interrupt left.
    let (mut moved, mut last) = (0, 0);
    let (mut raises, mut left, mut held, mut checks) = (0, 0, 0, 0);
    for cycle in 0..120_000u64 {
        world.bench.set("raise_valid", 0);
        world.bench.set("commit_valid", 0);
        if cycle % 128 == 0 {
            now += 1;
            moved = world.bench.cycles();
            world.bench.set("time_now", now & 0xFFFF_FFFF);
        }
        let choice = random.random_range(0..400);
        if choice == 0 {
            // The bundle is set, and counts from the next interrupt: that is how the model has it too.
            let vector = random.random_range(0..VECTORS);
            // One that has just left would have either: its rest begins in the second cycle.
            if raised[vector].is_none() {
                ticks[vector] = if random.random_bool(0.3) { 0 } else { random.random_range(1..40) };
                world.ticks(4);
                world.moderate(vector as u64, ticks[vector]);
            }
        } else if choice < 20 {
            let vector = random.random_range(0..VECTORS);
            world.raise(vector as u64, 0);
            raised[vector] = Some(world.bench.cycles());
            raises += 1;
        }
        world.tick();
        for (first, packet) in world.packets.drain(..) {
            let vector = (packet[3] - 100) as usize;
            assert!(raised[vector].is_some(), "vector {vector} unasked");
            assert!(now >= rests[vector], "vector {vector} in tick {now}, it rests until {}", rests[vector]);
            last = world.bench.cycles();
            rests[vector] = now - u64::from(first < moved) + ticks[vector];
            raised[vector] = raised[vector].filter(|&raise| raise >= first);
            left += 1;
        }
        for (vector, raise) in raised.iter_mut().enumerate() {
            let Some(since) = raise else { continue };
            if now < rests[vector] {
                held += 1;
                *since = world.bench.cycles().max(*since);
            }
            let waited = world.bench.cycles().saturating_sub(*since);
            assert!(waited < 400, "vector {vector} waits for {waited} cycles");
        }
        // The deadline is never later than the first end of a rest, as soon as it is found.
        let first = rests.iter().copied().filter(|&end| end > now).min();
        if let Some(first) = first.filter(|_| world.bench.cycles() > last + u64::from(SETTLE)) {
            let shown = deadline(&mut world).expect("a vector rests");
            let ahead = i64::from(shown.wrapping_sub(now) as u32 as i32);
            assert!(ahead <= (first - now) as i64, "deadline {ahead} ahead, {first} at {now}");
            checks += 1;
        }
    }
    println!("{raises} raises, {left} interrupts, {held} cycles held off");
    assert!(left > 200 && left < raises && held > 1000 && checks > 1000);
}
