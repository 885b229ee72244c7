//! What is left of a read of 2^31 bytes or less, against a division.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{CheckedMessage, PacketCount, ReadRest};
use viaduct_verilate::Bench;

use crate::port;

/// Rule REQ-8.
#[test]
fn what_is_left_of_a_read_is_what_a_division_says() {
    let mut bench = Bench::new("packet_count", &verilog(PacketCount::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..3000 {
        let mtu_log2: u64 = rng.random_range(8..13);
        let mtu = 1 << mtu_log2;
        let bits = *[8, 10, 13, 20, 30, 31].choose(&mut rng).unwrap();
        let length: u64 = match rng.random_range(0..4) {
            0 => rng.random_range(0..1 << 12) << mtu_log2,
            _ => rng.random_range(0..=1_u64 << bits),
        };
        let packets = length.div_ceil(mtu).max(1);
        let skip = match rng.random_range(0..4) {
            0 => 0,
            1 => packets,
            _ => rng.random_range(0..packets),
        }
        .min((1 << 20) - 1);
        let reads = rng.random_bool(0.8);
        let address = rng.random_range(0..1 << 60);
        let message = [
            ("reads", reads.into()),
            ("length", length),
            ("remote_address", address),
            ("mtu_log2", mtu_log2),
            ("skip", skip),
        ];
        port::set::<CheckedMessage>(&mut bench, "message", &message);
        bench.set("message_valid", 0);
        bench.tick();
        bench.set("message_valid", 1);
        let begin = bench.cycles();
        if !reads {
            for _ in 0..20 {
                bench.tick();
                bench.eval();
                assert_eq!(bench.get("done"), 0, "only a read is counted");
                let rest = port::get::<ReadRest>(&bench, "rest");
                assert_eq!((rest["beyond"], rest["shrunk"], rest["many"]), (0, 0, 0));
            }
            continue;
        }
        bench.eval();
        while bench.get("done") == 0 {
            bench.tick();
            bench.eval();
            assert!(bench.cycles() < begin + 100);
        }
        assert_eq!(bench.cycles() - begin, mtu_log2 + 1, "a cycle for each doubling");
        let rest = port::get::<ReadRest>(&bench, "rest");
        let beyond = packets as i64 - 1 - skip as i64;
        let what = format!("{length} bytes, MTU {mtu}, {skip} skipped: {rest:?}");
        assert_eq!(rest["shrunk"] == 1, beyond < 0, "{what}");
        if beyond >= 0 {
            assert_eq!(rest["many"] == 1, beyond >= 1 << 20, "{what}");
            assert_eq!(rest["beyond"], beyond as u64 & 0xf_ffff, "{what}");
            assert_eq!(rest["bytes"], length - skip * mtu, "{what}");
            assert_eq!(rest["address"], address + skip * mtu, "{what}");
        }
    }
}
