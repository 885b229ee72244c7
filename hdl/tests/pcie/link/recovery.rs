//! Recovery in the middle of packets, and the link down and up again.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_link::damage::Mischief;
use viaduct_link::link::dllp::Dllp;
use viaduct_link::ltssm::{Request, State};

use super::world::{options, read, seed, write, Alone, Pair, Traffic};

#[test]
fn recovery_at_any_time_loses_nothing() {
    let seed = seed("recovery");
    for cuts in [false, true] {
        let mut options = options(seed);
        options.side.mischief = Mischief { cuts, ..Mischief::default() };
        let mut pair = Pair::new(options, false);
        pair.train();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut next = 100;
        let mut times = 0;
        Traffic::new(seed, 2000, 128).run(&mut pair, 4_000_000, |pair, cycle| {
            assert!(pair.port.link_up() && pair.mac.ltssm.link_up(), "the link went down");
            if cycle >= next {
                next = cycle + random.random_range(200..3000);
                times += 1;
                if random.random() {
                    pair.port.retrain();
                } else {
                    pair.mac.ltssm.direct(Request::Retrain);
                }
            }
        });
        println!("{times} times Recovery, {:?}", pair.port.counters());
        assert!(times > 40);
        pair.run(3000);
        pair.assert_silent();
        let counters = pair.port.counters();
        assert_eq!((counters.received, counters.sent), (2000, 2000));
        assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    }
}

#[test]
fn the_link_goes_down_and_comes_up_anew() {
    let seed = seed("down");
    let mut pair = Pair::trained(seed);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for round in 0..6_u64 {
        // Traffic that is cut anywhere.
        for number in 0..40 {
            pair.device.send(&write(number, 20));
            pair.port.send(read(number)).expect("the link is up");
            pair.port.send(write(number, 7)).expect("the link is up");
        }
        pair.run(random.random_range(50..1500));
        pair.port.hot_reset();
        pair.until(100_000, |pair| !pair.mac.ltssm.link_up() && !pair.port.link_up());
        pair.device.forget();
        pair.run(3);
        assert!(!pair.device.is_active());
        pair.until(20_000_000, |pair| pair.is_active());
        pair.device.arrived.clear();
        while pair.port.receive().is_some() {}
        Traffic::new(seed + round, 200, 128).run(&mut pair, 400_000, |_, _| {});
    }
    pair.run(2000);
    pair.assert_silent();
}

#[test]
fn a_link_that_is_disabled_and_enabled_trains_again() {
    let seed = seed("disabled");
    let mut pair = Pair::trained(seed);
    Traffic::new(seed, 100, 128).run(&mut pair, 400_000, |_, _| {});
    pair.port.disable();
    pair.until(1_000_000, |pair| pair.port.state() == State::DisabledQuiet);
    pair.device.forget();
    assert!(!pair.device.is_active());
    pair.port.enable();
    pair.until(20_000_000, |pair| pair.is_active());
    Traffic::new(seed + 1, 100, 128).run(&mut pair, 400_000, |_, _| {});
    pair.assert_silent();
}

#[test]
fn timers_hold_while_l0_is_left() {
    let mut alone = Alone::active(seed("held timers"), [(0, 0); 3]);
    alone.device.send(&write(1, 4));
    alone.run(60);
    assert_eq!(alone.numbers(), [0]);
    alone.tlp(0, &read(1));
    alone.settle();
    assert_eq!(alone.next_dllp(), None, "the Ack waits");
    // Longer than both timers and the interval of UpdateFC.
    alone.in_l0 = false;
    alone.run(20_000);
    assert!(alone.tlps.is_empty() && alone.dllps.is_empty());
    alone.in_l0 = true;
    alone.run(20);
    assert!(alone.tlps.is_empty() && alone.dllps.is_empty());
    let cycles = alone.until(1000, |alone| !alone.tlps.is_empty());
    assert!((250..391).contains(&cycles), "{cycles}");
    assert_eq!(alone.numbers(), [0]);
    assert!(matches!(alone.next_dllp(), Some(Dllp::Ack(0))));
}

#[test]
fn a_packet_that_was_not_taken_before_recovery_goes_out_behind_it() {
    let mut alone = Alone::active(seed("waiting packet"), [(0, 0); 3]);
    alone.ready = false;
    alone.device.send(&write(1, 4));
    alone.run(100);
    alone.in_l0 = false;
    alone.run(300);
    (alone.in_l0, alone.ready) = (true, true);
    alone.run(40);
    assert_eq!(alone.numbers(), [0]);
}

#[test]
fn a_tlp_that_recovery_cuts_is_asked_for_again() {
    let mut alone = Alone::active(seed("cut tlp"), [(0, 0); 3]);
    let symbols = viaduct_link::link::frame::frame_tlp(0, &viaduct_link::tlp::to_bytes(&write(1, 4)), false);
    alone.symbols(symbols[..20].iter().copied());
    alone.run(10);
    alone.in_l0 = false;
    alone.run(10);
    alone.in_l0 = true;
    // The rest of it comes: it belongs to nothing.
    alone.symbols(symbols[20..].iter().copied());
    alone.settle();
    assert_eq!(alone.next_dllp(), Some(Dllp::Nak(4095)));
    assert!(alone.device.arrived.is_empty());
    alone.tlp(0, &write(1, 4));
    alone.settle();
    assert_eq!(alone.device.arrived, [write(1, 4)]);
}

#[test]
fn l0_ends_at_any_symbol_and_each_tlp_comes_once() {
    let tlps = [write(1, 4), write(2, 1)];
    for odd in [0, 1] {
        for at in 0..50 {
            let mut alone = Alone::active(seed("any symbol"), [(0, 0); 3]);
            alone.idle(odd);
            alone.tlp(0, &tlps[0]);
            alone.tlp(1, &tlps[1]);
            alone.run(at);
            alone.in_l0 = false;
            alone.run(60);
            alone.in_l0 = true;
            let arrived: Vec<_> = alone.device.arrived.drain(..).collect();
            assert!(tlps.starts_with(&arrived));
            // The link partner sends what the device says that it lacks.
            alone.run(200);
            let next = match alone.next_dllp() {
                Some(Dllp::Ack(last) | Dllp::Nak(last)) => (last + 1) % 4096,
                None => 0,
                other => panic!("{other:?}"),
            };
            assert_eq!(usize::from(next), arrived.len(), "{at}: what is acknowledged has come");
            for number in next..2 {
                alone.tlp(number, &tlps[usize::from(number)]);
            }
            alone.settle();
            let all: Vec<_> = arrived.into_iter().chain(alone.device.arrived.drain(..)).collect();
            assert!(all == tlps, "{odd} {at}: {} TLPs", all.len());
        }
    }
}
