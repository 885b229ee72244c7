//! The MSI-X table, and what must be true before an interrupt leaves.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::VECTORS;
use viaduct_spec::register::MSIX_TABLE;

use crate::message::{interrupt, World};

#[test]
fn the_table_starts_masked_and_zero_and_keeps_bytes() {
    let mut world = World::new();
    let mut random = ChaCha8Rng::seed_from_u64(world.bench.seed());
    let mut model: Vec<u64> = (0..2 * VECTORS as u64).map(|row| (row % 2) << 32).collect();
    for (row, &value) in model.iter().enumerate() {
        assert_eq!(world.load(row as u64), value, "row {row} after reset");
    }
    for _ in 0..2000 {
        let row = random.random_range(0..model.len() as u64);
        let enables: u64 = match random.random_range(0..4) {
            0 => 0xFF,
            1 => 0x0F,
            2 => 0xF0,
            _ => random.random_range(0..256),
        };
        let data: u64 = random.random();
        // Not every store is to the table.
        let (doorbell, address) = match random.random_range(0..6) {
            0 => (1, MSIX_TABLE + 8 * row),
            1 => (0, MSIX_TABLE + 128 + 8 * row),
            2 => (0, MSIX_TABLE - 128 + 8 * row),
            _ => (0, MSIX_TABLE + 8 * row),
        };
        world.set_store(doorbell, address, data, enables);
        world.tick();
        world.bench.set("mmio_write_valid", 0);
        world.tick();
        if doorbell == 0 && (MSIX_TABLE..MSIX_TABLE + 128).contains(&address) {
            let lanes: u64 =
                (0..8).filter(|lane| enables >> lane & 1 == 1).map(|lane| 0xFF << (8 * lane)).sum();
            let kept = if row % 2 == 0 { !3 } else { 0x1_FFFF_FFFF };
            let old = model[row as usize];
            model[row as usize] = (old & !lanes | data & lanes) & kept;
        }
        let row = random.random_range(0..model.len() as u64);
        assert_eq!(world.load(row), model[row as usize], "row {row}");
    }
    // The agent's reset leaves it alone, the function's does not.
    world.bench.set("restart", 1);
    world.ticks(3);
    world.bench.set("restart", 0);
    world.ticks(20);
    for (row, &value) in model.iter().enumerate() {
        assert_eq!(world.load(row as u64), value, "row {row} after the agent's reset");
    }
    world.bench.reset();
    world.ticks(20);
    for row in 0..2 * VECTORS as u64 {
        assert_eq!(world.load(row), (row % 2) << 32, "row {row} after the function's reset");
    }
}

#[test]
fn an_interrupt_is_exactly_one_write_of_one_double_word() {
    let mut world = World::new();
    for (vector, address, data) in [
        (0, 0xFEE0_1004, 0x0000_4021),
        (1, 0xFFFF_FFFC, 0xFFFF_FFFF),
        (2, 0x1_0000_0000, 0x1234_5678),
        (5, 0xFEDC_BA98_7654_3210, 0x89AB_CDEF),
        (7, 0, 1),
    ] {
        world.program(vector, address, data, false);
        world.raise(vector, 0);
        assert!(world.busy());
        world.tick();
        assert_eq!(world.pending(), 1 << vector);
        world.ticks(30);
        assert_eq!(world.take(), [interrupt(address, data)], "vector {vector}");
        assert_eq!((world.pending(), world.busy()), (0, false));
    }
}

#[test]
fn a_masked_vector_stays_pending_and_leaves_when_unmasked() {
    for vector in 0..VECTORS as u64 {
        let mut world = World::new();
        let other = vector ^ 1;
        world.program(vector, 0xFEE0_0000, 33, true);
        world.program(other, 0xFEE0_0000, 44, false);
        world.raise(vector, 0);
        world.ticks(40);
        assert_eq!((world.pending(), world.busy()), (1 << vector, false), "it keeps nobody busy");
        world.raise(other, 0);
        world.ticks(40);
        assert_eq!(world.take(), [interrupt(0xFEE0_0000, 44)], "it is in nobody's way");
        // Many commands later, so that the mark would compare the other way round.
        for retired in 0..200 {
            world.bench.set("retired", retired);
            world.ticks(1);
        }
        world.mask(vector, false);
        assert!(world.busy());
        world.ticks(30);
        assert_eq!(world.take(), [interrupt(0xFEE0_0000, 33)]);
        assert_eq!(world.pending(), 0);
    }
}

#[test]
fn nothing_leaves_without_enable_with_the_function_mask_or_without_bus_master() {
    let mut world = World::new();
    world.program(6, 0x9_FEE0_0000, 66, false);
    for (port, off, on) in [("cfg_msix_enable", 0, 1), ("cfg_msix_mask", 1, 0), ("cfg_bus_master", 0, 1)] {
        world.bench.set(port, off);
        world.ticks(2);
        world.raise(6, 0);
        world.ticks(40);
        assert_eq!((world.take(), world.pending(), world.busy()), (vec![], 1 << 6, false), "{port}");
        world.bench.set(port, on);
        world.ticks(30);
        assert_eq!(world.take(), [interrupt(0x9_FEE0_0000, 66)], "{port}");
        assert_eq!(world.pending(), 0);
    }
}

#[test]
fn an_interrupt_that_waits_for_the_link_is_withdrawn_when_masked() {
    for stop in ["vector", "cfg_msix_enable", "cfg_msix_mask", "cfg_bus_master"] {
        let mut world = World::new();
        world.program(2, 0xFEE0_0000, 22, false);
        world.bench.set("tx_ready", 0);
        world.raise(2, 0);
        world.ticks(30);
        assert_eq!(world.bench.get("tx_valid"), 1);
        match stop {
            "vector" => world.mask(2, true),
            "cfg_msix_mask" => world.bench.set(stop, 1),
            _ => world.bench.set(stop, 0),
        }
        world.ticks(2);
        world.bench.set("tx_ready", 1);
        world.ticks(30);
        assert_eq!((world.take(), world.pending()), (vec![], 1 << 2), "{stop}");
        match stop {
            "vector" => world.mask(2, false),
            "cfg_msix_mask" => world.bench.set(stop, 0),
            _ => world.bench.set(stop, 1),
        }
        world.ticks(30);
        assert_eq!(world.take(), [interrupt(0xFEE0_0000, 22)], "{stop}");
    }
    // But once its first beat is out, the rest follows.
    let mut world = World::new();
    world.program(2, 0x1_FEE0_0000, 22, false);
    world.bench.set("tx_ready", 0);
    world.raise(2, 0);
    world.ticks(30);
    world.bench.set("tx_ready", 1);
    world.tick();
    world.bench.set("tx_ready", 0);
    world.mask(2, true);
    world.ticks(10);
    world.bench.set("tx_ready", 1);
    world.ticks(10);
    assert_eq!(world.take(), [interrupt(0x1_FEE0_0000, 22)]);
}

#[test]
fn an_interrupt_follows_the_writes_before_it() {
    let mut world = World::new();
    world.program(1, 0xFEE0_0000, 11, false);
    for start in [0u64, 120, 250] {
        world.bench.set("retired", start);
        world.ticks(10);
        world.raise(1, start + 9);
        for retired in start..start + 9 {
            world.bench.set("retired", retired % 256);
            world.ticks(12);
            assert_eq!((world.take(), world.busy()), (vec![], true), "{retired} of {}", start + 9);
        }
        world.bench.set("retired", (start + 9) % 256);
        world.ticks(20);
        assert_eq!(world.take(), [interrupt(0xFEE0_0000, 11)], "from {start}");
    }
}

#[test]
fn raised_twice_before_it_leaves_is_one_interrupt_after_the_later_mark() {
    // The second comes in every cycle of the first one's way out.
    for gap in 0..25 {
        for blocked in [true, false] {
            let mut world = World::new();
            world.program(5, 0xFEE0_0000, 55, false);
            world.bench.set("tx_ready", u64::from(!blocked));
            world.raise(5, 0);
            world.ticks(gap);
            // It is pending from the cycle after the raise.
            let left = usize::from(!world.packets.is_empty() || gap > 0 && world.pending() == 0);
            world.raise(5, 3);
            world.ticks(20);
            world.bench.set("tx_ready", 1);
            world.ticks(20);
            let before = world.take().len();
            // Taken in the very cycle of the raise, it is another one too.
            assert!(before == left || (before == 1 && !blocked), "gap {gap}: {before} before the mark");
            assert_eq!(world.pending(), 1 << 5, "gap {gap}");
            world.bench.set("retired", 3);
            world.ticks(30);
            assert_eq!(world.take().len(), 1, "gap {gap}");
            assert_eq!((world.pending(), world.busy()), (0, false));
            assert!(!blocked || before == 0);
        }
    }
}

#[test]
fn a_completion_queue_waits_its_turn_and_raises_once() {
    let mut world = World::new();
    for vector in 0..2 {
        world.program(vector, 0xFEE0_0000, 7 + vector as u32, false);
    }
    world.bench.set("queue_raise_valid", 1);
    world.bench.set("queue_raise", 0);
    for issued in 1..=3 {
        world.raise(1, issued);
        world.bench.set("raise_valid", 1);
        assert_eq!(world.bench.get("queue_raise_ready"), 0);
    }
    world.bench.set("raise_valid", 0);
    world.bench.eval();
    assert_eq!(world.bench.get("queue_raise_ready"), 1);
    world.tick();
    assert_eq!(world.pending(), 2);
    world.bench.set("queue_raise_valid", 0);
    world.bench.set("issued", 5);
    world.tick();
    assert_eq!(world.pending(), 3);
    // Each with what was issued in the cycle after it was taken.
    for (retired, data) in [(3, 8), (5, 7)] {
        world.bench.set("retired", retired - 1);
        world.ticks(40);
        assert_eq!(world.take(), [] as [Vec<u32>; 0]);
        world.bench.set("retired", retired);
        world.ticks(40);
        assert_eq!(world.take(), [interrupt(0xFEE0_0000, data)]);
    }
    assert_eq!(world.pending(), 0);
}

#[test]
fn vectors_take_turns_and_the_agents_reset_forgets_them() {
    let mut world = World::new();
    for vector in 0..VECTORS as u64 {
        world.program(vector, 0xFEE0_0000 + 4 * vector, 100 + vector as u32, false);
    }
    world.bench.set("cfg_msix_mask", 1);
    world.ticks(2);
    for vector in 0..VECTORS as u64 {
        world.raise(vector, 0);
    }
    world.bench.set("cfg_msix_mask", 0);
    world.ticks(150);
    let mut seen: Vec<u32> = world.take().iter().map(|packet| packet[3]).collect();
    seen.sort_unstable();
    assert_eq!(seen, (100..108).collect::<Vec<u32>>());

    for vector in 0..VECTORS as u64 {
        world.raise(vector, 50);
    }
    world.tick();
    assert_eq!(world.pending(), 0xFF);
    world.bench.set("restart", 1);
    world.tick();
    world.bench.set("restart", 0);
    world.bench.set("retired", 50);
    world.ticks(100);
    assert_eq!((world.take(), world.pending(), world.busy()), (vec![], 0, false));
}

#[test]
fn from_raise_to_first_beat_in_seventeen_cycles() {
    let mut world = World::new();
    world.program(3, 0xFEE0_0000, 33, false);
    let (mut least, mut most) = (u64::MAX, 0);
    for gap in 0..16 {
        world.ticks(gap);
        let start = world.bench.cycles();
        world.raise(3, 0);
        world.ticks(30);
        let (first, _) = world.packets.pop().expect("sent");
        least = least.min(first - start);
        most = most.max(first - start);
    }
    println!("raise to first beat: {least} to {most} cycles");
    assert_eq!((least, most), (10, 17));
}
