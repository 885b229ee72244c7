//! The reset of a board, to the cycle.

use viaduct_hdl::board::Start;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

#[test]
fn reset_ends_behind_the_lock_and_the_phy_s_much_later() {
    let mut bench = Bench::new("start", &verilog(Start::default()));
    let run = |bench: &mut Bench, cycles: u64| {
        let mut changes = Vec::new();
        let mut last = (2, 2);
        for cycle in 0..cycles {
            bench.eval();
            let now = (bench.get("core_reset"), bench.get("phy_reset_n"));
            if now != last {
                changes.push((cycle, now));
                last = now;
            }
            bench.tick();
        }
        changes
    };
    assert_eq!(run(&mut bench, 100), [(0, (1, 0))], "no lock, no start");
    bench.set("locked", 1);
    let changes = run(&mut bench, (1 << 21) + 100);
    let [(0, (1, 0)), (core, (0, 0)), (phy, (0, 1))] = changes[..] else { panic!("{changes:?}") };
    assert!((64..72).contains(&core) && phy >= 1 << 21, "{core}, {phy}");
    bench.set("locked", 0);
    let changes = run(&mut bench, 100);
    assert_eq!(changes.last().map(|(_, state)| *state), Some((1, 0)), "the clock is lost");
    bench.set("locked", 1);
    assert_eq!(run(&mut bench, 200).last().map(|(_, state)| *state), Some((0, 0)));
}
