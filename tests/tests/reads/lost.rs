//! Requests and answers that are lost or come twice.

use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows;
use viaduct_sim::fabric::Faults;
use viaduct_sim::setup::{Kind, Setup};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{table, transmit};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_tests::frame::Frame;
use viaduct_tests::raw::Descriptor;
use viaduct_tests::world::{quick, World};

use super::readers::Readers;
use super::{AT, READ, RELIABLE, SENT, TIMEOUT, TO, WROTE};

#[test]
fn a_lost_frame_is_made_good() {
    // Two reads: request, request, 5 packets, 3 packets; the first frame has number 0 or 1.
    for lost in 0..11 {
        let mut readers = Readers::new(1024);
        readers.scene.world.lose([lost]);
        let first = readers.read(0, 11, &[(0x1001, 4500), (0x4003, 600)]);
        let second = readers.read(0, 6000, &[(0x6000, 3000)]);
        readers.done(0, first, 5100);
        readers.done(0, second, 3000);
        readers.arrived(0, 11, &[(0x1001, 4500), (0x4003, 600)]);
        readers.arrived(0, 6000, &[(0x6000, 3000)]);
        assert!(readers.vis.iter().all(|vi| vi.state() == ViState::Connected));
        readers.scene.world.lose([]);
        readers.scene.others_go_on();
    }
}

/// Linux's soft-RoCE goes on with the opcodes of the whole read: MIDDLE ... LAST, or a LAST alone, where we would begin with
/// FIRST or say ONLY.
/// Rule REQ-3.
#[test]
fn the_rest_of_a_read_is_taken_with_the_opcodes_of_the_whole() {
    const PACKETS: u64 = 5;
    const MTU: usize = 1024;
    let length = 4 * MTU + 904;
    for kind in [Kind::Rtl, Kind::Model] {
        for missing in 1..PACKETS {
            let setup = Setup { kinds: vec![kind], ..quick(5) };
            let mut readers = Readers::on(World::new(&setup), MTU as u32, 4);
            let [own, peer] = [0, 1].map(|n| readers.vis[n].vi.info());
            let world = &readers.scene.world;
            let before = world.net.network().fabric().counters().roce_frames;
            // The request, what comes of its answer, what is missing of it, and the request for that.
            world.lose(missing + 2..=PACKETS + 2);
            let place = readers.read(0, 100, &[(TO, length)]);
            let world = &readers.scene.world;
            let asked = || world.net.network().fabric().counters().roce_frames == before + PACKETS + 2;
            world.until("it is asked for again", 100_000, asked);
            let data = readers.scene.hosts[1].memory.read(AT + 100, length);
            for packet in missing..PACKETS {
                let at = packet as usize * MTU;
                let rest = &data[at..length.min(at + MTU)];
                let (code, body) = match packet == PACKETS - 1 {
                    true => (opcode::RC_READ_RESPONSE_LAST, [&[syndrome::ACK, 0, 0, 1], rest].concat()),
                    false => (opcode::RC_READ_RESPONSE_MIDDLE, rest.to_vec()),
                };
                let psn = peer.starting_psn + packet as u32;
                world.inject(0, &Frame::new(&peer, &own, code, psn, &body).bytes());
            }
            readers.done(0, place, length);
            readers.arrived(0, 100, &[(TO, length)]);
            assert_eq!(readers.scene.world.counter(0, counter::DROP_RESPONSE), 0, "{kind:?}, {missing}");
            // And the connection goes on.
            let place = readers.read(0, 0, &[(TO, 100)]);
            readers.done(0, place, 100);
            readers.scene.world.settle();
        }
    }
}

#[test]
fn duplicates_change_nothing() {
    for doubled in 0..9 {
        let mut readers = Readers::new(1024);
        let faults = Faults { duplicate: [doubled].into(), ..Faults::default() };
        readers.scene.world.net.network().fabric_mut().set_faults(faults);
        let first = readers.read(0, 11, &[(0x1001, 3000)]);
        let second = readers.read(0, 6000, &[(0x6000, 3000)]);
        readers.done(0, first, 3000);
        readers.done(0, second, 3000);
        readers.arrived(0, 11, &[(0x1001, 3000)]);
        readers.arrived(0, 6000, &[(0x6000, 3000)]);
    }
}

/// A read, a send, and a write that is refused: only the read's answer is lost.
/// Rule REQ-4.
#[test]
fn a_read_whose_answer_is_lost_before_a_refusal_is_not_what_was_refused() {
    let mut readers = Readers::far(4);
    let b = &mut readers.scene.hosts[1];
    let receive = readers.vis[1].receive(b, &Descriptor::of(b, 0x1000, 10));
    readers.scene.world.settle();
    readers.scene.world.lose([4]);
    let read = readers.read(0, 0, &[(0x1000, 100)]);
    let [a, b] = &mut readers.scene.hosts;
    let send = readers.vis[0].send(a, &Descriptor::of(a, 0x100, 10));
    let write = Descriptor::of(a, 0x100, 10).write_to(b.memory.address(AT), readers.regions[1].handle);
    let write = readers.vis[0].send(a, &write);
    assert_eq!(readers.status(0, read), READ | status::TRANSPORT_ERROR);
    assert_eq!(readers.status(0, send), SENT);
    assert_eq!(readers.status(0, write), WROTE | status::RDMA_PROT_ERROR);
    assert_eq!(readers.status(1, receive), status::DONE | status::OP_RECEIVE);
    let events = [(0, event_code::CONN_LOST, false), (1, event_code::RDMAW_PROT, true)];
    for (host, code, receive) in events {
        assert_eq!(readers.scene.events(host), [readers.vis[host].event(code, receive, true)]);
    }
    readers.scene.others_go_on();
}

/// Status and events of a message that nobody answers; 3 retries.
fn unanswered(read: bool) -> (u32, Vec<u8>) {
    let mut readers = Readers::new(1024);
    let peer = readers.vis[1].vi.info();
    let mut words = rows::transmit(peer.starting_psn, RELIABLE, false, 4);
    transmit::TIMEOUT.put(&mut words, TIMEOUT);
    transmit::RETRIES.put(&mut words, 3);
    readers.scene.world.commit(0, table::TRANSMIT, readers.vis[0].index().into(), &words);
    readers.scene.world.lose(1..20);
    let place = if read {
        readers.read(0, 0, &[(0x1000, 3000)])
    } else {
        let send = Descriptor::of(&readers.scene.hosts[0], 0x1000, 3000);
        readers.post(0, &send)
    };
    let status = readers.status(0, place);
    readers.scene.world.settle();
    (status, readers.scene.events(0).iter().map(|event| event.code).collect())
}

/// Rule REQ-5.
#[test]
fn a_read_that_nobody_answers_is_an_event_of_its_own() {
    let lost = (READ | status::TRANSPORT_ERROR, vec![event_code::RDMA_TRANSPORT]);
    assert_eq!(unanswered(true), lost);
    assert_eq!(unanswered(false), (SENT | status::TRANSPORT_ERROR, vec![event_code::CONN_LOST]));
}
