//! Messages cut by the block that keeps their rest: sizes, words and places of their packets.

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::{CheckedMessage, MessageRest, PacketPlace};
use viaduct_verilate::Bench;

use crate::port;

/// Rule WIRE-2: each packet has the path MTU, and the last one the rest. Packets that are skipped take theirs, too.
#[test]
fn a_message_is_cut_at_the_path_mtu() {
    let mut bench = Bench::new("message_rest", &verilog(MessageRest::default()));
    let mut rng = crate::random(&bench);
    for _ in 0..500 {
        let mtu = *[256, 512, 1024, 2048, 4096].choose(&mut rng).unwrap();
        let some = rng.random_range(0..5 * mtu);
        let length: u64 = *[0, 1, mtu - 1, mtu, mtu + 1, 3 * mtu, some].choose(&mut rng).unwrap();
        let packets = length.div_ceil(mtu).max(1);
        let skip = rng.random_range(0..packets);
        let message = [("mtu", mtu), ("length", length), ("skip", skip)];
        port::set::<CheckedMessage>(&mut bench, "message", &message);
        // While no message is offered the block takes in the next one.
        bench.set("message_valid", 0);
        bench.set("between", 1);
        bench.tick();
        bench.set("message_valid", 1);
        for packet in 0..packets {
            bench.set("between", 1);
            bench.tick();
            bench.set("between", 0);
            bench.eval();
            let bytes = mtu.min(length - packet * mtu);
            assert_eq!(bench.get("size"), bytes, "packet {packet} of {length} bytes, {mtu}");
            assert_eq!(bench.get("words"), bytes.div_ceil(8));
            let place = port::get::<PacketPlace>(&bench, "place");
            assert_eq!(place["first"] == 1, packet == 0);
            assert_eq!(place["last"] == 1, packet + 1 == packets);
            assert_eq!(place["fresh"] == 1, packet <= skip, "no packet of the head has been announced");
            bench.tick();
            bench.eval();
            assert_eq!(bench.get("more") == 1, packet * mtu < length);
            assert_eq!(bench.get("skips") == 1, packet < skip);
            bench.set("announced", 1);
            bench.set("bytes", bytes);
            bench.set("skipped", (packet < skip).into());
            bench.tick();
            bench.set("announced", 0);
            bench.set("skipped", 0);
        }
    }
}

/// Rule WIRE-4: a read is one packet without payload, and skips none.
#[test]
fn a_read_is_one_packet() {
    let mut bench = Bench::new("message_rest", &verilog(MessageRest::default()));
    let message = [("mtu", 1024), ("length", 5000), ("skip", 3)];
    port::set::<CheckedMessage>(&mut bench, "message", &message);
    for (port, value) in
        [("message_valid", 0), ("announced", 0), ("skipped", 0), ("reading", 0), ("between", 1)]
    {
        bench.set(port, value);
    }
    bench.tick();
    bench.set("message_valid", 1);
    bench.set("reading", 1);
    bench.tick();
    bench.set("between", 0);
    bench.tick();
    bench.eval();
    let place = port::get::<PacketPlace>(&bench, "place");
    assert_eq!((bench.get("words"), bench.get("skips")), (0, 0));
    assert_eq!((place["first"], place["last"]), (1, 1));
}
