//! Traffic without damage: every length, order, throughput, and more TLPs than there are numbers.

use viaduct_link::link::credit::Advertised;
use viaduct_link::tlp::to_bytes;

use super::world::{options, seed, write, Pair, Traffic};

#[test]
fn random_tlps_pass_both_ways_at_any_pace() {
    let seed = seed("random tlps");
    for (max_payload, rate) in [(128, 100), (256, 100), (128, 30), (256, 5)] {
        let mut options = options(seed);
        options.side.link.max_payload = max_payload;
        let mut pair = Pair::new(options, true);
        pair.port.set_max_payload(max_payload);
        pair.train();
        (pair.device.rate, pair.mac.rate) = (rate, 100 - (100 - rate) / 3);
        let cycles = Traffic::new(seed, 1500, max_payload).run(&mut pair, 4_000_000, |_, _| {});
        pair.run(5000);
        println!("{cycles} cycles: {:?}", pair.port.counters());
        pair.assert_silent();
        let counters = pair.port.counters();
        assert_eq!((counters.received, counters.sent), (1500, 1500));
        assert_eq!((counters.replayed, counters.duplicates, counters.naks, counters.bad_tlps), (0, 0, 0, 0));
        assert_eq!((counters.overflows, counters.impossible, counters.malformed), (0, 0, 0));
    }
}

#[test]
fn tlps_of_every_length_pass_both_ways() {
    let mut options = options(seed("every length"));
    options.side.link.max_payload = 256;
    let mut pair = Pair::new(options, true);
    pair.port.set_max_payload(256);
    pair.train();
    // With a header of 3 and of 4 double words, without data and with 1 to 64 of it.
    let mut all = Vec::new();
    for length in 0..=64 {
        let mut short = write(length, length);
        let mut long = short.clone();
        long.insert(2, 0);
        long[0] |= 0x2000_0000;
        if length == 0 {
            (short[0], long[0]) = (0x0a00_0001, 0x3400_0000);
        }
        all.extend([short, long]);
    }
    for tlp in &all {
        pair.device.send(tlp);
        pair.port.send(tlp.clone()).expect("the link is up");
    }
    let mut came = Vec::new();
    pair.until(100_000, |pair| {
        came.extend(std::iter::from_fn(|| pair.port.receive()));
        came.len() == all.len() && pair.device.arrived.len() == all.len()
    });
    assert!(came == all);
    // The root port lets completions and messages pass no write: it is all one order here but for the one completion.
    assert!(all.iter().all(|tlp| pair.device.arrived.contains(tlp)));
    pair.run(1000);
    pair.assert_silent();
}

#[test]
fn ten_thousand_tlps_each_way_and_the_numbers_wrap() {
    let seed = seed("wrap");
    let mut pair = Pair::trained(seed);
    Traffic::new(seed, 10_000, 128).run(&mut pair, 4_000_000, |_, _| {});
    pair.run(2000);
    pair.assert_silent();
    let counters = pair.port.counters();
    assert_eq!((counters.sent, counters.received, counters.replayed), (10_000, 10_000, 0));
    assert_eq!((counters.duplicates, counters.missing, counters.impossible), (0, 0, 0));
}

#[test]
fn tlps_go_out_back_to_back() {
    let mut options = options(seed("throughput"));
    options.side.link.max_payload = 256;
    options.side.link.advertised = [Advertised::INFINITE; 3];
    let mut pair = Pair::new(options, true);
    pair.port.set_max_payload(256);
    pair.train();
    let all: Vec<_> = (0..64).map(|number| write(number, 64)).collect();
    all.iter().for_each(|tlp| pair.device.send(tlp));
    let mut came = Vec::new();
    pair.until(1000, |pair| {
        came.extend(std::iter::from_fn(|| pair.port.receive()));
        !came.is_empty()
    });
    let cycles = pair.until(20_000, |pair| {
        came.extend(std::iter::from_fn(|| pair.port.receive()));
        came.len() == 64
    });
    assert!(came == all);
    pair.assert_silent();
    // 4 symbols of framing and number, 4 of LCRC. A SKP ordered set takes 2 cycles of every 590 to 769.
    let symbols = to_bytes(&all[0]).len() + 8;
    let bound = 63 * symbols as u64 / 2;
    println!("63 TLPs of 256 bytes in {cycles} cycles, the wire's bound is {bound} and SKP");
    // Beside SKP nothing but an Ack or an UpdateFC now and then: less than 1 percent.
    assert!(cycles >= bound && cycles <= bound + bound / 590 * 2 + bound / 100, "{cycles} {bound}");
}

#[test]
fn short_tlps_go_out_back_to_back() {
    let mut options = options(seed("short throughput"));
    options.side.link.advertised = [Advertised::INFINITE; 3];
    options.side.link.ack_delay = (0, 0);
    let mut pair = Pair::new(options, true);
    pair.train();
    let all: Vec<_> = (0..400).map(|number| write(number, 1)).collect();
    all.iter().for_each(|tlp| pair.device.send(tlp));
    pair.until(3000, |pair| pair.port.counters().received >= 100);
    let before = pair.port.counters().received;
    pair.run(2000);
    let passed = pair.port.counters().received - before;
    // 8 words and 4 of framing: 12 cycles each.
    println!("{passed} TLPs of 4 bytes in 2000 cycles, the wire's bound is {}", 2000 / 12);
    assert!(passed >= 160, "{passed}");
    pair.assert_silent();
}
