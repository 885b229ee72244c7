//! Parse against frames that Linux made, against each of them with a byte changed, and against lies.

use rand::{seq::IndexedRandom, Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::{export::verilog, receive::Parse};
use viaduct_verilate::Bench;

use super::frames::{
    captures, fate, fate_raw, immediate, repair, reth, Fate, Filter, Frame, CLIENT, PKEY, SERVER,
};
use super::shown::{beats, Info};

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
        bench.set("mac", u64::from_le_bytes(mac));
        bench.set("ip", u32::from_be_bytes(us.1).into());
        bench.set("pkey", PKEY.into());
        Self { bench, random, us, filter: Filter::default(), tagged: |_| false }
    }

    fn open(&mut self, filter: Filter) {
        self.filter = filter;
        let Filter { open, broadcast, multicast, any, vi } = filter;
        for (name, value) in
            [("open", open.into()), ("broadcast", broadcast.into()), ("multicast", multicast.into())]
        {
            self.bench.set(&format!("raw_{name}"), value);
        }
        self.bench.set("raw_any", any.into());
        self.bench.set("raw_vi", vi);
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
            let counts = ["count_malformed", "count_not_ours", "count_icrc", "count_bth", "count_congestion"]
                .map(|name| bench.get(name) == 1);
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
                queue.next();
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
            seen[match is {
                Fate::Keep(..) => 0,
                Fate::Malformed => 1,
                Fate::NotOurs => 2,
                Fate::Icrc => 3,
                Fate::Bth => 4,
                Fate::Congestion => 5,
            }] += 1;
        }
        seen
    }
}

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

fn sample(payload: usize, opcode: u8) -> Frame {
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

#[test]
fn lies_and_oddities() {
    let mut rig = Rig::new(SERVER);
    let mut frames = Vec::new();
    let mut expect = [0; 6];
    let mut add = |frame: Vec<u8>, bad: bool, class: usize| {
        expect[class] += 1;
        frames.push((frame, bad));
    };
    let changed = |at: usize, value: &[u8]| {
        let mut frame = sample(50, 4).bytes();
        frame[at..at + value.len()].copy_from_slice(value);
        repair(&mut frame);
        frame
    };
    let whole = sample(50, 4).bytes();
    add(whole.clone(), false, 0);
    add(whole.clone(), true, 1);
    // Padding behind the IP packet, from one byte to a screenful.
    for padding in [1, 2, 6, 7, 8, 46, 4000, 4224 - whole.len(), 4225 - whole.len(), 9000] {
        let longer = [whole.clone(), vec![0xee; padding]].concat();
        let class = if longer.len() > 4224 { 1 } else { 0 };
        add(longer, false, class);
    }
    // Cut anywhere.
    for length in 1..whole.len() {
        add(whole[..length].to_vec(), false, 1);
    }
    add(changed(36, &[0x12, 0xb8]), false, 2); // another port
    add(changed(12, &[0x86, 0xdd]), false, 2); // IPv6
    add(changed(12, &[0x08, 0x06]), false, 2); // ARP
    add(changed(14, &[0x46]), false, 2); // options
    add(changed(14, &[0x65]), false, 2); // another version
    add(changed(20, &[0x20, 0x00]), false, 2); // more fragments
    add(changed(20, &[0x00, 0x01]), false, 2); // a later fragment
    add(changed(20, &[0x00, 0x00]), false, 0); // may be fragmented, is not
    add(changed(20, &[0x80, 0x00]), false, 0); // the reserved bit
    add(changed(23, &[6]), false, 2); // TCP
    add(changed(30, &[10, 0, 0, 9]), false, 2); // another address
    add(changed(0, &[0xff; 6]), false, 2); // broadcast
    add(changed(43, &[0x21]), false, 4); // BTH version 1
    add(changed(44, &[0x7f, 0xff]), false, 0); // limited member
    add(changed(44, &[0x12, 0x34]), false, 4); // another partition
    add(changed(42, &[0x64]), false, 4); // unreliable datagram
    add(changed(15, &[0xfc]), false, 0); // another type of service
    add(changed(15, &[0x03]), false, 0); // congestion experienced
    add(changed(15, &[0xfe]), false, 0); // only capable of it
    add(changed(42, &[0x81]), false, 5); // a congestion notification
    add(changed(22, &[1]), false, 0); // time to live
    add(changed(40, &[0xab, 0xcd]), false, 0); // a UDP checksum
    add(changed(46, &[0xff]), false, 0); // congestion bits
                                         // IP and UDP lengths, together and apart.
    for length in [0u16, 20, 28, 40, 43, 44, 48, 95, 97, 100, 104, 4144, 4160, 0xfffc, 0xffff] {
        let mut frame = whole.clone();
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        frame[38..40].copy_from_slice(&length.wrapping_sub(20).to_be_bytes());
        repair(&mut frame);
        // 44 has no room for the pad; 48 and the true length are whole packets.
        add(frame, false, if [48].contains(&length) { 0 } else { 1 });
        let mut frame = whole.clone();
        frame[38..40].copy_from_slice(&length.to_be_bytes());
        repair(&mut frame);
        add(frame, false, 1);
    }
    add(sample(4120, 4).bytes(), false, 1);
    let mut frame = whole.clone();
    frame[24] ^= 1;
    add(frame, false, 1);
    // An acknowledgement without room for its AETH; a pad larger than the payload.
    let mut frame = sample(0, 4).bytes();
    frame[42] = 0x11;
    repair(&mut frame);
    add(frame, false, 1);
    let mut frame = sample(0, 4).bytes();
    frame[43] = 0x30;
    repair(&mut frame);
    add(frame, false, 1);

    assert_eq!(rig.check(&frames, true), expect);
    assert_eq!(rig.check(&frames, false), expect);
}

/// Frames cut to every length, with one field of another's: it counts where the frame has it whole.
#[test]
fn a_cut_frame_is_nobody_s_by_the_fields_that_it_has_whole() {
    let mut rig = Rig::new(SERVER);
    let whole = sample(50, 4).bytes();
    // Where a byte is changed, and where its field ends.
    for (at, end) in
        [(14, 15), (20, 22), (21, 22), (23, 24), (30, 34), (31, 34), (32, 34), (33, 34), (36, 38), (37, 38)]
    {
        let cut = |length: usize| {
            let mut frame = whole[..length].to_vec();
            frame[at] ^= 0x11;
            (frame, false)
        };
        let frames: Vec<_> = (at + 1..58).map(cut).collect();
        let seen = rig.check(&frames, true);
        assert_eq!(seen, [0, end - at - 1, 58 - end, 0, 0, 0], "byte {at}");
    }
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
