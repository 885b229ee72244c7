//! The way in: what comes, what does not, and what is said of it.

use rand::Rng;
use viaduct_hdl::mac::{counter, LONGEST};

use super::frames::{fcs, length, padded, random, whole};
use super::world::{Symbol, World, NOMINAL};

fn world(name: &str) -> World {
    World::new(name, [NOMINAL; 3])
}

#[test]
fn good_frames_of_every_length_come_whole() {
    let mut world = world("receive lengths");
    let mut expected = Vec::new();
    for bytes in (60..=84).chain([1514, 1518, 4178, LONGEST as usize - 1, LONGEST as usize]) {
        let frame = random(&mut world.random, bytes);
        world.put_frame(&frame);
        expected.push((frame, true));
    }
    world.drain();
    assert_eq!(world.received.len(), expected.len());
    assert!(world.received == expected);
    assert_eq!(world.counter(counter::RECEIVED), expected.len() as u64);
}

#[test]
fn the_line_s_full_rate_is_taken_over_any_drift() {
    // Our core against the peer's clock: 200 ppm, both ways, and a slow core, which is allowed.
    for (core, rx) in [(800u64, -800i64), (0, 0), (0, 800), (24_000_000, 0)] {
        let mut world =
            World::new("receive drift", [NOMINAL + core, NOMINAL, NOMINAL.wrapping_add_signed(rx)]);
        let mut expected = Vec::new();
        // The shortest gap that a repeater may leave, and the least preamble.
        for n in 0..40 {
            let bytes = if n % 8 == 7 { LONGEST as usize } else { length(&mut world.random, 1518) };
            let frame = random(&mut world.random, bytes);
            world.put(&whole(&frame), if n % 2 == 0 { 12 } else { 8 });
            expected.push((frame, true));
        }
        world.drain();
        assert!(world.received == expected, "core {core}, receive {rx}: {} frames", world.received.len());
        assert_eq!(world.counter(counter::OVERRUN), 0);
    }
}

#[test]
fn short_preambles_are_taken_and_false_ones_are_not() {
    let mut world = world("receive preamble");
    let frame = random(&mut world.random, 80);
    let mut expected = 0;
    for preamble in [&[0xd5][..], &[0x55, 0xd5], &[0x55; 20]] {
        world.put_raw(preamble);
        if preamble.len() == 20 {
            world.put_raw(&[0xd5]);
        }
        world.put_raw(&whole(&frame));
        world.put_gap(12);
        expected += 1;
    }
    for preamble in [&[0x55, 0x54, 0xd5][..], &[0xff, 0xd5], &[0x55, 0x5d, 0x55]] {
        world.put_raw(preamble);
        world.put_raw(&whole(&frame));
        world.put_gap(12);
    }
    world.put_frame(&frame);
    world.drain();
    assert_eq!(world.received, vec![(frame, true); expected + 1]);
    assert_eq!(world.counter(counter::RECEIVED), expected as u64 + 1);
}

#[test]
fn damage_is_found_and_named() {
    let mut world = world("receive damage");
    let good = random(&mut world.random, 200);
    // Of all rows: those of what is sent, and those that count nothing, stay 0.
    let mut counts = [0u64; 16];
    for round in 0..12 {
        world.put_frame(&good);
        // Any one bit.
        let mut bytes = whole(&good);
        let bit = world.random.random_range(0..bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        world.put(&bytes, 12);
        counts[counter::FCS as usize] += 1;
        // Too short, with a right FCS: 63 bytes and fewer, down to nothing.
        let bytes = [59, 58, 30, 17, 16, 13, 12, 8, 5, 4, 1, 0][round];
        let mut short = random(&mut world.random, bytes);
        short.extend(fcs(&short));
        world.put(&short, 12);
        counts[counter::RUNT as usize] += 1;
        // Not even an FCS.
        if round < 4 {
            world.put(&good[..round], 12);
            counts[counter::RUNT as usize] += 1;
        }
        // Marked by the PHY.
        let at = world.line.len();
        world.put_frame(&good);
        let marked = at + 8 + world.random.random_range(0..204);
        world.line[marked].error = true;
        counts[counter::CODING as usize] += 1;
    }
    for bytes in [LONGEST as usize + 1, LONGEST as usize + 2, 9000] {
        let long = random(&mut world.random, bytes);
        world.put_frame(&long);
        counts[counter::LONG as usize] += 1;
    }
    world.put_frame(&good);
    // An error between frames is no frame.
    world.line.push_back(Symbol { byte: 0x0f, valid: false, error: true });
    world.put_frame(&good);
    counts[counter::RECEIVED as usize] = 14;
    world.drain();
    let whole_ones: Vec<_> = world.received.iter().filter(|(_, good)| *good).collect();
    assert_eq!(whole_ones.len(), 14);
    assert!(whole_ones.iter().all(|(frame, _)| *frame == good));
    // What came of the damaged ones is a beginning of them, of a bounded length, and none of what is too short to show.
    for (frame, _) in world.received.iter().filter(|(_, good)| !*good) {
        assert!(frame.len() > 16 && frame.len() as u64 <= LONGEST);
    }
    for (row, count) in counts.into_iter().enumerate() {
        assert_eq!(world.counter(row as u64), count, "counter {row}");
    }
}

#[test]
fn random_traffic_comes_as_it_is() {
    let mut world = World::new("receive random", [NOMINAL, NOMINAL, NOMINAL + 800]);
    let (mut expected, mut damaged) = (Vec::new(), 0);
    for _ in 0..300 {
        let bytes = length(&mut world.random, 2000);
        let frame = random(&mut world.random, bytes);
        let gap = world.random.random_range(9..40);
        if world.random.random_ratio(1, 5) {
            let mut bytes = whole(&frame);
            for _ in 0..world.random.random_range(1..4) {
                let at = world.random.random_range(0..bytes.len());
                bytes[at] ^= world.random.random_range(1..=255u8);
            }
            if bytes != whole(&frame) {
                world.put(&bytes, gap);
                damaged += 1;
            }
        } else {
            world.put(&whole(&frame), gap);
            expected.push(padded(&frame));
        }
    }
    world.drain();
    let good: Vec<_> = world.received.iter().filter(|(_, good)| *good).map(|(frame, _)| frame).collect();
    assert!(good.iter().copied().eq(&expected), "{} of {} frames", good.len(), expected.len());
    assert_eq!(world.received.len(), expected.len() + damaged);
}

#[test]
fn the_status_between_frames_is_shown() {
    let mut world = world("receive status");
    for (status, link, gigabit, duplex) in
        [(0xdd, 1, 1, 1), (0x00, 0, 0, 0), (0xbb, 1, 0, 1), (0x55, 1, 1, 0)]
    {
        world.status = status;
        world.run(20 * NOMINAL);
        let shown = ["link", "gigabit", "duplex"].map(|port| world.dut.get(port));
        assert_eq!(shown, [link, gigabit, duplex], "{status:#x}");
        // A frame's bytes are no status.
        let frame = random(&mut world.random, 60);
        world.put_frame(&frame);
        world.drain();
        assert_eq!(world.dut.get("link"), link);
    }
}
