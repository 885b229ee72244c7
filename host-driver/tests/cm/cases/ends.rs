//! A connection ends: by a disconnect, by a death, by a restart.

use viaduct_driver::cm::{
    datagram::Datagram,
    mad::Mad,
    manager::Heard,
    message::{Dreq, Message, Rtu},
    Config, Event, Manager, Refusal,
};

use super::{
    super::network::{host, name, Network},
    is_dreq, is_req, refused, say, SECOND,
};

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
