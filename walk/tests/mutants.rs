//! The test of the tests: models that break a rule are found, and the program that shows it is made small.

use std::sync::Mutex;

use viaduct_sim::model::Mutant;
use viaduct_walk::soak::{Seeds, Soak};
use viaduct_walk::tally::Tally;

/// Walks models of these habits; what was said of those that failed.
fn soak(mutant: Option<Mutant>, seeds: u64) -> (Tally, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let soak = Soak {
        seeds: Seeds::From(1, seeds),
        limit: None,
        unkind: false,
        model_only: true,
        mutant,
        folder: folder.path().to_owned(),
        most: 1,
        attempts: 100,
        threads: 1,
    };
    let said = Mutex::new(Vec::new());
    let tally = soak.run(|text| said.lock().expect("nobody panics").push(text)).expect("files can be made");
    for seed in &tally.failed {
        for file in ["small.txt", "whole.txt", "found.pcap", "model.pcap"] {
            assert!(folder.path().join(format!("seed-{seed}")).join(file).exists(), "{file} of seed {seed}");
        }
    }
    (tally, said.into_inner().expect("nobody panics"))
}

/// Operations of a small program as it is printed.
fn operations(text: &str) -> usize {
    text.lines().filter(|line| line.get(..4).is_some_and(|head| head.trim_end().ends_with(':'))).count()
}

#[test]
fn the_model_agrees_with_itself_and_everything_is_met() {
    let (tally, said) = soak(None, 200);
    assert!(tally.failed.is_empty(), "{said:?}");
    println!("{tally}");
    for (group, name) in [
        ("operation", "RDMA write with immediate"),
        ("operation", "RDMA read"),
        ("operation", "reset by the agent"),
        ("operation", "reset of the function"),
        ("operation", "reset with the link"),
        ("operation", "disconnect"),
        ("operation", "stray store"),
        ("operation", "arm"),
        ("operation", "flawed receive"),
        ("status", "receive: PARTIAL_ERROR"),
        ("status", "receive: LENGTH_ERROR"),
        ("status", "send: TRANSPORT_ERROR"),
        ("status", "send: RDMA_PROT_ERROR"),
        ("status", "send: REMOTE_DESC_ERROR"),
        ("event", "RECVQ_EMPTY"),
        ("event", "VI_OVERRUN"),
        ("event", "RDMAW_PROT"),
        ("fault", "frame lost"),
        ("fault", "frame repeated"),
        ("fault", "frame overtaken"),
        ("fault", "ICRC wrong"),
        ("fault", "FCS wrong"),
    ] {
        assert!(tally.get(group, name) > 0, "no {group} {name}");
    }
    assert_eq!(tally.followed, 400, "two NICs of each walk");
}

/// A mutant is found in so many walks, and the program that shows it is small.
fn is_found(mutant: Mutant, seeds: u64) {
    let (tally, said) = soak(Some(mutant), seeds);
    println!("{mutant:?}: {:?} after {} walks", tally.failed, tally.passed);
    assert!(!tally.failed.is_empty(), "{mutant:?} is not found");
    let least = said.iter().map(|text| operations(text)).min().unwrap_or(usize::MAX);
    assert!((2..=16).contains(&least), "{mutant:?}: {least} operations: {said:?}");
}

#[test]
fn immediate_data_that_is_not_told_is_found() {
    is_found(Mutant::NoImmediate, 40);
}

#[test]
fn a_silent_loss_is_found() {
    is_found(Mutant::SilentLoss, 150);
}

#[test]
fn a_message_that_is_delivered_twice_is_found() {
    is_found(Mutant::Twice, 150);
}

#[test]
fn a_byte_behind_the_region_is_found() {
    is_found(Mutant::OneBehind, 400);
}

#[test]
fn a_duplicate_that_is_executed_again_is_found() {
    is_found(Mutant::Again, 150);
}

#[test]
fn an_entry_that_is_lost_without_a_word_is_found() {
    is_found(Mutant::SilentOverrun, 150);
}

#[test]
fn an_interrupt_that_does_not_come_is_found() {
    is_found(Mutant::Deaf, 40);
}
