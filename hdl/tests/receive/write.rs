//! RDMA writes that come in: to the whole receive path, one rule at a time.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::{opcode, syndrome};

use super::frames::{immediate, reth, Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};

const VI: u64 = 12;
const GENERATION: u64 = 0x1357;
const PSN: u64 = 0xff_fffd;
const IMMEDIATE: u64 = 0x0bad_cafe;
/// Memory that the peer may write to.
const TARGET: u64 = 0x7100_0000_1003;
const LENGTH: u64 = 0x3001;
const RKEY: u32 = 0x4242_0003;
/// Memory of the same tag that it may not.
const PRIVATE: u64 = 0x7200_0000_0000;
const PRIVATE_KEY: u32 = 0x4343_0004;
/// Memory of another tag.
const FOREIGN: u64 = 0x7300_0000_0000;
const FOREIGN_KEY: u32 = 0x4444_0005;
const RECEIVED: u64 = (status::DONE | status::OP_RECEIVE) as u64;
const WRITTEN: u64 = (status::DONE | status::OP_REMOTE_RDMA_WRITE) as u64;
const FLUSHED: u64 = RECEIVED | status::DESC_FLUSHED_ERROR as u64;

/// A VI whose peer may write, unless told otherwise.
fn world_with(service: u8, more: impl FnOnce(&mut [u64])) -> World {
    let mut world = World::new();
    let region = |base, length, key, tag, writable| Region { base, length, key, tag, writable };
    world.regions.insert(3, region(TARGET, LENGTH, 0x4242, 7, true));
    world.regions.insert(4, region(PRIVATE, 0x1000, 0x4343, 7, false));
    world.regions.insert(5, region(FOREIGN, 0x1000, 0x4444, 8, true));
    world.connect_with(VI, service, 0, PSN, GENERATION, |row| {
        receive::RDMA_WRITE.put(row, 1);
        more(row);
    });
    world
}

fn world(service: u8) -> World {
    world_with(service, |_| ())
}

fn class(service: u8) -> u8 {
    if service == service::UNRELIABLE {
        0x20
    } else {
        0
    }
}

/// A packet of a reliable write, `n` packets behind the first PSN; the RETH is there if the opcode has one.
fn packet(op: u8, n: u64, target: (u64, u32, u32), payload: &[u8]) -> Frame {
    Frame {
        to: SERVER,
        from: CLIENT,
        opcode: op,
        queue_pair: (GENERATION << 10 | VI) as u32,
        psn: ((PSN + n) & 0xff_ffff) as u32,
        ack_request: op < 0x20 && op & 0x1f >= opcode::RC_WRITE_LAST,
        reth: reth(op, target),
        extension: immediate(op, IMMEDIATE as u32),
        payload: payload.to_vec(),
    }
}

/// A write as its packets, the path MTU being 256.
fn message(class: u8, n: u64, target: (u64, u32), data: &[u8], immediate: bool) -> Vec<Frame> {
    let target = (target.0, target.1, data.len() as u32);
    let chunks: Vec<_> = data.chunks(256).collect();
    if chunks.len() <= 1 {
        let op = opcode::RC_WRITE_ONLY + u8::from(immediate);
        return vec![packet(class | op, n, target, data)];
    }
    let last = chunks.len() - 1;
    (0..=last)
        .map(|k| {
            let op = match k {
                0 => opcode::RC_WRITE_FIRST,
                k if k == last => opcode::RC_WRITE_LAST + u8::from(immediate),
                _ => opcode::RC_WRITE_MIDDLE,
            };
            packet(class | op, n + k as u64, target, chunks[k])
        })
        .collect()
}

fn send(world: &mut World, frames: &[Frame]) {
    frames.iter().for_each(|frame| world.send(&frame.bytes(), false));
}

fn fill(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|n| (n as u8).wrapping_mul(37) ^ salt ^ (n >> 8) as u8).collect()
}

fn post(world: &mut World) {
    world.post(VI, Descriptor::new(&[(PRIVATE, PRIVATE_KEY.into(), 64)]), true);
}

fn complete(position: u64, length: u64, status: u64) -> Event {
    Event::Complete { vi: VI, position, length, status, immediate: None }
}

fn written(position: u64, length: u64) -> Event {
    let status = WRITTEN | u64::from(status::IMMEDIATE);
    Event::Complete { vi: VI, position, length, status, immediate: Some(IMMEDIATE) }
}

fn acknowledge(n: u64, msn: u64, syndrome: u8) -> Event {
    Event::Acknowledge { vi: VI, psn: (PSN + n) & 0xff_ffff, msn, syndrome: syndrome.into() }
}

fn fault(code: u8, breaks: bool) -> Event {
    Event::Fault { vi: VI, code: code.into(), breaks }
}

const SERVICES: [u8; 2] = [service::UNRELIABLE, service::RELIABLE_DELIVERY];

#[test]
fn writes_of_each_length_land_where_they_say() {
    for service in SERVICES {
        let mut world = world(service);
        let (mut n, mut msn, mut expect, mut total) = (0, 0, Vec::new(), 0);
        for length in [0usize, 1, 2, 7, 8, 9, 100, 255, 256, 257, 512, 513, 1000, 3000] {
            let at = TARGET + (length as u64 * 5) % 900;
            let data = fill(length, length as u8);
            let frames = message(class(service), n, (at, RKEY), &data, false);
            send(&mut world, &frames);
            world.settle();
            assert_eq!(world.bytes(at, length as u64), data);
            n += frames.len() as u64;
            msn += 1;
            total += length as u64;
            if service != service::UNRELIABLE {
                expect.push(acknowledge(n - 1, msn, syndrome::ACK));
            }
        }
        assert_eq!(world.take(), expect, "no receive is touched");
        assert_eq!(world.written, total);
        assert_eq!(world.count("count_message"), 14);
    }
}

#[test]
fn immediate_data_takes_one_receive() {
    for service in SERVICES {
        let mut world = world(service);
        (0..3).for_each(|_| post(&mut world));
        let class = class(service);
        let big = fill(600, 1);
        let lengths = [(600, 3), (256, 1), (0, 1)];
        let (mut n, mut expect) = (0, Vec::new());
        for (position, (length, packets)) in lengths.into_iter().enumerate() {
            send(&mut world, &message(class, n, (TARGET + 5, RKEY), &big[..length], true));
            world.settle();
            n += packets;
            expect.push(written(position as u64, length as u64));
            if service != service::UNRELIABLE {
                expect.push(acknowledge(n - 1, position as u64 + 1, syndrome::ACK));
            }
        }
        assert_eq!(world.take(), expect);
        assert_eq!(world.bytes(TARGET + 5, 600), big);
        assert_eq!(world.written, 856, "nothing goes to the receives' segments");
        world.check_consumed();
    }
}

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

#[test]
fn the_end_of_the_region_may_be_written() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let data = fill(700, 2);
    send(&mut world, &message(0, 0, (TARGET + LENGTH - 700, RKEY), &data, false));
    world.settle();
    assert_eq!(world.bytes(TARGET + LENGTH - 700, 700), data);
    assert_eq!(world.take(), [acknowledge(2, 1, syndrome::ACK)]);
}

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

#[test]
fn an_unreliable_write_that_loses_a_packet() {
    let mut world = world(service::UNRELIABLE);
    (0..4).for_each(|_| post(&mut world));
    let data = fill(700, 3);
    let abort = fault(event_code::RDMAW_ABORT, false);
    // The middle is missing: what came stays, the last is dropped, and no receive goes.
    let frames = message(0x20, 0, (TARGET, RKEY), &data, true);
    send(&mut world, &[frames[0].clone(), frames[2].clone()]);
    world.settle();
    assert_eq!(world.take(), std::slice::from_ref(&abort));
    assert_eq!((world.bytes(TARGET, 256), world.written), (data[..256].to_vec(), 256));
    assert_eq!(world.count("count_partial"), 1);
    // The last is missing: the next message ends it, a send.
    let frames = message(0x20, 3, (TARGET, RKEY), &data, true);
    send(&mut world, &frames[..2]);
    let only = Frame { opcode: opcode::UC_SEND_ONLY, reth: None, ..packet(0, 6, (0, 0, 0), b"send") };
    send(&mut world, &[only]);
    world.settle();
    assert_eq!(world.take(), [abort.clone(), abort.clone(), complete(0, 4, RECEIVED)]);
    // A send loses its last to a write: its receive is a send's.
    let begins = Frame { opcode: opcode::UC_SEND_FIRST, reth: None, ..packet(0, 7, (0, 0, 0), &data[..256]) };
    world.post(VI, Descriptor::new(&[(PRIVATE, PRIVATE_KEY.into(), 0x800)]), true);
    (0..3).for_each(|n| send(&mut world, &message(0x20, 8 + n, (TARGET, RKEY), b"w", true)));
    world.settle();
    send(&mut world, &[Frame { psn: begins.psn + 4, ..begins }]);
    send(&mut world, &message(0x20, 12, (TARGET, RKEY), b"last", false));
    world.settle();
    let partial = complete(4, 256, RECEIVED | u64::from(status::PARTIAL_ERROR));
    assert_eq!(world.take()[3..], [written(1, 1), written(2, 1), written(3, 1), partial]);
    assert_eq!(world.bytes(TARGET, 4), b"last");
}

#[test]
fn a_duplicate_is_acknowledged_and_not_written() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let old = message(0, 0, (TARGET, RKEY), &fill(300, 1), false);
    send(&mut world, &old);
    send(&mut world, &message(0, 2, (TARGET, RKEY), b"new", false));
    send(&mut world, &old);
    // Even one that could not be taken.
    send(&mut world, &message(0, 1, (PRIVATE, 0), b"x", true));
    world.settle();
    let again = acknowledge(2, 2, syndrome::ACK);
    assert_eq!(
        world.take(),
        [acknowledge(1, 1, syndrome::ACK), again.clone(), again.clone(), again.clone(), again]
    );
    assert_eq!((world.bytes(TARGET, 3), world.written), (b"new".to_vec(), 303));
    assert_eq!(world.count("count_duplicate"), 3);
}

#[test]
fn receiver_not_ready() {
    let stays = |row: &mut [u64]| {
        receive::RNR_STAY.put(row, 1);
        receive::RNR_TIMER.put(row, 21);
    };
    let wait = |n, msn| acknowledge(n, msn, syndrome::RNR_NAK | 21);
    let mut world = world_with(service::RELIABLE_DELIVERY, stays);
    // The last packet finds no receive: its bytes do not move, and what is behind it is no gap.
    let data = fill(300, 5);
    let write = message(0, 0, (TARGET, RKEY), &data, true);
    let only = Frame { ack_request: true, ..packet(opcode::RC_SEND_ONLY, 2, (0, 0, 0), b"behind") };
    send(&mut world, &write);
    send(&mut world, &[only.clone(), only.clone()]);
    world.settle();
    assert_eq!(world.take(), [wait(1, 0)]);
    assert_eq!((world.written, world.count("count_psn")), (256, 2));
    // Again, and again too early; then there is one.
    send(&mut world, &write[1..]);
    world.settle();
    post(&mut world);
    send(&mut world, &write[1..]);
    send(&mut world, std::slice::from_ref(&only));
    world.settle();
    let taken = [wait(1, 0), wait(1, 0), written(0, 300), acknowledge(1, 1, syndrome::ACK), wait(2, 1)];
    assert_eq!(world.take(), taken);
    assert_eq!(world.bytes(TARGET, 300), data);
    // A gap after that is a gap again.
    post(&mut world);
    send(&mut world, &[only.clone(), Frame { psn: only.psn + 2, ..only }]);
    world.settle();
    let gap = acknowledge(3, 2, syndrome::NAK_SEQUENCE);
    assert_eq!(world.take()[5..], [complete(1, 6, RECEIVED), acknowledge(2, 2, syndrome::ACK), gap]);
    assert_eq!(world.count("count_no_receive"), 0, "nothing was dropped for good");

    // VIA's way.
    let mut world = self::world(service::RELIABLE_DELIVERY);
    send(&mut world, &write);
    world.settle();
    assert_eq!(world.take(), [acknowledge(1, 0, syndrome::RNR_NAK), fault(event_code::RECVQ_EMPTY, true)]);
    assert_eq!(world.written, 256);

    // Unreliable: the message is lost.
    let mut world = self::world(service::UNRELIABLE);
    send(&mut world, &message(0x20, 0, (TARGET, RKEY), &data, true));
    send(&mut world, &message(0x20, 2, (TARGET, RKEY), b"next", false));
    world.settle();
    assert_eq!(world.take(), [fault(event_code::RECVQ_EMPTY, false)]);
    assert_eq!((world.bytes(TARGET, 4), world.written), (b"next".to_vec(), 260));
}

#[test]
fn a_receive_that_is_malformed_or_lost() {
    for service in SERVICES {
        let unreliable = service == service::UNRELIABLE;
        let nak = |n| acknowledge(n, 0, syndrome::NAK_OPERATIONAL);
        let broken = fault(event_code::CONN_LOST, true);
        // The bytes of the packets before are written, and are not the receive's.
        for (length, last) in [(4, 0), (300, 1)] {
            let mut world = world(service);
            let mut descriptor = Descriptor::new(&[]);
            descriptor.words[2] |= 1;
            world.post(VI, descriptor, true);
            send(&mut world, &message(class(service), 0, (TARGET, RKEY), &fill(length, 7), true));
            world.settle();
            let error = complete(0, 0, WRITTEN | u64::from(status::FORMAT_ERROR));
            let expect = [error, nak(last), broken.clone()];
            assert_eq!(world.take(), expect[..if unreliable { 1 } else { 3 }], "{length} bytes");
            assert_eq!(world.written, 256 * last);
        }

        let mut world = self::world(service);
        world.post(VI, Descriptor { lost: true, ..Descriptor::new(&[]) }, true);
        send(&mut world, &message(class(service), 0, (TARGET, RKEY), b"data", true));
        world.settle();
        assert_eq!(world.take(), [nak(0), broken][..if unreliable { 0 } else { 2 }]);
        assert_eq!((world.written, world.count("count_no_receive")), (0, 1));
    }
}

#[test]
fn a_write_in_progress_when_the_vi_breaks() {
    let mut world = world(service::RELIABLE_DELIVERY);
    (0..2).for_each(|_| post(&mut world));
    let write = message(0, 0, (TARGET, RKEY), &fill(300, 5), true);
    send(&mut world, &write[..1]);
    world.settle();
    world.state(VI, viaduct_spec::tables::vi_states::ERROR);
    send(&mut world, &write[1..]);
    world.settle();
    // Its bytes are none of the receives'.
    let mut found = world.take();
    found.sort_by_key(|event| matches!(event, Event::Repeat { .. }));
    assert_eq!(found, [complete(0, 0, FLUSHED), complete(1, 0, FLUSHED), Event::Repeat { vi: VI }]);
}
