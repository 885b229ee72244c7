//! What becomes of programs whose viad is killed, and started again: every call that is under way has its error within a second, whoever
//! polls or sleeps, and although a forked child has all that its parent has.

use std::{collections::BTreeMap, path::Path, time::Duration};

use rustix::time::{clock_gettime, ClockId};
use viaduct_viad_tests::{c::Example, stage::Stage};

/// What is promised.
const PROMISE: Duration = Duration::from_secs(1);
/// What a machine may take that has other things to do. A thread that is woken may wait for a processor for as long as others have it,
/// and each round has fifteen that want one at once: so of each call the quickest round is held against the promise, and all against this.
const LATEST: Duration = Duration::from_secs(5);
const ROUNDS: usize = 3;
/// What is under way in tests/c/orphans.c: its calls are in tests/c/orphans.h.
const CALLS: usize = 13;

#[test]
fn every_call_has_its_error_within_a_second_of_the_death_of_its_viad() {
    let mut stage = Stage::new(1);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/orphans.c");
    let program = Example::of(&source, stage.folder.path());
    let mut orphans = program.converse(&[&stage.name(0), &ROUNDS.to_string()]);
    let mut quickest: BTreeMap<String, Duration> = BTreeMap::new();
    for round in 0..ROUNDS {
        assert_eq!(orphans.hear(), "ready");
        stage.kill(0);
        let killed = clock_gettime(ClockId::Monotonic);
        orphans.say(&(killed.tv_sec * 1_000_000_000 + killed.tv_nsec).to_string());
        for _ in 0..CALLS {
            let line = orphans.hear();
            println!("round {round}: {line}");
            let (call, rest) = line.split_once(": ").expect("a call and its end");
            let (time, answer) = rest.split_once(" us, answers ").expect("it had an end");
            // A call may have ended before this process knew that viad had.
            let time = Duration::from_micros(time.parse::<i64>().expect("a number").max(0) as u64);
            // VIP_ERROR_RESOURCE, VIP_NOT_REACHABLE: no call answers as if all were well, or waits its time.
            assert!(["3", "15"].contains(&answer), "{line}");
            assert!(time < LATEST, "{line}");
            let best = quickest.entry(call.to_owned()).or_insert(time);
            *best = time.min(*best);
        }
        assert_eq!(orphans.hear(), "over");
        let viad = stage.start(0);
        stage.replace(0, viad);
        orphans.say("there is another");
    }
    assert_eq!(quickest.len(), CALLS);
    for (call, time) in quickest {
        assert!(time < PROMISE, "{call}: {time:?}");
    }
    assert_eq!(orphans.hear(), "as good as new");
    orphans.end();
}
