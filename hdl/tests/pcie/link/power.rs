//! L1, and L2/L3 Ready.

use viaduct_link::link::dllp::{Dllp, Power};
use viaduct_link::ltssm::State;

use super::world::{read, seed, write, Alone, Pair};

const ENDLESS: [(u16, u16); 3] = [(0, 0); 3];

#[test]
fn it_asks_over_and_over_until_it_is_answered_and_then_says_nothing() {
    for (deep, wish) in [(false, Power::EnterL1), (true, Power::EnterL23)] {
        let mut alone = Alone::active(seed("asks"), ENDLESS);
        alone.device.send(&write(1, 1));
        (alone.device.enter_l1, alone.device.enter_l23) = (!deep, deep);
        alone.run(500);
        alone.numbers();
        // The TLP is not acknowledged: it does not ask.
        for _ in 0..60 {
            alone.run(300);
            assert_eq!(alone.next_dllp(), None);
            if alone.device.retrains() {
                alone.in_l0 = false;
                alone.run(10);
                alone.in_l0 = true;
            }
        }
        alone.dllp(Dllp::Ack(0));
        alone.run(20_000);
        let mut asked = 0;
        while let Some(dllp) = alone.next_dllp() {
            assert_eq!(dllp, Dllp::Power(wish));
            asked += 1;
        }
        assert!(asked > 100);
        // A TLP waits, and so it is when the wish is answered.
        alone.device.send(&write(2, 1));
        alone.run(100);
        alone.numbers();
        assert_eq!(alone.device.words_taken, 8);
        alone.dllp(Dllp::Power(Power::RequestAck));
        let cycles = alone.until(100, |alone| alone.device.sleeps());
        assert!(cycles < 40, "{cycles}");
        alone.dllps.clear();
        alone.run(500);
        assert!(alone.device.sleeps() && alone.dllps.is_empty() && alone.tlps.is_empty());
        alone.in_l0 = false;
        alone.run(5);
        assert!(!alone.device.sleeps());
        assert!(alone.device.wakes(), "a TLP is offered");
        alone.in_l0 = true;
        alone.run(40);
        assert!(!alone.device.wakes());
        assert_eq!(alone.numbers(), [1]);
    }
}

#[test]
fn a_wish_that_recovery_ends_leaves_nothing_behind() {
    let mut alone = Alone::active(seed("wish ends"), ENDLESS);
    alone.device.enter_l1 = true;
    alone.run(20_000);
    assert!(alone.next_dllp().is_some());
    alone.in_l0 = false;
    alone.run(20);
    alone.device.enter_l1 = false;
    alone.dllps.clear();
    alone.in_l0 = true;
    // A packet that was begun may still go.
    alone.run(10);
    alone.dllps.clear();
    alone.run(20_000);
    assert_eq!(alone.next_dllp(), None);
    assert!(!alone.device.sleeps() && !alone.device.wakes());
    alone.device.send(&read(0));
    alone.run(40);
    assert_eq!(alone.numbers(), [0]);
}

#[test]
fn the_link_goes_to_l1_and_either_side_wakes_it() {
    let mut pair = Pair::trained(seed("l1"));
    for round in 0..3 {
        pair.device.send(&write(round, 3));
        pair.device.enter_l1 = true;
        let l1 =
            |pair: &mut Pair| pair.mac.ltssm.state() == State::L1Idle && pair.port.state() == State::L1Idle;
        pair.until(60_000, l1);
        assert_eq!(pair.port.receive(), Some(write(round, 3)));
        // The host has something: it wakes the link, and the answer goes though the wish stays.
        pair.port.send(read(round)).expect("the link is up");
        pair.until(60_000, |pair| !pair.device.arrived.is_empty());
        pair.device.arrived.clear();
        let completion = vec![0x4a00_0001, 4, round, 5];
        pair.device.send(&completion);
        let mut came = None;
        pair.until(60_000, |pair| {
            came = pair.port.receive();
            came.is_some()
        });
        assert_eq!(came, Some(completion));
        pair.until(60_000, l1);
        // The device has something.
        pair.device.send(&write(round, 5));
        pair.device.enter_l1 = false;
        pair.until(60_000, |pair| {
            came = pair.port.receive();
            came.is_some()
        });
        assert_eq!(came, Some(write(round, 5)));
        assert!(pair.is_active());
    }
    pair.run(1000);
    pair.assert_silent();
}
