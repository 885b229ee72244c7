//! The steps of docs/pcie.md, "The LTSSM": they are those of the block, and a test walks each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::mac::state::codes::*;
use viaduct_hdl::pcie::mac::Steps;
use viaduct_link::ordered_set::{Kind, TrainingSet, DISABLE, HOT_RESET as SAYS_HOT_RESET};
use viaduct_verilate::Bench;

use super::edges::{next, ours, said, UNNAMED};
use super::script::Script;
use super::times::give_up;
use super::training::WAY;
use super::world::{quick, seed, World, MS};

/// Bits of a training set at the port `last`.
const LAST_BITS: u32 = 18;

/// From a state to another.
type Step = (u64, u64);

fn page(name: &str) -> String {
    read_to_string(format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"))).expect("a page of docs/")
}

/// The cells of a table's rows.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    page.lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// The steps that the page has.
fn written() -> BTreeSet<Step> {
    let (boards, pcie) = (page("boards.md"), page("pcie.md"));
    let (_, codes) = boards.split_once("| number | state |").expect("the numbers of the states");
    let (codes, _) = codes.split_once("\n\n").expect("an end of them");
    // Numbers and names stand in pairs beside each other.
    let pairs = rows(codes)
        .flat_map(|cells| cells.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>());
    let codes: BTreeMap<&str, u64> =
        pairs.filter_map(|(number, name)| Some((name, number.parse().ok()?))).collect();
    assert_eq!(codes.len() as u64, L1 + 1, "{codes:?}");
    let mut steps = BTreeSet::new();
    for cells in rows(&pcie) {
        let [state, leads] = cells[..] else { continue };
        let Some(&from) = codes.get(state) else { continue };
        for lead in leads.split("; ") {
            let to = lead.split_once(": ").and_then(|(name, _)| codes.get(name));
            let to = to.unwrap_or_else(|| panic!("{state}: {lead:?} leads to no state"));
            assert!(steps.insert((from, *to)), "{state}: {lead:?} is there twice");
        }
    }
    steps
}

#[test]
fn the_page_has_the_steps_of_the_block_and_no_others() {
    const LEVELS: [&str; 16] = [
        "quiet",
        "settled",
        "detect_done",
        "detect_present",
        "retrain",
        "sleep",
        "wake",
        "any",
        "pair",
        "eight",
        "ready",
        "turned",
        "unscrambled",
        "answered",
        "polled",
        "still",
    ];
    // Seldom, so that they do not end everything.
    const SELDOM: [&str; 4] = ["after_2", "after_12", "after_24", "after_48"];
    let mut bench = Bench::new("steps", &verilog(Steps::default()));
    let mut random = ChaCha8Rng::seed_from_u64(seed("pcie mac steps"));
    bench.set("ignore_detect", 0);
    bench.set("no_scramble", 0);
    bench.set("reset", 1);
    bench.tick();
    bench.set("reset", 0);
    let (mut found, mut at) = (BTreeSet::new(), DETECT_QUIET);
    for _ in 0..1_000_000 {
        for level in LEVELS {
            bench.set(level, random.random_range(0..2));
        }
        for level in SELDOM {
            bench.set(level, u64::from(random.random_ratio(1, 16)));
        }
        bench.set("idle_done", u64::from(random.random_ratio(1, 4)));
        let mut bits = || random.random_range(0..1 << LAST_BITS);
        bench.set("last", bits() & bits());
        bench.tick();
        bench.eval();
        let now = bench.get("at");
        if now != at {
            found.insert((at, now));
        }
        at = now;
    }
    assert_eq!(found, written());
}

/// What a state is given, and where that leads.
fn scripts() -> Vec<(u64, Script, u64)> {
    let said_twice = |control| Script::sets(said(control));
    let mut scripts = vec![
        (L0, Script::idle().first(1, ours(Kind::Ts1)), RECOVERY_LOCK),
        (LINKWIDTH_ACCEPT, Script::sets(UNNAMED), DETECT_QUIET),
        (LANENUM_WAIT, Script::sets(UNNAMED), DETECT_QUIET),
        (RECOVERY_LOCK, Script::sets(ours(Kind::Ts1)), RECOVERY_CONFIGURATION),
        (RECOVERY_CONFIGURATION, Script::sets(ours(Kind::Ts2)), RECOVERY_IDLE),
        (RECOVERY_CONFIGURATION, Script::sets(UNNAMED), LINKWIDTH_START),
        (RECOVERY_IDLE, Script::idle().first(1, ours(Kind::Ts2)), L0),
        (RECOVERY_IDLE, Script::sets(UNNAMED), LINKWIDTH_START),
        (RECOVERY_IDLE, Script::sets(ours(Kind::Ts1)), RECOVERY_LOCK),
        (L1_ENTRY, Script::sets(ours(Kind::Ts1)), RECOVERY_LOCK),
    ];
    for state in [RECOVERY_LOCK, RECOVERY_CONFIGURATION, RECOVERY_IDLE] {
        scripts.push((state, said_twice(SAYS_HOT_RESET), HOT_RESET));
        scripts.push((state, said_twice(DISABLE), DISABLED));
    }
    scripts
}

/// Those that give up after a time have a test of their own (`times.rs`); all others are walked here once.
#[test]
fn a_test_walks_each_step_of_the_page() {
    let mut walked: BTreeSet<Step> = give_up().map(|state| (state, DETECT_QUIET)).collect();
    let mut walk = |path: &[u64]| walked.extend(path.windows(2).map(|step| (step[0], step[1])));
    for (state, script, expected) in scripts() {
        let (next, _) = next(state, script, 400);
        assert_eq!(next, expected, "from {state}");
        walk(&[state, next]);
    }
    // Disabled before the link has a number, and given up since nobody falls silent.
    let set = TrainingSet { control: DISABLE, ..UNNAMED };
    let (state, mut world) = next(LINKWIDTH_START, Script::sets(set), 100);
    world.reach(400, DISABLED_QUIET);
    world.reach(3 * MS, DETECT_QUIET);
    walk(&[LINKWIDTH_START, state, DISABLED_QUIET, DETECT_QUIET]);
    // To L0, to L1 and back, and a hot reset.
    let mut world = World::new(quick(seed("pcie mac steps")));
    world.train();
    world.link.ask_for(viaduct_link::link::dllp::Power::EnterL1);
    world.reach(5000, L1);
    world.run(500);
    world.wake = true;
    world.until(5000, |world| world.is_active());
    world.wake = false;
    world.port.hot_reset();
    world.reach(3000, HOT_RESET);
    world.reach(3 * MS, DETECT_QUIET);
    let path = world.take_path();
    assert_eq!(path[..WAY.len()], WAY);
    walk(&path);
    // Nobody is there.
    let mut options = quick(seed("pcie mac steps alone"));
    options.port_present = false;
    let mut world = World::new(options);
    world.reach(MS, DETECT_ACTIVE);
    world.reach(2000, DETECT_QUIET);
    walk(&world.take_path());
    assert_eq!(walked, written());
}
