//! Clients of viads find each other over the wire, by discriminators.

mod session;

use std::{
    io::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use viaduct_spec::register::event_code;
use viaduct_viad_tests::{
    child::{self, child, lines, user, wait_for},
    skip::skip,
    stage::{until, End, Stage, BUFFER, LONG},
    wire::on_each,
};
use vipl::{connections::NetAddress, Error, Mac, Nic, ViState};

/// How soon what comes at once comes, on a machine that is busy with other things.
const SOON: Duration = Duration::from_secs(5);

/// The Ethernet address of a stage's NIC.
fn mac(nic: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, nic as u8 + 1])
}

fn address(nic: usize, discriminator: &str) -> NetAddress {
    NetAddress { host: mac(nic).into(), discriminator: discriminator.into() }
}

/// Waits at `name` for so many clients, each of which says something, and answers them.
fn serve(nic: &Nic, at: &NetAddress, clients: usize) {
    let connections = nic.connections().expect("it serves");
    for _ in 0..clients {
        let incoming = connections.wait(at, Some(LONG), &|| false).expect("somebody asks");
        let end = End::new(nic);
        end.post_recv(1, BUFFER, 8192);
        incoming.accept(&end.vi, &[]).expect("they fit");
        let received = end.vi.recv_wait(Some(LONG)).expect("it arrives").length();
        let answer: Vec<u8> = end.bytes(BUFFER, received).iter().rev().copied().collect();
        end.send(0, BUFFER, &answer);
        end.vi.send_wait(Some(LONG)).expect("it is acknowledged");
        end.vi.disconnect().expect("it answers");
    }
}

/// Asks who waits at `to`, says something, and has the answer.
fn ask(nic: &Nic, from: &NetAddress, to: &NetAddress, rounds: usize) {
    let connections = nic.connections().expect("it serves");
    let end = End::new(nic);
    for round in 0..rounds {
        end.post_recv(1, BUFFER, 8192);
        // Between two clients nobody waits.
        let start = Instant::now();
        loop {
            match connections.request(&end.vi, from, to, &[], Some(LONG)) {
                Err(Error::NoMatch) if start.elapsed() < LONG => std::thread::sleep(Duration::from_millis(2)),
                result => {
                    result.expect("it is accepted");
                    break;
                }
            }
        }
        let words: Vec<u8> = (0..1 + round * 100).map(|n| (n * 7 + round) as u8).collect();
        end.send(0, 3 * BUFFER, &words);
        end.vi.send_wait(Some(LONG)).expect("it is acknowledged");
        let received = end.vi.recv_wait(Some(LONG)).expect("it arrives").length();
        let back: Vec<u8> = words.iter().rev().copied().collect();
        assert_eq!(end.bytes(BUFFER, received), back);
        end.vi.disconnect().expect("it answers");
    }
}

/// Not a test: what the children of the tests do.
#[test]
#[ignore = "a client process of the other tests"]
fn a_client_process() {
    let Some((role, name)) = child::role() else { return };
    let nic = Nic::open(&name).expect("it serves");
    let said: Vec<&str> = role.split(' ').collect();
    let own = nic.attributes().local_nic_address;
    let at = |discriminator: &str| NetAddress { host: own.into(), discriminator: discriminator.into() };
    match said[..] {
        ["serve", name, clients] => serve(&nic, &at(name), clients.parse().expect("a number")),
        // With NIC 1, whatever its own is.
        ["ask", name, rounds] => {
            ask(&nic, &at("client"), &address(1, name), rounds.parse().expect("a number"))
        }
        // It is connected with whoever asks, and says so; it listens on, until it is killed.
        ["mortal", name] => {
            let connections = nic.connections().expect("it serves");
            let end = End::new(&nic);
            let incoming = connections.wait(&at(name), Some(LONG), &|| false).expect("somebody asks");
            incoming.accept(&end.vi, &[]).expect("they fit");
            println!("\nconnected");
            std::io::stdout().flush().expect("a pipe");
            let _ = connections.wait(&at(name), None, &|| false);
        }
        _ => panic!("{role}"),
    }
}

#[test]
fn a_client_and_a_server_of_two_viads_connect_talk_and_part() {
    let stage = Stage::new(2);
    let nics = [0, 1].map(|nic| Nic::open(&stage.name(nic)).expect("it serves"));
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&nics[1], &address(1, "echo"), 10));
        ask(&nics[0], &address(0, "me"), &address(1, "echo"), 10);
    });
    // Nobody waits any more, and that is known at once.
    let connections = nics[0].connections().expect("it serves");
    let end = End::new(&nics[0]);
    let start = Instant::now();
    let answer = connections.request(&end.vi, &address(0, "me"), &address(1, "echo"), &[], Some(LONG));
    assert!(matches!(answer, Err(Error::NoMatch)) && start.elapsed() < SOON, "{:?}", start.elapsed());
    assert_eq!(end.vi.query().expect("it answers").state, ViState::Idle);
    // Who rejects, rejects.
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let connections = nics[1].connections().expect("it serves");
            let incoming = connections.wait(&address(1, "no"), Some(LONG), &|| false).expect("it asks");
            assert_eq!(incoming.remote(), address(0, "me"));
            incoming.reject(&[]).expect("it answers");
        });
        let refused = until(LONG, || {
            let answer = connections.request(&end.vi, &address(0, "me"), &address(1, "no"), &[], Some(LONG));
            matches!(answer, Err(Error::Rejected(_)))
        });
        assert!(refused);
        server.join().expect("no panic");
    });
    // Time-outs are some.
    let start = Instant::now();
    let short = Some(Duration::from_millis(200));
    let waited = connections.wait(&address(0, "never"), short, &|| false);
    assert!(matches!(waited, Err(Error::Timeout)) && start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn two_clients_of_one_viad_and_one_of_an_embedded_agent_connect() {
    let stage = Stage::with_free(2, 1, "");
    let one = [(); 2].map(|()| Nic::open(&stage.name(0)).expect("it serves"));
    let alone = Nic::open(&stage.device(1)).expect("it is free");
    // Within viad.
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&one[1], &address(0, "echo"), 3));
        ask(&one[0], &address(0, "me"), &address(0, "echo"), 3);
    });
    // With who owns its NIC, either way.
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&alone, &address(1, "echo"), 3));
        ask(&one[0], &address(0, "me"), &address(1, "echo"), 3);
    });
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&one[0], &address(0, "echo"), 3));
        ask(&alone, &address(1, "me"), &address(0, "echo"), 3);
    });
}

#[test]
fn peers_meet_whoever_asks_first() {
    let stage = Stage::new(2);
    let nics = [0, 1].map(|nic| Nic::open(&stage.name(nic)).expect("it serves"));
    let ends = [0, 1].map(|nic| End::new(&nics[nic]));
    let names = [address(0, "a peer"), address(1, "another")];
    for first in [0, 1, 0] {
        let begin = |own: usize| {
            let connections = nics[own].connections().expect("it serves");
            let vi = Arc::clone(&ends[own].vi);
            connections.peer_request(vi, &names[own], &names[1 - own], &[], Some(LONG)).expect("idle")
        };
        let early = begin(first);
        assert!(matches!(early.done(), Err(Error::NotDone)));
        std::thread::sleep(Duration::from_millis(50));
        let late = begin(1 - first);
        early.wait().expect("they meet");
        late.wait().expect("they meet");
        ends[1].post_recv(1, BUFFER, 64);
        ends[0].send(0, BUFFER, b"met");
        assert_eq!(ends[1].vi.recv_wait(Some(LONG)).expect("it arrives").length(), 3);
        ends[0].vi.send_wait(Some(LONG)).expect("it is acknowledged");
        ends[first].vi.disconnect().expect("it answers");
        let lost = |event: &vipl::Event| event.code == event_code::CONN_LOST;
        assert!(until(LONG, || nics[1 - first].take_events().expect("it answers").iter().any(lost)));
        assert_eq!(ends[1 - first].vi.query().expect("it answers").state, ViState::Error);
        ends.iter().for_each(|end| end.vi.disconnect().expect("it answers"));
    }
}

#[test]
fn peers_of_a_client_that_is_killed_hear_of_it_and_nobody_waits_there_any_more() {
    let stage = Stage::new(2);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let connections = nic.connections().expect("it serves");
    let end = End::new(&nic);
    let mut victim = child("mortal service", &stage.name(1), user(1));
    let mut said = lines(&mut victim);
    let connected = until(LONG, || {
        connections.request(&end.vi, &address(0, "me"), &address(1, "service"), &[], Some(LONG)).is_ok()
    });
    assert!(connected);
    wait_for(&mut said, "connected");
    victim.0.kill().expect("it lives");
    let killed = Instant::now();
    let mut told = Vec::new();
    while told.is_empty() && killed.elapsed() < LONG {
        told = nic.wait_events(Duration::from_millis(20)).expect("it answers");
    }
    println!("{:?} after the kill", killed.elapsed());
    assert!(told.iter().any(|event| event.code == event_code::CONN_LOST), "{told:?}");
    assert!(killed.elapsed() < SOON);
    assert_eq!(end.vi.query().expect("it answers").state, ViState::Error);
    end.vi.disconnect().expect("it answers");
    let answer = connections.request(&end.vi, &address(0, "me"), &address(1, "service"), &[], Some(LONG));
    assert!(matches!(answer, Err(Error::NoMatch)), "{:?}", answer.map(drop));
    // The discriminator is anybody's again.
    let other = Nic::open(&stage.name(1)).expect("it serves");
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&other, &address(1, "service"), 1));
        ask(&nic, &address(0, "me"), &address(1, "service"), 1);
    });
}

#[test]
fn eight_processes_of_eight_users_are_served_by_one_of_another_viad() {
    let stage = Stage::new(2);
    let mut servers: Vec<_> =
        ["red", "blue"].map(|name| child(&format!("serve {name} 24"), &stage.name(1), user(20))).into();
    // Two of the clients are its neighbours on NIC 1.
    let mut clients: Vec<_> = (0..8)
        .map(|n| {
            let name = if n % 2 == 0 { "red" } else { "blue" };
            child(&format!("ask {name} 6"), &stage.name(usize::from(n >= 6)), user(n))
        })
        .collect();
    for process in clients.iter_mut().chain(&mut servers) {
        assert!(process.0.wait().expect("it ends").success());
    }
    for nic in 0..2 {
        assert!(!stage.log(nic).contains("WARN"), "{}", stage.log(nic));
    }
}

#[test]
fn a_discriminator_is_private_to_the_user_who_listens_on_it() {
    let stage = Stage::new(2);
    let Some(user) = user(5) else {
        return skip("we are not root, and cannot be another user");
    };
    // It listens on for as long as it lives.
    let mut owner = child("serve secret 2", &stage.name(1), Some(user));
    let nics = [0, 1].map(|nic| Nic::open(&stage.name(nic)).expect("it serves"));
    ask(&nics[0], &address(0, "me"), &address(1, "secret"), 1);
    let connections = nics[1].connections().expect("it serves");
    let error = connections.wait(&address(1, "secret"), Some(LONG), &|| false).err().expect("another's");
    assert!(error.to_string().contains("another user"), "{error}");
    let end = End::new(&nics[1]);
    let error = connections
        .request(&end.vi, &address(1, "secret"), &address(0, "x"), &[], Some(LONG))
        .expect_err("in another's name");
    assert!(error.to_string().contains("another user"), "{error}");
    let error = connections
        .peer_request(end.vi.clone(), &address(1, "secret"), &address(0, "x"), &[], Some(LONG))
        .err()
        .expect("in another's name");
    assert!(error.to_string().contains("another user"), "{error}");
    ask(&nics[0], &address(0, "me"), &address(1, "secret"), 1);
    assert!(owner.0.wait().expect("it ends").success());
    // Nobody's any more.
    let short = Some(Duration::from_millis(10));
    assert!(until(LONG, || {
        matches!(connections.wait(&address(1, "secret"), short, &|| false), Err(Error::Timeout))
    }));
}

#[test]
fn a_nic_that_is_only_open_answers_where_it_is_and_that_nobody_waits() {
    on_each(|[client, server]| {
        let own = NetAddress { host: client.attributes().ip.into(), discriminator: b"client".to_vec() };
        // ARP finds it.
        let at = NetAddress { host: server.attributes().ip.into(), discriminator: b"nobody".to_vec() };
        let end = End::new(client);
        let connections = client.connections().expect("it asks");
        let answer = connections.request(&end.vi, &own, &at, &[], Some(SOON));
        assert!(matches!(answer, Err(Error::NoMatch)), "{answer:?}");
    });
}
