//! Parse against frames that Linux made, against each of them with a byte changed, and against lies.

mod beats;
mod lies;
mod linux;
mod raw;

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::{Parse, ParseEvents};
use viaduct_verilate::Bench;

use super::frames::{fate_raw, immediate, repair, reth, Fate, Filter, Frame, CLIENT, PKEY, SERVER};
use super::shown::{beats, Info};
use crate::bundle::Bundle;

/// The block, and frames to run through it.
struct Rig {
    bench: Bench,
    random: ChaCha8Rng,
    us: ([u8; 6], [u8; 4]),
    filter: Filter,
    /// Whether a frame has lost a tag: by its number.
    tagged: fn(usize) -> bool,
}

impl Rig {
    fn new(us: ([u8; 6], [u8; 4])) -> Self {
        let mut bench = Bench::new("parse", &verilog(Parse::default()));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut mac = [0; 8];
        mac[..6].copy_from_slice(&us.0);
        bench.set("station_mac", u64::from_le_bytes(mac));
        bench.set("station_ip", u32::from_be_bytes(us.1).into());
        bench.set("station_pkey", PKEY.into());
        Self { bench, random, us, filter: Filter::default(), tagged: |_| false }
    }

    fn open(&mut self, filter: Filter) {
        self.filter = filter;
        let Filter { open, broadcast, multicast, any, vi } = filter;
        for (name, value) in
            [("open", open.into()), ("broadcast", broadcast.into()), ("multicast", multicast.into())]
        {
            self.bench.set(&format!("station_raw_{name}"), value);
        }
        self.bench.set("station_raw_any", any.into());
        self.bench.set("station_raw_vi", vi);
    }

    /// Runs the frames back to back and gives each one's fate. With `calm` nothing ever pauses, and the block may not
    /// pause either.
    fn run(&mut self, frames: &[(Vec<u8>, bool)], calm: bool) -> Vec<Fate> {
        let bench = &mut self.bench;
        let tagged = self.tagged;
        let mut queue = frames
            .iter()
            .enumerate()
            .flat_map(|(n, (frame, bad))| beats(frame, *bad).into_iter().map(move |beat| (tagged(n), beat)))
            .peekable();
        let (mut fates, mut long) = (Vec::new(), 0);
        // Frames of which the first beat was taken before this cycle, and whether the last beat taken ended one.
        let (mut begun, mut is_between) = (0, true);
        let (mut cycles, mut idle) = (0usize, 0);
        let total: usize = frames.iter().map(|(frame, _)| frame.len().div_ceil(8)).sum();
        while idle < 10 {
            let offered = queue.peek().is_some() && (calm || self.random.random_ratio(3, 4));
            bench.set("frame_valid", offered.into());
            bench.set("store_ready", (calm || self.random.random_ratio(3, 4)).into());
            if let Some((tagged, beat)) = queue.peek() {
                bench.set("frame_tagged", (beat.last && *tagged).into());
                beat.set(bench, "frame");
            }
            bench.eval();
            let taken = offered && bench.get("frame_ready") == 1;
            // The frame whose end is awaited is too long, and no other.
            if bench.get("endless") == 1 {
                long += 1;
                assert!(frames[fates.len()].0.len() > 4224, "frame {}", fates.len());
            }
            let events = Bundle::of::<ParseEvents>("events");
            let counts = ["malformed", "not_ours", "icrc", "bth", "congestion"]
                .map(|name| events.get(bench, name) == 1);
            let fate = match (bench.get("keep") == 1, bench.get("drop") == 1, counts) {
                (true, false, [false, false, false, false, marked]) => {
                    Some(Fate::Keep(Info::get(bench, "info"), marked))
                }
                (false, true, [true, false, false, false, false]) => Some(Fate::Malformed),
                (false, true, [false, true, false, false, false]) => Some(Fate::NotOurs),
                (false, true, [false, false, true, false, false]) => Some(Fate::Icrc),
                (false, true, [false, false, false, true, false]) => Some(Fate::Bth),
                (false, true, [false, false, false, false, true]) => Some(Fate::Congestion),
                (false, false, [false, false, false, false, false]) => None,
                other => panic!("keep, drop, counts: {other:?}"),
            };
            if fates.len() < begun && bench.get("drop") == 0 {
                assert_eq!(bench.get("busy"), 1, "frame {} is under way", fates.len());
            }
            if let Some(fate) = fate {
                let length = frames[fates.len()].0.len();
                assert_eq!(length > 4224, long > 0, "a frame of {length} bytes");
                assert!(
                    !calm || length <= 4224 || long + 2 >= (length - 4224).div_ceil(8),
                    "{long} of {length}"
                );
                long = 0;
                fates.push(fate);
            }
            if taken {
                begun += usize::from(is_between);
                is_between = queue.next().is_some_and(|(_, beat)| beat.last);
            }
            idle = if queue.peek().is_some() { 0 } else { idle + 1 };
            bench.tick();
            cycles += 1;
        }
        assert!(!calm || cycles == total + 9, "{cycles} cycles for {total} beats");
        fates
    }

    /// Runs the frames and compares with the independent reading. How many came to each fate.
    fn check(&mut self, frames: &[(Vec<u8>, bool)], calm: bool) -> [usize; 6] {
        let us = self.us;
        let found = self.run(frames, calm);
        assert_eq!(found.len(), frames.len(), "one fate for each frame");
        let mut seen = [0; 6];
        for (n, (mut is, (frame, bad))) in found.into_iter().zip(frames).enumerate() {
            let should = fate_raw(frame, *bad, us, PKEY, self.filter, (self.tagged)(n));
            if let (Fate::Keep(info, _), Fate::Keep(expected, _)) = (&mut is, &should) {
                if info.raw {
                    // Nothing else counts.
                    let Info { opcode, queue_pair, length, raw, tagged, extended, reth, .. } = *info;
                    *info =
                        Info { opcode, queue_pair, length, raw, tagged, extended, reth, ..Info::default() };
                }
                if !info.extended {
                    info.extension = expected.extension;
                }
                if !info.reth {
                    (info.address, info.rkey, info.size) = (0, 0, 0);
                }
            }
            assert_eq!(is, should, "frame {frame:02x?} bad {bad}");
            seen[is.class()] += 1;
        }
        seen
    }
}

/// A frame of this opcode, with the headers that it asks for.
pub(super) fn sample(payload: usize, opcode: u8) -> Frame {
    Frame {
        to: SERVER,
        from: CLIENT,
        opcode,
        queue_pair: 0x12_3456,
        psn: 0xfe_dcba,
        ack_request: true,
        reth: reth(opcode, (0x0123_4567_89ab_cdef, 0x1357_9bdf, 0x0246_8ace)).filter(|_| opcode & 0xc0 == 0),
        extension: if opcode == 0x11 { Some(0x8765_4321) } else { immediate(opcode, 0x8765_4321) },
        payload: (0..payload).map(|n| n as u8 ^ 0x5a).collect(),
    }
}

#[test]
fn every_length_and_opcode() {
    let mut rig = Rig::new(SERVER);
    let frames: Vec<_> = (0..40)
        .chain([255, 256, 1024, 2048, 4095, 4096])
        .flat_map(|length| {
            [4, 5, 0x20, 0x23, 6, 0x2a, 0x0b, 0x29].map(|op| (sample(length, op).bytes(), false))
        })
        .chain((0..=255).map(|opcode| (sample(17, opcode).bytes(), false)))
        .collect();
    let seen = rig.check(&frames, true);
    assert_eq!(seen, [46 * 8 + 30, 0, 0, 0, 256 - 31, 1]);
}

/// With the headers it has or without, and more bytes than they have.
/// Rules FRAME-6 and FRAME-8.
#[test]
fn every_opcode_whatever_follows() {
    let mut rig = Rig::new(SERVER);
    let frames: Vec<_> = (0..=255)
        .flat_map(|opcode| {
            (0..=24).step_by(4).map(move |length| {
                let mut frame = sample(length, 4).bytes();
                frame[42] = opcode;
                repair(&mut frame);
                (frame, false)
            })
        })
        .collect();
    let seen = rig.check(&frames, true);
    // Of 30 opcodes with 7 lengths, 10 opcodes want four bytes more, 5 want 16, 2 want 20.
    assert_eq!((seen[0], seen[2], seen[3], seen[5]), (210 - 40, 0, 0, 7), "{seen:?}");
}

/// Each bit of a queue pair's and a packet's number by itself, and all but it.
#[test]
fn every_bit_of_a_number() {
    let mut rig = Rig::new(SERVER);
    let numbers = (0..24).flat_map(|bit| [1 << bit, 0xff_ffff ^ 1 << bit]);
    let frames: Vec<_> = numbers
        .flat_map(|number| {
            [Frame { queue_pair: number, ..sample(8, 4) }, Frame { psn: number, ..sample(8, 4) }]
        })
        .map(|frame| (frame.bytes(), false))
        .collect();
    let seen = rig.check(&frames, true);
    assert_eq!(seen, [96, 0, 0, 0, 0, 0]);
}

#[test]
fn random_frames_damaged_at_random() {
    let mut rig = Rig::new(SERVER);
    let mut total = [0; 6];
    for round in 0..20 {
        let frames: Vec<_> = (0..50)
            .map(|_| {
                let random = &mut rig.random;
                // The last one is none of ours.
                let opcode =
                    *[0u8, 1, 2, 3, 4, 5, 6, 8, 9, 0x0b, 0x11, 0x20, 0x25, 0x2a, 0x2b, 0x0c, 0x81, 0x1f]
                        .choose(random)
                        .unwrap();
                let length = random.random_range(0..200);
                let mut frame = sample(length, opcode).bytes();
                if random.random_ratio(1, 3) {
                    let at = random.random_range(12..frame.len());
                    frame[at] = random.random();
                    if random.random_ratio(1, 2) && frame[16] == 0 {
                        repair(&mut frame);
                    }
                }
                if random.random_ratio(1, 10) {
                    frame.truncate(random.random_range(1..=frame.len()));
                }
                (frame, random.random_ratio(1, 20))
            })
            .collect();
        for (sum, count) in total.iter_mut().zip(rig.check(&frames, round % 2 == 0)) {
            *sum += count;
        }
    }
    assert!(total.iter().all(|count| *count > 5), "{total:?}");
}
