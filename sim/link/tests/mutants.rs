//! The monitor finds ports with wrong options.

use viaduct_link::damage::Mischief;
use viaduct_link::monitor::{Party, Rule};
use viaduct_link::side::Options;

use crate::bench::{options, Pair, Traffic};
use crate::script::Script;

/// An endpoint with wrong options breaks this rule, and it alone does.
fn mutant(rule: Rule, change: impl Fn(&mut Options, &mut Options)) {
    let (mut port, mut endpoint) = options(1);
    change(&mut endpoint, &mut port.side);
    let mut pair = Pair::new(port, endpoint).watched(true);
    pair.train();
    Traffic::new(1, 1500, 128).run(&mut pair, 4_000_000, |_, _| {});
    pair.run(20_000);
    assert_eq!(pair.broken(), [(Party::Endpoint, rule)]);
}

#[test]
fn an_endpoint_whose_acks_are_late() {
    mutant(Rule::AckLate, |endpoint, _| endpoint.link.ack_delay = (500, 600));
}

#[test]
fn an_endpoint_that_replays_early() {
    mutant(Rule::ReplayEarly, |endpoint, port| {
        endpoint.link.replay = 150;
        port.link.ack_delay = (200, 237);
    });
}

#[test]
fn an_endpoint_that_naks_without_a_reason() {
    mutant(Rule::NakWithoutReason, |endpoint, _| {
        endpoint.mischief = Mischief { nak_storm: 3000, ..Mischief::default() };
    });
}

#[test]
fn an_endpoint_whose_skp_sets_are_late_or_early() {
    mutant(Rule::SkpLate, |endpoint, _| endpoint.skp_interval = (1800, 1800));
    mutant(Rule::SkpEarly, |endpoint, _| endpoint.skp_interval = (900, 1000));
}

#[test]
fn an_endpoint_whose_updates_are_late() {
    mutant(Rule::UpdateLate, |endpoint, _| endpoint.link.update_interval = 15_000);
}

#[test]
fn an_endpoint_that_sends_too_few_ts1() {
    mutant(Rule::TooFewTs1, |endpoint, _| endpoint.times.polling_sets = 40);
}

#[test]
fn an_endpoint_that_sends_too_much_payload() {
    let (mut port, mut endpoint) = options(1);
    (port.side.link.max_payload, endpoint.link.max_payload) = (128, 256);
    let mut pair = Pair::new(port, endpoint).watched(true);
    pair.train();
    let mut tlp = vec![0x4A00_0021, 4, 0];
    tlp.extend([7; 33]);
    pair.endpoint.side.send(tlp).expect("it thinks that it may");
    pair.run(1000);
    assert_eq!(pair.broken(), [(Party::Endpoint, Rule::MaxPayload)]);
}

#[test]
fn an_endpoint_that_replays_late_when_acks_are_lost() {
    let (mut port, mut endpoint) = options(1);
    port.side.mischief = Mischief { lost_acks: 700, ..Mischief::default() };
    endpoint.link.replay = 3000;
    let mut pair = Pair::new(port, endpoint).watched(true);
    pair.train();
    Traffic::new(1, 500, 128).run(&mut pair, 8_000_000, |_, _| {});
    let broken = pair.broken();
    assert_eq!(broken, [(Party::Endpoint, Rule::ReplayLate), (Party::Root, Rule::AckLate)]);
}

#[test]
fn an_endpoint_with_more_than_2047_unacknowledged_tlps() {
    // The ports keep the rule themselves, so the root port forgets its Acks in a script.
    let mut script = Script::active();
    let infinite = [0x0A00_0000, 4, 0];
    (0..2050).for_each(|_| script.endpoint.tlp(&infinite));
    script.play();
    assert!(script.broken().contains(&(Party::Endpoint, Rule::Unacknowledged)));
}
