//! The end of an answer that cannot be sent: its fault and its NAK, while other VIs change their states.

use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::AnswerFailure;
use viaduct_verilate::Bench;

/// Rule WQ-8.
#[test]
fn the_fault_comes_first_and_then_the_nak_until_it_is_taken() {
    let mut bench = Bench::new("answer_failure", &verilog(AnswerFailure::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..3000 {
        let (unread, mut connected) = (rng.random_bool(0.9), rng.random::<bool>());
        let (mut refused, mut offered) = (false, false);
        bench.set("fails", 1);
        bench.set("unread", unread.into());
        loop {
            let (changes, taken) = (rng.random_bool(0.3), rng.random_bool(0.3));
            bench.set("connected", connected.into());
            bench.set("changes", changes.into());
            bench.set("taken", taken.into());
            bench.eval();
            assert_eq!(bench.get("faults") == 1, unread && connected, "a fault for each VI that is to break");
            let offers = bench.get("offers") == 1;
            assert!(!offers || unread && !connected && refused, "the NAK comes last");
            assert!(offers || !offered, "a NAK on offer stays");
            offered = offers;
            if bench.get("refuses") == 1 {
                assert!(!changes, "one memory is written for both");
                refused = true;
            }
            let done = bench.get("done") == 1;
            assert_eq!(done, !unread || offers && taken);
            // The VI breaks in a cycle in which its state changes.
            connected &= !(changes && rng.random::<bool>());
            bench.tick();
            if done {
                break;
            }
        }
        bench.set("fails", 0);
        for _ in 0..rng.random_range(1..4) {
            bench.eval();
            assert_eq!(bench.get("faults") | bench.get("offers") | bench.get("refuses"), 0);
            bench.tick();
        }
    }
}
