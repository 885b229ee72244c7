//! Addresses, attributes and services are said in messages, or cannot be said.

use std::net::Ipv4Addr;

use viaduct_driver::{
    address::{Mac, Mtu, Service},
    cm::{
        arp::Arp,
        config::Network as Subnet,
        datagram::Datagram,
        ethernet::BROADCAST,
        mad::Mad,
        manager::Heard,
        message::{Message, Rej, Rep, Req, Rtu, SidrReq},
        CmError, Config, Discriminator, Event, Host, Manager, Refusal, Request, Target,
    },
    device_protocol::rows,
};
use viaduct_spec::cm::{
    arp_operation, rdma_cm, reason, subject, via, MAX_DISCRIMINATOR, PORT, TCP_SERVICE, VIA_MAGIC,
    VIA_VERSION,
};

use super::{
    super::network::{host, name, Frame, Network},
    is_req, say, MS,
};

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
    let is_req = |frame: &&(usize, Frame)| frame.1.message.as_ref().is_some_and(is_req);
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
    wide.own.info.starting_psn = 1 << 24;
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

/// A message with another version of VIA's private data was heard as wrong, and is refused by a REJ of it that names the version.
fn check_version_is_refused(by: &mut Manager, heard: &Heard, refused: (u8, u32)) {
    assert!(matches!(heard, Heard::Wrong(wrong) if wrong.to_string().contains("VIA's version")), "{heard:?}");
    let answer = by.next_frame().expect("an answer");
    let mad = Mad::decode(&Datagram::decode(&answer).expect("right").expect("a MAD").mad);
    let Message::Rej(rej) = mad.expect("right").message else { panic!("a REJ") };
    assert_eq!((rej.reason, (rej.subject, rej.remote_id)), (reason::UNSUPPORTED, refused));
    assert_eq!((rej.additional_length, rej.additional[0]), (1, VIA_VERSION));
}

/// VIA's private data of another version cannot be read: the REJ tells the version that can, and who is refused so says it.
#[test]
fn another_version_of_via_s_private_data_is_refused_and_named() {
    let mut net = Network::new(29, 2);
    net.managers[1].listen(name("a"), true);
    let mut req = Req {
        local_id: 5,
        service: TCP_SERVICE | u64::from(PORT),
        queue_pair: 1 << 10,
        mtu: 3,
        ..Req::blank()
    };
    req.private[1] = 0x40;
    let via = &mut req.private[rdma_cm::BYTES..];
    via::MAGIC.put(via, VIA_MAGIC.into());
    via::VERSION.put(via, 1);
    let heard = say(&mut net, 0, 1, Message::Req(req));
    check_version_is_refused(&mut net.managers[1], &heard, (subject::REQ, 5));

    net.fate = Box::new(|_, frame| frame.message.as_ref().is_some_and(is_req));
    let id = net.connect(0, 1, ["x", "b"]);
    net.run(5 * MS);
    let mut rej =
        Rej { remote_id: id.number(), subject: subject::REQ, reason: reason::UNSUPPORTED, ..Rej::blank() };
    (rej.additional_length, rej.additional[0]) = (1, 3);
    say(&mut net, 1, 0, Message::Rej(rej));
    net.pump();
    let (_, event) = net.events.pop().expect("an event");
    assert!(matches!(event, Event::Refused { refusal: Refusal::Version(3), .. }), "{event:?}");
}

/// A REP with another version is refused as such a REQ is, and whoever has asked is told that the ends do not fit.
#[test]
fn another_version_in_an_answer_is_refused_and_named() {
    let mut net = Network::new(31, 2);
    net.fate = Box::new(|_, frame| frame.message.as_ref().is_some_and(is_req));
    let id = net.connect(0, 1, ["x", "a"]);
    net.run(5 * MS);
    let mut rep = Rep { local_id: 9, remote_id: id.number(), queue_pair: 1 << 10, ..Rep::blank() };
    via::MAGIC.put(&mut rep.private, VIA_MAGIC.into());
    via::VERSION.put(&mut rep.private, 1);
    let heard = say(&mut net, 1, 0, Message::Rep(rep));
    check_version_is_refused(&mut net.managers[0], &heard, (subject::REP, 9));
    net.pump();
    let (_, event) = net.events.pop().expect("an event");
    assert!(matches!(event, Event::Refused { refusal: Refusal::Mismatch, .. }), "{event:?}");
}

/// A program of rdma_cm's has no MaxTransferSize, but packets of its own length, and its level is Reliable Delivery: a VI that differs does not accept it.
#[test]
fn a_vi_of_another_level_or_with_shorter_packets_accepts_no_program_of_rdma_cm_s() {
    let mut net = Network::new(32, 2);
    net.managers[1].listen(Discriminator::of_port(7174), true);
    let service = TCP_SERVICE | 7174;
    let mut req = Req { local_id: 5, service, queue_pair: 17, mtu: 5, rnr_retries: 7, ..Req::blank() };
    req.private[1] = 0x40;
    say(&mut net, 0, 1, Message::Req(req));
    net.pump();
    let (_, event) = net.events.pop().expect("an event");
    let before = net.sent.len();
    let mut own = net.end(1);
    assert_eq!(own.info.mtu.bytes(), 1024);
    let error = net.managers[1].accept(event.id(), own, &[], net.now).expect_err("longer packets");
    let is_named = |why: &str| why.contains("4096 bytes") && why.contains("1024");
    assert!(matches!(&error, CmError::Peer(why) if is_named(why)), "{error}");
    own.info.mtu = Mtu::MAX;
    own.info.service = Service::ReliableReception;
    let error = net.managers[1].accept(event.id(), own, &[], net.now).expect_err("another level");
    assert!(matches!(&error, CmError::Peer(why) if why.contains("Reliable Reception")), "{error}");
    net.pump();
    assert_eq!(net.sent.len(), before, "nothing was said");
    own.info.service = Service::ReliableDelivery;
    net.managers[1].accept(event.id(), own, &[], net.now).expect("they fit now");
}

/// Each end waits as long as the other one says that it needs, and never less than among ours.
#[test]
fn the_time_that_a_peer_needs_to_acknowledge_is_waited_for() {
    let mut net = Network::new(30, 2);
    let own = net.end(0);
    let second = 1_000_000_000;
    for (ack_time, ticks, retries) in [
        (0, 4096, 250),
        (10, 4096, 250),
        (11, 8192, 125),
        (15, 4 << 15, 7),
        (17, 4 << 17, 7),
        (18, 0xF_FFFF, 7),
        (31, 0xF_FFFF, 7),
    ] {
        let mut peer = net.end(1);
        peer.info.ack_time = ack_time;
        let agreed = rows::timeout(own.agree(&peer).expect("they fit").peer.ack_time);
        assert_eq!((agreed, rows::retries(agreed)), (ticks, retries), "{ack_time}");
        assert!(
            u64::from(ticks) * 1024 * u64::from(retries) >= second * 9 / 10,
            "{ack_time}: a second in all"
        );
    }
    // A client's REQ says it, and a server's REP.
    net.managers[1].listen(name("a"), true);
    let mut request = net.request(0, 1, ["x", "a"]);
    request.own.info.ack_time = 13;
    net.managers[0].connect(request, net.now).expect("a request");
    let event = net.event(1);
    let Event::Incoming { id, request, .. } = event else { panic!("{event:?}") };
    assert_eq!(request.peer.info.ack_time, 13);
    let mut own = net.end(1);
    own.info.ack_time = 14;
    net.managers[1].accept(id, own, &[], net.now).expect("it fits");
    assert_eq!(net.meet(0).info.ack_time, 14);
}
