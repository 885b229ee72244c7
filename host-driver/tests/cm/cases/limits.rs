//! Memory is bounded, and a party that wants too much of it harms no other.

use std::{net::Ipv4Addr, time::Duration};

use viaduct_driver::{
    address::Mac,
    cm::{
        arp::Arp, manager::Heard, progress::Phase, ConnectionId, Event, Host, Party, Refusal, Request, Target,
    },
};

use super::{
    super::network::{host, name, Network},
    refused, MS,
};

#[test]
fn memory_is_bounded() {
    let mut net = Network::with(22, 2, |config| {
        config.limits.pending = 10;
        config.limits.over = 20;
        config.limits.frames = 50;
    });
    net.managers[1].listen(name("a"), false);
    for _ in 0..100 {
        net.connect(0, 1, ["x", "a"]);
    }
    net.run(100 * MS);
    let taken = net.events.iter().filter(|(n, _)| *n == 1).count();
    let full = net
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Refused { refusal: Refusal::NoResources, .. }));
    let full = full.count();
    assert_eq!(taken, 10);
    assert!(full >= 40, "{full}");
    assert_eq!(net.managers[1].counts().full, full as u64);
    assert!(net.managers[0].counts().frames_dropped > 0);
    // Rejected ones are remembered, the newest.
    let mut net = Network::with(23, 2, |config| config.limits.over = 20);
    net.managers[1].listen(name("a"), false);
    for _ in 0..100 {
        net.connect(0, 1, ["x", "a"]);
        let event = net.event(1);
        net.managers[1].reject(event.id(), &[], net.now).expect("it is pending");
        assert_eq!(refused(net.event(0)), Refusal::Rejected);
    }
    assert_eq!(net.managers[1].connections(), 20);
    assert_eq!(net.managers[1].counts().forgotten, 80);
    // Neighbours that nobody asked for are not remembered; those that ask us are, not more than there is room for.
    for n in 0..2000u32 {
        let sender =
            Host { mac: Mac([2, 9, 0, 0, (n >> 8) as u8, n as u8]), ip: Ipv4Addr::from(0x0b00_0000 + n) };
        let heard = net.managers[1].frame(&Arp::who_has(sender, host(1).ip).encode(), net.now);
        assert_eq!(heard, Heard::Arp);
    }
}

#[test]
fn a_listener_that_stays_has_so_many_requests_wait_and_refuses_more() {
    let mut net = Network::new(24, 2);
    let listener = net.managers[1].listen_for(0, name("a"), Some(3));
    let asked: Vec<ConnectionId> = (0..5).map(|_| net.connect(0, 1, ["x", "a"])).collect();
    net.run(100 * MS);
    let waiting: Vec<ConnectionId> =
        net.events.iter().filter(|(n, _)| *n == 1).map(|(_, event)| event.id()).collect();
    assert_eq!(waiting.len(), 3);
    for refused in &asked[3..] {
        let is = |event: &Event| matches!(event, Event::Refused { id, refusal: Refusal::NoResources, .. } if id == refused);
        assert!(net.events.iter().any(|(n, event)| *n == 0 && is(event)), "{:?}", net.events);
    }
    assert_eq!(net.managers[1].counts().full, 2);
    net.events.clear();
    // Who is decided on, or gives up, makes room; and it listens on.
    net.say_yes(1, waiting[0]).expect("it fits");
    net.managers[1].reject(waiting[1], &[], net.now).expect("it is pending");
    net.managers[0].disconnect(asked[2], net.now);
    net.run(100 * MS);
    net.events.clear();
    for _ in 0..4 {
        net.connect(0, 1, ["x", "a"]);
    }
    net.run(100 * MS);
    let came = net.events.iter().filter(|(n, event)| {
        *n == 1 && matches!(event, Event::Incoming { listener: by, once: false, .. } if *by == listener)
    });
    assert_eq!(came.count(), 3);
    net.managers[1].unlisten(listener);
    net.events.clear();
    net.connect(0, 1, ["x", "a"]);
    assert_eq!(refused(net.event(0)), Refusal::NoMatch);
}

/// Requests of a party, to a host whose addresses are known.
fn of_party(net: &mut Network, party: Party, names: [&str; 2]) -> ConnectionId {
    let request = Request { party, target: Target::Host(host(1)), ..net.request(0, 1, names) };
    net.managers[0].connect(request, net.now).expect("a request")
}

#[test]
fn a_party_that_floods_keeps_no_other_from_asking() {
    let mut net = Network::with(40, 2, |config| config.limits.frames = 32);
    // Far more than there is room for; nothing leaves meanwhile.
    let target = Target::Host(host(1));
    let many = Request { party: 7, target, ..net.request(0, 1, ["flood", "nobody"]) };
    let flood = |net: &mut Network| net.managers[0].connect(many.clone(), net.now).expect("a request");
    let first: Vec<ConnectionId> = (0..500).map(|_| flood(&mut net)).collect();
    assert!(net.managers[0].counts().frames_dropped > 400);
    assert_eq!([7, 1].map(|party| net.managers[0].connections_of(party)), [500, 0]);
    let asked = of_party(&mut net, 1, ["another", "there"]);
    let place = std::iter::from_fn(|| net.managers[0].next_frame())
        .position(|frame| frame.windows(7).any(|bytes| bytes == b"another"));
    assert!(place.is_some_and(|place| place < 3), "{place:?}");
    // And so it is for as long as both send: the other is connected as if it were alone.
    net.managers[1].listen_for(2, name("there"), None);
    let begin = net.now;
    let met = loop {
        for id in first.iter().take(100) {
            net.managers[0].disconnect(*id, net.now);
            flood(&mut net);
        }
        // The raw channel is slow: a few frames at a time.
        for n in 0..2 {
            for _ in 0..2 {
                if let Some(frame) = net.managers[n].next_frame() {
                    net.managers[1 - n].frame(&frame, net.now);
                }
            }
        }
        net.now += MS;
        (0..2).for_each(|n| net.managers[n].tick(net.now));
        if let Some(Event::Incoming { id, .. }) = net.managers[1].next_event() {
            net.say_yes(1, id).expect("it fits");
        }
        let met = std::iter::from_fn(|| net.managers[0].next_event());
        let met: Vec<Event> = met.filter(|event| event.id() == asked).collect();
        if let [event] = &met[..] {
            break event.clone();
        }
        assert!(net.now - begin < Duration::from_secs(2), "it is not connected");
    };
    assert!(matches!(met, Event::Met { .. }), "{met:?}");
}

#[test]
fn who_ends_many_connections_that_nobody_answers_for_is_not_waited_for() {
    const MOST: usize = 4;
    let mut net = Network::with(41, 2, |config| {
        config.limits.leaving = MOST;
        config.limits.over = MOST;
    });
    net.managers[1].listen(name("there"), false);
    let connected = |net: &mut Network, party| {
        let id = of_party(net, party, ["here", "there"]);
        net.accept(1);
        net.meet(0);
        assert_eq!(net.event(0), Event::Established { id });
        assert!(matches!(net.event(1), Event::Established { .. }));
        id
    };
    let other = connected(&mut net, 1);
    let many: Vec<ConnectionId> = (0..50).map(|_| connected(&mut net, 7)).collect();
    // Nobody answers any more.
    net.dead.insert(1);
    net.managers[0].disconnect(other, net.now);
    for id in &many {
        net.managers[0].disconnect(*id, net.now);
        net.now += MS;
    }
    assert!(net.managers[0].connections() <= 2 * MOST, "{} connections", net.managers[0].connections());
    let phase = |net: &Network, id| net.managers[0].progress(id).map(|progress| progress.phase);
    // The last ones of who has many are waited for; and the only one of who has one, although it is the oldest.
    assert_eq!(phase(&net, other), Some(Phase::Leaving));
    assert_eq!(phase(&net, many[49]), Some(Phase::Leaving));
    assert_eq!(phase(&net, many[0]), None);
    net.run(Duration::from_secs(120));
    assert_eq!(net.managers[0].connections(), 0);
}
