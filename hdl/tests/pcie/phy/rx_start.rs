//! The receive side's start: each step of the table in its description, and each way out of it.

use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::RxStart;
use viaduct_verilate::Bench;

use super::Cycles;

/// Cycles of the steps, with the one in which the step changes.
const LISTEN: u64 = 4001;
const RESET: u64 = 9;
const LONG: u64 = 62_501;
const CLEAN: u64 = 1025;

fn bench() -> Bench {
    let mut bench = Bench::new("rx_start", &verilog(RxStart::default()));
    bench.set("run", 0);
    for port in ["lost", "unlocked", "bad"] {
        bench.set(port, 1);
    }
    bench.set("slipped", 0);
    bench.run_idle(3);
    bench
}

/// CDR reset, PCS reset, ready.
fn state(bench: &Bench) -> [u64; 3] {
    ["cdr_reset", "pcs_reset", "ready"].map(|port| bench.get(port))
}

const LISTENS: [u64; 3] = [0, 1, 0];
const RESETS_CDR: [u64; 3] = [1, 1, 0];
const IS_CLEAN: [u64; 3] = [0, 0, 0];
const RUNS: [u64; 3] = [0, 0, 1];

/// The state holds for exactly so many cycles.
fn holds(bench: &mut Bench, what: [u64; 3], cycles: u64) {
    for cycle in 0..cycles {
        assert_eq!(state(bench), what, "in cycle {cycle} of {cycles}");
        bench.run_idle(1);
    }
    assert_ne!(state(bench), what, "behind {cycles} cycles");
}

/// A signal comes, and all goes well.
fn start(bench: &mut Bench) {
    bench.set("run", 1);
    for port in ["lost", "unlocked", "bad"] {
        bench.set(port, 0);
    }
    holds(bench, LISTENS, LISTEN);
    holds(bench, RESETS_CDR, RESET);
    holds(bench, LISTENS, 2 * LONG + RESET);
    holds(bench, IS_CLEAN, CLEAN);
    assert_eq!(state(bench), RUNS);
}

/// Cycles from the first signal until symbols are good.
pub fn takes() -> u64 {
    start(&mut bench());
    LISTEN + RESET + 2 * LONG + RESET + CLEAN
}

#[test]
fn all_steps_come_in_their_order() {
    let mut bench = bench();
    start(&mut bench);
    bench.run_idle(5000);
    assert_eq!(state(&bench), RUNS);
    // What is damaged now and then ends nothing.
    bench.set("bad", 1);
    bench.run_idle(5000);
    assert_eq!(state(&bench), RUNS);
}

#[test]
fn a_step_waits_until_what_it_needs_has_held() {
    let mut bench = bench();
    bench.set("run", 1);
    // A signal that is lost again.
    for _ in 0..3 {
        bench.set("lost", 0);
        bench.run_idle(3000);
        bench.set("lost", 1);
        bench.run_idle(1);
    }
    assert_eq!(state(&bench), LISTENS);
    bench.set("lost", 0);
    holds(&mut bench, LISTENS, LISTEN);
    holds(&mut bench, RESETS_CDR, RESET);
    // A lock that is lost again: 62 500 cycles from its last loss.
    bench.run_idle(LONG + 50_000);
    bench.set("unlocked", 0);
    bench.run_idle(62_000);
    bench.set("unlocked", 1);
    bench.run_idle(1);
    bench.set("unlocked", 0);
    holds(&mut bench, LISTENS, LONG + RESET);
    // Symbols that are damaged.
    bench.run_idle(1000);
    bench.set("bad", 0);
    bench.run_idle(1000);
    bench.set("bad", 1);
    bench.run_idle(1);
    bench.set("bad", 0);
    holds(&mut bench, IS_CLEAN, CLEAN);
    assert_eq!(state(&bench), RUNS);
}

#[test]
fn symbols_that_never_get_good_begin_all_anew() {
    let mut bench = bench();
    bench.set("run", 1);
    bench.set("lost", 0);
    bench.set("unlocked", 0);
    bench.run_idle(LISTEN + RESET + 2 * LONG + RESET);
    holds(&mut bench, IS_CLEAN, (1 << 18) + 1);
    holds(&mut bench, LISTENS, LISTEN);
    assert_eq!(state(&bench), RESETS_CDR);
}

#[test]
fn what_is_lost_while_it_runs_is_looked_for_again() {
    // No lock, a buffer that slipped, no transmit side.
    for (port, value, then) in [("unlocked", 1, LISTENS), ("slipped", 1, LISTENS), ("run", 0, LISTENS)] {
        let mut bench = bench();
        start(&mut bench);
        bench.set(port, value);
        bench.run_idle(1);
        assert_eq!(state(&bench), then, "{port}");
        bench.set(port, 1 - value);
        // Only the buffer needs no more than a reset.
        if port == "slipped" {
            holds(&mut bench, LISTENS, RESET);
            holds(&mut bench, IS_CLEAN, CLEAN);
        } else {
            holds(&mut bench, LISTENS, LISTEN);
        }
    }
    // A signal that is away for 1024 cycles, and one for less.
    let mut bench = bench();
    start(&mut bench);
    bench.set("lost", 1);
    bench.run_idle(1000);
    bench.set("lost", 0);
    bench.run_idle(1);
    bench.set("lost", 1);
    holds(&mut bench, RUNS, CLEAN);
    assert_eq!(state(&bench), LISTENS);
}
