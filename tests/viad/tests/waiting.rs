//! Programs that wait on descriptors: of completion queues, and of a NIC's events. With viads, with agents in this process, and with one of each.

use std::{os::fd::AsFd, time::Duration};

use viaduct_driver::{
    kernel_agent::ErrorClass,
    viad::protocol::{Answer, Request},
};
use viaduct_spec::register::event_code;
use viaduct_viad_tests::{
    raw::Raw,
    stage::{connect, connected, End, Stage, BUFFER, LONG},
    wire::{is_readable, meet, on_each},
};
use vipl::{Cq, Error, MemAttributes, Nic, ViAttributes};

/// An end whose receives have a completion queue.
fn end(nic: &Nic) -> (End, Cq) {
    let ptag = nic.create_ptag().expect("a tag");
    let cq = nic.create_cq(64).expect("a queue");
    let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).expect("memory");
    let attributes = ViAttributes { receive_cq: Some(cq.clone()), ..ViAttributes::new(&ptag) };
    (End { vi: nic.create_vi(&attributes).expect("a VI").into(), memory, nic: nic.clone() }, cq)
}

/// Waits for an entry as a program does that has nothing but the descriptor: never longer than until it is readable.
fn wait(cq: &Cq) {
    loop {
        match cq.done() {
            Ok(_) => return,
            Err(Error::NotDone) => {}
            Err(error) => panic!("{error}"),
        }
        cq.arm().expect("it has interrupts");
        match cq.done() {
            Ok(_) => return,
            Err(Error::NotDone) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(is_readable(cq.fd().expect("it has interrupts"), LONG), "a wake-up was lost");
    }
}

#[test]
fn who_waits_on_descriptors_alone_misses_no_entry() {
    on_each(|nics| {
        // Four pairs share a NIC's vectors.
        let pairs: Vec<[(End, Cq); 2]> = (0..4).map(|_| nics.map(end)).collect();
        for [(one, _), (other, _)] in &pairs {
            connect(one, other);
            one.post_recv(1, BUFFER, 64);
            other.post_recv(1, BUFFER, 64);
        }
        std::thread::scope(|scope| {
            for pair in &pairs {
                for begins in [true, false] {
                    let (end, cq) = &pair[usize::from(begins)];
                    scope.spawn(move || {
                        for round in 0..100usize {
                            if !begins || round > 0 {
                                wait(cq);
                                end.vi.recv_done().expect("its entry was there");
                                end.post_recv(1, BUFFER, 64);
                            }
                            end.send(0, BUFFER + 64, &round.to_le_bytes());
                            end.vi.send_wait(Some(LONG)).expect("it is acknowledged");
                        }
                        if begins {
                            wait(cq);
                        }
                    });
                }
            }
        });
    });
}

#[test]
fn the_descriptor_of_events_tells_of_errors_and_of_connections_that_have_ended() {
    on_each(|nics| {
        let wait_for = |nic: &Nic, code: u8| loop {
            let look = || nic.take_events().expect("it answers").iter().any(|event| event.code == code);
            if look() {
                return;
            }
            nic.arm_events().expect("it has interrupts");
            if look() {
                return;
            }
            assert!(is_readable(nic.events_fd().expect("it has interrupts"), LONG), "a wake-up was lost");
        };
        for _ in 0..3 {
            // Ended by its peer.
            let ends = nics.map(End::new);
            meet(nics, ends.each_ref());
            ends[1].vi.disconnect().expect("it answers");
            wait_for(nics[0], event_code::CONN_LOST);
            // Broken by the NIC, which says so itself.
            let (one, other) = connected(nics[0], nics[1]);
            one.send(0, BUFFER, b"nobody listens");
            wait_for(nics[1], event_code::RECVQ_EMPTY);
            drop((one, other));
        }
    });
}

#[test]
fn who_waits_on_descriptors_hears_that_viad_is_gone() {
    let mut stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (_end, cq) = end(&nic);
    cq.arm().expect("it has interrupts");
    nic.arm_events().expect("it has interrupts");
    assert!(matches!(cq.done(), Err(Error::NotDone)));
    let files = [cq.fd().expect("made"), nic.events_fd().expect("made")];
    std::thread::scope(|scope| {
        let waiting = files.map(|file| scope.spawn(move || is_readable(file, LONG)));
        stage.kill(0);
        assert!(waiting.into_iter().all(|waits| waits.join().expect("no panic")));
    });
    let error = cq.done().expect_err("viad is gone");
    assert!(error.is_gone(), "{error}");
    assert!(nic.take_events().expect_err("viad is gone").is_gone());
    assert!(cq.arm().expect_err("viad is gone").is_gone());
}

#[test]
fn who_waits_on_descriptors_hears_that_the_simulator_of_its_own_nic_has_died() {
    let stage = Stage::with_free(1, 1, "");
    let nic = Nic::open(&stage.device(0)).expect("it is free");
    let connections = nic.connections().expect("it serves");
    let queue = connections.queue();
    let (_end, cq) = end(&nic);
    cq.arm().expect("it has interrupts");
    nic.arm_events().expect("it has interrupts");
    queue.arm().expect("it may wait");
    let files = [cq.fd().expect("made"), nic.events_fd().expect("made"), queue.fd().expect("made")];
    let simulator = rustix::process::Pid::from_raw(stage.simulator() as i32).expect("a process");
    rustix::process::kill_process(simulator, rustix::process::Signal::KILL).expect("it lives");
    assert!(files.into_iter().all(|file| is_readable(file, LONG)));
    assert!(nic.check().expect_err("it is gone").is_gone());
    assert!(queue.next().is_err_and(|error| error.is_gone()));
}

#[test]
fn a_client_that_does_not_hear_what_it_is_told_stops_nobody() {
    let stage = Stage::new(1);
    let (deaf, ..) = Raw::hello(stage.socket(0));
    let (Ok(Answer::Watched), files) = deaf.ask(&Request::Watch) else { panic!("not watched") };
    assert_eq!(files.len(), 1);
    let refusal = deaf.ask(&Request::Watch).0.expect_err("once in a session");
    assert_eq!(refusal.class, ErrorClass::State, "{}", refusal.text);
    // It has one end of the socket, and can make that as it likes.
    rustix::io::ioctl_fionbio(&files[0], false).expect("its own");
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let [(one, _), (other, cq)] = [(); 2].map(|()| end(&nic));
    connect(&one, &other);
    // More interrupts than the socket takes bytes: each message has one.
    for round in 0..1000usize {
        other.post_recv(1, BUFFER, 64);
        one.send(0, BUFFER, &round.to_le_bytes());
        wait(&cq);
        other.vi.recv_done().expect("its entry was there");
        one.vi.send_wait(Some(LONG)).expect("it is acknowledged");
    }
    assert!(is_readable(files[0].as_fd(), Duration::ZERO));
    // Its memory is given back when it goes, as anybody's.
    drop((deaf, files));
    assert!(!stage.log(0).contains("panicked"), "{}", stage.log(0));
}
