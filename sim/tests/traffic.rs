//! Messages between two Verilated NICs in this process, posted through VIPL: they arrive whole
//! whatever the bus does, no rule of the bus is broken, and the same seed gives the same run.

use crate::exchange::{exchange, Outcome, SIZES};
use viaduct_sim::fabric::{Faults, Link};
use viaduct_sim::root_complex::{Limits, Split};
use viaduct_sim::setup::Setup;

/// Sends a message of each size from NIC 0 to NIC 1.
fn run(setup: &Setup) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let pcap = folder.path().join("run.pcap");
    let network = Setup { pcap: Some(pcap.clone()), ..setup.clone() }.build().unwrap();
    exchange(network, &pcap, setup.seed)
}

#[test]
fn messages_of_all_sizes_arrive_and_the_run_can_be_repeated() {
    let setup = Setup::default();
    let first = run(&setup);
    assert_eq!(first.completed, SIZES.len());
    assert!(first.frames > 30, "{} frames", first.frames);
    assert!(first == run(&setup), "the same seed gave another run");
}

#[test]
fn a_hard_bus_changes_when_but_not_what() {
    for seed in 0..3 {
        println!("seed {seed}");
        let mut setup = Setup { seed, ..Setup::default() };
        let bus = &mut setup.network.bus.conditions;
        (bus.reorder, bus.split, bus.stall, bus.gap) = (100, Split::Random, 150, 150);
        (bus.max_payload, bus.rcb, bus.round_trip) = (seed as u8 % 2, 64 << (seed % 2), 10 + 100 * seed);
        bus.credits =
            Limits { posted: Some(3), posted_data: Some(20), nonposted: Some(2), ..Limits::default() };
        setup.network.link = Link { latency: 20 + 100 * seed, rate: 1 + 3 * seed, ..Link::default() };
        let first = run(&setup);
        assert_eq!(first.completed, SIZES.len());
        assert!(first == run(&setup), "the same seed gave another run");
    }
}

#[test]
fn skipping_idle_time_changes_nothing() {
    let mut setup = Setup::default();
    let skipped = run(&setup);
    setup.network.never_skip = true;
    let stepped = run(&setup);
    assert!(skipped == stepped, "{} cycles skipped, {} stepped", skipped.cycles, stepped.cycles);
}

#[test]
fn a_flipped_icrc_bit_is_never_delivered_and_repaired() {
    let faults = Faults { flip_icrc: (25..29).collect(), ..Faults::default() };
    let outcome = run(&Setup { faults, ..Setup::default() });
    assert_eq!(outcome.completed, SIZES.len());
    assert!(outcome.frames > run(&Setup::default()).frames, "nothing was sent again");
}

#[test]
fn a_duplicate_is_delivered_once() {
    let faults = Faults { duplicate: [3, 9].into(), ..Faults::default() };
    let outcome = run(&Setup { faults, ..Setup::default() });
    assert_eq!(outcome.completed, SIZES.len());
}
