//! Device time on a board.

use viaduct_hdl::board::Ticks;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

/// A tick is 1.024 us, a cycle 10 ns: 512 cycles are 5 ticks, and no two ticks differ by more than a cycle.
#[test]
fn five_ticks_take_512_cycles() {
    let mut bench = Bench::new("ticks", &verilog(Ticks::default()));
    for cycle in 1..=10 * 512_u64 {
        bench.tick();
        bench.eval();
        assert_eq!(bench.get("time_now"), cycle * 5 / 512, "cycle {cycle}");
    }
}
