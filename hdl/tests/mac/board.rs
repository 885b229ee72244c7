//! The NIC on a board is the NIC that is simulated.

use viaduct_hdl::board::{all, core_of, Target};
use viaduct_hdl::export::{verilog, with_room};
use viaduct_hdl::nic::Nic;

fn the_core_is_the_same() {
    let simulated = verilog(Nic::default());
    let tops: Vec<Target> = all().into_iter().filter(|target| target.top == "nic").collect();
    assert!(!tops.is_empty());
    for target in tops {
        let top = (target.verilog)();
        // Not assert_eq: it would print megabytes.
        assert!(core_of(&top).unwrap() == simulated, "{}", target.board);
        // A module far below, which the board has, too.
        let changed =
            top.replacen("read_data <= memory[read_address];", "read_data <= ~memory[read_address];", 1);
        assert!(changed != top && core_of(&changed).unwrap() != simulated);
    }
    assert!(core_of("module top (\n    input  wire clock\n);\nendmodule\n").is_none());
}

#[test]
fn the_core_that_is_built_is_the_one_that_is_simulated() {
    with_room(the_core_is_the_same);
}
