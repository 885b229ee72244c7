//! Completion queues as programs use them: through the library.

use std::time::Duration;

use viaduct_spec::register::{counter, event_code};
use viaduct_tests::world::{quick, World};
use vipl::{
    Cq, Descriptor, Error, MemAttributes, Nic, Ptag, Region, ReliabilityLevel, Return, Vi, ViAttributes,
};

const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// A program on one of the NICs.
struct Program {
    nic: Nic,
    ptag: Ptag,
    memory: Region,
}

impl Program {
    fn on(world: &World, nic: usize) -> Self {
        let nic = world.nic(nic);
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(1 << 16, &MemAttributes::new(&ptag)).expect("memory");
        Self { nic, ptag, memory }
    }

    fn vi(&self, send_cq: Option<&Cq>, receive_cq: Option<&Cq>) -> Vi {
        let attributes = ViAttributes {
            reliability_level: ReliabilityLevel::UnreliableDelivery,
            depth: 16,
            send_cq: send_cq.cloned(),
            receive_cq: receive_cq.cloned(),
            ..ViAttributes::new(&self.ptag)
        };
        self.nic.create_vi(&attributes).expect("a VI")
    }

    /// A descriptor at place `place`, of 100 bytes that are its own.
    fn descriptor(&self, place: usize) -> Descriptor {
        let builder = Descriptor::new().segment(&self.memory, 0x8000 + 128 * place, 100).expect("inside");
        builder.build(&self.memory, 64 * place).expect("a place")
    }
}

fn connect(a: &Vi, b: &Vi) {
    a.connect(&b.connection_info()).expect("idle");
    b.connect(&a.connection_info()).expect("idle");
}

/// Two programs, three connections, and one queue for all of the second program's work queues.
fn setting(world: &World) -> ([Program; 2], Cq, Vec<[Vi; 2]>) {
    let programs = [0, 1].map(|nic| Program::on(world, nic));
    let cq = programs[1].nic.create_cq(40).expect("a queue");
    let vis: Vec<[Vi; 2]> =
        (0..3).map(|_| [programs[0].vi(None, None), programs[1].vi(Some(&cq), Some(&cq))]).collect();
    vis.iter().for_each(|[a, b]| connect(a, b));
    (programs, cq, vis)
}

#[test]
fn an_entry_names_the_work_queue_whose_head_is_complete() {
    let world = World::new(&quick(1));
    let (programs, cq, vis) = setting(&world);
    assert!(matches!(cq.done(), Err(Error::NotDone)));
    assert!(matches!(cq.wait(Some(Duration::from_millis(5))), Err(Error::Timeout)));
    let mut place = 0;
    for round in 0..12 {
        // One message to each VI, and one back.
        for [a, b] in &vis {
            b.post_recv(programs[1].descriptor(place)).expect("room");
            a.post_recv(programs[0].descriptor(place)).expect("room");
            world.arrived(0);
            world.arrived(1);
            a.post_send(programs[0].descriptor(place + 1)).expect("room");
            b.post_send(programs[1].descriptor(place + 1)).expect("room");
            place = (place + 2) % 200;
        }
        let mut seen = [[0; 2]; 3];
        for _ in 0..6 {
            let entry = cq.wait(LONG).expect("an entry");
            let at = vis.iter().position(|[_, b]| b.id() == entry.vi).expect("a VI of ours");
            let vi = &vis[at][1];
            seen[at][usize::from(entry.receive)] += 1;
            // No second look: the status was there before.
            let done = if entry.receive { vi.recv_done() } else { vi.send_done() };
            assert_eq!(done.expect("complete").length(), 100, "round {round}");
        }
        assert_eq!(seen, [[1; 2]; 3], "one entry for each");
        assert!(matches!(cq.done(), Err(Error::NotDone)));
        // Whoever has no completion queue is waited for.
        for [a, _] in &vis {
            assert!(a.send_wait(LONG).is_ok() && a.recv_wait(LONG).is_ok());
        }
    }
    for wait in [vis[0][1].send_wait(LONG), vis[0][1].recv_wait(LONG)] {
        let error = wait.expect_err("it has a completion queue");
        assert!(matches!(error, Error::HasCq));
        assert_eq!(error.code(), Return::InvalidParameter);
    }
    drop(vis);
    world.check();
}

#[test]
fn what_is_flushed_has_entries_and_what_is_gone_has_none() {
    let world = World::new(&quick(2));
    let (programs, cq, mut vis) = setting(&world);
    for (n, [_, b]) in vis.iter().enumerate() {
        (0..4).for_each(|m| b.post_recv(programs[1].descriptor(4 * n + m)).expect("room"));
    }
    // A resize in between changes nothing.
    vis[0][1].disconnect().expect("the NIC answers");
    cq.resize(100).expect("room");
    vis[1][1].disconnect().expect("the NIC answers");
    for at in [0, 0, 0, 0, 1, 1, 1, 1] {
        let entry = cq.wait(LONG).expect("an entry");
        assert_eq!((entry.vi, entry.receive), (vis[at][1].id(), true));
        let error = vis[at][1].recv_done().expect_err("it is flushed");
        assert!(matches!(&error, Error::Descriptor(_)), "{error}");
    }
    assert!(matches!(vis[0][1].recv_done(), Err(Error::Empty)));
    // Of a VI that is dropped nothing stays, and who has its index next gets its own entries only.
    let [a, old] = vis.pop().expect("the third");
    let id = old.id();
    drop((a, old));
    let fresh = [programs[0].vi(None, None), programs[1].vi(None, Some(&cq))];
    connect(&fresh[0], &fresh[1]);
    fresh[1].post_recv(programs[1].descriptor(100)).expect("room");
    world.arrived(1);
    fresh[0].post_send(programs[0].descriptor(100)).expect("room");
    let entry = cq.wait(LONG).expect("an entry");
    assert_eq!(entry.vi, fresh[1].id());
    assert_ne!(entry.vi, id);
    assert!(fresh[1].recv_done().is_ok());
    assert!(matches!(cq.done(), Err(Error::NotDone)));
    drop((fresh, vis));
    world.check();
}

#[test]
fn a_queue_that_is_too_small_says_so() {
    let world = World::new(&quick(3));
    let programs = [0, 1].map(|nic| Program::on(&world, nic));
    assert_eq!(programs[1].nic.create_cq(0).expect_err("none").code(), Return::InvalidParameter);
    let most = programs[1].nic.attributes().max_cq_entries as usize;
    assert_eq!(programs[1].nic.create_cq(most + 1).expect_err("too many").code(), Return::InvalidParameter);
    let cq = programs[1].nic.create_cq(2).expect("a queue");
    let elsewhere = programs[0].nic.create_cq(2).expect("a queue");
    let attributes = ViAttributes { send_cq: Some(elsewhere), ..ViAttributes::new(&programs[1].ptag) };
    assert!(matches!(programs[1].nic.create_vi(&attributes), Err(Error::OtherNic)));

    let vis = [programs[0].vi(None, None), programs[1].vi(None, Some(&cq))];
    connect(&vis[0], &vis[1]);
    (0..8).for_each(|n| vis[1].post_recv(programs[1].descriptor(n)).expect("room"));
    world.arrived(1);
    for n in 0..8 {
        vis[0].post_send(programs[0].descriptor(n)).expect("room");
        vis[0].send_wait(LONG).expect("it is sent");
        world.settle();
    }
    // It has room for four; the VI breaks at the fifth, and the rest is flushed.
    let events = programs[1].nic.take_events().expect("the NIC answers");
    assert_eq!(
        events.iter().map(|event| event.code).collect::<Vec<u8>>(),
        [event_code::CQ_OVERRUN, event_code::CONN_LOST]
    );
    assert_eq!(world.counter(1, counter::CQ_OVERRUNS), 4);
    for n in 0..8 {
        assert_eq!(vis[1].recv_done().is_ok(), n < 5, "receive {n}");
    }
    for _ in 0..4 {
        assert!(cq.done().is_ok());
    }
    assert!(matches!(cq.done(), Err(Error::NotDone)));
    drop(vis);
    world.check();
}
