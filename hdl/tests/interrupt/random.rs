//! The vectors against a small model, with everything at random.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::MSIX_TABLE;

use crate::message::{interrupt, World};

/// What the contract says of a vector.
#[derive(Clone, Copy, Default)]
struct Vector {
    /// The cycle since which it is masked.
    masked: Option<u64>,
    /// Raised and not left: how many commands must be retired, and the cycle.
    raised: Option<(u64, u64)>,
}

#[test]
fn every_raise_leads_to_an_interrupt_after_its_mark_and_none_comes_unasked() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.bench.seed());
    let mut vectors = [Vector::default(); VECTORS];
    let mut packets = BTreeMap::new();
    for vector in 0..VECTORS as u64 {
        let high = if vector % 2 == 0 { 0 } else { vector << 32 };
        let (address, data) = (high | 0xFEE0_0000 | vector << 4, random.random());
        world.program(vector, address, data, false);
        packets.insert(interrupt(address, data), vector as usize);
    }
    let (mut issued, mut retired) = (0u64, 0u64);
    // The cycle since which the function is masked.
    let mut function: Option<u64> = None;
    let (mut raises, mut left) = (0, 0);
    let mut began = None;
    let mut queued = None;
    let mut raising = Vec::new();
    for _ in 0..60_000 {
        let cycle = world.bench.cycles();
        issued += u64::from(issued - retired < 100 && random.random_bool(0.3));
        retired += u64::from(retired < issued && random.random_bool(0.3));
        world.bench.set("retired", retired % 256);
        world.bench.set("tx_ready", random.random_bool(0.7).into());
        world.bench.set("raise_valid", 0);
        world.bench.set("mmio_write_valid", 0);
        if random.random_bool(0.05) {
            let (vector, masked) = (random.random_range(0..VECTORS), random.random_bool(0.5));
            world.set_store(0, MSIX_TABLE + 16 * vector as u64 + 8, u64::from(masked) << 32, 0xF0);
            let since = vectors[vector].masked.unwrap_or(cycle);
            vectors[vector].masked = masked.then_some(since);
        }
        if random.random_bool(0.01) {
            function = function.is_none().then_some(cycle);
            world.bench.set("cfg_msix_mask", function.is_some().into());
        }
        let raise = random.random_bool(0.03).then(|| random.random_range(0..VECTORS));
        if let Some(vector) = raise {
            world.bench.set("raise_valid", 1);
            world.bench.set("raise", vector as u64);
            raises += 1;
        }
        // A completion queue's raise stays until it is taken: in a cycle without another.
        if queued.is_none() && random.random_bool(0.02) {
            queued = Some(random.random_range(0..VECTORS));
            raises += 1;
        }
        world.bench.set("queue_raise_valid", queued.is_some().into());
        world.bench.set("queue_raise", queued.unwrap_or(0) as u64);
        world.bench.set("issued", issued % 256);
        let taken = if raise.is_none() { queued.take() } else { None };
        let shown = world.pending();
        for (number, vector) in vectors.iter().enumerate() {
            assert!(vector.raised.is_some() || shown >> number & 1 == 0, "{number} is pending unasked");
        }
        // How things stand when a first beat is taken decides about its packet.
        let first = world.begins().then_some((cycle, vectors, function, retired));
        if first.is_some() {
            began = first;
        }
        world.tick();
        for (_, packet) in world.packets.drain(..) {
            let number = packets[&packet];
            let (start, then, function, retired) = began.take().expect("a packet has a first beat");
            let Vector { raised, masked } = then[number];
            let (mark, _) = raised.expect("an interrupt that nobody asked for");
            assert!(mark <= retired, "vector {number}: {retired} of {mark} commands are out");
            for since in [masked, function].into_iter().flatten() {
                assert!(start <= since + 2, "vector {number}: masked in cycle {since}, left in {start}");
            }
            // Raised in the cycle of the first beat, or later, it is another one.
            vectors[number].raised = vectors[number].raised.filter(|&(_, raised)| raised >= start);
            left += 1;
        }
        // A raise counts a cycle later.
        for vector in std::mem::replace(&mut raising, raise.into_iter().chain(taken).collect()) {
            vectors[vector].raised = Some((issued, cycle));
        }
    }
    // At the end all that is raised leaves.
    world.bench.set("raise_valid", 0);
    world.bench.set("queue_raise_valid", 0);
    world.bench.set("tx_ready", 1);
    world.bench.set("cfg_msix_mask", 0);
    world.bench.set("retired", issued % 256);
    for vector in 0..VECTORS as u64 {
        world.mask(vector, false);
    }
    world.ticks(200);
    let last = world.take();
    left += last.len();
    for packet in last {
        vectors[packets[&packet]].raised = None;
    }
    assert!(vectors.iter().all(|vector| vector.raised.is_none()), "an interrupt was lost");
    assert_eq!((world.pending(), world.busy()), (0, false));
    println!("{raises} raises, {left} interrupts");
    assert!(left > 300 && left <= raises, "{left} interrupts of {raises} raises");
}
