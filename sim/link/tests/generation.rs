//! A root port of a later generation, on a link at 2.5 GT/s.

use viaduct_link::damage::Mischief;
use viaduct_link::generation::Generation;
use viaduct_link::monitor::{Monitor, MonitorOptions, Party, Rule};

use crate::bench::{options, Pair, Traffic};

/// A root port of the fifth generation, and an endpoint of the first.
fn pair(seed: u64, mischief: Mischief) -> Pair {
    let (mut port, mut endpoint) = options(seed);
    port.side.generation = Generation::Fifth;
    endpoint.mischief = mischief;
    Pair::new(port, endpoint)
}

#[test]
fn it_trains_and_its_traffic_passes() {
    let mut pair = pair(31, Mischief::default()).watched(true);
    pair.train();
    Traffic::new(31, 500, 128).run(&mut pair, 1_000_000, |_, _| {});
    pair.assert_silent();
    assert_eq!(pair.endpoint.side.counters().bad_dllps, 0);
}

#[test]
fn what_it_says_is_malformed_of_one_of_the_first() {
    let mut pair = pair(32, Mischief::default());
    let options = MonitorOptions { polling_sets: 64, ..MonitorOptions::default() };
    pair.monitor = Some(Monitor::new(options));
    pair.train();
    let broken = pair.broken();
    for rule in [Rule::SetMalformed, Rule::DllpMalformed] {
        assert!(broken.contains(&(Party::Root, rule)), "{broken:?}");
    }
    assert!(broken.iter().all(|(party, _)| *party == Party::Root), "{broken:?}");
}

#[test]
fn its_replays_come_after_24_000_symbols_and_before_31_000() {
    let losses = Mischief { lost_acks: 980, ..Mischief::default() };
    let mut pair = pair(33, losses).watched(true);
    pair.train();
    Traffic::new(33, 200, 128).run(&mut pair, 20_000_000, |_, _| {});
    assert!(pair.port.counters().timeouts > 5, "{:?}", pair.port.counters());
    // The lost Acks are the endpoint's fault, and the only one.
    assert_eq!(pair.broken(), [(Party::Endpoint, Rule::AckLate)]);
}
