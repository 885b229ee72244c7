//! What our NICs put onto the wire, judged by scapy and tshark.

use viaduct_spec::wire::opcode;
use viaduct_tests::frame::{is_roce, untrailed};
use viaduct_tests::traffic::{Shape, Traffic, LEVELS};
use viaduct_tests::world::random_conditions;
use viaduct_tests::{frame, scapy, tshark};

#[test]
fn scapy_and_tshark_find_nothing_wrong_with_our_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let pcap = folder.path().join("ours.pcap");
    let mut setup = random_conditions(21);
    setup.pcap = Some(pcap.clone());
    let shape = Shape { nics: 2, pairs: 4, messages: 6, mtus: &[256, 1024], levels: LEVELS };
    let mut traffic = Traffic::new(&setup, &shape);
    traffic.run();
    traffic.check();
    let frames = traffic.world.captured(&pcap);
    assert!(frames.iter().all(|frame| is_roce(frame)));

    let icrcs = scapy::icrcs(&pcap);
    assert_eq!(icrcs.len(), frames.len());
    for icrc in icrcs {
        assert_eq!(icrc.carried, icrc.computed, "{icrc:?}");
    }
    let read = tshark::read(&pcap);
    assert_eq!(read.len(), frames.len());
    for (seen, bytes) in read.iter().zip(&frames) {
        assert!(!seen.malformed, "{seen:?}");
        let bytes = untrailed(bytes);
        assert_eq!(&bytes[bytes.len() - 4..], frame::icrc(bytes), "{seen:?}");
        let acknowledges = seen.opcode == opcode::RC_ACKNOWLEDGE;
        assert_eq!(seen.syndrome.is_some(), acknowledges, "{seen:?}");
        let carries = [3, 5].contains(&(seen.opcode & 0x1F));
        assert_eq!(seen.immediate.is_some(), carries, "{seen:?}");
    }
    for wanted in 0..=5 {
        for class in [0, 0x20] {
            assert!(read.iter().any(|seen| seen.opcode == class | wanted), "opcode {:#x}", class | wanted);
        }
    }
}
