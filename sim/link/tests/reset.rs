//! Hot reset, Disabled and Recovery, in the middle of everything.

use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::ltssm::{State, MS};

use crate::bench::{options, Pair, Path, Traffic};
use crate::monitor::LAWFUL;

#[test]
fn recovery_under_load_loses_nothing() {
    for seed in 0..4 {
        let mut pair = Pair::healthy(seed);
        pair.train();
        let mut traffic = Traffic::new(seed, 5000, 128);
        let mut recoveries = 0;
        traffic.run(&mut pair, 8_000_000, |pair, cycle| {
            if cycle % (701 + seed) == 0 && pair.port.state() == State::L0 {
                // Either side may ask for it.
                if cycle % 2 == 0 {
                    pair.port.retrain();
                } else {
                    pair.endpoint.side.direct(viaduct_link::ltssm::Request::Retrain);
                }
                recoveries += 1;
            }
            assert!(pair.port.link_up() && pair.endpoint.side.link_up(), "the link went down");
        });
        assert!(recoveries > 300, "{recoveries}");
    }
}

#[test]
fn packets_that_are_cut_by_recovery_are_sent_again() {
    let (mut port, mut endpoint) = options(1);
    port.side.mischief = Mischief { cuts: true, ..Mischief::default() };
    endpoint.mischief = port.side.mischief;
    let mut pair = Pair::new(port, endpoint);
    pair.train();
    Traffic::new(1, 5000, 128).run(&mut pair, 8_000_000, |pair, cycle| {
        if cycle % 797 == 0 {
            pair.port.retrain();
        }
        assert!(pair.port.link_up() && pair.endpoint.side.link_up(), "the link went down");
    });
    assert!(pair.endpoint.side.counters().bad_tlps > 100 && pair.port.counters().bad_tlps > 100);
}

#[test]
fn recovery_goes_its_way() {
    let mut pair = Pair::healthy(1);
    pair.train();
    pair.run(1000);
    let (mut down, mut up) = (Path::default(), Path::default());
    pair.port.retrain();
    pair.step();
    pair.until(5000, |pair| {
        down.push(pair.port.state());
        up.push(pair.endpoint.side.state());
        down.0.len() > 3 && pair.states() == (State::L0, State::L0)
    });
    up.0.retain(|state| *state != State::L0);
    down.0.retain(|state| *state != State::L0);
    let way = [State::RecoveryRcvrLock, State::RecoveryRcvrCfg, State::RecoveryIdle];
    assert_eq!((&down.0[..], &up.0[..]), (&way[..], &way[..]));
    assert!(pair.is_active(), "the data link layer does not notice");
}

#[test]
fn hot_reset_under_load_then_a_clean_start() {
    for seed in 0..6 {
        let (mut port, mut endpoint) = options(seed);
        if seed % 2 == 1 {
            (port.to_endpoint, port.from_endpoint) = (Damage::ALL, Damage::ALL);
            (port.side.mischief, endpoint.mischief) = (Mischief::ALL, Mischief::ALL);
        }
        let mut pair = Pair::new(port, endpoint);
        for round in 0..4 {
            pair.train();
            let mut traffic = Traffic::new(seed * 10 + round, u32::MAX, 128);
            for _ in 0..20_000 + seed * 333 {
                traffic.step(&mut pair);
                pair.step();
            }
            pair.port.hot_reset();
            // All that came before it is what was sent, in order.
            let mut reset = false;
            pair.until(60 * MS, |pair| {
                traffic.step_receive(pair);
                reset |= pair.endpoint.side.state() == State::HotReset;
                !pair.port.link_up() && !pair.endpoint.side.link_up()
            });
            pair.until(60 * MS, |pair| {
                traffic.step_receive(pair);
                pair.is_active()
            });
            assert!(reset || seed % 2 == 1, "the endpoint was in Hot Reset");
            assert!(pair.port.backlog() + pair.endpoint.side.backlog() == 0, "nothing is left of before");
        }
        Traffic::new(seed, 1000, 128).run(&mut pair, 4_000_000, |_, _| {});
    }
}

#[test]
fn hot_reset_lasts_2_ms_at_the_endpoint_and_goes_to_detect() {
    let mut pair = Pair::healthy(9);
    pair.train();
    pair.port.hot_reset();
    pair.until(5000, |pair| pair.endpoint.side.state() == State::HotReset);
    pair.until(1000, |pair| pair.port.state() == State::DetectQuiet);
    let passed = pair.until(3 * MS, |pair| pair.endpoint.side.state() == State::DetectQuiet);
    assert!((2 * MS - 200..2 * MS + 200).contains(&passed), "{passed}");
    pair.train();
}

#[test]
fn a_held_hot_reset_is_held() {
    let (mut port, endpoint) = options(9);
    port.side.times.hot_reset_hold = 5 * MS;
    let mut pair = Pair::new(port, endpoint);
    pair.train();
    pair.port.hot_reset();
    pair.until(5000, |pair| pair.states() == (State::HotReset, State::HotReset));
    assert!(pair.until(6 * MS, |pair| pair.port.state() != State::HotReset) > 5 * MS - 1000);
    assert_eq!(pair.endpoint.side.state(), State::HotReset);
    pair.train();
}

#[test]
fn hot_reset_without_an_answer_ends_after_2_ms() {
    let mut pair = Pair::healthy(10);
    pair.train();
    pair.port.hot_reset();
    pair.until(5000, |pair| pair.port.state() == State::HotReset);
    pair.port.silence(0, 100_000_000);
    assert_eq!(pair.until(3 * MS, |pair| pair.port.state() != State::HotReset), 2 * MS);
}

#[test]
fn a_disabled_link_stays_so_until_it_is_enabled() {
    for seed in 0..4 {
        let mut pair = Pair::healthy(seed);
        pair.train();
        let mut traffic = Traffic::new(seed, u32::MAX, 128);
        for _ in 0..5000 + seed * 77 {
            traffic.step(&mut pair);
            pair.step();
        }
        pair.port.disable();
        pair.until(10_000, |pair| pair.states() == (State::DisabledQuiet, State::DisabledQuiet));
        pair.run(20 * MS);
        assert_eq!(pair.states(), (State::DisabledQuiet, State::DisabledQuiet));
        assert!(pair.from.tx_idle && pair.to.rx_idle);
        pair.port.enable();
        pair.until(4000, |pair| pair.endpoint.side.state() == State::DetectQuiet);
        pair.train();
    }
}

#[test]
fn a_link_that_is_disabled_before_it_trains_never_comes_up() {
    let mut pair = Pair::healthy(3);
    pair.port.disable();
    pair.until(100_000, |pair| pair.port.state() == State::DisabledQuiet);
    pair.until(10_000, |pair| pair.endpoint.side.state() == State::DisabledQuiet);
    pair.port.enable();
    pair.train();
}

#[test]
fn a_disabled_endpoint_without_electrical_idle_gives_up_after_2_ms() {
    let mut pair = Pair::healthy(3);
    pair.train();
    pair.port.disable();
    pair.until(10_000, |pair| pair.endpoint.side.state() == State::Disabled);
    // The endpoint alone, with symbols that never end.
    let symbols = viaduct_link::seam::ToEndpoint { rx_error: 0, rx_idle: false, ..Default::default() };
    while pair.endpoint.side.state() == State::Disabled {
        pair.endpoint.cycle(symbols);
    }
    let mut passed = 0;
    while pair.endpoint.side.state() == State::DisabledQuiet {
        pair.endpoint.cycle(symbols);
        passed += 1;
    }
    assert_eq!(passed, 2 * MS);
}

#[test]
fn long_silence_takes_the_link_down_and_it_comes_back() {
    let mut pair = Pair::healthy(5);
    pair.train();
    pair.port.silence(30 * MS, 30 * MS);
    // 128 us of silence, then 24 ms in Recovery.RcvrLock.
    let passed = pair.until(30 * MS, |pair| !pair.port.link_up());
    assert!((24 * MS..25 * MS).contains(&passed), "{passed}");
    pair.until(60 * MS, |pair| pair.is_active());
    Traffic::new(5, 500, 128).run(&mut pair, 1_000_000, |_, _| {});
}

#[test]
fn hot_reset_disabled_and_l1_in_turn_with_all_damage_and_a_monitor() {
    for seed in 0..6 {
        println!("seed {seed}");
        let (mut port, mut endpoint) = options(seed);
        let damaged = seed % 2 == 0;
        (port.side.mischief, endpoint.mischief) = (LAWFUL, LAWFUL);
        if damaged {
            (port.to_endpoint, port.from_endpoint) = (Damage::ALL, Damage::ALL);
            port.side.mischief = Mischief::ALL;
        }
        let mut pair = Pair::new(port, endpoint).watched(!damaged);
        for round in 0..6 {
            pair.train();
            let mut traffic = Traffic::new(seed, u32::MAX, 128);
            for _ in 0..3000 + seed * 777 {
                traffic.step(&mut pair);
                pair.step();
            }
            if round % 3 == 2 {
                pair.until(3_000_000, |pair| {
                    traffic.step_receive(pair);
                    pair.port.backlog() + pair.endpoint.side.backlog() == 0
                });
                pair.endpoint.side.ask_for_l1();
                pair.until(100_000, |pair| pair.states() == (State::L1Idle, State::L1Idle));
            }
            if round % 3 == 1 {
                pair.port.disable();
            } else {
                pair.port.hot_reset();
            }
            pair.until(60 * MS, |pair| {
                traffic.step_receive(pair);
                !pair.port.link_up()
            });
            pair.run(1000);
            pair.port.enable();
            pair.until(60 * MS, |pair| {
                traffic.step_receive(pair);
                !pair.endpoint.side.link_up()
            });
        }
        pair.train();
        Traffic::new(seed, 500, 128).run(&mut pair, 4_000_000, |_, _| {});
        pair.assert_silent();
    }
}
