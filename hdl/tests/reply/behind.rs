//! Which requests of a VI come behind another one: all cases.

use viaduct_hdl::export::verilog;
use viaduct_hdl::reply::Behind;
use viaduct_verilate::Bench;

/// The slots in the order of their requests.
fn order(oldest: u64) -> impl Iterator<Item = u64> {
    (0..4).map(move |n| (oldest + n) % 4)
}

#[test]
fn those_behind_a_request_are_those_until_the_end_of_the_order() {
    let mut bench = Bench::new("behind", &verilog(Behind::default()));
    for oldest in 0..4 {
        for slot in 0..4 {
            bench.set("slot", slot);
            bench.set("oldest", oldest);
            bench.eval();
            let behind = order(oldest).skip_while(|other| *other != slot).skip(1);
            let expected: u64 = behind.map(|other| 1 << other).sum();
            assert_eq!(bench.get("behind"), expected, "slot {slot}, oldest {oldest}");
        }
    }
}
