//! One thing after the other, on a network that does what it is told.

use std::{net::Ipv4Addr, time::Duration};

use viaduct_driver::{
    address::{Mac, Service},
    cm::{
        arp::Arp,
        config::Network as Subnet,
        datagram::Datagram,
        end::{NotReady, WITHOUT_END},
        ethernet::BROADCAST,
        mad::Mad,
        manager::Heard,
        message::{Dreq, Message, Req, Rtu, SidrReq},
        progress::Phase,
        CmError, Config, ConnectionId, Discriminator, End, Event, Host, Manager, News, Party, Refusal,
        Request, Target,
    },
};
use viaduct_spec::cm::{arp_operation, reason, subject, MAX_DISCRIMINATOR, PORT, TCP_SERVICE};

use super::network::{host, name, Network};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn is_req(message: &Message) -> bool {
    matches!(message, Message::Req(_))
}

fn is_rep(message: &Message) -> bool {
    matches!(message, Message::Rep(_))
}

fn is_rtu(message: &Message) -> bool {
    matches!(message, Message::Rtu(_))
}

fn is_rej(message: &Message) -> bool {
    matches!(message, Message::Rej(_))
}

fn is_dreq(message: &Message) -> bool {
    matches!(message, Message::Dreq(_))
}

fn is_mra(message: &Message) -> bool {
    matches!(message, Message::Mra(_))
}

fn refused(event: Event) -> Refusal {
    let Event::Refused { refusal, .. } = event else { panic!("{event:?}") };
    refusal
}

#[test]
fn a_client_and_a_server_tell_each_other_everything() {
    let mut net = Network::new(1, 2);
    let listener = net.managers[1].listen(name("there"), true);
    let mut request = net.request(0, 1, ["here", "there"]);
    request.data = b"from the client".to_vec();
    request.own = End {
        rdma_write: true,
        reads_answered: 3,
        reads_asked: 2,
        not_ready: NotReady::Stay { timer: 14 },
        not_ready_retries: 6,
        ..request.own
    };
    let client = request.own;
    let begin = net.now;
    let id = net.managers[0].connect(request, net.now).expect("a request");
    let event = net.event(1);
    let Event::Incoming { id: server, listener: by, request, .. } = event else { panic!("{event:?}") };
    assert_eq!((by, request.peer, request.host), (listener, client, host(0)));
    assert_eq!(
        (request.from, request.to, &request.data[..]),
        (name("here"), name("there"), &b"from the client"[..])
    );
    let own = End { rdma_read: true, reads_answered: 1, not_ready_retries: WITHOUT_END, ..net.end(1) };
    net.managers[1].accept(server, own, b"from the server", net.now).expect("it fits");
    assert_eq!(net.event(0), Event::Met { id, peer: own, data: b"from the server".to_vec() });
    // Nothing is said before the client is ready: the server's first message must find it so.
    net.run(50 * MS);
    assert!(!net.managers[1].is_established(server) && net.count(0, is_rtu) == 0);
    net.managers[0].ready(id, net.now).expect("it waits");
    assert_eq!(net.event(0), Event::Established { id });
    assert_eq!(net.event(1), Event::Established { id: server });
    assert!(net.now - begin < 60 * MS);
    let agreed = client.agree(&own).expect("they fit");
    assert_eq!((agreed.reads_asked, agreed.reads_answered, agreed.not_ready_retries), (1, 3, 255));
    assert_eq!(own.agree(&client).expect("they fit").not_ready_retries, 6);
    // Inverse ARP both ways, and one of each message.
    assert_eq!(net.sent.len(), 5);
    assert!(net.managers[0].is_established(id) && net.managers[1].is_established(server));
}

#[test]
fn where_nobody_waits_the_answer_is_no_match_at_once() {
    let mut net = Network::new(2, 2);
    net.managers[1].listen(name("a"), true);
    let gone = net.managers[1].listen(name("b"), false);
    net.managers[1].unlisten(gone);
    // Another length is another discriminator.
    for to in ["b", "a\0", "", "aa"] {
        net.connect(0, 1, ["x", to]);
        let begin = net.now;
        assert_eq!(refused(net.event(0)), Refusal::NoMatch);
        assert!(net.now - begin < 10 * MS, "{to}");
    }
    assert_eq!(net.managers[1].connections() + net.managers[0].connections(), 0, "nothing is remembered");
    // The one that waits takes one, and then no more.
    net.connect(0, 1, ["x", "a"]);
    net.accept(1);
    net.connect(0, 1, ["y", "a"]);
    assert!(matches!(net.event(0), Event::Met { .. }));
    assert_eq!(refused(net.event(0)), Refusal::NoMatch);
}

#[test]
fn of_several_who_wait_the_oldest_gets_the_request_and_one_for_all_gets_all() {
    let mut net = Network::new(3, 2);
    let first = net.managers[1].listen(name("a"), true);
    let all = net.managers[1].listen(name("a"), false);
    for expected in [first, all, all] {
        net.connect(0, 1, ["x", "a"]);
        let event = net.event(1);
        assert!(matches!(event, Event::Incoming { listener, .. } if listener == expected), "{event:?}");
    }
}

#[test]
fn a_consumer_s_refusal_comes_with_its_data_even_if_lost_once() {
    let mut net = Network::new(4, 2);
    net.managers[1].listen(name("a"), true);
    net.lose(1, is_rej);
    let id = net.connect(0, 1, ["x", "a"]);
    let event = net.event(1);
    net.managers[1].reject(event.id(), b"not you", net.now).expect("it is pending");
    let expected = Event::Refused { id, refusal: Refusal::Rejected, data: b"not you".to_vec() };
    assert_eq!(net.event(0), expected);
    assert_eq!((net.count(0, is_req), net.count(1, is_rej)), (2, 2));
    assert!(net.say_yes(1, event.id()).is_err());
    let long = vec![0; 200];
    assert!(matches!(
        net.managers[1].reject(event.id(), &long, net.now),
        Err(CmError::Data { room: 136, .. })
    ));
}

#[test]
fn each_message_may_be_lost() {
    for (seed, is, count) in [(5, is_req as fn(&Message) -> bool, 3), (6, is_rep, 3), (7, is_rtu, 3)] {
        let mut net = Network::new(seed, 2);
        net.lose(count, is);
        let begin = net.now;
        net.connected();
        assert!(net.now - begin < 2 * SECOND, "{seed}: {:?}", net.now - begin);
        assert!(net.events.is_empty(), "{seed}: {:?}", net.events);
    }
}

#[test]
fn messages_that_come_twice_are_one() {
    let mut net = Network::new(9, 2);
    net.faults.doubling = 100;
    net.faults.delay = 30 * MS;
    let [client, _] = net.connected();
    net.run(SECOND);
    net.managers[0].disconnect(client, net.now);
    assert!(matches!(net.event(1), Event::Disconnected { .. }));
    net.run(100 * SECOND);
    assert!(net.events.is_empty(), "{:?}", net.events);
    assert_eq!(net.managers[0].connections() + net.managers[1].connections(), 0);
}

#[test]
fn a_slow_consumer_s_client_is_told_to_wait() {
    let mut net = Network::new(10, 2);
    net.managers[1].listen(name("a"), true);
    let id = net.connect(0, 1, ["x", "a"]);
    let event = net.event(1);
    net.run(45 * SECOND);
    assert!(net.events.is_empty(), "{:?}", net.events);
    let asked = net.count(0, is_req);
    assert!((10..=30).contains(&asked) && net.count(1, is_mra) == asked - 1, "asked {asked} times");
    net.say_yes(1, event.id()).expect("the client still waits");
    net.meet(0);
    assert_eq!(net.event(0), Event::Established { id });
}

#[test]
fn a_client_that_gives_up_is_gone_when_the_server_accepts() {
    let mut net = Network::new(11, 2);
    net.managers[1].listen(name("a"), false);
    for told in [true, false] {
        let mut request = net.request(0, 1, ["x", "a"]);
        request.timeout = Some(5 * SECOND);
        let begin = net.now;
        net.managers[0].connect(request, net.now).expect("a request");
        let Event::Incoming { id, .. } = net.event(1) else { panic!("a request") };
        net.lose(if told { 0 } else { usize::MAX }, is_rej);
        assert_eq!(refused(net.event(0)), Refusal::Timeout);
        assert_eq!(net.now - begin, 5 * SECOND);
        if told {
            assert_eq!(net.event(1), Event::Withdrawn { id });
            assert_eq!(net.say_yes(1, id), Err(CmError::Gone(id.number())));
            continue;
        }
        // It hears of it when it answers.
        net.lose(0, is_rej);
        net.say_yes(1, id).expect("it does not know");
        assert!(matches!(refused(net.event(1)), Refusal::Other(reason::INVALID_ID)));
    }
    // Nor does one stay for ever that is neither answered nor repeated.
    let id = net.connect(0, 1, ["x", "a"]);
    let event = net.event(1);
    net.dead.insert(0);
    assert_eq!(net.event(1), Event::Withdrawn { id: event.id() });
    net.managers[0].disconnect(id, net.now);
    net.pump();
    net.dead.clear();
    net.connect(0, 1, ["x", "a"]);
    net.accept(1);
    net.dead.insert(0);
    assert_eq!(refused(net.event(1)), Refusal::Unreachable);
}

#[test]
fn who_waits_for_one_request_hears_of_it_even_if_it_was_withdrawn_at_once() {
    for once in [true, false] {
        let mut net = Network::new(19, 2);
        net.managers[1].listen(name("a"), once);
        let id = net.connect(0, 1, ["x", "a"]);
        let asked = net.event(1);
        net.managers[0].disconnect(id, net.now);
        let mut news = News::default();
        news.push(asked.clone());
        news.push(net.event(1));
        // A listener that stays hears of the next one.
        assert_eq!(news.len(), if once { 2 } else { 0 });
        assert_eq!(news.take(|event| *event == asked).is_some(), once);
    }
}

#[test]
fn a_client_that_disconnects_is_a_client_that_gives_up() {
    let mut net = Network::new(12, 2);
    net.managers[1].listen(name("a"), false);
    let id = net.connect(0, 1, ["x", "a"]);
    let event = net.event(1);
    net.managers[0].disconnect(id, net.now);
    assert_eq!(net.event(1), Event::Withdrawn { id: event.id() });
    // After the REP as well.
    let id = net.connect(0, 1, ["x", "a"]);
    net.accept(1);
    assert!(matches!(net.event(0), Event::Met { .. }));
    net.managers[0].disconnect(id, net.now);
    assert_eq!(refused(net.event(1)), Refusal::Rejected);
    // And a server that does, before the RTU has come.
    let id = net.connect(0, 1, ["x", "a"]);
    let server = net.accept(1);
    net.meet(0);
    net.managers[1].disconnect(server, net.now);
    assert_eq!(net.event(0), Event::Established { id });
    assert_eq!(net.event(0), Event::Disconnected { id });
    net.run(20 * SECOND);
    assert!(net.events.is_empty(), "{:?}", net.events);
}

#[test]
fn a_host_that_comes_late_is_met_within_the_client_s_time() {
    for late in (0..=47).map(|n| n * SECOND / 10) {
        for target in [Target::Host(host(1)), Target::Ip(host(1).ip), Target::Mac(host(1).mac)] {
            let mut net = Network::new(14, 2);
            net.dead.insert(1);
            let mut request = net.request(0, 1, ["x", "a"]);
            (request.target, request.timeout) = (target, Some(5 * SECOND));
            let begin = net.now;
            let id = net.managers[0].connect(request, net.now).expect("a request");
            net.run(late);
            net.dead.clear();
            net.managers[1].listen(name("a"), true);
            net.accept(1);
            net.meet(0);
            assert_eq!(net.event(0), Event::Established { id }, "{late:?}, {target:?}");
            let waited = net.now - begin - late;
            assert!(waited <= SECOND / 2 + SECOND / 50, "{late:?}, {target:?}: {waited:?}");
        }
    }
}

#[test]
fn a_dead_host_is_not_reachable() {
    let mut net = Network::new(13, 2);
    net.dead.insert(1);
    for target in [Target::Host(host(1)), Target::Ip(host(1).ip), Target::Mac(host(1).mac)] {
        let mut request = net.request(0, 1, ["x", "a"]);
        (request.target, request.timeout) = (target, None);
        net.managers[0].connect(request, net.now).expect("a request");
        let begin = net.now;
        assert_eq!(refused(net.event(0)), Refusal::Unreachable);
        assert!(net.now - begin < 30 * SECOND, "{target:?}");
    }
    let repeated = net.count(0, is_req) - 1;
    assert_eq!(repeated, net.managers[0].config().timing.retries as usize);
    let mut request = net.request(0, 1, ["x", "a"]);
    request.timeout = Some(2 * SECOND);
    net.managers[0].connect(request, net.now).expect("a request");
    assert_eq!(refused(net.event(0)), Refusal::Timeout);
}

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

#[test]
fn disconnecting_is_heard_and_late_messages_are_answered() {
    let mut net = Network::new(18, 2);
    let [client, server] = net.connected();
    net.lose(2, is_dreq);
    net.managers[1].disconnect(server, net.now);
    assert_eq!(net.event(0), Event::Disconnected { id: client });
    assert_eq!(net.count(1, is_dreq), 3);
    let (_, dreq) =
        net.sent.iter().find(|(_, frame)| frame.message.as_ref().is_some_and(is_dreq)).expect("one");
    let dreq = dreq.bytes.clone();
    for wait in [SECOND, 60 * SECOND] {
        // While it is remembered, and when it is not any more.
        net.run(wait);
        net.managers[0].frame(&dreq, net.now);
        let answer = net.managers[0].next_frame().expect("an answer");
        let mad = Mad::decode(&Datagram::decode(&answer).expect("right").expect("a MAD").mad).expect("right");
        let (ours, theirs) = (client.number(), server.number());
        assert_eq!(mad.message, Message::Drep(Rtu { local_id: ours, remote_id: theirs, ..Rtu::blank() }));
    }
    net.managers[1].disconnect(server, net.now);
    // Both at once.
    let [client, server] = net.connected();
    net.managers[0].disconnect(client, net.now);
    net.managers[1].disconnect(server, net.now);
    net.run(30 * SECOND);
    assert!(net.events.is_empty(), "{:?}", net.events);
    assert_eq!(net.managers[0].connections() + net.managers[1].connections(), 0);
    // A DREQ about another queue pair is none.
    let [client, server] = net.connected();
    let wrong = Dreq { local_id: client.number(), remote_id: server.number(), ..Dreq::blank() };
    let heard = say(&mut net, 0, 1, Message::Dreq(wrong));
    assert!(matches!(heard, Heard::Wrong(wrong) if wrong.field.contains("queue pair")), "{heard:?}");
    assert!(net.managers[1].is_established(server));
}

/// One host says something to another.
fn say(net: &mut Network, from: usize, to: usize, message: Message) -> Heard {
    let mad = Mad { transaction: 1, message }.encode();
    let (target, source) = (host(to), host(from));
    let datagram = Datagram { target, source, identification: 0, pkey: 0xffff, psn: 0, mad };
    let now = net.now;
    net.managers[to].frame(&datagram.encode(), now)
}

#[test]
fn a_peer_that_dies_is_missed() {
    for dead in 0..2 {
        let mut net = Network::new(19, 2);
        let ids = net.connected();
        net.run(100 * SECOND);
        assert!(net.events.is_empty(), "who lives is believed to: {:?}", net.events);
        net.dead.insert(dead);
        let begin = net.now;
        assert_eq!(net.event(1 - dead), Event::Lost { id: ids[1 - dead] });
        assert!(net.now - begin < 20 * SECOND, "{:?}", net.now - begin);
    }
}

#[test]
fn a_peer_that_was_restarted_is_told_apart() {
    for restarted in 0..2 {
        let mut net = Network::new(20, 2);
        let ids = net.connected();
        net.managers[restarted] = Manager::new(Config::new(host(restarted), 999));
        let begin = net.now;
        assert_eq!(net.event(1 - restarted), Event::Lost { id: ids[1 - restarted] });
        assert!(net.now - begin < 20 * SECOND, "{:?}", net.now - begin);
    }
    // It asks again with the queue pair that it had: the old connection must go first.
    let mut net = Network::new(21, 2);
    let [_, server] = net.connected();
    let (_, first) =
        net.sent.iter().find(|(_, frame)| frame.message.as_ref().is_some_and(is_req)).expect("one");
    let Some(Message::Req(req)) = first.message else { panic!("a REQ") };
    net.managers[0] = Manager::new(Config::new(host(0), 998));
    net.managers[1].listen(name("there"), false);
    let mut request = net.request(0, 1, ["here", "there"]);
    request.own.info.queue_pair = req.queue_pair;
    net.managers[0].connect(request.clone(), net.now).expect("a request");
    assert_eq!(refused(net.event(0)), Refusal::Stale);
    assert_eq!(net.event(1), Event::Lost { id: server });
    net.run(SECOND);
    net.managers[0].connect(request, net.now).expect("a request");
    net.accept(1);
    net.meet(0);
    assert!(matches!(net.event(0), Event::Established { .. }));
}

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
fn addresses_are_found_and_given() {
    let mut net = Network::with(24, 2, |config| {
        let gateway = Some(host(1).ip);
        config.network = Subnet { prefix: 24, gateway };
    });
    // Another network: the frames go to the router, and the packets where they should.
    let mut request = net.request(0, 1, ["x", "a"]);
    request.target = Target::Ip(Ipv4Addr::new(10, 9, 9, 9));
    net.managers[0].connect(request.clone(), net.now).expect("a request");
    net.run(10 * MS);
    let (_, asked) = net.sent.iter().find(|(n, _)| *n == 0).expect("a frame");
    let arp = Arp::decode(&asked.bytes).expect("right").expect("ARP");
    assert_eq!((arp.operation, arp.target.ip), (arp_operation::REQUEST, host(1).ip));
    assert_eq!(asked.bytes[..6], BROADCAST.0);
    let is_req = |frame: &&(usize, super::network::Frame)| frame.1.message.as_ref().is_some_and(is_req);
    let (_, req) = net.sent.iter().find(is_req).expect("a REQ");
    let datagram = Datagram::decode(&req.bytes).expect("right").expect("a MAD");
    assert_eq!((datagram.target.mac, datagram.target.ip), (host(1).mac, Ipv4Addr::new(10, 9, 9, 9)));
    // An answer that nobody asked for is not believed; a question to us is, and so is who is known already.
    let mut quiet = Manager::new(Config { answer_arp: false, ..Config::new(host(0), 1) });
    let rogue = Host { mac: Mac([2, 6, 6, 6, 6, 6]), ip: host(1).ip };
    let reply = Arp {
        operation: arp_operation::REPLY,
        sender: rogue,
        target: Host { mac: host(0).mac, ip: host(5).ip },
    };
    quiet.frame(&reply.encode(), net.now);
    request.target = Target::Ip(host(1).ip);
    quiet.connect(request.clone(), net.now).expect("a request");
    let frame = quiet.next_frame().expect("a question");
    assert!(Arp::decode(&frame).expect("right").is_some(), "it asks");
    quiet.frame(&Arp::who_has(host(1), host(0).ip).encode(), net.now);
    let frame = quiet.next_frame().expect("a REQ");
    assert_eq!(frame[..6], host(1).mac.0, "who asks us is known, and who is asked for no longer");
    // The host's own network answers ARP; the inverse is ours alone.
    assert_eq!(quiet.next_frame(), None);
    quiet.frame(&Arp::which_has(host(1), host(0).mac).encode(), net.now);
    let answer = Arp::decode(&quiet.next_frame().expect("an answer")).expect("right").expect("ARP");
    assert_eq!((answer.operation, answer.sender), (arp_operation::INVERSE_REPLY, host(0)));
    let mut loud = Manager::new(Config::new(host(0), 1));
    loud.frame(&Arp::who_has(host(1), host(0).ip).encode(), net.now);
    let answer = Arp::decode(&loud.next_frame().expect("an answer")).expect("right").expect("ARP");
    assert_eq!((answer.operation, answer.sender, answer.target), (arp_operation::REPLY, host(0), host(1)));
}

#[test]
fn ends_that_differ_do_not_connect_and_may_be_changed() {
    let mut net = Network::new(25, 2);
    net.managers[1].listen(name("a"), true);
    let mut request = net.request(0, 1, ["x", "a"]);
    request.own.info.service = Service::ReliableReception;
    net.managers[0].connect(request, net.now).expect("a request");
    let event = net.event(1);
    let before = net.sent.len();
    let mut own = net.end(1);
    let error = net.managers[1].accept(event.id(), own, &[], net.now).expect_err("other levels");
    assert!(matches!(&error, CmError::Peer(why) if why.contains("Reliable Reception")), "{error}");
    own.info.service = Service::ReliableReception;
    own.info.max_transfer = 7;
    let error = net.managers[1].accept(event.id(), own, &[], net.now).expect_err("other sizes");
    assert!(matches!(&error, CmError::Peer(why) if why.contains("MaxTransferSize")), "{error}");
    net.pump();
    assert_eq!(net.sent.len(), before, "nothing was said");
    own.info.max_transfer = 1 << 20;
    net.managers[1].accept(event.id(), own, &[], net.now).expect("they fit now");
    net.meet(0);
}

#[test]
fn what_no_message_can_say_is_refused() {
    let mut net = Network::new(26, 2);
    let long = "0123456789012345678901";
    assert_eq!(long.len(), MAX_DISCRIMINATOR);
    assert!(Discriminator::try_from(&[0; MAX_DISCRIMINATOR + 1][..]).is_err());
    net.managers[1].listen(name(long), true);
    assert_eq!(Manager::room(name(long), name(long)), 0);
    assert_eq!(Manager::room(name(""), name("ab")), 42);
    let request = net.request(0, 1, [long, long]);
    let more = Request { data: vec![1], ..request.clone() };
    let error = net.managers[0].connect(more, net.now).expect_err("no room");
    assert_eq!(error, CmError::Data { length: 1, room: 0 });
    let mut wide = request.clone();
    wide.own.info.first_psn = 1 << 24;
    assert!(matches!(net.managers[0].connect(wide, net.now), Err(CmError::Own(_))));
    net.managers[0].connect(request, net.now).expect("it fits");
    let event = net.event(1);
    let Event::Incoming { request, .. } = event else { panic!("{event:?}") };
    assert_eq!((request.from, request.to), (name(long), name(long)));
    assert!(request.data.is_empty());
}

/// A program of rdma_cm's that is no VI: the port is the discriminator.
#[test]
fn a_port_of_rdma_cm_s_is_a_discriminator_of_two_bytes() {
    let mut net = Network::new(27, 2);
    let req = |service: u64| {
        let mut req = Req { local_id: 5, service, queue_pair: 17, mtu: 3, rnr_retries: 7, ..Req::blank() };
        req.private[1] = 0x40;
        req.private[2..4].copy_from_slice(&[0xab, 0xcd]);
        Message::Req(req)
    };
    net.managers[1].listen(Discriminator::of_port(PORT), false);
    net.managers[1].listen(Discriminator::of_port(7174), false);
    // Only those who name a discriminator come by our own port; other services are none.
    for service in [TCP_SERVICE | u64::from(PORT), TCP_SERVICE | 7175, 0x0111_0000 | 7174] {
        say(&mut net, 0, 1, req(service));
        let answer = net.managers[1].next_frame().expect("an answer");
        let mad = Mad::decode(&Datagram::decode(&answer).expect("right").expect("a MAD").mad);
        let Message::Rej(rej) = mad.expect("right").message else { panic!("a REJ") };
        assert_eq!((rej.reason, rej.subject, rej.remote_id), (reason::NO_SERVICE, subject::REQ, 5));
    }
    say(&mut net, 0, 1, req(TCP_SERVICE | 7174));
    net.pump();
    let (_, event) = net.events.pop().expect("an event");
    let Event::Incoming { id, request, .. } = event else { panic!("{event:?}") };
    assert_eq!((request.to.port(), request.from.port()), (Some(7174), Some(0xabcd)));
    assert_eq!((request.peer.info.max_transfer, request.peer.info.queue_pair), (0, 17));
    let own = net.end(1);
    let agreed = own.agree(&request.peer).expect("it has no MaxTransferSize of its own");
    assert_eq!((agreed.peer.max_transfer, agreed.not_ready_retries), (1 << 20, 255));
    net.managers[1].accept(id, own, &[], net.now).expect("it fits");
    let answer = net.managers[1].next_frame().expect("an answer");
    let mad = Mad::decode(&Datagram::decode(&answer).expect("right").expect("a MAD").mad);
    let Message::Rep(rep) = mad.expect("right").message else { panic!("a REP") };
    assert_eq!((rep.remote_id, rep.queue_pair), (5, own.info.queue_pair));
    assert_eq!(rep.private, [0; 196], "nothing that it would not understand");
    let rtu = Rtu { local_id: 5, remote_id: id.number(), ..Rtu::blank() };
    say(&mut net, 0, 1, Message::Rtu(rtu));
    assert!(net.managers[1].is_established(id));
    // It would not answer a probe: it is believed to live.
    assert_eq!(net.managers[1].deadline(), None);
    // Ours asks for such a port if that is its discriminator.
    net.connect(0, 1, ["x", "\x1c\x06"]);
    net.run(5 * MS);
    let service =
        |message: &Message| matches!(message, Message::Req(req) if req.service == TCP_SERVICE | 0x1c06);
    assert_eq!(net.count(0, service), 1);
}

#[test]
fn datagram_services_are_not_offered_and_that_is_said() {
    let mut net = Network::new(28, 2);
    let ask = SidrReq { request: 9, pkey: 0xffff, service: 0x0111_1c08, ..SidrReq::blank() };
    say(&mut net, 0, 1, Message::SidrReq(ask));
    let answer = net.managers[1].next_frame().expect("an answer");
    let mad = Mad::decode(&Datagram::decode(&answer).expect("right").expect("a MAD").mad);
    let Message::SidrRep(rep) = mad.expect("right").message else { panic!("a SIDR_REP") };
    assert_eq!((rep.request, rep.status, rep.service), (9, 1, 0x0111_1c08));
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
    let asked = of_party(&mut net, 1, ["another", "there"]);
    let place = std::iter::from_fn(|| net.managers[0].next_frame())
        .position(|frame| frame.windows(7).any(|bytes| bytes == b"another"));
    assert!(place.is_some_and(|place| place < 3), "{place:?}");
    // And so it is for as long as both send: the other is connected as if it were alone.
    net.managers[1].listen_for(2, name("there"), true);
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
