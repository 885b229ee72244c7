//! Raw frames: those that the filter lets through to one VI.

use rand::Rng;

use super::{sample, Rig};
use crate::frames::{Filter, Frame, CLIENT, SERVER};

/// Frames of every length to everybody, and of every kind for queue pair 1.
#[test]
fn raw_frames_as_the_filter_has_it() {
    let mut rig = Rig::new(SERVER);
    rig.tagged = |n| n % 3 == 1;
    let mut seen = 0;
    for flags in 0..16 {
        let [open, broadcast, multicast, any] = [1, 2, 4, 8].map(|bit| flags & bit != 0);
        let vi = rig.random.random_range(0..1024);
        rig.open(Filter { open, broadcast, multicast, any, vi });
        let mut frames = Vec::new();
        for to in [SERVER.0, CLIENT.0, [0xff; 6], [1, 0, 0x5e, 0, 0, 1], [0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]]
        {
            let fixed = [1, 6, 8, 13, 14, 15, 16, 17, 59, 60, 64, 1518, 4200, 4224, 4225, 4240];
            let others: Vec<usize> = (0..10).map(|_| rig.random.random_range(14..300)).collect();
            for length in fixed.into_iter().chain(others) {
                let mut frame = vec![0; length];
                rig.random.fill(&mut frame[..]);
                frame[..length.min(6)].copy_from_slice(&to[..length.min(6)]);
                if rig.random.random_ratio(1, 4) && length > 14 {
                    frame[12..14].copy_from_slice(&[8, 0]);
                }
                frames.push((frame, rig.random.random_ratio(1, 10)));
            }
        }
        for (queue_pair, opcode) in
            [(1, 0x64), (2, 0x64), (1, 0x24), (1, 0x04), (1, 0x81), (1, 0x11), (1, 0xc0), (0x10_0001, 0x24)]
        {
            for payload in [0, 7, 8, 9, 20, 264] {
                let frame = Frame { queue_pair, ..sample(payload, opcode) };
                frames.push((frame.bytes(), false));
                frames.push(([frame.bytes(), vec![0; 9]].concat(), false));
                let mut wrong = frame.bytes();
                let at = rig.random.random_range(14..wrong.len());
                wrong[at] ^= 0x40;
                frames.push((wrong, false));
            }
        }
        // In between, frames for somebody: what is known of one does not stay for the next.
        for n in 0..20 {
            let at = rig.random.random_range(0..frames.len());
            frames.insert(at, (sample(n * 3, 0x24).bytes(), false));
        }
        for calm in [true, false] {
            seen += rig.check(&frames, calm)[0];
        }
    }
    assert!(seen > 500, "{seen}");
}
