//! Ten thousand TLPs each way with each kind of damage: nothing is lost, doubled, reordered or wrong.

use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::Counters;

use crate::bench::{options, Pair, Traffic};

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

/// Runs it and returns what both sides counted, added up.
fn run(seed: u64, damage: Damage, mischief: Mischief) -> Counters {
    let (mut port, mut endpoint) = options(seed);
    (port.to_endpoint, port.from_endpoint) = (damage, damage);
    (port.side.mischief, endpoint.mischief) = (mischief, mischief);
    // The endpoint keeps the rules, whatever comes, unless it is told not to.
    let lawful = Mischief { withheld: 0, gaps: 0, nullified: 0, ..mischief } == Mischief::default();
    let mut pair = Pair::new(port, endpoint).watched(false);
    pair.train();
    let mut traffic = Traffic::new(seed, 10_000, 128);
    let cycles = traffic.run(&mut pair, 20_000_000, |pair, _| {
        assert!(pair.port.link_up() && pair.endpoint.side.link_up(), "the link went down");
    });
    if lawful {
        pair.assert_silent();
    }
    let (down, up) = (pair.port.counters(), pair.endpoint.side.counters());
    println!("{cycles} cycles, {down:?} {up:?}");
    for counters in [down, up] {
        assert_eq!((counters.received, counters.sent), (10_000, 10_000));
        assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    }
    Counters {
        replayed: down.replayed + up.replayed,
        timeouts: down.timeouts + up.timeouts,
        retrains: down.retrains + up.retrains,
        bad_tlps: down.bad_tlps + up.bad_tlps,
        missing: down.missing + up.missing,
        duplicates: down.duplicates + up.duplicates,
        nullified: down.nullified + up.nullified,
        bad_dllps: down.bad_dllps + up.bad_dllps,
        naks: down.naks + up.naks,
        ..Counters::default()
    }
}

#[test]
fn symbols_that_cannot_be_decoded() {
    let counters = run(11, Damage { flagged: 300, ..NONE }, Mischief::default());
    assert!(counters.bad_tlps > 100 && counters.naks > 100 && counters.bad_dllps > 10);
}

#[test]
fn symbols_that_become_others() {
    let counters = run(12, Damage { silent: 300, ..NONE }, Mischief::default());
    assert!(counters.bad_tlps > 100 && counters.bad_dllps > 10);
}

#[test]
fn lost_symbols() {
    let counters = run(13, Damage { lost: 200, ..NONE }, Mischief::default());
    assert!(counters.bad_tlps > 100);
}

#[test]
fn doubled_symbols() {
    let counters = run(14, Damage { doubled: 200, ..NONE }, Mischief::default());
    assert!(counters.bad_tlps > 100);
}

#[test]
fn skp_sets_of_every_size_either_byte_and_an_inverted_lane() {
    let counters = run(15, Damage { skp: true, odd: true, inverted: true, ..NONE }, Mischief::default());
    assert_eq!((counters.bad_tlps, counters.bad_dllps, counters.replayed), (0, 0, 0));
}

#[test]
fn glitches_of_electrical_idle() {
    let counters = run(16, Damage { glitches: 5000, ..NONE }, Mischief::default());
    assert_eq!((counters.bad_tlps, counters.bad_dllps, counters.replayed), (0, 0, 0));
}

#[test]
fn lost_acks() {
    let counters = run(17, NONE, Mischief { lost_acks: 500, ..Mischief::default() });
    assert!(counters.timeouts > 50 && counters.duplicates > 50);
}

#[test]
fn nak_storms() {
    let counters = run(18, NONE, Mischief { nak_storm: 1000, ..Mischief::default() });
    assert!(counters.naks > 1000 && counters.duplicates > 1000);
}

#[test]
fn replay_timers_that_end_early() {
    let counters = run(19, NONE, Mischief { early_replay: true, ..Mischief::default() });
    assert!(counters.timeouts > 100);
}

#[test]
fn withheld_credits() {
    run(20, NONE, Mischief { withheld: 6000, lost_updates: 300, ..Mischief::default() });
}

#[test]
fn nullified_tlps_and_odd_gaps() {
    let counters = run(21, NONE, Mischief { nullified: 200, gaps: 5, ..Mischief::default() });
    assert!(counters.nullified > 2000 && counters.bad_tlps == 0);
}

#[test]
fn everything_at_once() {
    for seed in 31..37 {
        run(seed, Damage::ALL, Mischief::ALL);
    }
}

#[test]
fn short_silence_is_survived() {
    let (port, endpoint) = options(40);
    let mut pair = Pair::new(port, endpoint);
    pair.train();
    let mut traffic = Traffic::new(40, 10_000, 128);
    traffic.run(&mut pair, 20_000_000, |pair, cycle| {
        match cycle % 120_000 {
            30_000 => pair.port.silence(cycle % 7919, 0),
            60_000 => pair.port.silence(0, cycle % 7919),
            90_000 => pair.port.silence(20_000, 20_000),
            _ => {}
        }
        assert!(pair.port.link_up() && pair.endpoint.side.link_up(), "the link went down");
    });
}
