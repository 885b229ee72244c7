//! What becomes of frames that nobody waits for: each is counted by its reason, as an independent reading says.

use rand::Rng;

use crate::frames::{fate, repair, Fate, PKEY, SERVER};
use crate::parse::sample;
use crate::world::World;

/// Sends the frames, from the MAC and from inside by turns, and compares what was counted with what each should come to. No VI is connected.
fn counted(mut world: World, frames: &[Vec<u8>]) {
    let counts = ["no_vi", "malformed", "not_ours", "icrc", "bth", "congestion"];
    let mut expect = [0; 6];
    for (n, frame) in frames.iter().enumerate() {
        world.send(frame, n % 2 == 1);
        let fate = fate(frame, false, SERVER, PKEY);
        expect[fate.class()] += 1;
        // One that is kept may be marked, and counts as that, too.
        expect[5] += usize::from(matches!(fate, Fate::Keep(_, true)));
        // What comes faster than it is judged would overflow.
        world.run(40);
    }
    world.settle();
    assert_eq!(counts.map(|name| world.count(&format!("count_{name}"))), expect, "{counts:?}");
    assert_eq!(world.take(), [], "nobody hears of them");
}

/// Rules FRAME-2 and FRAME-7.
#[test]
fn frames_of_every_length_are_whole() {
    let mut world = World::new();
    let mut frames = Vec::new();
    for length in 0..48 {
        for opcode in [4, 5, 0x2a, 0x29] {
            let mut frame = sample(length, opcode);
            world.random.fill(&mut frame.payload[..]);
            frames.push(frame.bytes());
        }
    }
    counted(world, &frames);
}

/// Rules FRAME-4, FRAME-5, FRAME-6, FRAME-8 and FRAME-9.
#[test]
fn a_byte_that_is_wrong_is_found() {
    let mut world = World::new();
    let mut frames = Vec::new();
    for at in 0..74 {
        for right in [false, true] {
            let mut frame = sample(20, [4, 0x2a][at % 2]).bytes();
            frame[at] ^= 1 << world.random.random_range(0..8);
            if right && frame[16] == 0 {
                repair(&mut frame);
            }
            frames.push(frame);
        }
    }
    for opcode in 0..=255 {
        let mut frame = sample(8, 4).bytes();
        frame[42] = opcode;
        repair(&mut frame);
        frames.push(frame);
    }
    counted(world, &frames);
}
