//! Training: from power-up to DL_Active.

use viaduct_link::damage::Damage;
use viaduct_link::ltssm::{State, Times, MS};
use viaduct_link::receiver::Receiver;
use viaduct_link::recogniser::Event;

use crate::bench::{options, Pair, Path};

/// The way that both sides go.
const WAY: [State; 11] = [
    State::DetectQuiet,
    State::DetectActive,
    State::PollingActive,
    State::PollingConfiguration,
    State::ConfigLinkwidthStart,
    State::ConfigLinkwidthAccept,
    State::ConfigLanenumWait,
    State::ConfigLanenumAccept,
    State::ConfigComplete,
    State::ConfigIdle,
    State::L0,
];

/// Trains with the times of the specification and returns both ways and the cycles.
fn cold(seed: u64, starts: (u64, u64), to: Damage, from: Damage) -> (Path, Path, u64) {
    println!("seed {seed}");
    let (mut port, mut endpoint) = options(seed);
    (port.side.times, endpoint.times) = (Times::default(), Times::default());
    (port.to_endpoint, port.from_endpoint, port.starts) = (to, from, starts.0);
    let mut pair = Pair::new(port, endpoint);
    pair.endpoint_starts = starts.1;
    let (mut down, mut up) = (Path::default(), Path::default());
    let cycles = pair.until(60 * MS, |pair| {
        down.push(pair.port.state());
        up.push(pair.endpoint.side.state());
        pair.is_active()
    });
    assert_eq!(pair.endpoint.side.inverts(), to.inverted);
    assert_eq!(pair.port.side().inverts(), from.inverted);
    (down, up, cycles)
}

#[test]
fn a_cold_link_goes_the_way_of_the_specification() {
    let (down, up, cycles) = cold(1, (0, 0), Damage::default(), Damage::default());
    assert_eq!((down.0, up.0), (WAY.to_vec(), WAY.to_vec()));
    let mut pair = Pair::healthy(1);
    pair.train();
    let history: Vec<_> = pair.port.side().history().map(|(_, state)| state).collect();
    assert_eq!(history, WAY[1..], "it is remembered");
    // Detect.Quiet, then 1024 TS1 of 8 cycles each and some SKP.
    assert!((12 * MS + 8192..13 * MS).contains(&cycles), "{cycles}");
}

#[test]
fn either_side_may_start_first() {
    for (n, starts) in
        [(0, 50), (50, 0), (0, MS), (MS, 0), (0, 14 * MS), (14 * MS, 0), (1, 30 * MS)].iter().enumerate()
    {
        let (down, up, _) = cold(n as u64, *starts, Damage::default(), Damage::default());
        assert_eq!(down.0.last(), Some(&State::L0), "{starts:?}");
        assert_eq!(up.0.last(), Some(&State::L0), "{starts:?}");
    }
}

#[test]
fn the_endpoint_waits_for_its_physical_part() {
    let (mut port, endpoint) = options(1);
    port.locks = MS;
    let mut pair = Pair::new(port, endpoint);
    pair.run(MS - 1);
    assert_eq!(pair.endpoint.side.now(), 0);
    pair.train();
}

#[test]
fn any_phase_and_polarity_trains() {
    for bits in 0..16 {
        let damage = |odd: u32, inverted: u32| Damage {
            odd: bits >> odd & 1 == 1,
            inverted: bits >> inverted & 1 == 1,
            skp: true,
            ..Damage::default()
        };
        let (down, up, _) = cold(bits, (0, 0), damage(0, 1), damage(2, 3));
        assert_eq!((down.0, up.0), (WAY.to_vec(), WAY.to_vec()), "{bits:04b}");
    }
}

#[test]
fn damaged_symbols_do_not_stop_training() {
    for seed in 0..40 {
        let damage = Damage { flagged: 500, silent: 500, lost: 200, doubled: 200, ..Damage::ALL };
        cold(seed, (0, seed * 1000), damage, damage);
    }
}

#[test]
fn polling_sends_1024_ts1_and_16_ts2() {
    let (mut port, mut endpoint) = options(3);
    (port.side.times, endpoint.times) = (Times::default(), Times::default());
    let mut pair = Pair::new(port, endpoint);
    let mut receiver = Receiver::default();
    let mut sets = vec![];
    while pair.endpoint.side.state() != State::L0 {
        pair.step();
        for symbol in pair.from.sent().symbols {
            let symbol = (!pair.from.tx_idle).then_some(symbol);
            if let Some(Event::Training { set, .. }) = receiver.push(symbol, true).event {
                match sets.last_mut() {
                    Some((last, count)) if *last == set => *count += 1,
                    _ => sets.push((set, 1)),
                }
            }
        }
    }
    let counts: Vec<_> = sets.iter().map(|(set, count)| (set.kind, set.link, set.lane, *count)).collect();
    println!("{counts:?}");
    assert!(counts[0].3 >= 1024);
    assert!(counts[1].3 > 16, "one before the answer, 16 after it");
    // The last ones are TS2 with both numbers.
    let last = counts[counts.len() - 1];
    assert!(last.3 >= 16 && (last.1, last.2) == (Some(0), Some(0)));
}

#[test]
fn disabled_scrambling_binds_both_sides() {
    for bits in 0..4 {
        let (mut port, mut endpoint) = options(bits);
        port.side.no_scrambling = bits & 1 == 1;
        endpoint.no_scrambling = bits & 2 == 2;
        let mut pair = Pair::new(port, endpoint);
        pair.train();
        assert_eq!(pair.port.side().is_scrambled(), bits == 0);
        assert_eq!(pair.endpoint.side.is_scrambled(), bits == 0);
    }
}

/// The state of one side.
fn own(pair: &Pair, at_port: bool) -> State {
    if at_port {
        pair.port.state()
    } else {
        pair.endpoint.side.state()
    }
}

/// The other side falls silent for this one.
fn silence(pair: &mut Pair, at_port: bool) {
    if at_port {
        pair.port.silence(0, u64::MAX);
    } else {
        pair.port.silence(u64::MAX, 0);
    }
}

/// Cycles until a state is left if the other side falls silent when it is entered, and the next state.
fn timeout(state: State, at_port: bool) -> (u64, State) {
    let mut pair = Pair::healthy(7);
    if matches!(state, State::RecoveryRcvrLock | State::RecoveryRcvrCfg) {
        pair.train();
        pair.port.retrain();
    }
    pair.until(10_000_000, |pair| own(pair, at_port) == state);
    silence(&mut pair, at_port);
    let passed = pair.until(10_000_000, |pair| own(pair, at_port) != state);
    (passed, own(&pair, at_port))
}

/// The same for a state of logical idle: the other side falls silent in the state before, so late that
/// this one still leaves it.
fn idle_timeout(before: State, state: State, at_port: bool) -> (u64, State) {
    let mut pair = Pair::healthy(7);
    if state == State::RecoveryIdle {
        pair.train();
        pair.port.retrain();
    }
    pair.until(10_000_000, |pair| own(pair, at_port) == before);
    for _ in 0..1000 {
        let mut attempt = pair.clone();
        silence(&mut attempt, at_port);
        attempt.run(1000);
        if own(&attempt, at_port) == state {
            silence(&mut pair, at_port);
            pair.until(1000, |pair| own(pair, at_port) == state);
            let passed = pair.until(10_000_000, |pair| own(pair, at_port) != state);
            return (passed, own(&pair, at_port));
        }
        pair.step();
    }
    panic!("{state:?} is never reached without being left");
}

#[test]
fn states_of_logical_idle_give_up_after_2_ms() {
    for at_port in [true, false] {
        let configuration = idle_timeout(State::ConfigComplete, State::ConfigIdle, at_port);
        assert_eq!(configuration, (2 * MS, State::DetectQuiet), "{at_port}");
        let recovery = idle_timeout(State::RecoveryRcvrCfg, State::RecoveryIdle, at_port);
        assert_eq!(recovery, (2 * MS, State::DetectQuiet), "{at_port}");
    }
}

#[test]
fn each_state_gives_up_after_its_time() {
    use State::*;
    let table = [
        (PollingActive, 24 * MS),
        (PollingConfiguration, 48 * MS),
        (ConfigLinkwidthStart, 24 * MS),
        (ConfigLanenumWait, 2 * MS),
        (ConfigComplete, 2 * MS),
        (RecoveryRcvrLock, 24 * MS),
        (RecoveryRcvrCfg, 48 * MS),
    ];
    for (state, time) in table {
        for at_port in [true, false] {
            let (passed, next) = timeout(state, at_port);
            assert_eq!((passed, next), (time, DetectQuiet), "{state:?} {at_port}");
        }
    }
}

#[test]
fn the_upstream_port_gives_up_where_the_downstream_port_does_not_wait() {
    let (passed, next) = timeout(State::ConfigLinkwidthAccept, false);
    assert_eq!((passed, next), (2 * MS, State::DetectQuiet));
    for at_port in [true, false] {
        let (passed, next) = timeout(State::ConfigLanenumAccept, at_port);
        assert_eq!((passed, next), (2 * MS, State::DetectQuiet), "{at_port}");
    }
}

#[test]
fn detect_looks_again_every_12_ms() {
    let (mut port, mut endpoint) = options(1);
    (port.side.times, endpoint.times) = (Times::default(), Times::default());
    port.endpoint_present = false;
    port.port_present = false;
    let mut pair = Pair::new(port, endpoint);
    for _ in 0..3 {
        let quiet = pair.until(13 * MS, |pair| pair.states() == (State::DetectActive, State::DetectActive));
        assert!((12 * MS..12 * MS + 20).contains(&quiet), "{quiet}");
        let active = pair.until(2000, |pair| pair.states() == (State::DetectQuiet, State::DetectQuiet));
        assert!(active < 1100);
    }
    pair.port.set_present(true, true);
    pair.train();
}

#[test]
fn detection_that_never_ends_is_given_up() {
    let (mut port, endpoint) = options(1);
    port.detection = u64::MAX - 1;
    let mut pair = Pair::new(port, endpoint);
    pair.until(3000, |pair| pair.port.state() == State::DetectActive);
    assert_eq!(pair.until(13 * MS, |pair| pair.port.state() != State::DetectActive), 12 * MS);
    assert_eq!(pair.port.state(), State::DetectQuiet);
}

#[test]
fn broken_electrical_idle_ends_detect_quiet() {
    let (mut port, mut endpoint) = options(2);
    (port.side.times, endpoint.times) = (Times::default(), Times::default());
    // The port's Detect.Quiet would last for 12 ms, but the endpoint comes first.
    endpoint.times.detect_quiet = 100;
    let mut pair = Pair::new(port, endpoint);
    let passed = pair.until(13 * MS, |pair| pair.port.state() == State::PollingActive);
    assert!(passed < 3000, "{passed}");
}
