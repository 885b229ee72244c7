//! One seed, one run: the same cycles, the same bytes on the wire at the same times. The memory lies
//! elsewhere each time.

use std::path::Path;

use viaduct_tests::traffic::{Shape, Traffic, LEVELS, MTUS};
use viaduct_tests::world::{quick, random_conditions};

/// A run, its capture, and the cycles that it took. The memory stays, so that the next run has other.
fn run(seed: u64, pcap: &Path) -> (Vec<u8>, u64, Traffic) {
    let mut setup = random_conditions(seed);
    setup.pcap = Some(pcap.to_owned());
    let shape = Shape { nics: 2, pairs: 3, messages: 5, mtus: MTUS, levels: LEVELS };
    let mut traffic = Traffic::new(&setup, &shape);
    traffic.run();
    traffic.check();
    traffic.world.net.network().fabric_mut().finish_capture().expect("written");
    (std::fs::read(pcap).expect("a capture"), traffic.world.now(), traffic)
}

#[test]
fn a_seed_gives_the_same_cycles_and_the_same_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let pcap = |name| folder.path().join(name);
    let (first, cycles, kept) = run(11, &pcap("first.pcap"));
    let (again, cycles_again, _) = run(11, &pcap("again.pcap"));
    assert!(first.len() > 10_000, "{} bytes", first.len());
    assert_eq!(cycles, cycles_again);
    assert!(first == again, "the captures differ");
    drop(kept);
    let (other, other_cycles, _) = run(12, &pcap("other.pcap"));
    assert_ne!(cycles, other_cycles);
    assert!(first != other, "another seed, the same capture");
}

#[test]
fn idle_time_that_is_skipped_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |skip: bool| {
        let pcap = folder.path().join(format!("{skip}.pcap"));
        let mut setup = quick(13);
        setup.pcap = Some(pcap.clone());
        setup.network.never_skip = !skip;
        let shape = Shape { nics: 2, pairs: 1, messages: 4, mtus: MTUS, levels: LEVELS };
        let mut traffic = Traffic::new(&setup, &shape);
        traffic.world.run(5000);
        traffic.run();
        traffic.world.run(5000);
        traffic.check();
        traffic.world.net.network().fabric_mut().finish_capture().expect("written");
        std::fs::read(pcap).expect("a capture")
    };
    let (skipped, stepped) = (run(true), run(false));
    assert!(skipped == stepped, "the captures differ");
}
