//! Four sources of packets onto one link, by a link partner that counts.

mod link;

use rand::seq::IndexedRandom;
use rand::Rng;
use viaduct_spec::tlp::class;

use link::{Link, CLASSES, MESSAGE, SOURCES};

#[test]
fn packets_leave_whole_in_order_and_within_credits() {
    for max_payload in [0, 2, 5] {
        let mut link = Link::new(max_payload);
        let full = 8 << max_payload;
        for round in 0..3000 {
            for source in 0..SOURCES {
                if link.beats[source].len() < 20 && link.rng.random_bool(0.7) {
                    link.packet(source);
                }
            }
            // Just enough for one packet, or for some.
            for class in 0..3 {
                if link.rng.random_bool(0.5) && link.headers[class] < 4 {
                    link.headers[class] += *[1, 1, 2].choose(&mut link.rng).unwrap();
                }
                if link.rng.random_bool(0.3) && link.units[class] < 4 * full {
                    link.units[class] += link.rng.random_range(1..=full);
                }
            }
            let (offer, tx) = [(1.0, 1.0), (0.4, 1.0), (1.0, 0.4)][round / 100 % 3];
            for _ in 0..10 {
                link.step(offer, tx);
            }
        }
        assert!(link.seen.iter().all(|n| *n > 50) && link.withdrawn > 50, "{:?}", link.seen);
    }
}

/// With credits for exactly the largest packet, every packet goes in the end.
#[test]
fn one_credit_is_enough() {
    let mut link = Link::new(1);
    for n in 0..120 {
        link.packet(n % SOURCES);
    }
    while link.packets.iter().any(|p| !p.is_empty()) {
        link.headers = [1; 3];
        link.units = [16; 3];
        let before: u64 = link.seen.iter().sum();
        while link.seen.iter().sum::<u64>() == before {
            link.step(1.0, 1.0);
            assert!(link.idle < 20, "stuck");
        }
    }
}

/// The size is less from one packet to the next: the first one weighs what it was cut by until it is counted.
#[test]
fn a_packet_of_the_size_before_weighs_what_it_was_cut_by() {
    for stall in 0..12 {
        let mut link = Link::new(1);
        (link.headers, link.units) = ([4; 3], [17; 3]);
        link.posted(64);
        while !link.beats[0].is_empty() {
            link.step(1.0, 1.0);
        }
        link.resize(0);
        link.posted(32);
        for _ in 0..stall {
            link.step(1.0, 0.0);
        }
        for _ in 0..60 {
            link.step(1.0, 1.0);
        }
        assert_eq!((link.seen[0], link.begun), (1, 1), "stall {stall}: 1 unit is left, and 8 are asked for");
        link.units[0] += 7;
        for _ in 0..60 {
            link.step(1.0, 1.0);
        }
        assert_eq!(link.seen[0], 2, "stall {stall}");
    }
}

#[test]
fn no_class_waits_for_another() {
    let mut link = Link::new(0);
    for blocked in 0..3 {
        link.headers = [9; 3];
        link.units = [99; 3];
        link.headers[blocked] = 0;
        for _ in 0..3 {
            link.step(1.0, 1.0);
        }
        for source in 0..SOURCES {
            link.packet(source);
            link.packet(source);
        }
        for _ in 0..100 {
            link.step(1.0, 1.0);
        }
        for (packets, class) in link.packets.iter().zip(CLASSES) {
            assert_eq!(packets.is_empty(), class != blocked);
        }
        link.headers[blocked] = 9;
        for _ in 0..100 {
            link.step(1.0, 1.0);
        }
        assert!(link.packets.iter().all(|packets| packets.is_empty()));
    }
    // Without Bus Master, only completions.
    link.master = false;
    for _ in 0..3 {
        link.step(1.0, 1.0);
    }
    for source in 0..SOURCES {
        link.packet(source);
    }
    for _ in 0..50 {
        link.step(1.0, 1.0);
    }
    let waiting = link.packets.each_ref().map(|p| p.len());
    assert_eq!(waiting, [1, 1, 0, 1]);
    assert_eq!(link.order.last(), Some(&u64::from(class::COMPLETION)));
}

#[test]
fn sources_take_turns_at_full_rate() {
    let mut link = Link::new(0);
    for _ in 0..100 {
        for source in 0..SOURCES {
            link.packet(source);
        }
    }
    let all: usize = link.beats.iter().map(|b| b.len()).sum();
    let cycles = link.drain();
    for four in link.order.chunks(SOURCES) {
        let mut sorted = four.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
    }
    assert!(cycles <= all + 5, "{cycles} cycles for {all} beats");
}

/// Of any sources that have something the turn goes from one to the next, and round.
#[test]
fn the_turn_goes_round_among_those_who_have_something() {
    for those in (0..1 << SOURCES).filter(|those: &u64| those.count_ones() >= 2) {
        let mut link = Link::new(0);
        let some: Vec<usize> = (0..SOURCES).filter(|source| those >> source & 1 == 1).collect();
        for source in some.iter().cycle().take(20 * some.len()) {
            link.packet(*source);
        }
        let all: usize = link.beats.iter().map(|beats| beats.len()).sum();
        let cycles = link.drain();
        assert!(cycles <= all + 5, "{cycles} cycles for {all} beats of {some:?}");
        for pair in link.order.windows(2) {
            let at = some.iter().position(|source| *source as u64 == pair[0]).unwrap();
            assert_eq!(pair[1], some[(at + 1) % some.len()] as u64, "{:?} of {some:?}", link.order);
        }
    }
}

/// A class without credits costs the others no cycle.
#[test]
fn who_may_not_go_has_no_turn() {
    for stuck in 0..3 {
        let mut link = Link::new(0);
        (0..20 * SOURCES).for_each(|n| link.packet(n % SOURCES));
        let others = (0..SOURCES).filter(|source| CLASSES[*source] != stuck);
        let all: usize = others.map(|source| link.beats[source].len()).sum();
        for _ in 0..all + 5 {
            (link.headers, link.units) = ([200; 3], [4000; 3]);
            link.headers[stuck] = 0;
            link.step(1.0, 1.0);
        }
        let waiting = |source: usize| link.packets[source].len();
        for (source, class) in CLASSES.iter().enumerate() {
            assert_eq!(
                waiting(source),
                if *class == stuck { 20 } else { 0 },
                "of {source}, class {stuck} stuck"
            );
        }
    }
}

/// Before a reset of what is behind it: a request that has begun ends, no other begins, and completions are not stopped.
#[test]
fn what_is_held_ends_whole_and_begins_no_more() {
    let mut link = Link::new(1);
    let mut held = 0;
    for round in 0..200u64 {
        link.load();
        link.first = true;
        for _ in 0..round % 40 {
            link.step(1.0, 0.7);
        }
        link.bench.set("hold", 1);
        link.step(1.0, 0.7);
        for _ in 0..200 {
            link.step(1.0, 0.7);
        }
        assert_eq!(link.bench.get("settled"), 1, "round {round}");
        assert!(link.collector.is_empty(), "round {round}: half a packet is out");
        assert!(link.packets[2].is_empty(), "round {round}");
        let requests = |link: &Link| link.seen[0] + link.seen[1] + link.seen[MESSAGE];
        let before = requests(&link);
        held += 6 * (round + 1) - before;
        link.step(1.0, 1.0);
        assert_eq!(requests(&link), before);
        link.bench.set("hold", 0);
        for _ in 0..200 {
            link.step(1.0, 1.0);
        }
        assert!(link.packets.iter().all(|packets| packets.is_empty()), "round {round}");
    }
    assert!(held > 300, "{held} requests had to wait");
}

/// Before a reset of the function nothing starts, and `settled` says that all that has started is on the link.
#[test]
fn what_is_mute_lets_the_last_packet_out_and_is_silent_from_then_on() {
    let mut link = Link::new(1);
    let mut cut = 0;
    for round in 0..200u64 {
        link.load();
        for _ in 0..round % 40 {
            link.step(1.0, 0.5);
        }
        // The completions may be stopped later than the requests, as when the function is reset in the middle of the agent's reset.
        link.bench.set("hold", 1);
        for _ in 0..round % 3 {
            link.step(1.0, 0.5);
        }
        link.bench.set("mute", 1);
        cut += u64::from(!link.collector.is_empty());
        let mut cycles = 0;
        loop {
            link.bench.eval();
            if link.bench.get("settled") == 1 {
                break;
            }
            link.step(1.0, 0.5);
            cycles += 1;
            assert!(cycles < 1000, "round {round}: never settled");
        }
        assert!(link.collector.is_empty(), "round {round}: settled with half a packet out");
        let seen = link.order.len();
        for _ in 0..100 {
            link.step(1.0, 1.0);
            assert_eq!(link.bench.get("tx_valid"), 0, "round {round}");
        }
        assert_eq!(link.order.len(), seen, "round {round}");
        link.bench.set("hold", 0);
        link.bench.set("mute", 0);
        for _ in 0..200 {
            link.step(1.0, 1.0);
        }
        assert!(link.packets.iter().all(|packets| packets.is_empty()), "round {round}");
    }
    assert!(cut > 50, "packets were half out: {cut}");
}

/// Of a function reset the completions hear at once and the requests a cycle later (`hdl/src/nic.rs`). One packet may be taken in the cycle in
/// which its source hears of it, and one may wait for the link: two begin at most.
#[test]
fn two_packets_begin_at_most_behind_the_order_to_be_silent() {
    let mut most = [0; 2];
    for later in [0, 1] {
        let mut link = Link::new(1);
        for round in 0..400u64 {
            link.load();
            for _ in 0..round % 40 {
                link.step(1.0, 0.5);
            }
            let before = link.begun;
            link.bench.set("mute", 1);
            if later == 1 {
                link.step(1.0, 0.5);
            }
            link.bench.set("hold", 1);
            for _ in 0..200 {
                link.step(1.0, 0.5);
            }
            most[later] = most[later].max(link.begun - before);
            link.bench.set("hold", 0);
            link.bench.set("mute", 0);
            for _ in 0..200 {
                link.step(1.0, 1.0);
            }
            assert!(link.packets.iter().all(|packets| packets.is_empty()), "round {round}");
        }
    }
    assert_eq!(most, [1, 2], "of requests that hear at once, or a cycle later");
}
