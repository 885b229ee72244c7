//! The judges themselves: they must find what is right right, and what is wrong wrong.

use std::fs;

use viaduct_tests::{scapy, tshark};

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/roce/rc_ops.pcap");

#[test]
fn scapy_agrees_with_linux_and_sees_a_wrong_icrc() {
    let icrcs = scapy::icrcs(CAPTURE.as_ref());
    assert_eq!(icrcs.len(), 69, "RoCE frames of the capture");
    assert!(icrcs.iter().all(|frame| frame.carried == frame.computed));

    // Behind the file header (24 bytes) and the record header (16), whose third word is the length, stands the
    // first frame; its last byte is the last of its ICRC.
    let mut damaged = fs::read(CAPTURE).expect("the capture is there");
    let length = u32::from_le_bytes(damaged[32..36].try_into().expect("four bytes"));
    damaged[24 + 16 + length as usize - 1] ^= 1;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.pcap");
    fs::write(&path, damaged).expect("written");
    let icrcs = scapy::icrcs(&path);
    let wrong: Vec<_> = icrcs.iter().filter(|frame| frame.carried != frame.computed).collect();
    assert!(matches!(wrong[..], [scapy::Icrc { number: 1, .. }]), "{wrong:?}");
}

#[test]
fn tshark_reads_opcodes_psns_and_extensions() {
    let frames = tshark::read(CAPTURE.as_ref());
    assert_eq!(frames.len(), 69);
    let sends = frames.iter().filter(|f| f.opcode <= 5).count();
    assert_eq!(
        sends,
        7 + 2 + 1 + 2 + 1 + 1,
        "only, first, last, only with immediate, middle, last with immediate"
    );
    let acks: Vec<_> = frames.iter().filter(|f| f.opcode == 0x11).collect();
    assert_eq!(acks.len(), 19);
    assert!(acks.iter().all(|f| f.syndrome == Some(0x1F) && f.msn.is_some()));
    assert_eq!(frames[0].psn, 0xC1_C1C1, "the client's first PSN");
    assert!(frames.iter().any(|f| f.immediate == Some(0x1122_3344)));
}
