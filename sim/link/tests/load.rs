//! Traffic without damage: order, credits, wrap of the sequence numbers.

use viaduct_link::link::credit::Advertised;
use viaduct_link::link::Refused;
use viaduct_link::tlp::Class;

use crate::bench::{options, Pair, Traffic};

const READ: [u32; 3] = [0x0000_0001, 0x0000_000F, 0x100];
const WRITE: [u32; 4] = [0x4000_0001, 0x0000_000F, 0x100, 0x1234_5678];

#[test]
fn ten_thousand_tlps_each_way_and_the_numbers_wrap() {
    let mut pair = Pair::healthy(1);
    pair.train();
    let mut traffic = Traffic::new(1, 10_000, 128);
    let cycles = traffic.run(&mut pair, 4_000_000, |_, _| {});
    let (down, up) = (pair.port.counters(), pair.endpoint.side.counters());
    println!("{cycles} cycles, {down:?} {up:?}");
    for counters in [down, up] {
        assert_eq!((counters.sent, counters.received), (10_000, 10_000));
        assert_eq!(
            (counters.replayed, counters.bad_tlps, counters.bad_dllps, counters.duplicates),
            (0, 0, 0, 0)
        );
        assert_eq!(
            (counters.overflows, counters.impossible, counters.malformed, counters.missing),
            (0, 0, 0, 0)
        );
    }
}

#[test]
fn every_payload_size_passes() {
    for max_payload in [128, 256, 512] {
        let (mut port, endpoint) = options(u64::from(max_payload));
        port.side.link.max_payload = max_payload;
        let mut pair = Pair::new(port, endpoint);
        pair.port.set_max_payload(max_payload);
        pair.endpoint.side.set_max_payload(max_payload);
        pair.train();
        let mut traffic = Traffic::new(2, 2000, max_payload);
        traffic.run(&mut pair, 4_000_000, |_, _| {});
        assert_eq!(pair.port.counters().replayed + pair.endpoint.side.counters().replayed, 0);
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let mut pair = Pair::healthy(3);
    assert_eq!(pair.port.send(READ.to_vec()), Err(Refused::Down));
    pair.train();
    assert_eq!(pair.port.send(vec![]), Err(Refused::Length));
    assert_eq!(pair.port.send(WRITE[..3].to_vec()), Err(Refused::Length));
    let mut long = vec![0x4000_0021, 0, 0];
    long.extend([0; 33]);
    assert_eq!(pair.port.send(long), Err(Refused::Payload));
}

#[test]
fn exhausted_credits_stop_their_class_until_they_are_returned() {
    let mut pair = Pair::healthy(4);
    pair.train();
    for _ in 0..20 {
        pair.port.send(READ.to_vec()).expect("the link is up");
    }
    for _ in 0..10 {
        pair.port.send(WRITE.to_vec()).expect("the link is up");
    }
    pair.run(20_000);
    // 8 headers for reads; the writes passed the other twelve.
    assert_eq!(pair.port.counters().sent, 18);
    assert_eq!(pair.port.side().link().allowance().left(Class::NonPosted), (Some(0), Some(8)));
    let mut reads = 0;
    pair.until(100_000, |pair| {
        reads += std::iter::from_fn(|| pair.endpoint.side.receive()).filter(|tlp| tlp[..] == READ).count();
        reads == 20
    });
    pair.until(10_000, |pair| pair.port.side().link().allowance().left(Class::NonPosted).0 == Some(8));
    assert_eq!(pair.port.backlog(), 0);
}

#[test]
fn infinite_credits_need_no_update() {
    let (mut port, mut endpoint) = options(5);
    port.side.link.advertised = [Advertised::INFINITE; 3];
    endpoint.link.advertised = [Advertised::INFINITE; 3];
    let mut pair = Pair::new(port, endpoint);
    pair.train();
    Traffic::new(5, 3000, 128).run(&mut pair, 2_000_000, |_, _| {});
}

#[test]
fn the_window_bounds_what_is_unacknowledged() {
    let (mut port, mut endpoint) = options(6);
    port.side.link.window = 4;
    endpoint.link.ack_delay = (200, 200);
    let mut pair = Pair::new(port, endpoint);
    pair.train();
    for _ in 0..30 {
        pair.port.send(WRITE.to_vec()).expect("the link is up");
    }
    let mut most = 0;
    pair.until(100_000, |pair| {
        let counters = (pair.port.counters().sent, pair.endpoint.side.counters().received);
        most = most.max(counters.0 - counters.1);
        while pair.endpoint.side.receive().is_some() {}
        pair.port.backlog() == 0
    });
    assert!(most <= 4);
}

#[test]
fn a_link_at_rest_says_until_when() {
    let mut pair = Pair::healthy(7);
    assert_eq!(pair.port.idle(), None);
    pair.train();
    pair.until(1000, |pair| pair.port.idle().is_some() && pair.endpoint.side.idle().is_some());
    let mut rests = 0;
    for _ in 0..100_000 {
        if let Some(until) = pair.port.idle() {
            let now = pair.port.side().now();
            assert!((now..now + 7500 / 2).contains(&until), "SKP is due by then");
            rests += 1;
        }
        pair.step();
    }
    assert!(rests > 80_000, "{rests}");
    pair.port.send(WRITE.to_vec()).expect("the link is up");
    assert_eq!(pair.port.idle(), None);
    pair.run(20);
    assert!(pair.port.idle().is_none() && pair.endpoint.side.idle().is_none(), "it is under way");
    pair.until(1000, |pair| pair.port.idle().is_some() && pair.endpoint.side.idle().is_some());
    assert_eq!(pair.endpoint.side.receive(), Some(WRITE.to_vec()));
}
