//! The raw channel through the whole receive path: whole frames among those of virtual interfaces.

use rand::seq::SliceRandom;
use rand::Rng;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::{service, vi_states};
use viaduct_spec::wire::{opcode, syndrome};

use super::frames::{Frame, CLIENT, SERVER};
use super::world::{Descriptor, Event, Region, World};

/// The raw VI.
const RAW: u64 = 9;
/// Virtual interfaces beside it: an unreliable and a reliable one.
const VIS: [u64; 2] = [5, 6];
const GENERATION: u64 = 0x2abc;
const BUFFER: u64 = 0x7000_0000_1000;
const HANDLE: u64 = 0x4242_0003;
const DONE: u64 = (status::DONE | status::OP_RECEIVE) as u64;
/// Bytes of memory for each receive of a VI.
const ROOM: u64 = 0x1100;

fn world() -> World {
    let mut world = World::new();
    let length = 128 * ROOM;
    world.regions.insert(3, Region { base: BUFFER, length, key: 0x4242, tag: 7, writable: false });
    world.connect(RAW, service::RAW, 0, 0x1234, GENERATION);
    world.connect(VIS[0], service::UNRELIABLE, 4, 0, GENERATION);
    world.connect(VIS[1], service::RELIABLE_DELIVERY, 4, 0, GENERATION);
    world.bench.set("station_raw_open", 1);
    world.bench.set("station_raw_vi", RAW);
    world
}

/// Posts the `n`th receive of a VI: two segments, of which the first is one byte.
fn post(world: &mut World, vi: u64, n: u64, length: u64) {
    let place = place(vi, n);
    let segments = [(place, HANDLE, 1), (place + 1, HANDLE, length - 1)];
    world.post(vi, Descriptor::new(&segments), true);
}

fn place(vi: u64, n: u64) -> u64 {
    let row = [RAW, VIS[0], VIS[1]].iter().position(|of| *of == vi).unwrap() as u64;
    BUFFER + (row * 40 + n) * ROOM + n % 8
}

fn frame(world: &mut World, to: [u8; 6], length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    world.random.fill(&mut frame[..]);
    frame[..6].copy_from_slice(&to);
    frame[12] = 0x86;
    frame
}

/// A message of one packet to one of the others, the `n`th.
fn packet(vi: u64, n: u64, payload: Vec<u8>) -> Vec<u8> {
    Frame {
        to: SERVER,
        from: CLIENT,
        opcode: if vi == VIS[0] { opcode::UC_SEND_ONLY } else { opcode::RC_SEND_ONLY },
        queue_pair: (GENERATION << 10 | vi) as u32,
        psn: n as u32,
        ack_request: vi != VIS[0],
        reth: None,
        extension: None,
        payload,
    }
    .bytes()
}

fn complete(position: u64, length: u64, status: u64) -> Event {
    Event::Complete { vi: RAW, position, length, status, immediate: None }
}

/// Rules RAW-1; RAW-3: frames that are too long; and RAW-5: how they are counted.
#[test]
fn frames_of_every_length_come_as_they_came() {
    let mut world = world();
    let lengths: Vec<usize> = (14..40).chain([59, 60, 61, 1514, 4095, 4096, 4097, 4200, 4224]).collect();
    let mut expect = Vec::new();
    for (n, length) in lengths.iter().enumerate() {
        post(&mut world, RAW, n as u64, 0x1098);
        let mut data = frame(&mut world, SERVER.0, *length);
        if n % 3 == 1 && *length > 20 {
            data.splice(12..12, [0x81, 0, 0x20, n as u8]);
        }
        world.send(&data, n % 2 == 0);
        world.settle();
        assert_eq!(world.bytes(place(RAW, n as u64), data.len() as u64), data, "{length}");
        expect.push(complete(n as u64, data.len() as u64, DONE));
    }
    assert_eq!(world.take(), expect);
    assert_eq!(world.count("count_raw"), lengths.len());
    assert_eq!(world.count("count_message"), 0);
    // One byte more is none.
    let data = frame(&mut world, SERVER.0, 4225);
    world.send(&data, false);
    world.settle();
    assert_eq!([world.count("count_malformed"), world.count("count_raw_dropped")], [1, 0]);
    world.check_consumed();
}

/// Rules RAW-1 and RAW-3; and FRAME-9: queue pair 1 is the channel's.
#[test]
fn the_agent_s_queue_pair_and_nobody_s() {
    let mut world = world();
    let mut expect = Vec::new();
    let numbered =
        |queue_pair, opcode, payload: usize| Frame { queue_pair, opcode, ..sample(payload) }.bytes();
    for (n, code) in
        [opcode::UD_SEND_ONLY, opcode::UC_SEND_ONLY, opcode::RC_ACKNOWLEDGE].into_iter().enumerate()
    {
        post(&mut world, RAW, n as u64, 0x1000);
        let data = numbered(1, code, 264);
        world.send(&data, n == 1);
        world.settle();
        assert_eq!(world.bytes(place(RAW, n as u64), data.len() as u64), data);
        expect.push(complete(n as u64, data.len() as u64, DONE));
    }
    post(&mut world, RAW, 3, 0x1000);
    // Damaged; to a queue pair that is not there; to the raw VI's own number, of either class.
    let mut damaged = numbered(1, opcode::UD_SEND_ONLY, 264);
    damaged[100] ^= 1;
    world.send(&damaged, false);
    let raw_s = (GENERATION << 10 | RAW) as u32;
    world.send(&numbered(raw_s ^ 32, opcode::UC_SEND_ONLY, 20), false);
    world.send(&numbered(raw_s, opcode::UC_SEND_ONLY, 20), false);
    world.send(&numbered(raw_s, opcode::RC_SEND_ONLY, 20), false);
    world.settle();
    assert_eq!(world.take(), expect);
    assert_eq!([world.count("count_icrc"), world.count("count_no_vi")], [1, 3]);
    // With the channel closed queue pair 1 is nobody's, too.
    world.bench.set("station_raw_open", 0);
    world.send(&numbered(1, opcode::UD_SEND_ONLY, 264), false);
    let data = frame(&mut world, SERVER.0, 100);
    world.send(&data, false);
    world.settle();
    assert_eq!([world.count("count_not_ours"), world.count("count_no_vi")], [1, 4]);
    assert_eq!(world.count("count_raw_dropped"), 0);
    assert_eq!(world.take(), expect);
}

fn sample(payload: usize) -> Frame {
    Frame {
        to: SERVER,
        from: CLIENT,
        opcode: 0,
        queue_pair: 1,
        psn: 7,
        ack_request: false,
        reth: None,
        extension: None,
        payload: (0..payload).map(|n| n as u8).collect(),
    }
}

/// Rule RAW-2.
#[test]
fn without_a_receive_it_drops_and_counts_exactly() {
    let mut world = world();
    let data = frame(&mut world, SERVER.0, 300);
    for _ in 0..20 {
        world.send(&data, false);
    }
    for n in 0..8 {
        world.post(VIS[0], Descriptor::new(&[(place(VIS[0], n), HANDLE, 500)]), true);
        world.send(&packet(VIS[0], n, vec![n as u8; 400]), false);
        world.send(&data, false);
    }
    world.settle();
    assert_eq!([world.count("count_raw_dropped"), world.count("count_raw")], [28, 0]);
    assert_eq!(world.count("count_message"), 8);
    assert_eq!(world.take().len(), 8, "nobody hears of it");
    // One that is posted and not fetched yet is there all the same.
    world.post(RAW, Descriptor::new(&[(place(RAW, 0), HANDLE, 300)]), false);
    world.send(&data, false);
    world.send(&data, false);
    world.run(500);
    assert_eq!(world.count("count_raw_dropped"), 28);
    world.fetch_all(RAW);
    world.settle();
    assert_eq!([world.count("count_raw_dropped"), world.count("count_raw")], [29, 1]);
    world.check_consumed();
}

/// Rule RAW-2.
#[test]
fn receives_that_are_wrong_say_so() {
    let mut world = world();
    let data = frame(&mut world, SERVER.0, 300);
    let segment = |length| (place(RAW, 0), HANDLE, length);
    let mut lost = Descriptor::new(&[segment(300)]);
    lost.lost = true;
    let mut malformed = Descriptor::new(&[segment(300)]);
    malformed.words[2] = 1;
    for descriptor in [
        Descriptor::new(&[segment(299)]),
        malformed,
        Descriptor::new(&[(place(RAW, 0), HANDLE ^ 1 << 20, 300)]),
        lost,
        Descriptor::new(&[segment(300)]),
    ] {
        world.post(RAW, descriptor, true);
        world.send(&data, false);
    }
    world.settle();
    let error = |bit: u32| DONE | u64::from(bit);
    assert_eq!(
        world.take(),
        [
            complete(0, 0, error(status::LENGTH_ERROR)),
            complete(1, 0, error(status::FORMAT_ERROR)),
            complete(2, 0, error(status::PROTECTION_ERROR)),
            complete(4, 300, DONE)
        ]
    );
    assert_eq!([world.count("count_raw"), world.count("count_raw_dropped")], [1, 1]);
    // In Error it takes nothing, and what is posted is flushed; and so it is with a VI that is not there, or not raw.
    post(&mut world, RAW, 5, 400);
    world.state(RAW, vi_states::ERROR);
    world.send(&data, false);
    world.settle();
    let flushed = complete(5, 0, error(status::DESC_FLUSHED_ERROR));
    assert_eq!(world.take().last(), Some(&flushed));
    for vi in [VIS[0], VIS[1], RAW + 64, 1023] {
        world.bench.set("station_raw_vi", vi);
        world.send(&data, false);
        world.settle();
    }
    assert_eq!([world.count("count_raw"), world.count("count_raw_dropped")], [1, 6]);
    assert_eq!(world.take().len(), 5);
}

/// Rule RAW-5.
#[test]
fn raw_frames_and_messages_at_once() {
    for round in 0..6 {
        let mut world = world();
        let mut order: Vec<usize> = (0..3).flat_map(|who| [who; 30]).collect();
        order.shuffle(&mut world.random);
        let (mut sent, mut expect) = ([0u64; 3], Vec::new());
        let who = [RAW, VIS[0], VIS[1]];
        for vi in who {
            for n in 0..30 {
                post(&mut world, vi, n, 0x1080);
            }
        }
        let mut bytes = Vec::new();
        for at in order {
            let (vi, n) = (who[at], sent[at]);
            sent[at] += 1;
            let length = match world.random.random_range(0..4) {
                0 => world.random.random_range(14..80),
                1 => world.random.random_range(14..4100),
                _ => world.random.random_range(14..600),
            };
            let mut data = frame(&mut world, SERVER.0, length.max(20));
            let mut on_wire = data.clone();
            if vi != RAW {
                data.truncate(length.min(4096));
                on_wire = packet(vi, n, data.clone());
            }
            if world.random.random_ratio(1, 3) {
                on_wire.splice(12..12, [0x81, 0, 0x20, 7]);
                if vi == RAW {
                    data = on_wire.clone();
                }
            }
            world.send(&on_wire, round % 2 == 1);
            if world.random.random_ratio(1, 5) {
                let other = frame(&mut world, CLIENT.0, 200);
                world.send(&other, round % 2 == 1);
            }
            expect.push((vi, n, data.len() as u64));
            bytes.push((place(vi, n), data));
        }
        world.settle();
        let mut found: Vec<_> = world
            .take()
            .into_iter()
            .filter_map(|event| match event {
                Event::Complete { vi, position, length, status: DONE, .. } => Some((vi, position, length)),
                Event::Acknowledge { vi, syndrome: code, .. } => {
                    assert_eq!((vi, code), (VIS[1], syndrome::ACK.into()));
                    None
                }
                other => panic!("{other:?}"),
            })
            .collect();
        // Each VI's in order: a frame whose receive is still being fetched lets those of other VIs go first.
        found.sort_by_key(|(vi, ..)| *vi);
        expect.sort_by_key(|(vi, ..)| *vi);
        assert_eq!(found, expect);
        for (place, data) in bytes {
            assert_eq!(world.bytes(place, data.len() as u64), data);
        }
        assert_eq!([world.count("count_raw"), world.count("count_message")], [30, 60]);
    }
}
