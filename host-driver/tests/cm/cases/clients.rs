//! A client asks a server, and is answered, refused or left alone.

use viaduct_driver::cm::{
    end::{NotReady, WITHOUT_END},
    message::Message,
    CmError, End, Event, EventQueue, Refusal, Target,
};
use viaduct_spec::cm::reason;

use super::{
    super::network::{host, name, Network},
    is_mra, is_rej, is_rep, is_req, is_rtu, refused, MS, SECOND,
};

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
        not_ready: NotReady::Stay { timer: 14, retries: 6 },
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
    let not_ready = NotReady::Stay { timer: 31, retries: WITHOUT_END };
    let own = End { rdma_read: true, reads_answered: 1, not_ready, ..net.end(1) };
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
        let mut events = EventQueue::default();
        events.push(asked.clone());
        events.push(net.event(1));
        // A listener that stays hears of the next one.
        assert_eq!(events.len(), if once { 2 } else { 0 });
        assert_eq!(events.take(|event| *event == asked).is_some(), once);
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
