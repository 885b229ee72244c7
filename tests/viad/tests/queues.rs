//! Listeners that stay, and connections that nobody waits for: their events come from a queue. With viads, with agents in this process, and with
//! one of each.

use std::{net::Ipv4Addr, os::fd::BorrowedFd, time::Duration};

use viaduct_driver::{
    cm::{Discriminator, Event, Refusal, Target},
    consumer::Vi,
    kernel_agent::{
        connection_agent::{Ask, ConnectionAgent},
        KernelAgent,
    },
    viad::Client,
};
use viaduct_spec::register::event_code;
use viaduct_viad_tests::{
    hand::vi_attributes,
    stage::{until, End, Stage, BUFFER, LONG},
    wire::{address, ask, is_readable, on_each},
};
use vipl::{
    connections::{ConnectionEvent, ConnectionQueue, ConnectionRequest, Incoming, Listener, NetAddress},
    Error, Mac, Nic, Return, ViState,
};

/// Waits as a program does that has nothing but the descriptor.
fn by_descriptor<'a, T>(
    look: impl Fn() -> Result<T, Error>,
    arm: impl Fn() -> Result<(), Error>,
    file: impl Fn() -> Result<BorrowedFd<'a>, Error>,
) -> T {
    loop {
        for is_armed in [false, true] {
            match look() {
                Ok(found) => return found,
                Err(Error::NotDone) if is_armed => {}
                Err(Error::NotDone) => arm().expect("it may wait"),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(is_readable(file().expect("it may wait"), LONG), "a wake-up was lost");
    }
}

fn next(queue: &ConnectionQueue) -> ConnectionEvent {
    by_descriptor(|| queue.next(), || queue.arm(), || queue.fd())
}

fn request(queue: &ConnectionQueue) -> ConnectionRequest {
    match next(queue) {
        ConnectionEvent::Requested(request) => request,
        other => panic!("{other:?}"),
    }
}

fn failure(queue: &ConnectionQueue, of: u64) -> Error {
    match next(queue) {
        ConnectionEvent::Failed { context, error } if context == of => error,
        other => panic!("{other:?}"),
    }
}

fn incoming(listener: &Listener) -> Box<dyn Incoming> {
    by_descriptor(|| listener.try_next(), || listener.arm(), || listener.fd())
}

fn queue(nic: &Nic) -> ConnectionQueue {
    nic.connections().expect("it serves").queue()
}

fn state(end: &End) -> ViState {
    end.vi.query().expect("it answers").state
}

/// Asks "many" of NIC 1 for a connection of this end, with its number.
fn begin(client: &ConnectionQueue, end: &End, number: u8) {
    let (vi, timeout) = (end.vi.clone(), Some(LONG));
    client
        .connect(vi, &address(0, "one"), &address(1, "many"), &[number], timeout, number.into())
        .expect("idle");
}

/// Accepts one who has given up: that is known now, or, if what says so is still on its way, soon.
fn accept_in_vain(server: &ConnectionQueue, late: &ConnectionRequest, end: &End) {
    match late.accept(end.vi.clone(), &[], 5) {
        Err(Error::Timeout) => {}
        Ok(()) => drop(failure(server, 5)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn one_thread_serves_many_connections_by_their_events() {
    const COUNT: usize = 8;
    on_each(|nics| {
        let [client, server] = nics.map(queue);
        let _listener = server.listen(&address(1, "many"), COUNT as u32, 77).expect("room");
        let ends: Vec<[End; 2]> = (0..COUNT).map(|_| nics.map(End::new)).collect();
        for _ in 0..2 {
            ends.iter().zip(0..).for_each(|([one, _], n)| begin(&client, one, n));
            let mut connected = [[false; COUNT]; 2];
            while !connected[1].iter().all(|is| *is) {
                match next(&server) {
                    ConnectionEvent::Requested(request) => {
                        assert_eq!((request.context(), request.remote()), (77, address(0, "one")));
                        let number = request.data()[0];
                        let vi = ends[usize::from(number)][1].vi.clone();
                        request.accept(vi, &[number + 1], (100 + number).into()).expect("they fit");
                    }
                    ConnectionEvent::Connected { context, .. } => connected[1][context as usize - 100] = true,
                    other => panic!("{other:?}"),
                }
            }
            while !connected[0].iter().all(|is| *is) {
                let ConnectionEvent::Connected { context, answer } = next(&client) else {
                    panic!("not connected")
                };
                assert_eq!(answer.data, [context as u8 + 1]);
                assert_eq!(answer.attributes.max_transfer_size, 1 << 20);
                connected[0][context as usize] = true;
            }
            for [one, other] in &ends {
                other.post_recv(1, BUFFER, 64);
                one.send(0, BUFFER, b"met");
                assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it arrives").length(), 3);
                one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
            }
            // Either side may end it; the other one hears of that.
            for (n, [one, other]) in (0..).zip(&ends) {
                let (from, ends, contexts) = match n % 2 {
                    0 => ([&client, &server], [one, other], [n, 100 + n]),
                    _ => ([&server, &client], [other, one], [100 + n, n]),
                };
                from[0].disconnect(&ends[0].vi).expect("it answers");
                let event = next(from[0]);
                assert!(
                    matches!(event, ConnectionEvent::Parted { context } if context == contexts[0]),
                    "{event:?}"
                );
                let event = next(from[1]);
                assert!(
                    matches!(event, ConnectionEvent::Disconnected { context } if context == contexts[1]),
                    "{event:?}"
                );
                assert_eq!(ends.map(state), [ViState::Idle, ViState::Error]);
                // It is no event of the NIC's as well.
                from[1].disconnect(&ends[1].vi).expect("it answers");
                assert_eq!(state(ends[1]), ViState::Idle);
            }
            assert!([&client, &server].iter().all(|queue| matches!(queue.next(), Err(Error::NotDone))));
        }
        let lost = |event: &vipl::Event| event.code == event_code::CONN_LOST && event.broke;
        let told =
            nics.map(|nic| nic.take_events().expect("it answers").iter().filter(|one| lost(one)).count());
        assert_eq!(told, [0, 0]);
    });
}

#[test]
fn what_comes_to_nothing_is_told_with_its_reason_and_leaves_an_idle_vi() {
    on_each(|nics| {
        let [client, server] = nics.map(queue);
        let [end, other] = nics.map(End::new);
        // Nobody listens.
        begin(&client, &end, 1);
        assert!(matches!(failure(&client, 1), Error::NoMatch));
        assert_eq!(state(&end), ViState::Idle);
        let listener = server.listen(&address(1, "many"), 4, 0).expect("room");
        // A VI has one connection at a time.
        begin(&client, &end, 2);
        let again = client.connect(end.vi.clone(), &address(0, "x"), &address(1, "many"), &[], None, 9);
        assert_eq!(again.expect_err("it is being connected").code(), Return::InvalidState);
        // The peer has been told of the attributes that it has.
        let changed = end.vi.set_attributes(&end.vi.attributes());
        assert_eq!(changed.expect_err("it is being connected").code(), Return::InvalidState);
        request(&server).reject(b"because").expect("it asks");
        assert!(matches!(failure(&client, 2), Error::Rejected(data) if data == b"because"));
        end.vi.set_attributes(&end.vi.attributes()).expect("idle");
        // Dropped, it is rejected too.
        begin(&client, &end, 3);
        drop(request(&server));
        assert!(matches!(failure(&client, 3), Error::Rejected(data) if data.is_empty()));
        // The client's time is over, and there is nothing to accept any more.
        let short = Some(Duration::from_millis(500));
        client.connect(end.vi.clone(), &address(0, "one"), &address(1, "many"), &[], short, 4).expect("idle");
        let late = request(&server);
        assert!(matches!(failure(&client, 4), Error::Timeout));
        accept_in_vain(&server, &late, &other);
        assert_eq!([&end, &other].map(state), [ViState::Idle; 2]);
        // Too much data: one may try again.
        begin(&client, &end, 6);
        let asked = request(&server);
        let error = asked.accept(other.vi.clone(), &[0; 185], 7).expect_err("too much");
        assert!(matches!(error, Error::PrivateData { room: 184, .. }), "{error}");
        asked.accept(other.vi.clone(), &[], 7).expect("they fit");
        assert!(matches!(next(&client), ConnectionEvent::Connected { context: 6, .. }));
        assert!(matches!(next(&server), ConnectionEvent::Connected { context: 7, .. }));
        [&end, &other].iter().for_each(|end| end.vi.disconnect().expect("it answers"));
        // Disconnected while it is being connected.
        begin(&client, &end, 8);
        let asked = request(&server);
        end.vi.disconnect().expect("it answers");
        assert_eq!(failure(&client, 8).code(), Return::InvalidState);
        assert_eq!(state(&end), ViState::Idle);
        drop(asked);
        // Nobody listens any more: who was not taken is refused.
        begin(&client, &end, 10);
        std::thread::sleep(Duration::from_millis(20));
        drop(listener);
        assert!(matches!(failure(&client, 10), Error::Rejected(_) | Error::NoMatch));
        assert!(matches!(server.listen(&address(1, "many"), 0, 0).err(), Some(Error::Backlog)));
    });
}

#[test]
fn a_queue_that_is_dropped_gives_up_its_attempts_and_leaves_its_connections() {
    on_each(|nics| {
        let [client, server] = nics.map(queue);
        let listener = server.listen(&address(1, "many"), 4, 0).expect("room");
        let ends = [(); 2].map(|()| nics.map(End::new));
        begin(&client, &ends[0][0], 1);
        request(&server).accept(ends[0][1].vi.clone(), &[], 1).expect("they fit");
        assert!(matches!(next(&client), ConnectionEvent::Connected { context: 1, .. }));
        assert!(matches!(next(&server), ConnectionEvent::Connected { context: 1, .. }));
        begin(&client, &ends[1][0], 2);
        let asked = request(&server);
        drop(client);
        assert_eq!(state(&ends[1][0]), ViState::Idle);
        accept_in_vain(&server, &asked, &ends[1][1]);
        // The connection stays; its end is an event of the NIC's.
        assert_eq!(ends[0].each_ref().map(state), [ViState::Connected; 2]);
        server.disconnect(&ends[0][1].vi).expect("it answers");
        let lost = |event: &vipl::Event| event.code == event_code::CONN_LOST;
        assert!(until(LONG, || nics[0].take_events().expect("it answers").iter().any(lost)));
        drop((listener, asked, server));
    });
}

#[test]
fn a_listener_that_stays_hears_one_client_after_the_other_and_refuses_more_than_its_backlog() {
    on_each(|nics| {
        let connections = nics[1].connections().expect("it serves");
        let listener = connections.listen(&address(1, "server"), 2).expect("room");
        assert!(matches!(listener.try_next(), Err(Error::NotDone)));
        let slice = Some(Duration::from_millis(10));
        assert!(matches!(listener.next(slice, &|| false), Err(Error::Timeout)));
        let ends = nics.map(End::new);
        // Between two clients nobody need listen anew.
        for _ in 0..5 {
            std::thread::scope(|scope| {
                scope.spawn(|| incoming(&listener).accept(&ends[1].vi, &[]).expect("they fit"));
                ask(nics[0], &ends[0], &[]).expect("it is accepted");
            });
            ends.iter().for_each(|end| end.vi.disconnect().expect("it answers"));
        }
        let client = queue(nics[0]);
        let more = [(); 3].map(|()| End::new(nics[0]));
        let to = address(1, "server");
        for (end, n) in more.iter().zip(0..) {
            client.connect(end.vi.clone(), &address(0, "one"), &to, &[], Some(LONG), n).expect("idle");
        }
        // Two wait, and one is refused at once.
        let ConnectionEvent::Failed { error: Error::Rejected(data), .. } = next(&client) else {
            panic!("not refused")
        };
        assert!(data.is_empty());
        let waiting = [(); 2].map(|()| incoming(&listener));
        assert!(matches!(listener.try_next(), Err(Error::NotDone)));
        for one in waiting {
            one.reject(&[]).expect("it asks");
            assert!(matches!(next(&client), ConnectionEvent::Failed { error: Error::Rejected(_), .. }));
        }
        drop(listener);
        let answer = ask_once(nics[0], &more[0]);
        assert!(matches!(answer, Err(Error::NoMatch)), "{answer:?}");
    });
}

fn ask_once(nic: &Nic, end: &End) -> Result<vipl::connections::Answer, Error> {
    let connections = nic.connections().expect("it serves");
    connections.request(&end.vi, &address(0, "client"), &address(1, "server"), &[], Some(LONG))
}

#[test]
fn a_host_is_asked_by_its_ipv4_address_and_what_was_sent_is_drained() {
    on_each(|nics| {
        let [end, other] = nics.map(End::new);
        let connections = nics.map(|nic| nic.connections().expect("it serves"));
        let own = nics[1].attributes();
        // Its own address may be given either way.
        let local = NetAddress { host: own.ip.into(), ..address(1, "by address") };
        let listener = connections[1].listen(&local, 2).expect("room");
        let remote = NetAddress { host: Ipv4Addr::new(10, 0, 0, 2).into(), ..local.clone() };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let asked = incoming(&listener);
                assert_eq!(
                    (asked.remote(), asked.remote_ip()),
                    (address(0, "one"), Ipv4Addr::new(10, 0, 0, 1))
                );
                (0..40).for_each(|n| other.post_recv(1 + n, BUFFER, 64));
                asked.accept(&other.vi, &[]).expect("they fit");
            });
            let request = connections[0].request(&end.vi, &address(0, "one"), &remote, &[], Some(LONG));
            request.expect("it is accepted");
        });
        // Nobody has this one.
        let nobody = NetAddress { host: Ipv4Addr::new(10, 0, 0, 77).into(), ..local.clone() };
        let third = End::new(nics[0]);
        let short = Some(Duration::from_millis(300));
        let answer = connections[0].request(&third.vi, &address(0, "two"), &nobody, &[], short);
        assert!(matches!(answer, Err(Error::Timeout)), "{answer:?}");
        // All of it arrives, though nobody has looked whether it is sent before the disconnect.
        (0..40).for_each(|n| end.send(n, BUFFER, b"and all of it"));
        end.vi.drain(Some(LONG)).expect("it is received");
        end.vi.disconnect().expect("it answers");
        for _ in 0..40 {
            assert_eq!(end.vi.send_done().expect("complete, and not flushed").length(), 13);
            assert_eq!(other.vi.recv_wait(Some(LONG)).expect("it has arrived").length(), 13);
        }
        end.vi.drain(Some(Duration::ZERO)).expect("nothing is posted");
    });
}

#[test]
fn requests_that_wait_at_a_listener_of_a_viads_client_count_among_its_users_listeners() {
    let stage = Stage::with(1, "[user]\nlisteners = 3\n");
    let [server, client] = [(); 2].map(|()| Client::open(stage.socket(0)).expect("it serves"));
    let name = |text: &str| Discriminator::try_from(text.as_bytes()).expect("short");
    let tag = client.create_tag().expect("a tag");
    let service = viaduct_driver::address::Service::ReliableDelivery;
    let vis: Vec<_> =
        (0..3).map(|_| Vi::create(client.clone(), vi_attributes(tag, service)).expect("a VI")).collect();
    let agents: [&dyn ConnectionAgent; 2] = [&*server, &*client];
    let event =
        |agent: usize| agents[agent].wait_event(LONG, |_| true).expect("it serves").expect("it happens");
    let listener = agents[0].listen_for_all(name("mine"), 10).expect("room");
    let ask = |vi: usize| {
        let ask = Ask {
            vi: vis[vi].name(),
            target: Target::Mac(Mac([2, 0, 0, 0, 0, 1])),
            from: name(""),
            to: name("mine"),
            data: Vec::new(),
            timeout: Some(LONG),
        };
        agents[1].connect(ask).expect("idle")
    };
    let mut asked = Vec::new();
    for vi in 0..2 {
        ask(vi);
        let Event::Incoming { id, once: false, .. } = event(0) else { panic!("nobody asks") };
        asked.push(id);
    }
    // The listener and two who wait: that is all that the user may have.
    let id = ask(2);
    assert_eq!(event(1), Event::Refused { id, refusal: Refusal::Rejected, data: Vec::new() });
    assert!(agents[0].listen(name("other")).is_err());
    agents[0].reject(asked[0], b"").expect("it waits");
    assert!(matches!(event(1), Event::Refused { refusal: Refusal::Rejected, .. }));
    ask(2);
    assert!(matches!(event(0), Event::Incoming { once: false, .. }));
    // With the listener go those whom nobody has fetched; who was fetched stays.
    agents[0].unlisten(listener).expect("it answers");
    agents[0].reject(asked[1], b"").expect("it waits");
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}
