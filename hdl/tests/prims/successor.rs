//! The successor, for every turn and every set of requesters.

use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::Successor;
use viaduct_verilate::{Dut, Options};

#[test]
fn the_first_behind_the_turn() {
    let mut dut =
        Dut::build(&verilog(Successor::default()), &Options::default()).expect("the block compiles");
    for turn in 0..4u64 {
        for request in 0..16u64 {
            dut.set("turn", 1 << turn);
            dut.set("request", request);
            dut.eval();
            let next = (1..4).map(|behind| (turn + behind) % 4).find(|place| request >> place & 1 == 1);
            assert_eq!(dut.get("grant"), next.map_or(0, |place| 1 << place), "{request:04b} behind {turn}");
            assert_eq!(dut.get("valid") == 1, next.is_some(), "{request:04b} behind {turn}");
        }
    }
}
