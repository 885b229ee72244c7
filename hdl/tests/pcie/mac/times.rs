//! When each state is left if nothing comes.

use viaduct_hdl::pcie::mac::state::codes::*;

use super::world::{quick, seed, World, MS};

/// The other side falls silent so many cycles after a state was entered: how long `state` lasts then, and what is next.
fn silent_in(before: u64, after: u64, state: u64, recovers: bool) -> (u64, u64) {
    let mut world = World::new(quick(seed("pcie mac times")));
    if recovers {
        world.train();
        world.port.retrain();
    }
    world.reach(20_000, before);
    world.run(after);
    world.port.silence(u64::MAX, 0);
    world.reach(1000, state);
    let passed = world.until(50 * MS, |world| world.state() != state);
    world.assert_lane();
    (passed, world.state())
}

/// Milliseconds after which a state gives up, and whether it is one of Recovery.
const LIMITS: [(u64, u64, bool); 8] = [
    (POLLING_ACTIVE, 24, false),
    (POLLING_CONFIGURATION, 48, false),
    (LINKWIDTH_START, 24, false),
    (LINKWIDTH_ACCEPT, 2, false),
    (LANENUM_WAIT, 2, false),
    (COMPLETE, 2, false),
    (RECOVERY_LOCK, 24, true),
    (RECOVERY_CONFIGURATION, 48, true),
];
/// States of logical idle, the states before them, and whether they are of Recovery.
const IDLES: [(u64, u64, bool); 2] =
    [(COMPLETE, CONFIGURATION_IDLE, false), (RECOVERY_CONFIGURATION, RECOVERY_IDLE, true)];

/// The states that the tests below see give up.
pub fn give_up() -> impl Iterator<Item = u64> {
    LIMITS.iter().map(|row| row.0).chain(IDLES.iter().map(|row| row.1))
}

#[test]
fn each_state_gives_up_after_its_time() {
    for (state, time, recovers) in LIMITS {
        let (passed, next) = silent_in(state, 0, state, recovers);
        assert_eq!(next, DETECT_QUIET, "{state}");
        assert!((time * MS..time * MS + 10).contains(&passed), "{state}: {passed}");
    }
}

#[test]
fn states_of_logical_idle_give_up_after_2_ms() {
    // TS2 enough have come, and no idle.
    for (before, state, recovers) in IDLES {
        let (passed, next) = silent_in(before, 100, state, recovers);
        assert_eq!(next, DETECT_QUIET, "{state}");
        assert!((2 * MS..2 * MS + 10).contains(&passed), "{state}: {passed}");
    }
}

#[test]
fn detect_looks_again_every_12_ms_and_takes_what_it_finds() {
    let mut options = quick(seed("pcie mac detect"));
    options.starts = u64::MAX;
    options.port_present = false;
    let mut world = World::new(options);
    for _ in 0..3 {
        let quiet = world.reach(13 * MS, DETECT_ACTIVE);
        assert!((12 * MS - 10..12 * MS + 30).contains(&quiet), "{quiet}");
        let active = world.reach(1100, DETECT_QUIET);
        assert!(active > 990, "{active}");
        assert!(world.from.tx_idle);
    }
    assert_eq!(world.deepest(), DETECT_ACTIVE);
}

#[test]
fn detection_that_never_ends_is_given_up() {
    let mut options = quick(seed("pcie mac endless detection"));
    options.detection = u64::MAX - 1;
    let mut world = World::new(options);
    world.reach(13 * MS, DETECT_ACTIVE);
    world.run(10);
    assert!(world.from.detect_request);
    let passed = world.until(13 * MS, |world| world.state() != DETECT_ACTIVE);
    assert!((12 * MS - 10..12 * MS + 10).contains(&(passed + 10)), "{passed}");
    assert_eq!(world.state(), DETECT_QUIET);
}

#[test]
fn activity_ends_detect_quiet_and_a_glitch_does_not() {
    let mut options = quick(seed("pcie mac activity"));
    // The level lies for up to seven cycles, again and again.
    options.to_endpoint.glitches = 50_000;
    options.starts = 5 * MS;
    let mut world = World::new(options);
    let passed = world.reach(13 * MS, DETECT_ACTIVE);
    assert!((5 * MS..5 * MS + 4000).contains(&passed), "{passed}");
    world.train();
}

#[test]
fn detection_can_be_left_out() {
    for ignored in [false, true] {
        let mut options = quick(seed("pcie mac no detection"));
        options.port_present = false;
        let mut world = World::with("pcie_mac", options, false, ignored);
        for _ in 0..14 * MS {
            world.step();
            assert!(!(ignored && world.from.detect_request));
        }
        assert_eq!(world.is_active(), ignored);
        assert_eq!(world.deepest(), if ignored { L0 } else { DETECT_ACTIVE });
    }
}
