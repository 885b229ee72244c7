//! L1, at the endpoint's wish.

use viaduct_link::damage::Damage;
use viaduct_link::ltssm::State;

use crate::bench::{options, Pair, Traffic};

const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];
const L1: (State, State) = (State::L1Idle, State::L1Idle);

#[test]
fn the_endpoint_goes_to_l1_and_either_side_wakes_it() {
    for seed in 0..10 {
        let (mut port, endpoint) = options(seed);
        if seed >= 5 {
            port.to_endpoint = Damage { skp: true, odd: true, inverted: true, ..Damage::default() };
            port.from_endpoint = port.to_endpoint;
        }
        let mut pair = Pair::new(port, endpoint);
        pair.train();
        Traffic::new(seed, 100, 128).run(&mut pair, 100_000, |_, _| {});
        for round in 0..6 {
            pair.endpoint.side.ask_for_l1();
            pair.until(5000, |pair| pair.states() == L1);
            pair.run(500);
            assert!(pair.states() == L1 && pair.from.tx_idle && pair.to.rx_idle);
            assert!(pair.port.link_up() && pair.is_active(), "the data link layer stays up");
            match round % 3 {
                0 => pair.port.send(WRITE.to_vec()).expect("the link is up"),
                1 => pair.endpoint.side.send(WRITE.to_vec()).expect("the link is up"),
                _ => pair.port.retrain(),
            }
            pair.until(5000, |pair| pair.states() == (State::L0, State::L0));
            // What woke it comes through.
            let woken = |pair: &mut Pair| pair.endpoint.side.receive().or_else(|| pair.port.receive());
            pair.until(2000, |pair| round % 3 == 2 || woken(pair) == Some(WRITE.to_vec()));
            Traffic::new(seed, 100, 128).run(&mut pair, 100_000, |_, _| {});
            pair.run(1000);
        }
    }
}

#[test]
fn l2_l3_ready_ends_in_electrical_idle_as_l1_does() {
    let mut pair = Pair::healthy(1).watched(true);
    pair.train();
    pair.endpoint.side.ask_for_l23();
    pair.until(5000, |pair| pair.states() == L1);
    pair.port.retrain();
    pair.until(5000, |pair| pair.states() == (State::L0, State::L0));
    pair.assert_silent();
}

#[test]
fn l1_waits_until_all_is_acknowledged() {
    let mut pair = Pair::healthy(1).watched(true);
    pair.train();
    for _ in 0..20 {
        pair.port.send(WRITE.to_vec()).expect("the link is up");
        pair.endpoint.side.send(WRITE.to_vec()).expect("the link is up");
    }
    pair.run(200);
    pair.endpoint.side.ask_for_l1();
    let (mut down, mut up) = (0, 0);
    // What was queued goes before it or after it; either way all of it comes.
    pair.until(50_000, |pair| {
        down += u32::from(pair.endpoint.side.receive().is_some());
        up += u32::from(pair.port.receive().is_some());
        if pair.states() == L1 {
            assert_eq!((pair.port.counters().replayed, pair.endpoint.side.counters().replayed), (0, 0));
        }
        (down, up) == (20, 20)
    });
    pair.assert_silent();
}
