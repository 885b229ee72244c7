//! What a VI that breaks leaves of its messages.

use viaduct_hdl::bus::{local, Placing};
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::refusal::REFUSALS;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::service;
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Dut;

use crate::bundle::Bundle;
use crate::requester::{Settings, Told, World};

const LOST: u32 = status::DONE | status::TRANSPORT_ERROR;
const FLUSHED: u32 = status::DONE | status::DESC_FLUSHED_ERROR;

/// Rules REQ-4 and WQ-4.
#[test]
fn a_refusal_says_what_the_table_says_and_what_went_out_behind_it_is_not_known() {
    let (delivery, reception) = (service::RELIABLE_DELIVERY, service::RELIABLE_RECEPTION);
    let (send, write) = (u64::from(control::OP_SENDRECV), u64::from(control::OP_RDMAWRITE));
    let mut cases = Vec::new();
    for row in REFUSALS {
        // Receiver not ready and no answer: in `again.rs`.
        let Some(code) = row.syndrome.filter(|code| *code != syndrome::RNR_NAK) else { continue };
        for operation in
            [send, write].into_iter().filter(|op| row.rdma.is_none_or(|rdma| rdma == (*op == write)))
        {
            cases.push((code, delivery, operation, row.delivery));
            cases.push((code, reception, operation, row.reception));
        }
    }
    assert_eq!(cases.len(), 12);
    for (code, service, operation, error) in cases {
        let mut world = World::new();
        world.create(9, Settings { psn: 99, service, ..Settings::default() });
        let op = if operation == write { status::OP_RDMA_WRITE } else { status::OP_SEND };
        for n in 0..5 {
            world.packet_of(9, 99 + 2 * n, 0, operation);
            world.told(Told { vi: 9, offset: n, psn: Some(100 + 2 * n), operation, ..Told::default() });
        }
        // PSN 103 belongs to the message that ends with 104.
        world.answer(9, 103, code);
        let ends = [
            (0, status::DONE | op),
            (1, status::DONE | op),
            (2, status::DONE | op | error),
            (3, LOST | op),
            (4, LOST | op),
        ];
        assert_eq!(world.drain(), ends, "{code:#x}, service {service}, operation {operation}");
        assert_eq!(world.broken, [(9, event_code::CONN_LOST)]);
        // What transmit had under way when the VI broke, and what it had not begun.
        world.packet_of(9, 109, 0, operation);
        world.told(Told { vi: 9, offset: 5, errors: status::DESC_FLUSHED_ERROR, ..Told::default() });
        world.told(Told { vi: 9, offset: 6, errors: status::DESC_FLUSHED_ERROR, ..Told::default() });
        assert_eq!(world.drain(), [(5, LOST), (6, FLUSHED)]);
        assert_eq!(world.position(9), 7);
        assert_eq!((world.counts[1], world.rewinds().len()), (1, 0));
    }
}

/// Of two reads the first one was answered; behind the second a send, a message that is refused, and one more of each.
/// Rule REQ-4.
#[test]
fn a_refusal_behind_reads_that_are_not_answered_is_not_theirs() {
    let [send, write, read] =
        [control::OP_SENDRECV, control::OP_RDMAWRITE, control::OP_RDMAREAD].map(u64::from);
    for refused in [write, read] {
        let mut world = World::new();
        world.create(9, Settings { psn: 50, ..Settings::default() });
        let operations = [read, read, send, read, refused, send, read];
        for (n, operation) in (0..).zip(operations) {
            world.packet_of(9, 50 + n, 0, operation);
            world.told(Told { vi: 9, offset: n, psn: Some(50 + n), operation, ..Told::default() });
        }
        world.answer(9, 50, syndrome::ACK);
        assert_eq!(world.drain(), [(0, status::DONE | status::OP_RDMA_READ)]);
        world.answer(9, 54, local::BEHIND as u8 | syndrome::NAK_ACCESS & 3);
        let op = if refused == read { status::OP_RDMA_READ } else { status::OP_RDMA_WRITE };
        let ends = [
            (1, LOST | status::OP_RDMA_READ),
            (2, status::DONE),
            (3, LOST | status::OP_RDMA_READ),
            (4, status::DONE | op | status::RDMA_PROT_ERROR),
            (5, LOST),
            (6, LOST | status::OP_RDMA_READ),
        ];
        assert_eq!(world.drain(), ends, "operation {refused}");
        assert_eq!(world.broken, [(9, event_code::CONN_LOST)]);
        assert_eq!(world.position(9), 7);
    }
}

/// Of its own memory, or of nobody knows what.
#[test]
fn an_answer_that_could_not_be_placed_says_why() {
    let read = u64::from(control::OP_RDMAREAD);
    for (told, errors) in
        [(local::PROTECTION, status::PROTECTION_ERROR), (local::FAILURE, status::TRANSPORT_ERROR)]
    {
        let mut world = World::new();
        world.create(9, Settings { psn: 50, ..Settings::default() });
        for (n, operation) in (0..).zip([read, read]) {
            world.packet_of(9, 50 + n, 0, operation);
            world.told(Told { vi: 9, offset: n, psn: Some(50 + n), operation, ..Told::default() });
        }
        world.answer(9, 50, told as u8);
        let ends = [(0, status::DONE | status::OP_RDMA_READ | errors), (1, LOST | status::OP_RDMA_READ)];
        assert_eq!(world.drain(), ends);
        assert_eq!(world.broken, [(9, event_code::CONN_LOST)]);
    }
}

#[test]
fn a_refused_message_that_is_still_going_out_has_the_refusals_error() {
    let mut world = World::new();
    let service = service::RELIABLE_RECEPTION;
    world.create(9, Settings { psn: 1, service, ..Settings::default() });
    world.packet(9, 1, 0);
    world.packet(9, 2, 0);
    world.answer(9, 1, syndrome::NAK_OPERATIONAL);
    assert_eq!(world.drain(), []);
    assert_eq!(world.broken, [(9, event_code::CONN_LOST)]);
    for offset in 0..2 {
        world.told(Told { vi: 9, offset, errors: status::DESC_FLUSHED_ERROR, ..Told::default() });
    }
    assert_eq!(world.drain(), [(0, status::DONE | status::REMOTE_DESC_ERROR), (1, FLUSHED)]);
}

#[test]
fn a_message_that_failed_by_itself_keeps_its_error_under_a_refusal() {
    let mut world = World::new();
    world.create(9, Settings::default());
    world.send(9, 0, 0);
    world.told(Told { vi: 9, offset: 1, errors: status::PROTECTION_ERROR, ..Told::default() });
    world.answer(9, 0, syndrome::NAK_ACCESS);
    assert_eq!(
        world.drain(),
        [(0, status::DONE | status::RDMA_PROT_ERROR), (1, status::DONE | status::PROTECTION_ERROR)]
    );
}

/// Rule WQ-4.
#[test]
fn a_vi_that_goes_into_error_does_not_know_what_of_it_arrived() {
    let mut world = World::new();
    world.send(3, 1, 0);
    world.send(3, 2, 1);
    world.send(4, 3, 0);
    world.answer(3, 0, syndrome::ACK);
    world.settle();
    world.tell = Some(3);
    assert_eq!(world.drain(), [(1, status::DONE), (2, LOST)], "and no other VI's");
    assert_eq!(world.broken, []);
    assert_eq!(world.position(3), 2);
    // A refusal that comes late breaks nothing.
    world.answer(3, 1, syndrome::NAK_ACCESS);
    world.settle();
    assert_eq!(world.broken, []);
}

/// The fault of a VI waits for those of other blocks.
#[test]
fn a_fault_stays_as_it_is_until_it_is_taken() {
    for every in [2, 7, 90] {
        let mut world = World::new();
        world.faults_every = every;
        world.create(9, Settings { psn: 10, ..Settings::default() });
        world.packet(9, 10, 0);
        world.packet(9, 11, 0);
        // Half a message that comes again as another; and then one that is refused.
        world.answer(9, 10, syndrome::NAK_SEQUENCE);
        world.settle();
        world.packet_of(9, 10, 999, 0);
        world.send(41, 0, 0);
        world.answer(41, 0, syndrome::NAK_ACCESS);
        world.settle();
        let faults = [(9, event_code::POST_DESC), (41, event_code::CONN_LOST)];
        assert_eq!(world.broken, faults, "one in {every} cycles");
    }
}

/// Whoever finds its descriptor complete may use the memory for something else.
#[test]
fn a_read_of_a_vi_that_broke_is_not_complete_while_an_answer_is_being_placed() {
    for place in 0..2 {
        let mut world = World::new();
        world.create(9, Settings::default());
        world.told(Told {
            vi: 9,
            psn: Some(0),
            operation: control::OP_RDMAREAD.into(),
            length: 100,
            ..Told::default()
        });
        // The other place has an answer of another VI.
        let placing = |dut: &mut Dut, places: [u64; 2]| {
            let vis = [[9, 8], [8, 9]][place];
            let fields = [
                ("placed", places[0]),
                ("placed_vi", vis[0]),
                ("looked_up", places[1]),
                ("looked_up_vi", vis[1]),
            ];
            Bundle::of::<Placing>("placing").set(dut, &fields);
        };
        placing(&mut world.dut, [1, 1]);
        world.tell = Some(9);
        for _ in 0..500 {
            world.tick();
        }
        assert!(world.completed.is_empty());
        placing(&mut world.dut, [[0, 1], [1, 0]][place]);
        assert_eq!(world.drain(), [(0, LOST | status::OP_RDMA_READ)]);
    }
}

/// The VI breaks by an answer that could not be placed, or by something else, and the peer refuses a message behind that read.
#[test]
fn a_refusal_that_a_broken_vi_hears_does_not_complete_the_reads_before_it() {
    let (send, read) = (u64::from(control::OP_SENDRECV), u64::from(control::OP_RDMAREAD));
    let causes = [
        (Some(local::PROTECTION), status::PROTECTION_ERROR),
        (Some(local::FAILURE), status::TRANSPORT_ERROR),
        (None, status::TRANSPORT_ERROR),
    ];
    for (cause, between) in causes.into_iter().flat_map(|cause| (0..40).map(move |cycles| (cause, cycles))) {
        let (told, errors) = cause;
        let mut world = World::new();
        world.create(9, Settings { psn: 50, ..Settings::default() });
        for (n, operation) in (0..).zip([read, send]) {
            world.packet_of(9, 50 + n, 0, operation);
            world.told(Told { vi: 9, offset: n, psn: Some(50 + n), operation, ..Told::default() });
        }
        world.settle();
        world.faults_every = 1 + between % 5 * 8;
        match told {
            Some(told) => world.answer(9, 50, told as u8),
            None => world.tell = Some(9),
        }
        for _ in 0..between {
            world.tick();
        }
        world.answer(9, 51, local::BEHIND as u8 | syndrome::NAK_OPERATIONAL & 3);
        let done = world.drain();
        assert_eq!(done[0], (0, status::DONE | status::OP_RDMA_READ | errors), "{told:?}, {between} cycles");
    }
}
