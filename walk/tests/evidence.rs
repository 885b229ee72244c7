//! What a failed walk leaves behind, when it has failed on the RTL: its small program, the frames, the waveforms of both NICs.

use viaduct_sim::setup::Kind;
use viaduct_walk::judge::Disagreement;
use viaduct_walk::{evidence, generator};

#[test]
fn a_walk_on_the_rtl_leaves_frames_and_waveforms() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = generator::program(1);
    let found = Disagreement {
        kinds: [Kind::Rtl; 2],
        nic: None,
        text: "as if it had failed".into(),
        nature: String::new(),
    };
    let left = evidence::leave(folder.path(), &program, &program, &found, None).expect("files");
    assert_eq!(left, folder.path().join("seed-1"));
    let bytes = |name: &str| std::fs::read(left.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    // A pcap file's header has 24 bytes; an FST file's begins with block type 0 and the block's length, 329.
    for name in ["found.pcap", "model.pcap"] {
        assert!(bytes(name).len() > 24, "{name} has frames");
    }
    for name in ["found.fst", "found.nic1.fst"] {
        let wave = bytes(name);
        assert_eq!(wave[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73], "{name}");
        assert!(wave.len() > 100_000, "{name}: {} bytes", wave.len());
    }
    let small = String::from_utf8(bytes("small.txt")).expect("text");
    assert!(small.contains("as if it had failed") && small.ends_with(&program.to_string()), "{small}");
}
