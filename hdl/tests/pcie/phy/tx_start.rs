//! The transmit side's start.

use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::TxStart;
use viaduct_verilate::Bench;

use super::Cycles;

fn bench() -> Bench {
    let mut bench = Bench::new("tx_start", &verilog(TxStart::default()));
    bench.set("unlocked", 1);
    bench.set("run", 0);
    bench.tick();
    bench.eval();
    bench
}

/// PLL reset, PCS reset, ready.
fn state(bench: &Bench) -> [u64; 3] {
    ["pll_reset", "pcs_reset", "ready"].map(|port| bench.get(port))
}

/// Cycles until the state is another one.
fn holds(bench: &mut Bench, most: u64) -> u64 {
    let before = state(bench);
    for cycles in 1..=most {
        bench.tick();
        bench.eval();
        if state(bench) != before {
            return cycles;
        }
    }
    panic!("{before:?} for {most} cycles");
}

/// Cycles from `run` to `ready` with a PLL that locks at once.
pub fn takes() -> u64 {
    let mut bench = bench();
    bench.set("unlocked", 0);
    bench.set("run", 1);
    (0..3).map(|_| holds(&mut bench, 70_000)).sum()
}

#[test]
fn the_pll_locks_before_the_pcs_runs() {
    let mut bench = bench();
    bench.run_idle(5000);
    assert_eq!(state(&bench), [1, 1, 0]);
    bench.set("run", 1);
    assert_eq!(holds(&mut bench, 2000), 1025);
    assert_eq!(state(&bench), [0, 1, 0]);
    // A lock that does not hold counts from the start.
    for _ in 0..3 {
        bench.set("unlocked", 0);
        bench.run_idle(60_000);
        bench.set("unlocked", 1);
        bench.run_idle(1);
        assert_eq!(state(&bench), [0, 1, 0]);
    }
    bench.set("unlocked", 0);
    assert_eq!(holds(&mut bench, 70_000), 65_537);
    assert_eq!(state(&bench), [0, 0, 0]);
    assert_eq!(holds(&mut bench, 100), 65);
    assert_eq!(state(&bench), [0, 0, 1]);
    bench.run_idle(100_000);
    assert_eq!(state(&bench), [0, 0, 1]);
}

#[test]
fn a_lost_lock_and_perst_begin_anew() {
    for port in ["unlocked", "run"] {
        let mut bench = bench();
        bench.set("run", 1);
        bench.set("unlocked", 0);
        bench.run_idle(67_000);
        assert_eq!(state(&bench), [0, 0, 1], "{port}");
        bench.set(port, u64::from(port == "unlocked"));
        bench.run_idle(1);
        assert_eq!(state(&bench), [1, 1, 0], "{port}");
        bench.set(port, u64::from(port != "unlocked"));
        bench.run_idle(1025 + 65_537 + 65);
        assert_eq!(state(&bench), [0, 0, 1], "{port}");
    }
}
