//! RDMA writes that come in: to the whole receive path, one rule at a time.

mod losses;
mod receives;
mod refusals;

use viaduct_spec::descriptor::status;
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

/// Rule WIRE-1.
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
fn the_end_of_the_region_may_be_written() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let data = fill(700, 2);
    send(&mut world, &message(0, 0, (TARGET + LENGTH - 700, RKEY), &data, false));
    world.settle();
    assert_eq!(world.bytes(TARGET + LENGTH - 700, 700), data);
    assert_eq!(world.take(), [acknowledge(2, 1, syndrome::ACK)]);
}
