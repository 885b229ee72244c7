//! TLPs that nobody should send, with every first byte and in every length: each one is dropped, refused or carried out, and none stops
//! what comes behind.

use rand::Rng;

use super::enumeration::enable;
use super::kinds::{kind_of, Kind};
use super::model::Model;
use super::tlp::memory;
use super::world::{Pace, World};

/// A world and a model that have memory enabled at the same places.
pub fn enabled(name: &str) -> (World, Model) {
    let mut world = World::new(name);
    enable(&mut world);
    world.drain();
    world.sent.clear();
    world.freed = 0;
    let mut model = Model::default();
    for (register, value) in [(0x04, 0x0010_0006), (0x10, 0xFE00_0000), (0x1C, 0x40)] {
        model.set(register, value);
    }
    model.set_id(world.id);
    (world, model)
}

/// Both agree, when nothing is under way any more.
pub fn compare(world: &mut World, model: &mut Model, what: &str) {
    world.drain();
    let given: Vec<_> = world.given.drain(..).map(|(given, _)| given).collect();
    for (n, (given, expected)) in given.iter().zip(&model.given).enumerate() {
        assert_eq!(given, expected, "{what}: TLP {n} to the core");
    }
    assert_eq!(given.len(), model.given.len(), "{what}: TLPs to the core");
    let reads = given.iter().filter(|given| given.non_posted).count() as u64;
    assert_eq!(world.freed, model.freed + reads, "{what}: credits");
    for (n, (sent, expected)) in world.sent.iter().zip(&model.answers).enumerate() {
        assert_eq!(sent, expected, "{what}: answer {n}");
    }
    assert_eq!(world.sent.len(), model.answers.len(), "{what}: answers");
    world.sent.clear();
    world.freed = 0;
    model.given.clear();
    model.given_by.clear();
    model.answers.clear();
    model.freed = 0;
    assert_eq!(world.read(0x58) >> 16, model.status, "{what}: Device Status");
    world.request(0x58, 0b0100, Some(0x000F_0000));
    model.status = 0;
    world.drain();
    world.freed = 0;
    // The write was ours.
    model.set_id(world.id);
}

/// Bytes of a TLP with these first four, whose address hits BAR 0 or BAR 2 if it is one.
fn build(first: [u8; 4], bytes: usize, random: &mut impl Rng) -> Vec<u8> {
    let mut tlp: Vec<u8> = (0..bytes.max(20)).map(|_| random.random()).collect();
    tlp[..4].copy_from_slice(&first);
    // No write of a register that matters: the last, which there is not.
    let configuration = first[0] & 0x1F == 4;
    let target = [1, 0, 0xF, 0xFC];
    let address: &[u8] = match (configuration, first[0] & 0x20 != 0) {
        (true, _) => &target,
        (false, true) => &[0, 0, 0, 0x40, 0, 0, 0x10, 0],
        (false, false) => &[0xFE, 0, 0x10, 0],
    };
    tlp[8..8 + address.len()].copy_from_slice(address);
    if first[0] & 0x18 == 0x10 {
        // PME_Turn_Off is another test's.
        tlp[7] = 0x50;
    }
    tlp.truncate(bytes);
    tlp
}

#[test]
fn every_first_byte_in_every_length_ends() {
    let (mut world, mut model) = enabled("pcie_malformed");
    let mut random = world.random.clone();
    let sane = memory(0xFE00_0040, 0, 1, Some(&[5; 4]));
    for pace in [Pace::FULL, Pace { arriving: 60, offered: 50, core: 50, read_freed: 50 }] {
        world.pace = pace;
        for kind in 0..=255u8 {
            let credits =
                matches!(kind_of(kind), Some(Kind::Read | Kind::Configuration | Kind::Single | Kind::Other));
            for (flags, length) in
                [(0, 1), (0x80, 1), (0x40, 1), (0, 2), (0, 4), (0x80, 5), (0, 16), (0, 0), (3, 0xFF)]
            {
                let long = 12 + 4 * usize::from(kind & 0x20 != 0);
                let data = 4 * usize::from(kind & 0x40 != 0) * usize::from(length);
                let whole = long + data + if flags & 0x80 != 0 { 4 } else { 0 };
                for (n, bytes) in [whole, whole - 2, whole - 4, whole + 2, whole + 4, whole + 8, 2, 4, 6, 40]
                    .into_iter()
                    .enumerate()
                {
                    let tlp = build([kind, random.random::<u8>() & 0x70, flags, length], bytes, &mut random);
                    world.arrive(&tlp);
                    model.arrive(&tlp);
                    world.arrive(&sane);
                    model.arrive(&sane);
                    // There are credits for eight non-posted requests.
                    if n % 5 == 4 && credits {
                        world.drain();
                    }
                }
            }
            compare(&mut world, &mut model, &format!("first byte {kind:#04x}"));
        }
    }
}

#[test]
fn bursts_of_broken_tlps_never_overflow_the_inbox() {
    let (mut world, mut model) = enabled("pcie_broken_bursts");
    let mut random = world.random.clone();
    for round in 0..300 {
        for _ in 0..60 {
            // Posted ones only: they need no credits.
            let kind = [0x40u8, 0x60, 0x4A, 0x0A, 0x30, 0x74, 0xFF, 0x64][random.random_range(0..8)];
            let length = [1, 1, 2, 3, 8, 20][random.random_range(0..6)];
            let flags = if random.random_ratio(1, 4) { 0x80 } else { 0 };
            let long = 12 + 4 * usize::from(kind & 0x20 != 0);
            let whole = long + 4 * usize::from(kind & 0x40 != 0) * length + if flags != 0 { 4 } else { 0 };
            let bytes = match random.random_range(0..4) {
                0 => whole,
                1 => 2,
                2 => 2 * random.random_range(1..=whole / 2 + 4),
                _ => (whole as i64 + 2 * random.random_range(-2i64..=2)).max(2) as usize,
            };
            let tlp = build([kind, 0, flags, length as u8], bytes, &mut random);
            world.arrive(&tlp);
            model.arrive(&tlp);
        }
        compare(&mut world, &mut model, &format!("round {round}"));
    }
}
