//! What becomes of connections by the library's own calls, whoever has the agents: private data, and ends that nobody announced. Each
//! test runs with viads, with agents in this process, and with one of each.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use viaduct_spec::register::event_code;
use viaduct_viad_tests::{
    stage::{until, End, BUFFER, LONG},
    wire::{address, ask, meet, on_each, serve},
};
use vipl::{
    connections::{request_room, ACCEPT_ROOM, REJECT_ROOM, REQUEST_ROOM},
    Error, ViState,
};

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 11 + seed) as u8).collect()
}

#[test]
fn private_data_goes_with_a_request_and_its_acceptance() {
    on_each(|nics| {
        let room = request_room(&address(0, "client"), &address(1, "server"));
        assert_eq!(room, REQUEST_ROOM - 12);
        let ends = nics.map(End::new);
        for (asked, answered) in [(room, ACCEPT_ROOM), (0, 1), (1, 0)] {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    serve(nics[1], |request| {
                        assert_eq!(request.data(), bytes(asked, 1));
                        let error = request.accept(&ends[1].vi, &[0; ACCEPT_ROOM + 1]);
                        assert!(matches!(error, Err(Error::PrivateData { length: 185, room: 184 })));
                        request.accept(&ends[1].vi, &bytes(answered, 2)).expect("it may try again");
                    });
                });
                let answer = ask(nics[0], &ends[0], &bytes(asked, 1)).expect("it is accepted");
                assert_eq!(answer.data, bytes(answered, 2));
                assert_eq!(answer.attributes.max_transfer_size, 1 << 20);
            });
            ends[1].post_recv(1, BUFFER, 64);
            ends[0].send(0, BUFFER, b"and then data");
            assert_eq!(ends[1].vi.recv_wait(Some(LONG)).expect("it arrives").length(), 13);
            ends[0].vi.send_wait(Some(LONG)).expect("it is acknowledged");
            ends.iter().for_each(|end| end.vi.disconnect().expect("it answers"));
        }
        let error = ask(nics[0], &ends[0], &bytes(room + 1, 0)).expect_err("too much");
        assert!(matches!(error, Error::PrivateData { .. }), "{error}");
        assert_eq!(error.code(), vipl::Return::InvalidParameter);
        assert_eq!(ends[0].vi.query().expect("it answers").state, ViState::Idle);
    });
}

#[test]
fn private_data_goes_with_a_rejection() {
    on_each(|nics| {
        let end = End::new(nics[0]);
        for length in [REJECT_ROOM, 0] {
            std::thread::scope(|scope| {
                scope.spawn(|| serve(nics[1], |request| request.reject(&bytes(length, 3)).expect("it asks")));
                match ask(nics[0], &end, b"may I?") {
                    Err(Error::Rejected(data)) => assert_eq!(data, bytes(length, 3)),
                    other => panic!("{other:?}"),
                }
            });
        }
    });
}

#[test]
fn peers_exchange_private_data_whoever_asks_first() {
    on_each(|nics| {
        let ends = nics.map(End::new);
        let names = [address(0, "one peer"), address(1, "the other")];
        let room = request_room(&names[0], &names[1]);
        for first in [0, 1] {
            let begin = |own: usize, data: &[u8]| {
                let connections = nics[own].connections().expect("it serves");
                let vi = Arc::clone(&ends[own].vi);
                connections.peer_request(vi, &names[own], &names[1 - own], data, Some(LONG))
            };
            let early = begin(first, &bytes(room, 4)).expect("idle");
            std::thread::sleep(Duration::from_millis(30));
            let late = begin(1 - first, &bytes(5, 5)).expect("idle");
            assert_eq!(early.wait().expect("they meet").data, bytes(5, 5));
            assert_eq!(late.wait().expect("they meet").data, bytes(room, 4));
            // It is told again who asks again.
            assert_eq!(early.done().expect("they have met").data, bytes(5, 5));
            ends.iter().for_each(|end| end.vi.disconnect().expect("it answers"));
            assert!(matches!(begin(0, &bytes(room + 1, 0)).err(), Some(Error::PrivateData { .. })));
        }
    });
}

#[test]
fn a_vi_that_is_disconnected_or_dropped_says_so_to_its_peer() {
    on_each(|nics| {
        for is_dropped in [false, true] {
            let ends = nics.map(End::new);
            meet(nics, ends.each_ref());
            let [client, server] = ends;
            client.post_recv(1, BUFFER, 64);
            if is_dropped {
                drop(server);
            } else {
                server.vi.disconnect().expect("it answers");
            }
            let start = Instant::now();
            client.vi.recv_wait(Some(LONG)).expect_err("its peer is gone");
            // It has been told: otherwise it would have asked, after 10 s of silence.
            assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
            assert_eq!(client.vi.query().expect("it answers").state, ViState::Error);
            let lost = |event: &vipl::Event| event.code == event_code::CONN_LOST;
            assert!(until(LONG, || nics[0].take_events().expect("it answers").iter().any(lost)));
        }
    });
}

#[test]
fn a_peer_request_that_is_dropped_leaves_an_idle_vi_even_if_it_has_met_its_peer() {
    on_each(|nics| {
        let ends = nics.map(End::new);
        let names = [address(0, "one"), address(1, "two")];
        let begin = |own: usize| {
            let connections = nics[own].connections().expect("it serves");
            let vi = Arc::clone(&ends[own].vi);
            connections.peer_request(vi, &names[own], &names[1 - own], &[], Some(LONG)).expect("idle")
        };
        let (kept, dropped) = (begin(0), begin(1));
        kept.wait().expect("they meet");
        // The other one has met it as well, and nobody has looked.
        assert_eq!(ends[1].vi.query().expect("it answers").state, ViState::Connected);
        drop(dropped);
        assert_eq!(ends[1].vi.query().expect("it answers").state, ViState::Idle);
        // Its peer is told.
        let broken = || ends[0].vi.query().expect("it answers").state == ViState::Error;
        assert!(until(Duration::from_secs(5), broken));
        // And it is as good as new.
        ends[0].vi.disconnect().expect("it answers");
        meet(nics, ends.each_ref());
        ends[1].post_recv(1, BUFFER, 64);
        ends[0].send(0, BUFFER, b"anew");
        assert_eq!(ends[1].vi.recv_wait(Some(LONG)).expect("it arrives").length(), 4);
    });
}
