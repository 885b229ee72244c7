//! Frames from the MAC: how many bytes each beat has.

use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::EthReceive;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const DATA: u64 = 0x8877_6655_4433_2211;

/// Valid, last and one more flag, in every combination, with every number of bytes and its mask.
fn cases() -> impl Iterator<Item = ([bool; 3], u64, u64)> {
    (0..8u32).flat_map(|flags| {
        (1..=8).map(move |count| ([1, 2, 4].map(|bit| flags & bit != 0), count, (1 << count) - 1))
    })
}

#[test]
fn a_mask_becomes_a_number_of_bytes() {
    let mut bench = Bench::new("eth_receive", &verilog(EthReceive::default()));
    let beat = Bundle::of::<FrameBeat>("beat");
    for ([valid, last, bad], count, mask) in cases() {
        let ports = [("valid", valid.into()), ("data", DATA), ("keep", mask), ("last", last.into())];
        ports.into_iter().for_each(|(name, value)| bench.set(&format!("rx_{name}"), value));
        bench.set("rx_bad", bad.into());
        bench.eval();
        assert_eq!(bench.get("beat_valid"), u64::from(valid));
        let shown = beat.all(&bench);
        let given = (shown["data"], shown["count"], shown["last"], shown["bad"]);
        assert_eq!(given, (DATA, count, u64::from(last), u64::from(bad)));
    }
}
