//! Load both ways: scarce credits, more packets than there are sequence numbers, damage, Recovery.

use rand::Rng;
use viaduct_link::damage::{Damage, Mischief};
use viaduct_link::generation::Generation;
use viaduct_link::link::credit::Advertised;
use viaduct_link::ltssm::State;
use viaduct_link::port::PortOptions;
use viaduct_link::recogniser::{Event, Recogniser};
use viaduct_link::symbol::Symbol;

use super::traffic::Traffic;
use super::world::{quick, seed, World, PERIODS};

/// More packets each way than there are sequence numbers.
const MANY: u32 = 4400;

/// One symbol in a hundred thousand, both ways.
const WIRE: Damage =
    Damage { flagged: 5, silent: 5, lost: 0, doubled: 0, skp: true, odd: true, inverted: false, glitches: 0 };

/// As few credits as a root port may have: for one packet of each class.
fn scarce(options: &mut PortOptions) {
    options.side.link.advertised =
        [Advertised::finite(1, 8), Advertised::finite(1, 1), Advertised::finite(1, 8)];
}

/// Runs so much; each packet has come once, and no more were sent.
fn run(world: &mut World, count: u32, mut each: impl FnMut(&mut World)) {
    let traffic = Traffic::of(count);
    world.traffic = traffic;
    let (answered, came) = (world.core.answered, world.host.came);
    let cycles = world.until(40_000_000, |world| {
        each(world);
        assert!(world.port.link_up() && !world.core.is_down(), "the link went down");
        world.is_drained()
    });
    world.run(3000);
    let up = world.host.came[1] - came[1];
    println!("{cycles} cycles, {} down, {up} up, {:?}", world.host.came[0] - came[0], world.port.counters());
    assert_eq!(world.core.answered - answered, u64::from(traffic.reads));
    assert_eq!(up, traffic.upwards());
    let counters = world.port.counters();
    assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    world.assert_silent();
}

#[test]
fn sequence_numbers_wrap_both_ways_without_a_replay() {
    let seed = seed("endpoint wrap");
    let mut world = World::enumerated(quick(seed), PERIODS[0]);
    world.set_max_payload(1);
    run(&mut world, MANY, |_| {});
    let counters = world.port.counters();
    assert!(counters.sent > 4096 && counters.received > 4096, "{counters:?}");
    assert_eq!((counters.replayed, counters.duplicates, counters.naks, counters.bad_tlps), (0, 0, 0, 0));
}

#[test]
fn no_credits_to_spare_and_a_wire_that_damages_one_symbol_in_a_hundred_thousand() {
    let seed = seed("endpoint 1e-5");
    let mut options = quick(seed);
    options.side.generation = Generation::Fifth;
    scarce(&mut options);
    (options.to_endpoint, options.from_endpoint) = (WIRE, WIRE);
    let mut world = World::enumerated(options, PERIODS[1]);
    run(&mut world, MANY, |_| {});
    let counters = world.port.counters();
    assert!(counters.sent > 4096 && counters.received > 4096, "{counters:?}");
    assert!(counters.bad_tlps + counters.naks + counters.replayed > 0, "{counters:?}");
}

#[test]
fn clocks_600_ppm_apart_cost_no_packet() {
    let seed = seed("endpoint clocks");
    for ppm in [-600, 600] {
        let mut options = quick(seed);
        options.ppm = ppm;
        let mut world = World::enumerated(options, PERIODS[1]);
        let (start, mut recogniser) = (world.cycle, Recogniser::default());
        let (mut sets, mut symbols) = (0_i64, 0_i64);
        run(&mut world, 1500, |world| {
            for symbol in world.to.heard().symbols {
                if let Some(Event::Skp(count)) = recogniser.push(symbol).event {
                    (sets, symbols) = (sets + 1, symbols + i64::from(count));
                }
            }
        });
        println!("{ppm} ppm: {sets} SKP sets with {symbols} SKP");
        // Where the clocks are one, each set has three. Two symbols come in a cycle.
        let more = symbols - 3 * sets;
        let wanted = -2 * i64::from(ppm) * (world.cycle - start) as i64 / 1_000_000;
        assert!(sets > 30 && (more - wanted).abs() <= 8, "{more} SKP more, and {wanted} are due");
        let counters = world.port.counters();
        assert_eq!((counters.naks, counters.replayed, counters.timeouts), (0, 0, 0), "{counters:?}");
    }
}

#[test]
fn a_core_that_is_slow_and_credits_that_are_kept_back() {
    let seed = seed("endpoint slow");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut options = quick(seed + round as u64);
        scarce(&mut options);
        options.side.mischief = Mischief { withheld: 1000, gaps: 3, ..Mischief::default() };
        let mut world = World::enumerated(options, periods);
        world.core.eager = [30, 5];
        run(&mut world, 300, |_| {});
        assert_eq!(world.port.counters().replayed, 0);
    }
}

#[test]
fn replays_and_recovery_under_load() {
    let seed = seed("endpoint recovery");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut options = quick(seed + round as u64);
        options.side.mischief = Mischief {
            nak_storm: 3000,
            lost_acks: 300,
            nullified: 50,
            cuts: round == 2,
            early_replay: true,
            ..Mischief::default()
        };
        // What Recovery cuts is not the root port's fault.
        if round > 0 {
            (options.to_endpoint, options.from_endpoint) = (WIRE, WIRE);
        }
        options.to_endpoint.odd = true;
        let mut world = World::enumerated(options, periods);
        let (mut next, mut times) = (0, 0);
        run(&mut world, 1500, |world| {
            if world.cycle >= next && world.port.state() == State::L0 {
                next = world.cycle + world.random.random_range(200..4000);
                times += 1;
                world.port.retrain();
            }
        });
        let counters = world.port.counters();
        assert!(times > 10 && counters.replayed > 0 && counters.duplicates > 0, "{times}, {counters:?}");
    }
}

#[test]
fn a_link_that_is_configured_anew_under_load_stays_up_and_loses_nothing() {
    let seed = seed("endpoint configured anew");
    for (round, periods) in PERIODS.into_iter().enumerate() {
        let mut world = World::enumerated(quick(seed + round as u64), periods);
        let (mut next, mut times, mut before) = (0, 0, State::L0);
        run(&mut world, 600, |world| {
            let state = world.port.state();
            times += u32::from(state == State::ConfigComplete && before != state);
            before = state;
            if world.cycle >= next && state == State::L0 {
                next = world.cycle + world.random.random_range(1000..4000);
                world.port.reconfigure();
            }
        });
        assert!(times > 10, "{times}");
    }
}

#[test]
fn skp_sets_that_change_the_byte_cost_no_packet() {
    let seed = seed("endpoint byte");
    let mut options = quick(seed);
    options.to_endpoint = Damage { skp: true, odd: true, ..Damage::default() };
    options.side.skp_interval = (1180, 1181);
    // An odd number of idle symbols puts the next set, or packet, into the other byte; often there is none.
    options.side.mischief = Mischief { gaps: 1, ..Mischief::default() };
    let mut world = World::enumerated(options, PERIODS[0]);
    let (mut changes, mut high) = (0, false);
    run(&mut world, 2000, |world| {
        for (place, symbol) in world.to.heard().symbols.into_iter().enumerate() {
            if symbol == Some(Symbol::COM) {
                changes += u32::from(high != (place == 1));
                high = place == 1;
            }
        }
    });
    println!("COM has changed its byte {changes} times");
    assert!(changes > 30, "{changes}");
    let counters = world.port.counters();
    assert_eq!((counters.naks, counters.replayed, counters.timeouts), (0, 0, 0));
}
