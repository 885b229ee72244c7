//! Damage on the wire, both ways, and a link partner that behaves badly: nothing is lost, doubled, wrong or out of order.

use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::Counters;

use super::world::{options, seed, Pair, Traffic};

const NONE: Damage = Damage {
    flagged: 0,
    silent: 0,
    lost: 0,
    doubled: 0,
    skp: false,
    odd: false,
    inverted: false,
    glitches: 0,
};

/// Runs so many TLPs each way. What the root port counted, and how often the endpoint asked for Recovery.
fn run(name: &str, damage: Damage, mischief: Mischief, count: u32) -> (Counters, u64) {
    let seed = seed(name);
    let mut options = options(seed);
    (options.to_endpoint, options.from_endpoint) = (damage, damage);
    options.side.mischief = mischief;
    let mut pair = Pair::new(options, false);
    pair.train();
    // Requests of the root port wait for a while.
    pair.device.frees = Some(200);
    let mut traffic = Traffic::new(seed, count, 128);
    let cycles = traffic.run(&mut pair, 20_000_000, |pair, _| {
        assert!(pair.port.link_up() && pair.mac.ltssm.link_up(), "the link went down");
    });
    let counters = pair.port.counters();
    println!("{cycles} cycles, {counters:?}, {} times Recovery", pair.device.retrains);
    pair.assert_silent();
    assert_eq!((counters.received, counters.sent), (u64::from(count), u64::from(count)));
    assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    (counters, pair.device.retrains)
}

#[test]
fn one_symbol_in_a_hundred_thousand() {
    let damage = Damage { flagged: 5, silent: 5, ..NONE };
    let (counters, _) = run("1e-5", damage, Mischief::default(), 4000);
    assert!(counters.bad_tlps + counters.naks > 0);
}

#[test]
fn one_symbol_in_ten_thousand() {
    let damage = Damage { flagged: 30, silent: 30, lost: 20, doubled: 20, ..NONE };
    let (counters, _) = run("1e-4", damage, Mischief::default(), 4000);
    assert!(counters.bad_tlps > 20 && counters.naks > 20);
}

#[test]
fn one_symbol_in_a_thousand() {
    let damage = Damage { flagged: 500, silent: 500, ..NONE };
    let (counters, _) = run("1e-3", damage, Mischief::default(), 2000);
    assert!(counters.bad_tlps > 100 && counters.naks > 100 && counters.bad_dllps > 10);
}

#[test]
fn lost_and_doubled_symbols() {
    let damage = Damage { lost: 150, doubled: 150, ..NONE };
    let (counters, _) = run("lost and doubled", damage, Mischief::default(), 3000);
    assert!(counters.bad_tlps > 50 && counters.naks > 50);
}

#[test]
fn skp_sets_of_every_size_and_packets_in_either_byte() {
    let damage = Damage { skp: true, odd: true, inverted: true, glitches: 2000, ..NONE };
    let (counters, retrains) = run("skp", damage, Mischief::default(), 4000);
    assert_eq!((counters.bad_tlps, counters.naks, counters.replayed, retrains), (0, 0, 0, 0));
    let mischief = Mischief { gaps: 5, ..Mischief::default() };
    let (counters, _) = run("gaps", damage, mischief, 2000);
    assert_eq!((counters.bad_tlps, counters.naks, counters.replayed), (0, 0, 0));
}

#[test]
fn lost_acks() {
    let mischief = Mischief { lost_acks: 500, ..Mischief::default() };
    run("lost acks", NONE, mischief, 3000);
}

#[test]
fn a_storm_of_naks() {
    let mischief = Mischief { nak_storm: 500, ..Mischief::default() };
    let (counters, _) = run("nak storm", NONE, mischief, 3000);
    assert!(counters.duplicates > 300);
}

#[test]
fn lost_updates_and_withheld_credits() {
    let mischief = Mischief { lost_updates: 500, withheld: 3000, ..Mischief::default() };
    run("credits", NONE, mischief, 3000);
}

#[test]
fn nullified_tlps_and_early_replays() {
    let mischief = Mischief { nullified: 200, early_replay: true, ..Mischief::default() };
    let (counters, retrains) = run("nullified", NONE, mischief, 3000);
    assert!(counters.replayed > 0);
    assert_eq!((counters.naks, retrains), (0, 0));
}

#[test]
fn everything_at_once() {
    run("everything", Damage::ALL, Mischief::ALL, 3000);
}
