//! The bytes of a load, for all byte enables: what the specification's table of byte counts says.

use viaduct_hdl::edge::EnabledBytes;
use viaduct_hdl::export::verilog;
use viaduct_verilate::Bench;

#[test]
fn every_enable_has_its_first_byte_and_count() {
    let mut bench = Bench::new("enabled_bytes", &verilog(EnabledBytes::default()));
    for pattern in 0..1u32 << 9 {
        let (first, last, pair) = (pattern & 15, pattern >> 4 & 15, pattern >> 8 == 1);
        bench.set("first", first.into());
        bench.set("last", last.into());
        bench.set("pair", pair.into());
        bench.eval();
        let begin = if first == 0 { 0 } else { first.trailing_zeros() };
        let highest = |enables: u32| enables.checked_ilog2().unwrap_or(0);
        let end = if pair { 4 + highest(last) } else { highest(first) };
        assert_eq!(bench.get("first_byte"), u64::from(begin), "{pattern:b}");
        assert_eq!(bench.get("count"), u64::from(end + 1 - begin), "{pattern:b}");
    }
}
