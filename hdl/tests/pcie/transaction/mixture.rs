//! Everything at once, with random stalls, against the model.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::kinds::{kind_of, Kind};
use super::malformed::{compare, enabled};
use super::model::Model;
use super::tlp::{completion, configuration, memory, message, slot_power};
use super::world::{Pace, World};

/// Cycles from a TLP's last word to its last word at the core, at most.
const LATENCY: u64 = 22;

fn payload(random: &mut ChaCha8Rng, words: usize) -> Vec<u8> {
    (0..4 * words).map(|_| random.random()).collect()
}

fn address(random: &mut ChaCha8Rng) -> u64 {
    let offset = u64::from(random.random::<u16>() & 0xFFFC);
    offset
        + [0xFE00_0000, 0xFE00_0000, 0x40_0000_0000, 0x40_0007_0000, 0x1000_0000, 0x41_0000_0000]
            .choose(random)
            .copied()
            .unwrap_or(0)
}

/// Words of the core's shortest TLP: a header of 4 double words, or one of 3 and a double word of data.
const SHORTEST: u64 = 8;

/// A posted TLP or a completion.
fn posted(random: &mut ChaCha8Rng, id: u16) -> Vec<u8> {
    let tag = random.random();
    let mut tlp = match random.random_range(0..6) {
        0..=2 => {
            let words = random.random_range(1..=2);
            let data = payload(random, words);
            memory(address(random), tag, words, Some(&data))
        }
        3 | 4 => {
            let words = [0, 1, 2, 16, 32, 64][random.random_range(0..6)];
            completion(id, tag, &payload(random, words))
        }
        _ => {
            if random.random() {
                slot_power()
            } else {
                message(random.random_range(0..6), 0x7E, &[])
            }
        }
    };
    dress(&mut tlp, random);
    tlp
}

/// A request that must be answered.
fn non_posted(random: &mut ChaCha8Rng) -> Vec<u8> {
    let tag = random.random();
    let target =
        u16::from_be_bytes([random.random_range(1..4), [0, 0, 0, 0, 8, 1, 7][random.random_range(0..7)]]);
    // Registers that change nothing for other TLPs: Cache Line Size, Interrupt Line, Link Control, MSI-X, and fixed ones.
    let register =
        [0x00, 0x08, 0x0C, 0x2C, 0x34, 0x3C, 0x40, 0x60, 0x90, 0x94, 0xFFC][random.random_range(0..11)];
    let mut tlp = match random.random_range(0..8) {
        0 | 1 => configuration(target, register, 0xF, tag, None),
        2 | 3 => configuration(target, register, random.random_range(0..16), tag, Some(random.random())),
        4 | 5 => memory(address(random), tag, random.random_range(1..=2), None),
        6 => {
            let mut tlp = configuration(target, register, 0xF, tag, Some(1));
            tlp[0] = [0x45, 0x42, 0x5B][random.random_range(0..3)];
            tlp
        }
        _ => {
            let mut tlp = memory(address(random), tag, 1, None);
            tlp[0] |= 1;
            tlp
        }
    };
    dress(&mut tlp, random);
    tlp
}

/// Traffic class, attributes, poison and digest.
fn dress(tlp: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    tlp[1] |= random.random::<u8>() & 0x70;
    tlp[2] |= random.random::<u8>() & 0x30;
    if random.random_ratio(1, 16) {
        tlp[2] |= 0x40;
    }
    if random.random_ratio(1, 8) {
        tlp[2] |= 0x80;
        tlp.extend([0xDE, 0xAD, 0xBE, 0xEF]);
    }
}

/// The core's next TLP; its data is like no other.
fn of_core(random: &mut ChaCha8Rng) -> Vec<u8> {
    let words = random.random_range(1..=64);
    let data = payload(random, words);
    match random.random_range(0..3) {
        0 => memory(0x12_3456_7000, 1, words, Some(&data)),
        1 => memory(u64::from(random.random::<u32>()) << 2 | 0x40_0000_0000, random.random(), 64, None),
        _ => completion(1, random.random(), &data),
    }
}

/// Takes the core's TLPs out of what was sent: in order, each once.
fn take_core(world: &mut World, expected: &mut Vec<Vec<u8>>) {
    let mut next = 0;
    world.sent.retain(|tlp| {
        let its = expected.get(next) == Some(tlp);
        next += usize::from(its);
        !its
    });
    assert_eq!(next, expected.len(), "all of the core's TLPs have left, whole and in order");
    expected.clear();
}

/// Every TLP that the core is given is on its way in time, whatever else waits.
fn check_latency(world: &World, model: &Model, first: usize) {
    for ((given, at), by) in world.given.iter().zip(&model.given_by) {
        let arrived = world.arrived_at[by - first];
        // What has a digest is whole before its last word.
        let cycles = at.saturating_sub(arrived);
        assert!(cycles <= LATENCY, "{given:x?}: {cycles} cycles");
    }
}

#[test]
fn every_tlp_is_delivered_answered_or_counted_once() {
    let (mut world, mut model) = enabled("pcie_mixture");
    let mut random = world.random.clone();
    let mut totals = [0usize; 4];
    for round in 0..400 {
        let pick = |random: &mut ChaCha8Rng| [3, 20, 50, 90, 100][random.random_range(0..5)];
        world.pace = Pace {
            arriving: pick(&mut random).max(20),
            offered: pick(&mut random),
            core: pick(&mut random),
            read_freed: pick(&mut random),
        };
        let first = model.arrived;
        world.arrived_at.clear();
        let mut core = Vec::new();
        let mut credits_used = 0;
        for _ in 0..40 {
            let tlp = if random.random() {
                // Eight requests have credits; without one, only what needs none is sent.
                if credits_used - world.freed < 8 {
                    non_posted(&mut random)
                } else {
                    posted(&mut random, world.id)
                }
            } else {
                posted(&mut random, world.id)
            };
            credits_used +=
                u64::from(!matches!(kind_of(tlp[0]), Some(Kind::Write | Kind::Completion | Kind::Message)));
            world.arrive(&tlp);
            model.arrive(&tlp);
            if random.random_ratio(1, 3) {
                let tlp = of_core(&mut random);
                world.core_sends(&tlp);
                core.push(tlp);
            }
            // Another is put behind when this one has arrived, or later.
            world.until("it arrives", World::has_arrived);
            let pause = [0, 0, 3, 40][random.random_range(0..4)];
            world.run(pause);
        }
        world.drain();
        check_latency(&world, &model, first);
        totals[0] += model.given.len();
        totals[1] += model.answers.len();
        totals[2] += core.len();
        take_core(&mut world, &mut core);
        compare(&mut world, &mut model, &format!("round {round}"));
    }
    totals[3] = model.dropped;
    println!("given, answered, of the core, dropped: {totals:?}");
    assert!(totals.iter().all(|total| *total > 1000), "{totals:?}");
}

#[test]
fn requests_that_wait_hold_no_posted_ones() {
    let (mut world, mut model) = enabled("pcie_posted_pass");
    let mut random = world.random.clone();
    for round in 0..20 {
        // The host takes no completion, and the core takes up no read.
        world.pace = Pace { offered: 0, read_freed: 0, ..Pace::FULL };
        world.arrived_at.clear();
        let first = model.arrived;
        for tag in 0..8 {
            let tlp = match tag % 3 {
                0 => configuration(world.id, 0, 0xF, tag, None),
                1 => memory(0, tag, 1, None),
                _ => memory(0xFE00_0000, tag, 1, None),
            };
            world.arrive(&tlp);
            model.arrive(&tlp);
            for _ in 0..random.random_range(0..20) {
                let tlp = posted(&mut random, world.id);
                world.arrive(&tlp);
                model.arrive(&tlp);
            }
        }
        world.until("all have arrived", World::has_arrived);
        world.run(LATENCY + 4);
        assert_eq!((world.given.len(), world.sent.len()), (model.given.len(), 0));
        check_latency(&world, &model, first);
        world.pace = Pace::FULL;
        compare(&mut world, &mut model, &format!("round {round}"));
    }
}

#[test]
fn neither_the_core_nor_the_answers_starve() {
    let (mut world, _) = enabled("pcie_fair");
    world.pace = Pace::FULL;
    let mut random = world.random.clone();
    world.drain();
    let (begun, sent) = (world.bench.cycles(), world.sent.len());
    world.arrive(&configuration(world.id, 0, 0xF, 0xFF, None));
    world.until("an answer", |world| world.sent.len() > sent);
    let alone = world.bench.cycles() - begun;
    world.sent.clear();
    world.pace = Pace { offered: 60, ..Pace::FULL };
    let mut core = Vec::new();
    for _ in 0..200 {
        let tlp = of_core(&mut random);
        world.core_sends(&tlp);
        core.push(tlp);
    }
    // While the core always has something, an answer that is ready waits for the TLP under way alone. Until it is ready the core's go on:
    // no more of them than fit into the time that an answer takes on a link without others.
    let mut most = 0;
    for tag in 0..100 {
        let before = world.sent.len();
        world.arrive(&configuration(world.id, 0, 0xF, tag, None));
        world.until("an answer", |world| {
            world.sent[before..].iter().any(|tlp| tlp[0] == 0x4A && tlp[10] == tag && tlp.len() == 16)
        });
        let went = (world.sent.len() - before - 1) as u64;
        most = most.max(went);
        assert!(went <= 1 + alone.div_ceil(SHORTEST), "{went} TLPs went first, {alone} cycles");
    }
    println!("an answer takes {alone} cycles alone; at most {most} TLPs went first");
    // While requests always wait, the core's go on.
    let left = world.core.len();
    assert!(left > 0 || world.sent.len() >= 300);
    world.drain();
    let mut answered = 0;
    world.sent.retain(|tlp| {
        let its = tlp[0] == 0x4A && tlp.len() == 16 && tlp[12..] == [0x34, 0x12, 0x49, 0x56];
        answered += usize::from(its);
        !its
    });
    assert_eq!(answered, 100);
    assert_eq!(world.sent, core);
    // The other way round: 8 requests wait, and more come as soon as they may.
    world.sent.clear();
    world.freed = 0;
    let (mut asked, mut core) = (0, Vec::new());
    for _ in 0..200 {
        let tlp = of_core(&mut random);
        world.core_sends(&tlp);
        core.push(tlp);
    }
    while !world.core.is_empty() {
        if asked - world.freed < 8 && world.has_arrived() {
            world.arrive(&memory(0, asked as u8, 1, None));
            asked += 1;
        }
        world.step();
        assert!(asked < 2000, "the core starves: {} words left", world.core.len());
    }
    assert!(asked > 50);
}
