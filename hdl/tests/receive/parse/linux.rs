//! Frames that Linux made, as they are and with a byte changed.

use rand::Rng;

use super::Rig;
use crate::frames::{captures, fate, Fate, CLIENT, PKEY, SERVER};

#[test]
fn every_frame_of_linux() {
    let mut kept = 0;
    for us in [SERVER, CLIENT] {
        let mut rig = Rig::new(us);
        for (name, frames) in captures() {
            let frames: Vec<_> = frames.into_iter().map(|frame| (frame, false)).collect();
            let seen = rig.check(&frames, true);
            assert_eq!(seen, rig.check(&frames, false), "{name}: pauses change nothing");
            assert_eq!((seen[1], seen[3]), (0, 0), "{name}: an ICRC or a length refused");
            kept += seen[0];
        }
    }
    // 43 of them are for queue pair 1.
    assert_eq!(kept, 1092 + 43, "frames of a kind we take");
}

/// Rule FRAME-7.
#[test]
fn any_changed_byte_is_seen() {
    let mut rig = Rig::new(SERVER);
    // Source MAC address, UDP checksum and byte 4 of the BTH are no one's business.
    let uncovered = |n: usize| (6..12).contains(&n) || matches!(n, 40 | 41 | 46);
    let mut lengths = std::collections::BTreeSet::new();
    let mut refused = [0; 6];
    for (name, frames) in captures() {
        for frame in frames {
            let us = rig.us;
            if !matches!(fate(&frame, false, us, PKEY), Fate::Keep(..)) {
                continue;
            }
            if !lengths.insert((frame.len(), frame[42])) {
                continue;
            }
            let whole = frame.len() <= 160;
            let positions: Vec<usize> =
                (0..frame.len()).filter(|n| whole || *n < 64 || rig.random.random_ratio(1, 40)).collect();
            let changed: Vec<_> = positions
                .iter()
                .map(|n| {
                    let mut frame = frame.clone();
                    frame[*n] ^= 1 << rig.random.random_range(0..8);
                    (frame, false)
                })
                .collect();
            for (n, (frame, _)) in positions.iter().zip(&changed) {
                let kept = matches!(fate(frame, false, us, PKEY), Fate::Keep(..));
                assert_eq!(kept, uncovered(*n), "{name}: byte {n}");
            }
            for (sum, count) in refused.iter_mut().zip(rig.check(&changed, true)) {
                *sum += count;
            }
        }
    }
    assert!(refused[..4].iter().all(|count| *count > 0), "{refused:?}");
    assert!(lengths.len() > 10, "{lengths:?}");
}
