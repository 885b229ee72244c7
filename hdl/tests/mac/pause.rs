//! Pause frames: obeyed and sent.

use viaduct_hdl::mac::counter;

use super::frames::{fcs, padded, pause, random, whole, GROUP};
use super::world::{World, NOMINAL, STATION};

const PEER: [u8; 6] = [0x02, 0, 0, 0xaa, 0xbb, 0xcc];
/// 512 bits.
const QUANTUM: u64 = 64 * NOMINAL;

#[test]
fn a_pause_holds_our_frames_for_its_time() {
    let mut world = World::new("pause obeyed", [NOMINAL; 3]);
    let frame = random(&mut world.random, 100);
    for (to, quanta) in [(GROUP, 50), (STATION, 20), (GROUP, 1)] {
        world.sent.clear();
        world.put_frame(&pause(to, PEER, quanta));
        world.drain();
        let start = world.now;
        world.give(&frame, false);
        world.run(60 * QUANTUM);
        assert_eq!(world.sent.len(), 1);
        let waited = world.sent[0].time - start;
        let time = u64::from(quanta) * QUANTUM;
        // The 60 byte times of `drain` are part of the pause; what the frame takes to the pads is not.
        assert!(waited + 80 * NOMINAL > time && waited < time + 20 * NOMINAL, "{quanta} quanta: {waited} fs");
    }
    assert_eq!(world.counter(counter::PAUSED), 3);
    assert_eq!(world.counter(counter::RECEIVED), 3);
    assert!(world.received.is_empty(), "a control frame reached the core");
}

#[test]
fn a_pause_of_nothing_ends_a_pause() {
    let mut world = World::new("pause ended", [NOMINAL; 3]);
    let frame = random(&mut world.random, 100);
    world.put_frame(&pause(GROUP, PEER, 0xffff));
    world.drain();
    world.give(&frame, false);
    world.run(1000 * NOMINAL);
    assert!(world.sent.is_empty());
    world.put_frame(&pause(GROUP, PEER, 0));
    world.run(400 * NOMINAL);
    assert_eq!(world.sent.len(), 1);
    assert_eq!(world.sent[0].frame, frame);
}

#[test]
fn a_frame_under_way_goes_to_its_end() {
    let mut world = World::new("pause in a frame", [NOMINAL; 3]);
    let frames = [random(&mut world.random, 1000), random(&mut world.random, 1000)];
    world.give(&frames[0], false);
    world.run(100 * NOMINAL);
    world.put_frame(&pause(GROUP, PEER, 100));
    world.give(&frames[1], false);
    world.run(160 * QUANTUM);
    assert!(world.sent[0].good && world.sent[0].frame == frames[0]);
    assert!(world.sent[1].good && world.sent[1].frame == frames[1]);
    assert!(world.sent[1].gap > 100 * 64 - 1000, "a gap of {}", world.sent[1].gap);
}

#[test]
fn what_is_no_pause_holds_nothing() {
    let mut world = World::new("no pause", [NOMINAL; 3]);
    let frame = random(&mut world.random, 100);
    // Damaged; for somebody else; another opcode; too short. None of them is for the core, but what is damaged may begin to be.
    let mut damaged = whole(&pause(GROUP, PEER, 0xffff));
    damaged[16] ^= 1;
    world.put(&damaged, 12);
    world.put_frame(&pause(PEER, STATION, 0xffff));
    let mut other = pause(GROUP, PEER, 0xffff);
    other[15] = 2;
    world.put_frame(&other);
    let mut short = pause(GROUP, PEER, 0xffff)[..18].to_vec();
    short.extend(fcs(&short));
    world.put(&short, 12);
    // And one that only looks like it, which is for the core.
    let mut tagged = pause(GROUP, PEER, 0xffff);
    tagged[12] = 0x89;
    world.put_frame(&tagged);
    world.drain();
    world.give(&frame, false);
    world.run(200 * NOMINAL);
    assert_eq!(world.sent.len(), 1);
    assert_eq!(world.received, [(tagged, true)]);
    assert_eq!(world.counter(counter::PAUSED), 0);
    assert_eq!([counter::FCS, counter::RUNT].map(|row| world.counter(row)), [1, 1]);
}

/// The quanta of a frame that must be a pause of ours.
fn quanta(frame: &[u8]) -> u16 {
    let quanta = u16::from_be_bytes([frame[16], frame[17]]);
    assert_eq!(frame, pause(GROUP, STATION, quanta));
    quanta
}

#[test]
fn a_full_receiver_pauses_the_peer_again_and_again_until_there_is_room() {
    let mut world = World::new("pause sent", [NOMINAL + 800, NOMINAL, NOMINAL - 800]);
    // While our own frames go, and while we are paused ourselves.
    let frame = random(&mut world.random, 1000);
    world.put_frame(&pause(GROUP, PEER, 0xffff));
    world.drain();
    world.give(&frame, false);
    let start = world.now;
    world.dut.set("pause", 1);
    world.run(300_000 * NOMINAL);
    world.dut.set("pause", 0);
    world.run(1000 * NOMINAL);
    let told: Vec<u16> = world.sent.iter().map(|sent| quanta(&sent.frame)).collect();
    assert_eq!(told, [4095, 4095, 4095, 0], "every 2^17 cycles");
    assert!(world.sent.iter().all(|sent| sent.good));
    assert!(world.sent[0].time - start < 30 * NOMINAL);
    for pair in world.sent[..3].windows(2) {
        let between = (pair[1].time - pair[0].time) / NOMINAL;
        assert!(between < 4095 * 64 - 4300, "the peer starts again: {between} cycles");
    }
    assert_eq!(world.counter(counter::PAUSES_SENT), 4);
    world.put_frame(&pause(GROUP, PEER, 0));
    world.run(1300 * NOMINAL);
    assert_eq!(world.sent.len(), 5);
    assert_eq!(world.sent[4].frame, padded(&frame));
}

#[test]
fn a_pause_goes_between_two_frames() {
    let mut world = World::new("pause between", [NOMINAL; 3]);
    let frames: Vec<_> = (0..4).map(|_| random(&mut world.random, 500)).collect();
    for frame in &frames {
        world.give(frame, false);
    }
    world.run(200 * NOMINAL);
    world.dut.set("pause", 1);
    world.run(600 * NOMINAL);
    world.dut.set("pause", 0);
    world.drain();
    let kinds: Vec<_> = world.sent.iter().map(|sent| sent.frame[12..14] == [0x88, 0x08]).collect();
    assert_eq!(kinds, [false, true, false, true, false, false]);
    assert!(world.sent.iter().all(|sent| sent.good));
    assert!(world.sent.windows(2).all(|pair| pair[1].gap == 12));
    assert!(world.sent.iter().filter(|sent| sent.frame[12] != 0x88).map(|sent| &sent.frame).eq(&frames));
}
