//! The whole receive path: frames in at one end, memory, completions and acknowledgements at the other.

mod answers;
mod descriptor;
mod fates;
mod lives;
mod losses;
mod pace;
mod receives;
mod wide;

use viaduct_spec::descriptor::status;
use viaduct_spec::tables::service;
use viaduct_spec::wire::{opcode, syndrome};

use super::frames::{immediate, Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};

const VI: u64 = 5;
const GENERATION: u64 = 0x2abc;
const PSN: u64 = 0xff_fffe;
const BUFFER: u64 = 0x7000_0000_1000;
const HANDLE: u64 = 0x4242_0003;
const DONE: u64 = (status::DONE | status::OP_RECEIVE) as u64;

fn world(service: u8) -> World {
    let mut world = World::new();
    world.regions.insert(3, Region { base: BUFFER, length: 0x4000, key: 0x4242, tag: 7, writable: false });
    world.connect(VI, service, 0, PSN, GENERATION);
    world
}

/// A packet of the client's to the VI, `n` packets behind the first PSN.
fn packet(op: u8, n: u64, payload: &[u8]) -> Frame {
    Frame {
        to: SERVER,
        from: CLIENT,
        opcode: op,
        queue_pair: (GENERATION << 10 | VI) as u32,
        psn: ((PSN + n) & 0xff_ffff) as u32,
        ack_request: op < 0x20 && matches!(op, 2..=5),
        reth: None,
        extension: immediate(op, 0x0bad_cafe),
        payload: payload.to_vec(),
    }
}

fn fill(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|n| (n as u8).wrapping_mul(31) ^ salt ^ (n >> 8) as u8).collect()
}

fn complete(position: u64, length: u64, status: u64) -> Event {
    Event::Complete { vi: VI, position, length, status, immediate: None }
}

fn acknowledge(n: u64, msn: u64, syndrome: u8) -> Event {
    let psn = (PSN + n) & 0xff_ffff;
    Event::Acknowledge { vi: VI, psn, msn, syndrome: syndrome.into() }
}

fn broken(code: u8) -> Event {
    Event::Fault { vi: VI, code: code.into(), breaks: true }
}

fn buffer(offset: u64, length: u64) -> (u64, u64, u64) {
    (BUFFER + offset, HANDLE, length)
}

#[test]
fn one_packet_of_each_length() {
    let mut world = world(service::UNRELIABLE);
    let lengths: Vec<usize> = (0..20).chain([100, 255, 256]).collect();
    let mut expect = Vec::new();
    for (n, length) in lengths.iter().enumerate() {
        let at = n as u64 * 300 + n as u64 % 8;
        world.post(VI, Descriptor::new(&[buffer(at, 256)]), true);
        let data = fill(*length, n as u8);
        world.send(&packet(opcode::UC_SEND_ONLY, n as u64, &data).bytes(), n % 3 == 0);
        world.settle();
        assert_eq!(world.bytes(BUFFER + at, *length as u64), data);
        expect.push(complete(n as u64, *length as u64, DONE));
    }
    assert_eq!(world.take(), expect);
    assert_eq!(world.written, lengths.iter().sum::<usize>() as u64);
    assert_eq!(world.count("count_message"), lengths.len());
}

#[test]
fn immediate_data_and_vlan() {
    let mut world = world(service::UNRELIABLE);
    for n in 0..2 {
        world.post(VI, Descriptor::new(&[buffer(n * 64, 64)]), true);
    }
    let data = fill(33, 1);
    let mut tagged = packet(opcode::UC_SEND_ONLY_IMMEDIATE, 0, &data).bytes();
    tagged.splice(12..12, [0x81, 0x00, 0x60, 0x05]);
    world.send(&tagged, false);
    world.send(&packet(opcode::UC_SEND_ONLY_IMMEDIATE, 1, &[]).bytes(), false);
    world.settle();
    let status = DONE | u64::from(status::IMMEDIATE);
    let immediate = Some(0x0bad_cafe);
    assert_eq!(
        world.take(),
        [
            Event::Complete { vi: VI, position: 0, length: 33, status, immediate },
            Event::Complete { vi: VI, position: 1, length: 0, status, immediate },
        ]
    );
    assert_eq!(world.bytes(BUFFER, 33), data);
}

#[test]
fn a_message_over_many_segments() {
    for service in [service::UNRELIABLE, service::RELIABLE_DELIVERY] {
        let mut world = world(service);
        let class = if service == service::UNRELIABLE { 0x20 } else { 0 };
        // 21 segments of odd lengths, some empty: six blocks of the descriptor.
        let lengths: Vec<u64> = (0..21).map(|n| [7, 0, 64, 1, 33, 100][n % 6]).collect();
        let mut at = 0;
        let segments: Vec<_> = lengths
            .iter()
            .map(|length| {
                at += length + 3;
                buffer(at - length, *length)
            })
            .collect();
        world.post(VI, Descriptor::new(&segments), true);
        let total: u64 = lengths.iter().sum();
        let data = fill(total as usize - 5, 9);
        let chunks: Vec<_> = data.chunks(256).collect();
        for (n, chunk) in chunks.iter().enumerate() {
            let op = match n {
                0 => 0,
                n if n + 1 == chunks.len() => 2,
                _ => 1,
            };
            world.send(&packet(class | op, n as u64, chunk).bytes(), false);
        }
        world.settle();
        let mut expect = vec![complete(0, data.len() as u64, DONE)];
        if class == 0 {
            expect.push(acknowledge(chunks.len() as u64 - 1, 1, syndrome::ACK));
        }
        assert_eq!(world.take(), expect);
        let mut placed = Vec::new();
        for (address, _, length) in segments {
            placed.extend(world.bytes(address, length));
        }
        assert_eq!(placed[..data.len()], data);
        assert_eq!(world.written, data.len() as u64);
    }
}

/// Rule FRAME-10.
#[test]
fn strangers() {
    let mut world = world(service::UNRELIABLE);
    world.post(VI, Descriptor::new(&[buffer(0, 64)]), true);
    let good = packet(opcode::UC_SEND_ONLY, 0, b"good");
    let mut frames = Vec::new();
    for (vi, generation) in [(VI, GENERATION + 1), (VI + 1, GENERATION), (VI + 64, GENERATION)] {
        let queue_pair = (generation << 10 | vi) as u32;
        frames.push(Frame { queue_pair, ..good.clone() });
    }
    frames.push(Frame { from: (CLIENT.0, [10, 0, 0, 3]), ..good.clone() });
    frames.push(Frame { opcode: opcode::RC_SEND_ONLY, ..good.clone() });
    let answer = Frame {
        opcode: opcode::RC_ACKNOWLEDGE,
        extension: Some(0x1f00_0001),
        payload: vec![],
        ..good.clone()
    };
    frames.push(answer.clone());
    for frame in &frames {
        world.send(&frame.bytes(), false);
    }
    world.send(&good.bytes(), false);
    world.settle();
    assert_eq!(world.take(), [complete(0, 4, DONE)]);
    assert_eq!(world.count("count_no_vi"), frames.len());

    // On a reliable VI the acknowledgement goes to the send side, whatever its PSN.
    world.connect(VI, service::RELIABLE_DELIVERY, 0, PSN, GENERATION);
    world.send(&Frame { psn: 77, extension: Some(0x6300_0009), ..answer }.bytes(), false);
    world.settle();
    let psn = 77;
    assert_eq!(world.take()[1..], [Event::Acknowledged { vi: VI, psn, syndrome: 0x63 }]);
}
