//! What finds no room: frames are dropped whole, or cut if they have begun to leave.

use rand::Rng;

use super::{beats, Rig};

#[test]
fn what_finds_no_room_is_dropped_whole() {
    let mut rig = Rig::new();
    let mut sent = Vec::new();
    for n in 0..60u8 {
        let mut frame = vec![n; rig.random.random_range(60..1500)];
        frame[12] = 8;
        rig.mac.extend(beats(&frame, false));
        sent.push(frame);
    }
    // Nothing leaves at first.
    rig.rates = [100, 0, 0];
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.rates = [100, 0, 100];
    rig.drain();
    assert_eq!(rig.frames + rig.overflows, 60);
    assert!(rig.frames > 3 && rig.overflows > 10, "{} kept, {} dropped", rig.frames, rig.overflows);
    assert_eq!(rig.out.len(), rig.frames);
    let mut sent = sent.into_iter();
    for (frame, _) in &rig.out {
        assert!(sent.any(|s| s == *frame), "a frame that nobody sent, or out of order");
    }
    // Room again: the next one passes.
    let before = rig.frames;
    rig.mac.extend(beats(&vec![8; 500 * 8], false));
    rig.rates = [100, 0, 0];
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.rates = [0, 0, 100];
    rig.drain();
    assert_eq!(rig.frames - before, 1);
    assert_eq!(rig.out.last().unwrap().0.len(), 500 * 8);
}

#[test]
fn a_frame_that_has_begun_to_leave_is_cut_where_it_finds_no_room() {
    let mut rig = Rig::new();
    // Its first beats stand in the registers behind the queue.
    rig.rates = [100, 0, 0];
    rig.mac.extend(beats(&vec![1; 1100 * 8], false));
    rig.mac.extend(beats(&[2; 64], false));
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.drain_all();
    rig.mac.extend(beats(&[3; 64], false));
    rig.drain();
    // The one behind it found no room, not even one beat.
    assert_eq!((rig.frames, rig.overflows), (2, 1));
    let cut = rig.out.remove(0);
    assert!(cut.1 && cut.0.len() > 1023 * 8 && cut.0.len() < 1032 * 8, "{}", cut.0.len());
    assert!(cut.0.iter().all(|byte| *byte == 1));
    assert_eq!(rig.out, [(vec![3; 64], false)]);
    // While it drains there is no end of it, and all of a longer one passes.
    rig.mac.extend(beats(&vec![4; 2000 * 8], false));
    rig.drain();
    assert_eq!(rig.out[1], (vec![4; 2000 * 8], false));
    assert_eq!((rig.frames, rig.overflows), (3, 1));
}

#[test]
fn a_full_queue_is_used_to_the_last_beat() {
    let mut rig = Rig::new();
    rig.rates = [100, 0, 0];
    // Three beats stand in the registers behind the queue.
    for length in [3, 511, 512, 1] {
        rig.mac.extend(beats(&vec![5; length * 8], false));
    }
    while !rig.mac.is_empty() {
        rig.step();
    }
    rig.drain_all();
    assert_eq!((rig.frames, rig.overflows), (3, 1));
}

#[test]
fn storms_of_frames_cut_or_dropped_leave_no_other_damaged() {
    let mut rig = Rig::new();
    let (mut sent, mut cut) = (Vec::new(), 0);
    for round in 0..60u8 {
        rig.drain_all();
        for n in 0..8 {
            // One that can be cut is longer than the queue, and has begun to leave.
            let length = if n == 0 && round % 2 == 0 { 16_000 } else { rig.random.random_range(60..4200) };
            let mut frame = vec![round; length];
            frame[..4].copy_from_slice(&u32::try_from(sent.len()).unwrap().to_le_bytes());
            rig.mac.extend(beats(&frame, false));
            rig.loopback.extend(beats(&frame, false));
            sent.push(frame);
        }
        let rates = &mut rig.random;
        rig.rates = [100, rates.random_range(0..50), [5, 30, 60][rates.random_range(0..3)]];
        while !rig.mac.is_empty() {
            rig.step();
        }
    }
    rig.drain_all();
    for (frame, bad) in &rig.out {
        let n = u32::from_le_bytes(frame[..4].try_into().unwrap()) as usize;
        assert_eq!(frame[..], sent[n][..frame.len()]);
        assert!(*bad || frame.len() == sent[n].len());
        cut += usize::from(*bad);
    }
    assert_eq!(rig.out.len(), rig.frames);
    assert_eq!(rig.frames + rig.overflows, 2 * sent.len());
    assert!(rig.overflows > 50 && cut > 5, "{} dropped, {cut} cut", rig.overflows);
}
