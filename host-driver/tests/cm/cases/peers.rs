//! Two peers ask each other, and meet, refuse or miss each other.

use std::time::Duration;

use viaduct_driver::{
    address::Service,
    cm::{Event, Refusal},
};

use super::{
    super::network::{host, name, Network},
    is_rep, is_rtu, refused, MS, SECOND,
};

#[test]
fn two_peers_meet_whoever_asks_first() {
    for (seed, apart) in (14..).zip([Duration::ZERO, MS, 100 * MS, 7 * SECOND, 50 * SECOND]) {
        for first in 0..2 {
            let mut net = Network::new(seed, 2);
            let names = [["a", "b"], ["b", "a"]];
            let mut ids = [None; 2];
            ids[first] = Some(net.peer(first, 1 - first, names[first]));
            net.run(apart);
            assert!(net.events.is_empty(), "{:?}", net.events);
            let second = net.now;
            ids[1 - first] = Some(net.peer(1 - first, first, names[1 - first]));
            // The host with the higher address is the active one: it hears when the other one is ready.
            let met = [0, 1].map(|n| net.meet(n).info.ip);
            assert_eq!(met, [host(1).ip, host(0).ip]);
            for (n, id) in ids.into_iter().enumerate() {
                assert_eq!(net.event(n), Event::Established { id: id.expect("asked") });
            }
            assert!(net.now - second < 50 * MS, "{:?}", net.now - second);
            assert_eq!([net.count(0, is_rep), net.count(1, is_rtu)], [1, 1]);
            net.run(60 * SECOND);
            assert!(net.events.is_empty(), "{:?}", net.events);
        }
    }
}

#[test]
fn peers_meet_through_a_bad_network() {
    for seed in 0..50 {
        let mut net = Network::new(seed, 2);
        (net.faults.loss, net.faults.doubling, net.faults.delay) = (30, 30, 300 * MS);
        let ids = [net.peer(0, 1, ["a", "b"]), net.peer(1, 0, ["b", "a"])];
        net.meet(0);
        net.meet(1);
        for (n, id) in ids.into_iter().enumerate() {
            assert_eq!(net.event(n), Event::Established { id }, "seed {seed}");
        }
    }
}

#[test]
fn peers_that_do_not_name_each_other_do_not_meet() {
    let mut net = Network::new(15, 3);
    net.managers[1].listen(name("b"), false);
    for (n, to, names) in [(0, 1, ["a", "b"]), (1, 0, ["b", "c"]), (2, 1, ["b", "a"]), (1, 2, ["a", "x"])] {
        let mut request = net.request(n, to, names);
        request.timeout = Some(10 * SECOND);
        net.managers[n].peer_request(request, net.now).expect("a request");
    }
    // Nor does a client that asks a peer.
    net.connect(2, 1, ["c", "a"]);
    assert_eq!(refused(net.event(2)), Refusal::NoMatch);
    for n in [0, 1, 2, 1] {
        assert_eq!(refused(net.event(n)), Refusal::Timeout);
    }
    assert!(net.now < 12 * SECOND);
}

#[test]
fn a_peer_that_refuses_or_differs() {
    let mut net = Network::new(16, 2);
    net.peer(0, 1, ["a", "b"]);
    net.peer(1, 0, ["b", "a"]);
    let event = net.event(0);
    net.managers[0].reject(event.id(), b"no", net.now).expect("it is matched");
    assert_eq!(refused(net.event(1)), Refusal::Rejected);
    net.peer(0, 1, ["a", "b"]);
    let mut other = net.request(1, 0, ["b", "a"]);
    other.own.info.service = Service::UnreliableDelivery;
    net.managers[1].peer_request(other, net.now).expect("a request");
    assert_eq!([refused(net.event(0)), refused(net.event(1))], [Refusal::Mismatch; 2]);
}

#[test]
fn two_vis_of_one_nic_connect() {
    let mut net = Network::new(17, 1);
    net.managers[0].listen(name("there"), true);
    let client = net.connect(0, 0, ["here", "there"]);
    let server = net.accept(0);
    net.meet(0);
    let mut established = [net.event(0).id(), net.event(0).id()];
    established.sort();
    let mut expected = [client, server];
    expected.sort();
    assert_eq!(established, expected);
    let [a, b] = [net.peer(0, 0, ["x", "x"]), net.peer(0, 0, ["x", "x"])];
    for _ in 0..2 {
        net.meet(0);
    }
    for _ in 0..2 {
        assert!(matches!(net.event(0), Event::Established { id } if id == a || id == b));
    }
    net.managers[0].disconnect(client, net.now);
    assert_eq!(net.event(0), Event::Disconnected { id: server });
    assert!(net.sent.is_empty(), "nothing of it is on the wire");
}
