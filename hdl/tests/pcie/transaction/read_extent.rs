//! The bytes that a request asks for, counted one by one: all byte enables, short and long headers, lengths from 1 to 1024 double words.

use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::transaction::ReadExtent;
use viaduct_verilate::Bench;

use super::tlp::read_extent;

/// What the block says of a request with this header.
fn said(bench: &mut Bench, header: [u8; 16]) -> (u64, u64) {
    bench.set("take", 1);
    for (at, word) in header.chunks_exact(2).enumerate() {
        bench.set("at", at as u64);
        bench.set("word", u16::from_le_bytes([word[0], word[1]]).into());
        bench.tick();
    }
    bench.set("take", 0);
    bench.set("word", 0xFFFF);
    bench.tick();
    (bench.get("byte_count"), bench.get("lower_address"))
}

#[test]
fn a_memory_read_has_the_bytes_from_the_first_enabled_one_to_the_last() {
    let mut bench = Bench::new("pcie_read_extent", &verilog(ReadExtent::default()));
    // Reads and locked reads, with 3 and with 4 double words of header.
    for (kind, length) in [(0x00, 1u32), (0x20, 2), (0x01, 3), (0x21, 64), (0x00, 1023), (0x20, 1024)] {
        for enables in 0..=255u8 {
            let mut header = [0xA5; 16];
            header[0] = kind;
            header[2..4].copy_from_slice(&(0xF000 | (length & 0x3FF) as u16).to_be_bytes());
            header[7] = enables;
            let at = if kind & 0x20 == 0 { 11 } else { 15 };
            header[at] = (enables ^ length as u8) << 2;
            let expected = read_extent(&header);
            assert_eq!(said(&mut bench, header), (expected.0.into(), expected.1.into()), "{header:02x?}");
        }
    }
}

#[test]
fn every_other_request_has_four_bytes() {
    let mut bench = Bench::new("pcie_read_extent", &verilog(ReadExtent::default()));
    // I/O, configuration of both types, atomic operations.
    for kind in [0x02, 0x42, 0x04, 0x44, 0x05, 0x45, 0x4C, 0x6C, 0x4D, 0x4E] {
        let mut header = [0xFF; 16];
        header[0] = kind;
        assert_eq!(said(&mut bench, header), (4, 0), "{kind:#04x}");
    }
}
