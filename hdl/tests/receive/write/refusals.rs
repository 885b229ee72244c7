//! Writes that may not be: no such memory, no right to it, lengths that disagree.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::{opcode, syndrome};

use super::{
    acknowledge, class, complete, fault, fill, message, packet, post, send, world, world_with, FLUSHED,
    FOREIGN, FOREIGN_KEY, LENGTH, PRIVATE, PRIVATE_KEY, RECEIVED, RKEY, SERVICES, TARGET, VI, WRITTEN,
};
use crate::frames::Frame;
use crate::world::{Descriptor, Event};

/// Rules RSP-5 and UNR-4.
#[test]
fn what_may_not_be_written_is_refused() {
    let end = TARGET + LENGTH;
    let cases: [(&str, u64, u32); 8] = [
        ("another key", TARGET, RKEY ^ 0x1_0000),
        ("no such region", TARGET, 0x4242_0009),
        ("in front of it", TARGET - 1, RKEY),
        ("behind it", end - 299, RKEY),
        ("round the end of memory", u64::MAX - 10, RKEY),
        ("not for peers", PRIVATE, PRIVATE_KEY),
        ("another tag", FOREIGN, FOREIGN_KEY),
        ("no handle", TARGET, 0),
    ];
    for (name, address, rkey) in cases {
        // One packet; several; one that tells its receive.
        let shapes = [(300, false), (100, true), (100, false)];
        for (length, carries) in shapes.into_iter().take(if name == "behind it" { 3 } else { 1 }) {
            for service in SERVICES {
                let address = if name == "behind it" { end - length as u64 + 1 } else { address };
                let mut world = world(service);
                post(&mut world);
                post(&mut world);
                let frames = message(class(service), 0, (address, rkey), &fill(length, 1), carries);
                let next = frames.len() as u64;
                send(&mut world, &frames);
                world.settle();
                let refused = complete(0, 0, WRITTEN | u64::from(status::RDMA_PROT_ERROR));
                let mut expect = vec![];
                if carries {
                    expect.push(refused);
                }
                if service == service::UNRELIABLE {
                    // The connection stays: the next write is taken.
                    if !carries {
                        expect.push(fault(event_code::RDMAW_PROT, false));
                    }
                    assert_eq!(world.count("count_partial") as u64, next - 1, "{name}");
                    assert_eq!(world.take(), expect, "{name}");
                    send(&mut world, &message(0x20, next, (TARGET, RKEY), b"good", false));
                    world.settle();
                    assert_eq!(world.bytes(TARGET, 4), b"good");
                    assert_eq!((world.written, world.take()), (4, expect), "{name}");
                } else {
                    expect.push(acknowledge(0, 0, syndrome::NAK_ACCESS));
                    let code = if carries { event_code::CONN_LOST } else { event_code::RDMAW_PROT };
                    expect.push(fault(code, true));
                    expect.extend((u64::from(carries)..2).map(|n| complete(n, 0, FLUSHED)));
                    let mut found = world.take();
                    found.retain(|event| !matches!(event, Event::Repeat { .. }));
                    assert_eq!(found, expect, "{name}");
                    assert_eq!(world.written, 0, "{name}");
                    assert_eq!(world.take().len() - found.len(), next as usize - 1, "{name}: said again");
                }
            }
        }
    }
}

/// Rule RSP-5.
#[test]
fn a_vi_that_gives_no_right() {
    for service in SERVICES {
        for carries in [false, true] {
            let mut world = world_with(service, |row| receive::RDMA_WRITE.put(row, 0));
            post(&mut world);
            send(&mut world, &message(class(service), 0, (TARGET, RKEY), b"no", carries));
            world.settle();
            let mut expect = vec![];
            if carries {
                expect.push(complete(0, 0, WRITTEN | u64::from(status::RDMA_PROT_ERROR)));
            }
            if service != service::UNRELIABLE {
                expect.push(acknowledge(0, 0, syndrome::NAK_INVALID));
                let code = if carries { event_code::CONN_LOST } else { event_code::RDMAW_PROT };
                expect.push(fault(code, true));
                expect.extend((u64::from(carries)..1).map(|n| complete(n, 0, FLUSHED)));
            } else if !carries {
                expect.push(fault(event_code::RDMAW_PROT, false));
            }
            assert_eq!(world.take(), expect);
            assert_eq!(world.written, 0);
        }
    }
}

/// Rule RSP-2.
#[test]
fn lengths_that_disagree_with_the_reth() {
    let first = |n, size| packet(opcode::RC_WRITE_FIRST, n, (TARGET, RKEY, size), &fill(256, 1));
    let part = |op, n, length| packet(op, n, (0, 0, 0), &fill(length, 2));
    let only = |size, length| packet(opcode::RC_WRITE_ONLY, 0, (TARGET, RKEY, size), &fill(length, 1));
    let (middle, last) = (opcode::RC_WRITE_MIDDLE, opcode::RC_WRITE_LAST);
    let send_last = Frame { ack_request: true, ..part(opcode::RC_SEND_LAST, 1, 10) };
    // Frames, how many of them are taken, bytes that come to memory.
    let cases: [(&str, Vec<Frame>, u64, u64); 10] = [
        ("an only shorter", vec![only(11, 10)], 0, 0),
        ("an only longer", vec![only(9, 10)], 0, 0),
        ("a first that is all", vec![first(0, 256)], 0, 0),
        ("a first that is more", vec![first(0, 100)], 0, 0),
        ("a last too short", vec![first(0, 300), part(last, 1, 43)], 1, 256),
        ("a last too long", vec![first(0, 300), part(last, 1, 45)], 1, 256),
        ("a middle that is all", vec![first(0, 512), part(middle, 1, 256)], 1, 256),
        ("a short middle", vec![first(0, 1000), part(middle, 1, 100)], 1, 256),
        ("the last of a send", vec![first(0, 266), send_last], 1, 256),
        ("a last of nothing", vec![part(last, 0, 10)], 0, 0),
    ];
    for (name, frames, taken, bytes) in cases {
        let mut world = world(service::RELIABLE_DELIVERY);
        post(&mut world);
        send(&mut world, &frames);
        world.settle();
        let nak = acknowledge(taken, 0, syndrome::NAK_INVALID);
        assert_eq!(
            world.take(),
            [nak, fault(event_code::CONN_LOST, true), complete(0, 0, FLUSHED)],
            "{name}"
        );
        assert_eq!(world.written, bytes, "{name}");
    }
    // A write inside a send: the send's receive ends, as what it was.
    let mut world = world(service::RELIABLE_DELIVERY);
    world.post(VI, Descriptor::new(&[(PRIVATE, PRIVATE_KEY.into(), 0x800)]), true);
    let begins = Frame { opcode: opcode::RC_SEND_FIRST, reth: None, ..first(0, 0) };
    send(&mut world, &[begins, part(last, 1, 10)]);
    world.settle();
    let lost = complete(0, 256, RECEIVED | u64::from(status::TRANSPORT_ERROR));
    let nak = acknowledge(1, 0, syndrome::NAK_INVALID);
    assert_eq!(world.take(), [lost, nak, fault(event_code::CONN_LOST, true)]);
}
