//! Numbers at their full width: long messages, high addresses, descriptors in any region.

use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::{opcode, syndrome};

use super::{buffer, complete, fill, packet, BUFFER, DONE, GENERATION, PSN, VI};
use crate::frames::Frame;
use crate::world::{Descriptor, Event, Region, World};

/// Memory whose address has bits where `BUFFER` has none.
const HIGH: u64 = 0xfedc_ba98_7654_3000;
const HIGH_HANDLE: u64 = 0x9bde_0004;
const ROOM: u64 = 0x4_0000;

/// Two VIs whose packets have up to 4096 bytes, and whose peers may write.
fn world(service: u8) -> World {
    let mut world = World::new();
    let region = |base, key| Region { base, length: ROOM, key, tag: 7, writable: true };
    world.regions.insert(3, region(BUFFER, 0x4242));
    world.regions.insert(4, region(HIGH, 0x9bde));
    for vi in [VI, VI + 1] {
        world.connect_with(vi, service, 4, PSN, GENERATION, |row| receive::RDMA_WRITE.put(row, 1));
    }
    world
}

/// The packets of a message to a VI, the first of them `n` behind the first PSN; with a RETH it is a write.
fn message(vi: u64, class: u8, n: u64, data: &[u8], reth: Option<(u64, u32, u32)>) -> Vec<Frame> {
    let parts: Vec<_> = data.chunks(4096).collect();
    let write = if reth.is_some() { opcode::RC_WRITE_FIRST } else { 0 };
    let frame = |(k, part): (usize, &&[u8])| {
        let place = match (k == 0, k + 1 == parts.len()) {
            (true, true) => 4,
            (true, false) => 0,
            (false, false) => 1,
            (false, true) => 2,
        };
        Frame {
            queue_pair: (GENERATION << 10 | vi) as u32,
            ack_request: class == 0 && k + 1 == parts.len(),
            reth: reth.filter(|_| k == 0),
            extension: None,
            ..packet(class | (write + place), n + k as u64, part)
        }
    };
    parts.iter().enumerate().map(frame).collect()
}

fn completions(world: &mut World) -> Vec<Event> {
    let events = world.take().into_iter();
    events.filter(|event| matches!(event, Event::Complete { .. })).collect()
}

/// Packet by packet of two VIs in turn, so that each finds its place again.
#[test]
fn long_messages_of_two_vis_end_with_all_their_bytes() {
    for (service, class) in [(service::UNRELIABLE, 0x20), (service::RELIABLE_DELIVERY, 0)] {
        let mut world = world(service);
        let (lengths, mut all) = ([70_001, 45_678], Vec::new());
        for (k, (vi, length)) in [VI, VI + 1].into_iter().zip(lengths).enumerate() {
            // Segments here and there, the last one with room for the rest.
            let at = |n: u64| (n % 5) * 0x330 + k as u64 * 0x1000;
            let mut segments: Vec<_> = (0..9)
                .map(|n| match n % 2 == k as u64 {
                    true => (HIGH + at(n), HIGH_HANDLE, 100 * n + 7),
                    false => buffer(at(n), 100 * n + 7),
                })
                .collect();
            segments.push((HIGH + 0x2000 + k as u64 * 0x1_8000, HIGH_HANDLE, 0x1_8000));
            world.post(vi, Descriptor::new(&segments), true);
            let data = fill(length, k as u8);
            all.push((message(vi, class, 0, &data, None), segments, data));
        }
        for k in 0..all[0].0.len() {
            for (frames, ..) in &all {
                if let Some(frame) = frames.get(k) {
                    world.send(&frame.bytes(), false);
                }
            }
            world.run(6000);
        }
        world.settle();
        let ended: Vec<u64> = completions(&mut world)
            .into_iter()
            .map(|event| match event {
                Event::Complete { length, status: DONE, .. } => length,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(ended, [45_678, 70_001], "service {service}");
        for (_, segments, data) in &all {
            let places = segments.iter().flat_map(|(address, _, long)| world.bytes(*address, *long));
            assert!(places.take(data.len()).eq(data.iter().copied()), "service {service}");
        }
    }
}

#[test]
fn a_long_write_ends_where_its_length_says() {
    let mut world = world(service::RELIABLE_DELIVERY);
    let mut n = 0;
    for (k, length) in (0..).zip([0x2100, 0x3fff, 0x5a5a, 0x1_0a5b, 0x2001]) {
        let data = fill(length, k);
        let frames = message(VI, 0, n, &data, Some((HIGH + 0x55, HIGH_HANDLE as u32, length as u32)));
        for frame in &frames {
            world.send(&frame.bytes(), false);
            world.run(3000);
        }
        world.settle();
        assert_eq!(world.bytes(HIGH + 0x55, length as u64), data, "{length:#x} bytes");
        n += frames.len() as u64;
        let last = world.take().pop().expect("an acknowledgement");
        let psn = (PSN + n - 1) & 0xff_ffff;
        assert_eq!(
            last,
            Event::Acknowledge { vi: VI, psn, msn: u64::from(k) + 1, syndrome: syndrome::ACK.into() }
        );
    }
}

#[test]
fn a_descriptor_is_read_in_whichever_region_it_lies() {
    for region in [0x5aa5, 0xa55a, 0xffff] {
        let mut world = world(service::UNRELIABLE);
        let base = 0x40_0000_0000;
        world
            .regions
            .insert(region, Region { base, length: 0x100_0000, key: 0x1212, tag: 7, writable: false });
        world.descriptors = region;
        // More segments than a descriptor's first 64 bytes hold.
        let segments: Vec<_> = (0..12).map(|n| buffer(n * 64, 20 + n)).collect();
        world.post(VI, Descriptor::new(&segments), true);
        let data = fill(300, 7);
        world.send(&message(VI, 0x20, 0, &data, None)[0].bytes(), false);
        world.settle();
        assert_eq!(world.take(), [complete(0, 300, DONE)], "region {region:#x}");
        let places = segments.iter().flat_map(|(address, _, long)| world.bytes(*address, *long));
        assert!(places.take(300).eq(data), "region {region:#x}");
    }
}
