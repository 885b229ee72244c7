//! Bytes in packets, for every path MTU.

use viaduct_hdl::export::verilog;
use viaduct_hdl::reply::PacketDivider;
use viaduct_verilate::Bench;

/// Rule WIRE-4.
#[test]
fn bytes_are_divided_into_packets_and_the_rest_is_one_more() {
    let mut bench = Bench::new("packet_divider", &verilog(PacketDivider::default()));
    for mtu in 0..5 {
        let size = 256_u64 << mtu;
        for bytes in [0, 1, 255, 256, 257, size - 1, size, size + 1, 4097, 3 * size - 1, 5 * size, 1 << 31] {
            for some in [false, true] {
                bench.set("load", 1);
                bench.set("bytes", bytes);
                bench.set("some", some.into());
                bench.set("mtu", mtu);
                bench.tick();
                bench.set("load", 0);
                for _ in 0..mtu {
                    bench.eval();
                    assert_eq!(bench.get("done"), 0);
                    bench.tick();
                }
                bench.eval();
                assert_eq!(bench.get("done"), 1);
                let least = u64::from(some && bytes == 0);
                // `some` is said of no bytes only.
                if !some || bytes == 0 {
                    assert_eq!(bench.get("packets"), bytes.div_ceil(size).max(least), "{bytes} of {size}");
                }
            }
        }
    }
}
