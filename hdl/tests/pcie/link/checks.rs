//! The two check sums, with known values.

use rust_hdl::prelude::Block;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::link::DllpCrc;
use viaduct_hdl::prims::NarrowCrc32;
use viaduct_link::link::dllp::{Dllp, Flow};
use viaduct_link::symbol::Symbol;
use viaduct_link::tlp::{from_bytes, Class};
use viaduct_verilate::{Dut, Options};

use super::world::{seed, Alone};

/// Bytes of a DLLP, and its check sum as it is sent.
const DLLPS: [([u8; 4], [u8; 2]); 7] = [
    ([0x00, 0x00, 0x00, 0x00], [0xb3, 0x62]),
    ([0x10, 0x00, 0x00, 0x00], [0x58, 0x05]),
    ([0x00, 0x00, 0x0f, 0xff], [0x25, 0xa8]),
    ([0x40, 0x00, 0x00, 0x00], [0x0e, 0x5d]),
    ([0x60, 0x00, 0x00, 0x00], [0xd8, 0x92]),
    ([0x90, 0x00, 0x40, 0x01], [0x6f, 0x0f]),
    ([0x40, 0x08, 0x03, 0xf0], [0x35, 0xbc]),
];
/// Sequence number and TLP, and its LCRC as it is sent.
const TLP: [u8; 14] = [0, 0, 4, 0, 0, 1, 0, 0, 0, 0x0f, 1, 0, 0, 0];
const LCRC: [u8; 4] = [0x4f, 0xa6, 0x2a, 0xff];

/// The check sum that a block makes of bytes.
fn made<B: Block>(name: &str, block: B, bytes: &[u8]) -> u64 {
    let mut dut =
        Dut::build(&verilog(block), &Options::named(name)).unwrap_or_else(|error| panic!("{error}"));
    dut.set("start", 1);
    dut.tick();
    dut.set("start", 0);
    dut.set("sink_valid", 1);
    for pair in bytes.chunks(2) {
        dut.set("sink", u16::from_le_bytes([pair[0], pair[1]]).into());
        dut.tick();
    }
    dut.set("sink_valid", 0);
    dut.tick();
    dut.eval();
    !dut.get("value")
}

#[test]
fn the_known_check_sums_are_made() {
    for (bytes, crc) in DLLPS {
        let value = made("pcie/link/dllp_crc", DllpCrc::default(), &bytes) as u16;
        assert_eq!(value.to_le_bytes(), crc, "{bytes:02x?}");
    }
    let value = made("pcie/link/lcrc", NarrowCrc32::<16>::default(), &TLP) as u32;
    assert_eq!(value.to_le_bytes(), LCRC);
    // The one that all CRC-32 have in common, less its last byte.
    let value = made("pcie/link/lcrc", NarrowCrc32::<16>::default(), b"12345678") as u32;
    assert_eq!(value, 0x9ae0_daaf);
}

#[test]
fn the_known_packets_are_heard() {
    let data = |bytes: &[u8]| bytes.iter().map(|byte| Symbol::data(*byte)).collect::<Vec<_>>();
    let framed = |start, bytes: &[u8]| [vec![start], data(bytes), vec![Symbol::END]].concat();
    let mut alone = Alone::new(seed("known packets"));
    // Without InitFC of the non-posted class the set is not complete.
    for (bytes, crc) in DLLPS {
        alone.symbols(framed(Symbol::SDP, &[&bytes[..], &crc].concat()));
    }
    alone.settle();
    assert!(alone.dllps.iter().all(|(_, _, dllp)| matches!(dllp, Dllp::Credit { flow: Flow::Init1, .. })));
    // Init1 took the first InitFC1 of posted, whose credits are endless, and not the last.
    let limits = alone.device.limits();
    assert_eq!((limits["posted.headers"], limits["posted.endless_headers"]), (0, 1));
    assert_eq!((limits["completions.endless_headers"], limits["completions.endless_data"]), (1, 1));
    alone.initialise([(0, 0); 3]);
    alone.symbols(framed(Symbol::STP, &[&TLP[..], &LCRC].concat()));
    alone.settle();
    assert_eq!(alone.device.arrived, [from_bytes(&TLP[2..]).expect("it is whole")]);
}

#[test]
fn the_known_packets_are_said() {
    let mut alone = Alone::new(seed("said packets"));
    alone.run(100);
    // Completions are InitFC1 with zeros: the bytes are taken apart by the link partner's own deframer and CRC.
    let credit = |class, header, data| Dllp::Credit { flow: Flow::Init1, class, header, data };
    let expected =
        [credit(Class::Posted, 0, 0), credit(Class::NonPosted, 8, 8), credit(Class::Completion, 0, 0)];
    assert_eq!(alone.dllps.iter().take(3).map(|(_, _, dllp)| *dllp).collect::<Vec<_>>(), expected);
    alone.initialise([(0, 0); 3]);
    alone.device.send(&from_bytes(&TLP[2..]).expect("it is whole"));
    alone.run(60);
    assert_eq!(alone.tlps.pop_front().map(|(_, _, said)| said), Some((0, TLP[2..].to_vec())));
}

#[test]
fn a_wrong_bit_anywhere_is_seen() {
    let mut alone = Alone::active(seed("wrong bits"), [(0, 0); 3]);
    // The replay timer is not to end meanwhile.
    alone.device.max_payload = 2;
    let good = viaduct_link::link::frame::frame_dllp(Dllp::Nak(4095));
    for at in 1..7 {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at].value ^= 1 << bit;
            alone.symbols(bad);
        }
    }
    // A Nak would send it again.
    alone.device.send(&vec![0x0a00_0000, 0, 0]);
    alone.settle();
    assert_eq!(alone.numbers(), [0]);
    alone.symbols(good);
    alone.settle();
    assert_eq!(alone.numbers(), [0]);
}
