//! Steps of the LTSSM that a healthy root port does not show: somebody else sends.

use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_link::ordered_set::{self, Kind, TrainingSet, DISABLE, SKP_SET};
use viaduct_link::symbol::Symbol;

use super::script::Script;
use super::world::{quick, seed, World, MS};

pub fn ts(kind: Kind, link: Option<u8>, lane: Option<u8>) -> TrainingSet {
    TrainingSet::new(kind, link, lane)
}

/// TS1 or TS2 of the link that is up.
pub fn ours(kind: Kind) -> TrainingSet {
    ts(kind, Some(0), Some(0))
}

pub fn said(control: u8) -> TrainingSet {
    TrainingSet { control, ..ours(Kind::Ts1) }
}

pub const UNNAMED: TrainingSet = TrainingSet::new(Kind::Ts1, None, None);

/// A world in which a state has just been entered, for the first time or in Recovery.
fn reached(state: u64) -> World {
    let mut world = World::new(quick(seed("pcie mac edges")));
    if state >= L0 {
        world.train();
    }
    match state {
        L0 => {}
        L1_ENTRY => world.sleep = true,
        RECOVERY_IDLE => {
            world.port.retrain();
            world.reach(1000, RECOVERY_CONFIGURATION);
            world.script = Some(Script::sets(ours(Kind::Ts2)));
        }
        _ if state > L0 => world.port.retrain(),
        _ => {}
    }
    world.reach(20_000, state);
    world.take_path();
    world
}

/// The state that follows one in which this is sent, within so many cycles.
#[track_caller]
pub fn next(state: u64, script: Script, cycles: u64) -> (u64, World) {
    let mut world = reached(state);
    world.script = Some(script);
    world.until(cycles, |world| world.state() != state);
    // No set was cut up to here.
    world.assert_lane();
    (world.state(), world)
}

#[track_caller]
fn assert_next(state: u64, script: Script, expected: u64) {
    let (next, _) = next(state, script, 400);
    assert_eq!(next, expected, "from {state}");
}

#[test]
fn a_single_training_set_ends_l0() {
    for kind in [Kind::Ts1, Kind::Ts2] {
        let script = Script::idle().first(1, ours(kind));
        let (state, world) = next(L0, script, 40);
        assert_eq!(state, RECOVERY_LOCK);
        assert!(world.link_up);
    }
}

#[test]
fn configuration_is_given_up_when_the_link_has_no_number_any_more() {
    assert_next(LINKWIDTH_ACCEPT, Script::sets(UNNAMED), DETECT_QUIET);
    assert_next(LANENUM_WAIT, Script::sets(UNNAMED), DETECT_QUIET);
}

#[test]
fn a_lane_that_is_not_0_and_a_link_that_is_not_ours_are_not_taken() {
    let (state, world) = next(LINKWIDTH_ACCEPT, Script::sets(ts(Kind::Ts1, Some(0), Some(1))), 3 * MS);
    assert_eq!(state, DETECT_QUIET);
    assert!(world.cycle > 2 * MS);
    let (state, world) = next(LANENUM_WAIT, Script::sets(ts(Kind::Ts2, Some(1), Some(0))), 3 * MS);
    assert_eq!(state, DETECT_QUIET);
    assert!(world.cycle > 2 * MS);
    let (state, world) = next(RECOVERY_LOCK, Script::sets(ts(Kind::Ts1, Some(4), Some(0))), 25 * MS);
    assert_eq!(state, DETECT_QUIET);
    assert!(world.cycle > 24 * MS);
}

#[test]
fn seven_sets_in_a_row_are_not_enough_and_skp_sets_do_not_count() {
    let set = ours(Kind::Ts1).encode();
    let seven = [set.repeat(7), UNNAMED.encode().to_vec()].concat();
    // The root port may have sent some of ours before.
    let (state, _) = next(RECOVERY_LOCK, Script::over(seven).first(1, UNNAMED), 25 * MS);
    assert_eq!(state, DETECT_QUIET);
    let parted = [set.repeat(3), SKP_SET.to_vec()].concat();
    assert_next(RECOVERY_LOCK, Script::over(parted), RECOVERY_CONFIGURATION);
    // Two equal ones are two in a row.
    let other = ts(Kind::Ts1, Some(0), None).encode().to_vec();
    let alternating = [UNNAMED.encode().to_vec(), other].concat();
    let (state, _) = next(LINKWIDTH_START, Script::over(alternating), 25 * MS);
    assert_eq!(state, DETECT_QUIET);
}

/// Sets or symbols so often without a break as a state asks for lead on, and once less often never do: with others between them, and for longer than
/// the 1024 TS1 of Polling take.
#[test]
fn one_less_in_a_row_than_a_state_asks_for_is_not_enough() {
    let unnamed = |kind| ts(kind, None, None).encode().to_vec();
    let named = |kind| ts(kind, Some(0), None).encode().to_vec();
    let ours = |kind| ours(kind).encode().to_vec();
    for (state, set, count, other, next) in [
        (POLLING_ACTIVE, unnamed(Kind::Ts1), 8, named(Kind::Ts1), POLLING_CONFIGURATION),
        (POLLING_ACTIVE, unnamed(Kind::Ts2), 8, named(Kind::Ts2), POLLING_CONFIGURATION),
        (POLLING_CONFIGURATION, unnamed(Kind::Ts2), 8, unnamed(Kind::Ts1), LINKWIDTH_START),
        (LINKWIDTH_START, named(Kind::Ts1), 2, unnamed(Kind::Ts1), LINKWIDTH_ACCEPT),
        (LINKWIDTH_ACCEPT, ours(Kind::Ts1), 2, named(Kind::Ts1), LANENUM_WAIT),
        (LANENUM_WAIT, ours(Kind::Ts2), 2, ours(Kind::Ts1), COMPLETE),
        (COMPLETE, ours(Kind::Ts2), 8, ours(Kind::Ts1), CONFIGURATION_IDLE),
        (RECOVERY_LOCK, ours(Kind::Ts2), 8, unnamed(Kind::Ts1), RECOVERY_CONFIGURATION),
        (RECOVERY_CONFIGURATION, ours(Kind::Ts2), 8, ours(Kind::Ts1), RECOVERY_IDLE),
    ] {
        let mut world = reached(state);
        world.script = Some(Script::over([other, set.repeat(count - 1)].concat()));
        world.run(12_000);
        assert_eq!(world.state(), state, "{} in a row", count - 1);
        world.script = Some(Script::over(set));
        world.reach(400, next);
        world.assert_lane();
    }
    // Eight symbols of idle are four words; 16 of them are sent in any case.
    let idle = |symbols| vec![Symbol::IDLE; symbols];
    let other = vec![Symbol::data(0x55); 2];
    for state in [CONFIGURATION_IDLE, RECOVERY_IDLE] {
        let mut world = reached(state);
        // A COM, from which on both ends scramble alike.
        let synchronised = |over| Script::data(over).first(1, ts(Kind::Ts2, Some(0), Some(0)));
        world.script = Some(synchronised([other.clone(), idle(6)].concat()));
        world.run(12_000);
        assert_eq!(world.state(), state, "six symbols of idle");
        world.script = Some(synchronised([other.clone(), idle(8)].concat()));
        world.reach(400, L0);
        world.assert_lane();
    }
}

#[test]
fn recovery_leads_to_configuration_and_the_link_stays_up() {
    for (state, sets) in [
        (RECOVERY_CONFIGURATION, UNNAMED),
        (RECOVERY_IDLE, UNNAMED),
        (RECOVERY_IDLE, ts(Kind::Ts1, Some(0), None)),
    ] {
        let (next, mut world) = next(state, Script::sets(sets), 400);
        assert_eq!(next, LINKWIDTH_START, "from {state}");
        world.run(10);
        assert!(world.link_up && !world.in_l0 && !world.hot_reset);
        // It goes down when nobody configures it.
        world.script = Some(Script::idle());
        world.until(25 * MS, |world| world.state() == DETECT_QUIET);
        world.run(2);
        assert!(!world.link_up);
    }
}

#[test]
fn training_sets_in_recovery_idle_lead_back() {
    assert_next(RECOVERY_IDLE, Script::sets(ours(Kind::Ts1)), RECOVERY_LOCK);
}

#[test]
fn hot_reset_and_disable_are_obeyed_in_all_of_recovery() {
    for state in [RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE] {
        for (control, expected) in [(ordered_set::HOT_RESET, HOT_RESET), (DISABLE, DISABLED)] {
            let (next, mut world) = next(state, Script::sets(said(control)), 100);
            assert_eq!(next, expected, "from {state}");
            world.run(2);
            assert!(world.hot_reset && !world.link_up);
        }
    }
}

#[test]
fn hot_reset_said_once_is_damage() {
    let script = Script::idle().first(1, said(ordered_set::HOT_RESET));
    assert_next(RECOVERY_IDLE, script, L0);
}

#[test]
fn disable_is_obeyed_before_the_link_has_a_number() {
    let set = TrainingSet { control: DISABLE, ..UNNAMED };
    let (state, mut world) = next(LINKWIDTH_START, Script::sets(set), 100);
    assert_eq!(state, DISABLED);
    // 16 sets say it, then EIOS and electrical idle; the other side never is, for 2 ms.
    let passed = world.until(200, |world| world.from.tx_idle);
    assert!((16 * 8..18 * 8).contains(&passed), "{passed}");
    let passed = world.reach(3 * MS, DETECT_QUIET);
    assert!((2 * MS - 20..2 * MS + 20).contains(&passed), "{passed}");
}

#[test]
fn l1_is_not_entered_while_something_comes() {
    let (state, _) = next(L1_ENTRY, Script::sets(ours(Kind::Ts1)), 60);
    assert_eq!(state, RECOVERY_LOCK);
    let (state, world) = next(L1_ENTRY, Script::idle(), 3 * MS);
    assert_eq!(state, RECOVERY_LOCK);
    assert!(world.cycle > 2 * MS);
}
