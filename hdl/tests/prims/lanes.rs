use viaduct_hdl::export::verilog;
use viaduct_hdl::prims::{Keep, LaneCount};
use viaduct_verilate::Bench;

#[test]
fn counts_and_masks_are_each_others() {
    let mut keep = Bench::new("keep", &verilog(Keep::default()));
    let mut count = Bench::new("count", &verilog(LaneCount::default()));
    for lanes in 1..=8 {
        let mask = (1 << lanes) - 1;
        keep.set("count", lanes);
        keep.eval();
        assert_eq!(keep.get("keep"), mask);
        count.set("keep", mask);
        count.eval();
        assert_eq!(count.get("count"), lanes);
    }
}
