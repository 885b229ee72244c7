//! The monitor is silent on healthy traffic.

use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::link::LinkOptions;
use viaduct_link::ltssm::{State, Times, MS};
use viaduct_link::monitor::{Monitor, MonitorOptions, Party};

use crate::bench::{options, Pair, Traffic};

/// Mischief that breaks no rule.
pub const LAWFUL: Mischief = Mischief {
    lost_acks: 0,
    lost_updates: 0,
    nak_storm: 0,
    early_replay: false,
    withheld: 3000,
    nullified: 100,
    gaps: 5,
    cuts: false,
};

/// Trains, and sends so many TLPs each way.
fn traffic(pair: &mut Pair, seed: u64, count: u32) {
    pair.train();
    Traffic::new(seed, count, 128).run(pair, 20_000_000, |_, _| {});
}

#[test]
fn it_is_silent_on_a_cold_start() {
    let (mut port, mut endpoint) = options(1);
    (port.side.times, endpoint.times) = (Times::default(), Times::default());
    let mut pair = Pair::new(port, endpoint).watched(true);
    pair.monitor = Some(Monitor::new(MonitorOptions::default()));
    traffic(&mut pair, 1, 100);
    pair.assert_silent();
}

#[test]
fn it_is_silent_on_traffic_and_on_the_wrap_of_sequence_numbers() {
    for (seed, mischief) in [(1, Mischief::default()), (2, LAWFUL)] {
        let (mut port, mut endpoint) = options(seed);
        (port.side.mischief, endpoint.mischief) = (mischief, mischief);
        let mut pair = Pair::new(port, endpoint).watched(true);
        traffic(&mut pair, seed, 6000);
        pair.assert_silent();
    }
}

#[test]
fn it_is_silent_whatever_the_phase_the_polarity_and_the_size_of_skp_sets() {
    for bits in 0..4 {
        let (mut port, endpoint) = options(bits);
        port.to_endpoint =
            Damage { skp: true, odd: bits & 1 == 1, inverted: bits & 2 == 2, ..Damage::default() };
        port.from_endpoint = port.to_endpoint;
        let mut pair = Pair::new(port, endpoint).watched(true);
        traffic(&mut pair, bits, 1000);
        pair.assert_silent();
    }
}

#[test]
fn it_is_silent_without_scrambling() {
    for bits in 1..4 {
        let (mut port, mut endpoint) = options(bits);
        (port.side.no_scrambling, endpoint.no_scrambling) = (bits & 1 == 1, bits & 2 == 2);
        let mut pair = Pair::new(port, endpoint).watched(true);
        traffic(&mut pair, bits, 500);
        pair.assert_silent();
    }
}

#[test]
fn it_is_silent_on_recovery_reset_and_l1() {
    for seed in 0..4 {
        let (mut port, mut endpoint) = options(seed);
        (port.side.mischief, endpoint.mischief) = (LAWFUL, LAWFUL);
        let mut pair = Pair::new(port, endpoint).watched(true);
        traffic(&mut pair, seed, 100);
        Traffic::new(seed, 2000, 128).run(&mut pair, 4_000_000, |pair, cycle| {
            if cycle % 1009 == 0 {
                pair.port.retrain();
            }
        });
        pair.assert_silent();
        for round in 0..3 {
            pair.until(5000, |pair| pair.states() == (State::L0, State::L0));
            pair.endpoint.side.ask_for_l1();
            pair.until(5000, |pair| pair.states() == (State::L1Idle, State::L1Idle));
            pair.port.retrain();
            traffic(&mut pair, round, 200);
        }
        pair.assert_silent();
        for disable in [false, true] {
            if disable {
                pair.port.disable();
            } else {
                pair.port.hot_reset();
            }
            pair.until(10 * MS, |pair| !pair.port.link_up() && !pair.endpoint.side.link_up());
            pair.port.enable();
            traffic(&mut pair, seed, 500);
        }
        pair.assert_silent();
    }
}

#[test]
fn it_judges_the_endpoint_alone_when_a_wire_damages_what_the_root_port_sends() {
    for seed in 0..4 {
        let (mut port, mut endpoint) = options(seed);
        port.to_endpoint = Damage::ALL;
        port.side.mischief = Mischief::ALL;
        endpoint.mischief = LAWFUL;
        let mut pair = Pair::new(port, endpoint).watched(false);
        traffic(&mut pair, seed, 5000);
        assert!(pair.endpoint.side.counters().bad_tlps > 50);
        pair.assert_silent();
    }
}

#[test]
fn it_names_the_wire_where_the_wire_is_to_blame() {
    let (mut port, endpoint) = options(1);
    port.to_endpoint = Damage { flagged: 100, ..Damage::default() };
    let mut pair = Pair::new(port, endpoint).watched(true);
    traffic(&mut pair, 1, 500);
    assert!(pair.broken().iter().all(|(party, _)| *party == Party::Root), "{:?}", pair.broken());
}

#[test]
fn it_is_silent_on_skp_sets_at_either_end_of_their_interval() {
    for interval in [1180, 1538] {
        let (mut port, mut endpoint) = options(interval.into());
        for side in [&mut port.side, &mut endpoint] {
            side.link = LinkOptions::new(side.role, 512);
            side.skp_interval = (interval, interval);
        }
        let mut pair = Pair::new(port, endpoint).watched(true);
        if let Some(monitor) = &mut pair.monitor {
            monitor.set_max_payload(512);
        }
        pair.train();
        Traffic::new(u64::from(interval), 3000, 512).run(&mut pair, 4_000_000, |_, _| {});
        pair.assert_silent();
    }
}
