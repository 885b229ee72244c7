//! Frames to the MAC: which bytes of each beat are there, and which beats turn round.

use viaduct_hdl::bus::FrameBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::EthTransmit;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

const DATA: u64 = 0x8877_6655_4433_2211;

/// Valid, last and one more flag, in every combination, with every number of bytes and its mask.
fn cases() -> impl Iterator<Item = ([bool; 3], u64, u64)> {
    (0..8u32).flat_map(|flags| {
        (1..=8).map(move |count| ([1, 2, 4].map(|bit| flags & bit != 0), count, (1 << count) - 1))
    })
}

/// A beat goes to the MAC, or turns round and is watched, never both.
#[test]
fn a_number_of_bytes_becomes_a_mask() {
    let mut bench = Bench::new("eth_transmit", &verilog(EthTransmit::default()));
    let beat = Bundle::of::<FrameBeat>("beat");
    for ([valid, last, room], count, mask) in cases() {
        for turns in [false, true] {
            beat.set(&mut bench, &[("data", DATA), ("count", count), ("last", last.into())]);
            bench.set("beat_valid", (valid & !turns).into());
            bench.set("turns", (valid & turns).into());
            bench.set("tx_ready", room.into());
            bench.set("turn_has_room", (!room).into());
            bench.eval();
            assert_eq!(bench.get("beat_ready"), u64::from(room));
            for (port, valid) in [("tx", valid & !turns), ("watch", valid & turns)] {
                let get = |name| bench.get(&format!("{port}_{name}"));
                let given = (get("valid"), get("data"), get("keep"), get("last"));
                assert_eq!(given, (u64::from(valid), DATA, mask, u64::from(last)), "{port}");
            }
            assert_eq!(bench.get("watch_ready"), u64::from(!room));
        }
    }
}
