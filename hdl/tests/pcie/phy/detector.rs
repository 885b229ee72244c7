//! Receiver detection, with the cell's side played by the test.

use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::phy::Detector;
use viaduct_verilate::Bench;

use super::Cycles;

fn bench() -> Bench {
    let mut bench = Bench::new("detector", &verilog(Detector::default()));
    for port in ["request", "cell_done", "cell_present"] {
        bench.set(port, 0);
    }
    bench.run_idle(3);
    bench
}

/// Asks, and returns the cycles of the first and the last `enable`, and of the first and the last `start`.
fn ask(bench: &mut Bench, cycles: u64) -> [Option<u64>; 4] {
    let mut seen = [None; 4];
    bench.set("request", 1);
    for cycle in 0..cycles {
        for (port, at) in [("enable", 0), ("start", 2)] {
            if bench.get(port) == 1 {
                seen[at].get_or_insert(cycle);
                seen[at + 1] = Some(cycle);
            }
        }
        assert_eq!(bench.get("done"), 0, "in cycle {cycle}");
        bench.run_idle(1);
    }
    seen
}

#[test]
fn it_waits_enables_and_starts() {
    let mut bench = bench();
    bench.set("cell_done", 1);
    // 17 cycles of 8 ns of idle, 16 of enable before start; enable goes on until the end.
    assert_eq!(ask(&mut bench, 60), [Some(17), Some(59), Some(33), Some(34)]);
}

#[test]
fn the_cell_says_what_is_there() {
    for present in [0, 1] {
        for before in [0, 1] {
            let mut bench = bench();
            // What the cell shows of a look before does not count.
            bench.set("cell_done", before);
            bench.set("cell_present", 1 - present);
            ask(&mut bench, 50);
            bench.set("cell_done", 0);
            bench.run_idle(20);
            assert_eq!(bench.get("done"), 0);
            bench.set("cell_present", present);
            bench.set("cell_done", 1);
            bench.run_idle(1);
            assert_eq!((bench.get("done"), bench.get("present")), (1, present));
            bench.set("cell_present", 1 - present);
            bench.run_idle(10);
            assert_eq!((bench.get("done"), bench.get("present"), bench.get("enable")), (1, present, 0));
            bench.set("request", 0);
            bench.run_idle(1);
            assert_eq!(bench.get("done"), 0);
        }
    }
}

#[test]
fn a_cell_that_never_answers_is_left() {
    let mut bench = bench();
    ask(&mut bench, 5000);
    bench.set("request", 0);
    bench.run_idle(1);
    assert_eq!((bench.get("done"), bench.get("enable"), bench.get("start")), (0, 0, 0));
    bench.set("cell_done", 1);
    assert_eq!(ask(&mut bench, 40), [Some(17), Some(39), Some(33), Some(34)]);
}
