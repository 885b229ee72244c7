//! Gather against a model of what a descriptor means, with a memory that answers late.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{client, Access, Packet, ReadBeat, SendHead};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Gather;
use viaduct_spec::descriptor::{control, control_segment, data_segment, status};
use viaduct_spec::handle::memory_handle;
use viaduct_spec::tables::{gather, table, transmit, vi_states};
use viaduct_verilate::Bench;

use crate::bundle::{self, fields, Fields};

/// A region every access to which is refused.
const REFUSED: u64 = 0xbad;
/// A region whose reads fail on the bus after some bytes.
const FAILED: u64 = 0xfa1;

/// The byte at an address: any function will do.
fn byte(region: u64, address: u64) -> u8 {
    let mixed = (address ^ region << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

struct Context {
    tag: u64,
    mtu: u64,
    max_transfer: u64,
    connected: bool,
    /// The raw channel's.
    raw: bool,
}

struct Segment {
    address: u64,
    region: u64,
    key: u64,
    length: u64,
}

/// A descriptor, as 64-bit words, and where its region ends.
struct Descriptor {
    head: Fields,
    words: Vec<u64>,
    /// Words that the region holds.
    held: usize,
}

/// One access expected, and how memory will answer.
struct Expected {
    fields: Fields,
    data: Vec<u8>,
    refused: bool,
    failed: bool,
}

/// One packet expected.
struct Announced {
    fields: Fields,
    payload: Vec<u8>,
    refused: bool,
    failed: bool,
}

fn descriptor(
    rng: &mut ChaCha8Rng,
    context: &Context,
    vi: u64,
    wrong: bool,
) -> (Descriptor, Vec<Segment>, u64) {
    let count = match rng.random_range(0..20) {
        0 => 0,
        1..=9 => 1,
        10..=13 => 2,
        14..=17 => rng.random_range(3..=10),
        18 => rng.random_range(11..=80),
        _ => *[250, 251, 252].choose(rng).unwrap(),
    };
    // An RDMA write's first segment says where to; it has no length.
    let rdma = count > 0 && rng.random_bool(0.3);
    let segments: Vec<Segment> = (0..count)
        .map(|n| Segment {
            address: rng.random(),
            region: match rng.random_range(0..200) {
                0 if wrong => REFUSED,
                1 if wrong => FAILED,
                _ => rng.random_range(1..100),
            },
            key: rng.random_range(0..1 << 16),
            length: match rng.random_range(0..10) {
                _ if rdma && n == 0 => u64::from(wrong && rng.random_bool(0.05)),
                0 => 0,
                1..=4 => rng.random_range(1..20),
                5..=8 => rng.random_range(1..400),
                _ if count < 5 => rng.random_range(1..9000),
                _ => rng.random_range(1..100),
            },
        })
        .map(|s| Segment { address: s.address.min(u64::MAX - s.length), ..s })
        .collect();
    let sum: u64 = segments.iter().map(|s| s.length).sum();
    let mut words = vec![rng.random(), 0, 0, 0];
    let mut length = sum;
    let immediate: u64 = rng.random_range(0..1 << 32);
    let mut flags = u64::from(if rdma { control::OP_RDMAWRITE } else { control::OP_SENDRECV });
    if rng.random() {
        flags |= u64::from(control::IMMEDIATE);
    }
    if rng.random() {
        flags |= u64::from(control::QFENCE);
    }
    let mut seg_count = count as u64;
    let (mut reserved, mut posted_status) = (0, 0);
    let mut held = 4 + 2 * segments.len();
    if wrong && rng.random_bool(0.3) {
        match rng.random_range(0..9) {
            0 => length = length.wrapping_add(1) & 0xffff_ffff,
            1 => length = length.saturating_sub(rng.random_range(1..2000)),
            2 => flags |= 1 << rng.random_range(4..16),
            3 => flags |= rng.random_range(1..4),
            4 => seg_count = rng.random_range(253..1 << 16),
            5 => reserved = 1 << rng.random_range(0..32),
            6 => posted_status = 1 << rng.random_range(0..32),
            7 => held = rng.random_range(0..held),
            _ => length = rng.random_range(context.max_transfer + 1..1 << 32),
        }
    }
    control_segment::NEXT_HANDLE.put(&mut words, rng.random_range(0..1 << 32));
    control_segment::SEG_COUNT.put(&mut words, seg_count);
    control_segment::CONTROL.put(&mut words, flags);
    control_segment::RESERVED.put(&mut words, reserved);
    control_segment::IMMEDIATE.put(&mut words, immediate);
    control_segment::LENGTH.put(&mut words, length);
    control_segment::STATUS.put(&mut words, posted_status);
    for segment in &segments {
        let mut handle = [0];
        memory_handle::INDEX.put(&mut handle, segment.region);
        memory_handle::KEY.put(&mut handle, segment.key);
        let mut row = [0, 0];
        data_segment::ADDRESS.put(&mut row, segment.address);
        data_segment::HANDLE.put(&mut row, handle[0]);
        data_segment::LENGTH.put(&mut row, segment.length);
        words.extend(row);
    }
    let lost = wrong && rng.random_bool(0.02);
    let head = fields(&[
        ("vi", vi),
        // Sent again, from some packet on; or of an epoch that is past.
        ("restart", rng.random_bool(0.2).into()),
        ("skip", *[0, 0, 1, 2, 5, 1 << 20].choose(rng).unwrap()),
        ("psn", rng.random_range(0..1 << 24)),
        ("epoch", rng.random_bool(0.05).into()),
        ("region", rng.random_range(0..1 << 16)),
        ("offset", rng.random_range(0..1 << 34)),
        ("words", held.min(8) as u64),
        ("lost", lost.into()),
    ]);
    (Descriptor { head, words, held }, segments, length)
}

/// What must come of a descriptor.
fn expect(
    descriptor: &Descriptor,
    segments: &[Segment],
    length: u64,
    context: &Context,
    accesses: &mut VecDeque<Expected>,
    packets: &mut VecDeque<Announced>,
) {
    let head = &descriptor.head;
    if head["epoch"] == 1 {
        return;
    }
    let words = &descriptor.words;
    let flags = control_segment::CONTROL.get(words);
    // Words that its region does not hold read 0.
    let operation = if descriptor.held > 1 { flags & u64::from(control::OP_MASK) } else { 0 };
    let rdma = operation != u64::from(control::OP_SENDRECV);
    let mut end = fields(&[
        ("vi", head["vi"]),
        ("send", 0),
        ("first", 1),
        ("last", 1),
        ("region", head["region"]),
        ("offset", head["offset"]),
        ("errors", 0),
        ("lost", head["lost"]),
        ("restart", head["restart"]),
        ("psn", head["psn"]),
    ]);
    let mut fail = |errors: u32| {
        end.insert("errors".into(), errors.into());
        end.insert("operation".into(), if errors == 0 { 0 } else { operation });
        packets.push_back(Announced { fields: end.clone(), payload: vec![], refused: false, failed: false });
    };
    if head["lost"] == 1 {
        return fail(0);
    }
    if !context.connected {
        return fail(status::DESC_FLUSHED_ERROR);
    }
    let count = control_segment::SEG_COUNT.get(words);
    if flags & u64::from(control::RESERVED) != 0
        || operation > u64::from(control::OP_RDMAWRITE)
        || (rdma && (count == 0 || segments[0].length != 0))
        || control_segment::RESERVED.get(words) != 0
        || control_segment::STATUS.get(words) != 0
        || count > 252
        || descriptor.held < 4
        || (count >= 1 && descriptor.held < 6)
        || (count >= 2 && descriptor.held < 8)
    {
        return fail(status::FORMAT_ERROR);
    }
    if count > 2 {
        let held = descriptor.held.min(words.len());
        accesses.push_back(Expected {
            fields: fields(&[
                ("address", head["offset"] * 64 + 64),
                ("length", (count - 2) * 16),
                ("region", head["region"]),
                ("tag", context.tag),
                ("by_offset", 1),
                ("system", 0),
                ("write", 0),
                ("clip", 1),
            ]),
            data: words[8..held.max(8)].iter().flat_map(|word| word.to_le_bytes()).collect(),
            refused: held <= 8,
            failed: false,
        });
        if held < words.len() {
            return fail(status::FORMAT_ERROR);
        }
    }
    // What only a raw frame must not have is known with the rest.
    if context.raw && (rdma || flags & u64::from(control::IMMEDIATE) != 0) {
        return fail(status::FORMAT_ERROR);
    }
    if segments.iter().map(|s| s.length).sum::<u64>() != length || length > context.max_transfer {
        return fail(status::LENGTH_ERROR);
    }
    if context.raw && !(14..=4200).contains(&length) {
        return fail(status::LENGTH_ERROR);
    }
    let mtu = if context.raw { 4200 } else { 256 << context.mtu };
    let mut left = length;
    let mut remote = fields(&[("operation", operation)]);
    if rdma {
        let handle = data_segment::HANDLE.get(&words[4..6]);
        remote.extend(fields(&[("remote_address", segments[0].address), ("rkey", handle)]));
    }
    let mut skip = if head["restart"] == 1 { head["skip"] } else { 0 };
    let mut restart = head["restart"];
    let mut segments = segments.iter().filter(|s| s.length > 0);
    let mut current: Option<(&Segment, u64)> = None;
    loop {
        let bytes = left.min(mtu);
        let last = left <= mtu;
        let has_immediate = last && flags & u64::from(control::IMMEDIATE) != 0;
        let mut announced = Announced {
            fields: fields(&[
                ("vi", head["vi"]),
                ("send", 1),
                ("first", (left == length).into()),
                ("last", last.into()),
                ("length", bytes),
                ("has_immediate", has_immediate.into()),
                ("restart", restart),
            ]),
            payload: vec![],
            refused: false,
            failed: false,
        };
        announced.fields.extend(remote.clone());
        if restart == 1 {
            announced.fields.insert("psn".into(), head["psn"]);
        }
        if has_immediate {
            announced.fields.insert("immediate".into(), control_segment::IMMEDIATE.get(words));
        }
        if last {
            announced.fields.extend(fields(&[
                ("region", head["region"]),
                ("offset", head["offset"]),
                ("message_length", length),
                ("errors", 0),
                ("lost", 0),
            ]));
        }
        let mut packet_left = bytes;
        while packet_left > 0 {
            let (segment, done) = current.take().unwrap_or_else(|| (segments.next().unwrap(), 0));
            let rest = segment.length - done;
            let piece = rest.min(packet_left).min(4096);
            let address = segment.address + done;
            let mut data: Vec<u8> = (0..piece).map(|n| byte(segment.region, address + n)).collect();
            let (refused, failed) = (segment.region == REFUSED, segment.region == FAILED);
            announced.refused |= refused;
            announced.failed |= failed;
            announced.payload.extend(&data);
            if refused {
                data.clear();
            }
            if failed {
                data.truncate(piece as usize / 2);
            }
            let access = Expected {
                fields: fields(&[
                    ("address", address),
                    ("span", rest),
                    ("length", piece),
                    ("region", segment.region),
                    ("key", segment.key),
                    ("tag", context.tag),
                    ("by_offset", 0),
                    ("system", 0),
                    ("write", 0),
                    ("clip", 0),
                ]),
                data,
                refused,
                failed,
            };
            if skip == 0 {
                accesses.push_back(access);
            }
            packet_left -= piece;
            current = (done + piece < segment.length).then_some((segment, done + piece));
        }
        left -= bytes;
        if skip == 0 {
            packets.push_back(announced);
            restart = 0;
            if last {
                return;
            }
        } else if last {
            // It was longer when its packets were acknowledged.
            end.insert("first".into(), 0);
            end.insert("errors".into(), status::TRANSPORT_ERROR.into());
            end.insert("operation".into(), operation);
            packets.push_back(Announced { fields: end, payload: vec![], refused: false, failed: false });
            return;
        } else {
            skip -= 1;
        }
    }
}

/// One beat as memory sends it.
struct Beat {
    at: u64,
    fields: Vec<(&'static str, u64)>,
}

/// Host memory, which answers in order.
struct Memory {
    beats: VecDeque<Beat>,
}

impl Memory {
    fn answer(&mut self, expected: &Expected, got: &Fields, at: u64, rng: &mut ChaCha8Rng) {
        let user = got["user"];
        let mut lane = if expected.fields["by_offset"] == 1 { 0 } else { got["address"] % 8 };
        let mut data = &expected.data[..];
        let fault = expected.refused || expected.failed;
        while !data.is_empty() {
            // Half words now and then: a read engine may send them.
            let most = if lane % 4 == 0 && rng.random_bool(0.1) { 4 } else { 8 - lane };
            let most = if lane == 4 { 4 } else { most };
            let count = data.len().min(most as usize);
            let mut lanes = rng.random::<[u8; 8]>();
            lanes[lane as usize..lane as usize + count].copy_from_slice(&data[..count]);
            data = &data[count..];
            self.beats.push_back(Beat {
                at,
                fields: vec![
                    ("client", client::GATHER),
                    ("user", user),
                    ("data", u64::from_le_bytes(lanes)),
                    ("start", lane),
                    ("count", count as u64),
                    ("last", (data.is_empty() && !fault).into()),
                ],
            });
            lane = (lane + count as u64) % 8;
        }
        if fault {
            self.beats.push_back(Beat {
                at,
                fields: vec![
                    ("client", client::GATHER),
                    ("user", user),
                    ("data", rng.random()),
                    ("last", 1),
                    ("refused", expected.refused.into()),
                    ("failed", expected.failed.into()),
                ],
            });
        }
    }
}

fn compare(got: &Fields, expected: &Fields, what: &str) {
    for (name, value) in expected {
        assert_eq!(got[name], *value, "{what}: field {name}; expected {expected:x?}, got {got:x?}");
    }
}

struct Setup {
    bench: Bench,
    rng: ChaCha8Rng,
    contexts: Vec<Context>,
}

fn setup() -> Setup {
    let mut bench = Bench::new("gather", &verilog(Gather::default()));
    let mut rng = super::random(&bench);
    let contexts: Vec<Context> = (0..64)
        .map(|_| Context {
            tag: rng.random_range(1..1 << 16),
            mtu: rng.random_range(0..5),
            max_transfer: rng.random_range(20_000..60_000),
            connected: rng.random_bool(0.9),
            raw: rng.random_bool(0.15),
        })
        .collect();
    for (vi, context) in contexts.iter().enumerate() {
        let mut row = [0; 3];
        gather::TAG.put(&mut row, context.tag);
        gather::MTU.put(&mut row, context.mtu);
        gather::MAX_TRANSFER.put(&mut row, context.max_transfer);
        if context.raw {
            gather::RAW.put(&mut row, 1);
        }
        bundle::commit(&mut bench, table::GATHER, vi as u64, row);
        let state = if context.connected { vi_states::CONNECTED } else { vi_states::ERROR };
        bundle::state(&mut bench, vi as u64, state);
        bundle::epoch(&mut bench, vi as u64, false);
    }
    Setup { bench, rng, contexts }
}

/// Sends `messages` descriptors through and checks every access, packet and payload word. Returns the cycles taken.
fn run(
    setup: &mut Setup,
    messages: usize,
    wrong: bool,
    eager: bool,
    mut make: impl FnMut(&mut ChaCha8Rng, &[Context], bool) -> (Descriptor, Vec<Segment>, u64),
) -> u64 {
    let Setup { bench, rng, contexts } = setup;
    let mut accesses = VecDeque::new();
    let mut packets: VecDeque<Announced> = VecDeque::new();
    let mut memory = Memory { beats: VecDeque::new() };
    let mut descriptors: VecDeque<Descriptor> = VecDeque::new();
    for _ in 0..messages {
        let (descriptor, segments, length) = make(rng, contexts, wrong);
        let context = &contexts[descriptor.head["vi"] as usize];
        expect(&descriptor, &segments, length, context, &mut accesses, &mut packets);
        descriptors.push_back(descriptor);
    }
    let (mut room, mut word) = (8, 0);
    let mut reading: Option<(Announced, Vec<u8>)> = None;
    let start = bench.cycles();
    let mut quiet = 0;
    while !(packets.is_empty() && reading.is_none() && accesses.is_empty() && descriptors.is_empty()) {
        let now = bench.cycles();
        // Descriptors in.
        bench.set("word_valid", 0);
        bench.set("head_valid", 0);
        if let Some(next) = descriptors.front() {
            if room > 0 && (eager || rng.random_bool(0.7)) {
                if word < 8 {
                    bench.set("word_valid", 1);
                    bench
                        .set("word", next.words.get(word).copied().filter(|_| word < next.held).unwrap_or(0));
                    word += 1;
                }
                if word == 8 && (eager || rng.random()) {
                    let list: Vec<(&str, u64)> = next.head.iter().map(|(k, v)| (k.as_str(), *v)).collect();
                    bundle::set::<SendHead>(bench, "head", &list);
                    bench.set("head_valid", 1);
                    descriptors.pop_front();
                    word = 0;
                    room -= 1;
                }
            }
        }
        // Answers, mixed with those of others.
        bench.set("beat_valid", 0);
        match memory.beats.front() {
            Some(beat) if beat.at <= now && (eager || rng.random_bool(0.8)) => {
                bundle::set::<ReadBeat>(bench, "beat", &beat.fields);
                bench.set("beat_valid", 1);
                memory.beats.pop_front();
            }
            _ => {
                let other = *[client::FETCH, client::SCATTER, client::COMPLETE].choose(rng).unwrap();
                let noise =
                    [("client", other), ("data", rng.random()), ("count", 8), ("user", 2), ("last", 1)];
                bundle::set::<ReadBeat>(bench, "beat", &noise);
                bench.set("beat_valid", rng.random_bool(0.3).into());
            }
        }
        bench.set("access_ready", (eager || rng.random_bool(0.6)).into());
        let wants_packet = reading.is_none() && (eager || rng.random_bool(0.3));
        bench.set("packet_ready", 0);
        bench.set("whole_ready", 0);
        bench.set("payload_ready", 0);
        bench.eval();
        // A packet is taken together with its whole token, as transmit does.
        if wants_packet && bench.get("packet_valid") == 1 {
            let got = bundle::get::<Packet>(bench, "packet");
            let has_payload = got["send"] == 1 && got["length"] > 0;
            if !has_payload || bench.get("whole_valid") == 1 {
                let expected = packets.pop_front().expect("a packet nobody expects");
                compare(&got, &expected.fields, "packet");
                bench.set("packet_ready", 1);
                quiet = 0;
                if has_payload {
                    bench.set("whole_ready", 1);
                    assert_eq!(bench.get("whole_refused") == 1, expected.refused);
                    assert_eq!(bench.get("whole_failed") == 1, expected.failed);
                    reading = Some((expected, vec![]));
                }
            }
        } else if let Some((expected, bytes)) = &mut reading {
            if bench.get("payload_valid") == 1 && (eager || rng.random_bool(0.8)) {
                bench.set("payload_ready", 1);
                bytes.extend(bench.get("payload").to_le_bytes());
                quiet = 0;
                let bad = expected.refused || expected.failed;
                let whole = bytes.len() >= expected.payload.len();
                if bench.get("payload_last") == 1 {
                    assert!(bad || whole, "a packet ends early");
                    if !bad {
                        expected.payload.resize(bytes.len(), 0);
                        assert_eq!(*bytes, expected.payload);
                    }
                    reading = None;
                } else {
                    assert!(!whole, "a packet does not end");
                }
            }
        }
        bench.eval();
        if bench.get("access_valid") == 1 && bench.get("access_ready") == 1 {
            let got = bundle::get::<Access>(bench, "access");
            let expected = accesses.pop_front().expect("an access nobody expects");
            compare(&got, &expected.fields, "access");
            let late = if eager { 100 } else { rng.random_range(5..300) };
            let at = memory.beats.back().map_or(0, |beat| beat.at).max(now + late);
            memory.answer(&expected, &got, at, rng);
            quiet = 0;
        }
        if bench.get("head_taken") == 1 {
            room += 1;
        }
        bench.tick();
        quiet += 1;
        assert!(quiet < 5000, "gather stands still");
    }
    let cycles = bench.cycles() - start;
    for port in ["word_valid", "head_valid", "beat_valid"] {
        bench.set(port, 0);
    }
    for _ in 0..8 {
        bench.tick();
        assert_eq!(bench.get("packet_valid") | bench.get("payload_valid") | bench.get("whole_valid"), 0);
    }
    assert_eq!(bench.get("busy"), 0, "room was not given back");
    cycles
}

fn any(rng: &mut ChaCha8Rng, contexts: &[Context], wrong: bool) -> (Descriptor, Vec<Segment>, u64) {
    let vi = rng.random_range(0..64);
    descriptor(rng, &contexts[vi as usize], vi, wrong)
}

#[test]
fn cuts_messages_into_packets() {
    run(&mut setup(), 600, false, false, any);
}

/// Frames of the raw channel, of every length about the limits, and in one segment or a few.
#[test]
fn a_raw_frame_is_one_packet() {
    let mut setup = setup();
    for (vi, context) in setup.contexts.iter().enumerate().filter(|(_, context)| context.raw) {
        println!("VI {vi}, connected: {}", context.connected);
    }
    let mut n = 0;
    run(&mut setup, 600, false, false, |rng, contexts, _| {
        let raw: Vec<u64> = (0..64).filter(|vi| contexts[*vi as usize].raw).collect();
        let vi = *raw.choose(rng).expect("a raw one among 64");
        n += 1;
        let length: u64 = match n {
            ..=40 => n,
            41..=200 => 4060 + n,
            _ => rng.random_range(1..4300),
        };
        let count = rng.random_range(1..4.min(length + 1));
        let mut words = vec![0, count << 32, 0, length];
        let mut left = length;
        let segments: Vec<Segment> = (0..count)
            .map(|n| {
                let length = if n + 1 == count { left } else { rng.random_range(0..=left) };
                left -= length;
                Segment { address: rng.random_range(0..1 << 40), region: 5, key: 9, length }
            })
            .collect();
        words.extend(segments.iter().flat_map(|s| [s.address, s.length << 32 | 9 << 16 | 5]));
        let held = words.len();
        let head = [("vi", vi), ("region", 1), ("offset", 2), ("words", held.min(8) as u64), ("lost", 0)];
        let again = [("epoch", 0), ("restart", 0), ("skip", 0), ("psn", 0)];
        let head = fields(&[&head[..], &again].concat());
        (Descriptor { head, words, held }, segments, length)
    });
}

#[test]
fn refuses_what_is_wrong() {
    run(&mut setup(), 1500, true, false, any);
}

#[test]
fn a_message_of_a_past_epoch_ends_without_a_word() {
    let Setup { mut bench, .. } = setup();
    bundle::state(&mut bench, 7, vi_states::CONNECTED);
    let mut row = [0; 3];
    gather::TAG.put(&mut row, 1);
    gather::MAX_TRANSFER.put(&mut row, 100_000);
    bundle::commit(&mut bench, table::GATHER, 7, row);
    for (offset, epoch) in [(77, 0), (78, 0), (77, 1)] {
        for word in [0, 1 << 32, 0, 50_000, 0x1000, 50_000 << 32 | 5, 0, 0] {
            bench.set("word_valid", 1);
            bench.set("word", word);
            bench.tick();
        }
        bench.set("word_valid", 0);
        let head = [
            ("vi", 7),
            ("words", 8),
            ("offset", offset),
            ("epoch", epoch),
            ("restart", epoch),
            ("skip", epoch),
        ];
        bundle::set::<SendHead>(&mut bench, "head", &head);
        bench.set("head_valid", 1);
        bench.tick();
        bench.set("head_valid", 0);
    }
    bench.set("packet_ready", 1);
    bench.set("access_ready", 1);
    let (mut old, mut new, mut taken, mut turned) = (0, 0, 0, false);
    while new == 0 {
        bench.eval();
        taken += bench.get("head_taken");
        if bench.get("packet_valid") == 1 {
            let packet = bundle::get::<Packet>(&bench, "packet");
            assert_eq!((packet["send"], packet["last"]), (1, 0), "{packet:?}");
            old += 1 - packet["epoch"];
            new += packet["epoch"];
            assert_eq!(
                (packet["restart"], packet["first"]),
                (packet["epoch"], u64::from(old == 1 && new == 0))
            );
        }
        bench.tick();
        if old == 3 && !turned {
            turned = true;
            bench.set("packet_ready", 0);
            bundle::epoch(&mut bench, 7, true);
            bench.set("packet_ready", 1);
        }
        assert!(bench.cycles() < 10_000);
    }
    assert!((3..8).contains(&old), "{old}");
    assert_eq!(taken, 2, "heads of the past epoch");
}

/// What makes an RDMA read none: no right, no depth, immediate data.
#[test]
fn a_read_that_may_not_be_one_is_malformed() {
    for (right, depth, immediate) in [(1, 4, 0), (0, 4, 0), (1, 0, 0), (1, 4, control::IMMEDIATE)] {
        let Setup { mut bench, .. } = setup();
        bundle::state(&mut bench, 7, vi_states::CONNECTED);
        let mut row = [0; 3];
        gather::TAG.put(&mut row, 1);
        gather::MAX_TRANSFER.put(&mut row, 100_000);
        gather::RDMA_READ.put(&mut row, right);
        bundle::commit(&mut bench, table::GATHER, 7, row);
        let mut row = [0; 3];
        transmit::READ_DEPTH.put(&mut row, depth);
        bundle::commit(&mut bench, table::TRANSMIT, 7, row);
        let flags = u64::from(control::OP_RDMAREAD | immediate) << 48;
        for word in [0, flags | 2 << 32, 0, 600, 0x1000, 5, 0x2000, 600 << 32 | 5] {
            bench.set("word_valid", 1);
            bench.set("word", word);
            bench.tick();
        }
        bench.set("word_valid", 0);
        bundle::set::<SendHead>(&mut bench, "head", &[("vi", 7), ("words", 8), ("offset", 77)]);
        bench.set("head_valid", 1);
        bench.tick();
        bench.set("head_valid", 0);
        bench.set("packet_ready", 1);
        bench.eval();
        while bench.get("packet_valid") == 0 {
            bench.tick();
            bench.eval();
            assert!(bench.cycles() < 10_000);
        }
        let packet = bundle::get::<Packet>(&bench, "packet");
        let good = right == 1 && depth != 0 && immediate == 0;
        let error = if good { 0 } else { status::FORMAT_ERROR };
        assert_eq!(
            (packet["send"], packet["errors"], packet["parked"]),
            (good.into(), error.into(), 0),
            "right {right}, depth {depth}, immediate {immediate}"
        );
    }
}

/// Without waiting for data: messages of 8 bytes follow each other at the walker's pace, whatever the latency.
#[test]
fn keeps_reads_in_flight() {
    let mut setup = setup();
    for context in &mut setup.contexts {
        context.connected = true;
    }
    // Not raw, whatever it was.
    setup.contexts[3].raw = false;
    let mut row = [0; 3];
    gather::TAG.put(&mut row, setup.contexts[3].tag);
    gather::MTU.put(&mut row, setup.contexts[3].mtu);
    gather::MAX_TRANSFER.put(&mut row, setup.contexts[3].max_transfer);
    bundle::commit(&mut setup.bench, table::GATHER, 3, row);
    for vi in 0..64 {
        bundle::state(&mut setup.bench, vi, vi_states::CONNECTED);
    }
    let cycles = run(&mut setup, 200, false, true, |rng, _, _| {
        let segment = Segment { address: rng.random_range(0..1 << 40), region: 5, key: 9, length: 8 };
        let mut words = vec![0, 1 << 32, 0, 8];
        words.extend([segment.address, 8 << 32 | 9 << 16 | 5]);
        let head = [("vi", 3), ("region", 1), ("offset", 2), ("words", 8), ("lost", 0)];
        let again = [("epoch", 0), ("restart", 0), ("skip", 0), ("psn", 0)];
        let head = fields(&[&head[..], &again].concat());
        (Descriptor { head, words, held: 8 }, vec![segment], 8)
    });
    println!("{} cycles a message", cycles / 200);
    assert!(cycles < 200 * 13 + 250, "{cycles}");
}

#[test]
fn ends_a_message_whose_vi_breaks() {
    let Setup { mut bench, .. } = setup();
    bundle::state(&mut bench, 7, vi_states::CONNECTED);
    let mut row = [0; 3];
    gather::TAG.put(&mut row, 1);
    gather::MAX_TRANSFER.put(&mut row, 100_000);
    bundle::commit(&mut bench, table::GATHER, 7, row);
    for word in [0, 1 << 32, 0, 50_000, 0x1000, 50_000 << 32 | 5, 0, 0] {
        bench.set("word_valid", 1);
        bench.set("word", word);
        bench.tick();
    }
    bench.set("word_valid", 0);
    bundle::set::<SendHead>(&mut bench, "head", &[("vi", 7), ("words", 8), ("offset", 77)]);
    bench.set("head_valid", 1);
    bench.tick();
    bench.set("head_valid", 0);
    bench.set("packet_ready", 1);
    bench.set("access_ready", 1);
    let (mut sent, mut breaks) = (0, true);
    loop {
        bench.eval();
        if bench.get("packet_valid") == 1 {
            let packet = bundle::get::<Packet>(&bench, "packet");
            if packet["send"] == 0 {
                assert_eq!(packet["last"], 1);
                assert_eq!(packet["offset"], 77);
                assert_eq!(packet["errors"], u64::from(status::DESC_FLUSHED_ERROR));
                break;
            }
            assert_eq!(packet["last"], 0);
            sent += 1;
        }
        bench.tick();
        if sent == 3 && breaks {
            breaks = false;
            bench.set("packet_ready", 0);
            bundle::state(&mut bench, 7, vi_states::ERROR);
            bench.set("packet_ready", 1);
        }
        assert!(bench.cycles() < 10_000);
    }
    assert!((3..8).contains(&sent), "{sent}");
}
