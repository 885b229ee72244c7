//! Device time on a board.

use viaduct_hdl::board::Ticks;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

/// A tick is 1.024 us, a cycle 7 / 750 us: 768 cycles are 7 ticks, and no two ticks differ by more than a cycle.
#[test]
fn seven_ticks_take_768_cycles() {
    let mut bench = Bench::new("ticks", &verilog(Ticks::default()));
    for cycle in 1..=10 * 768_u64 {
        bench.tick();
        bench.eval();
        assert_eq!(bench.get("time_now"), cycle * 7 / 768, "cycle {cycle}");
    }
}
