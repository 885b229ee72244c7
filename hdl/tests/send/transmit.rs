//! Transmit against frames built by hand, byte for byte.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{word, AckRequest, Fault, FrameBeat, Packet, Sent};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Transmit;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::register::event_code;
use viaduct_spec::tables::{service, table, transmit, vi_states};
use viaduct_spec::wire::{opcode, syndrome};
use viaduct_verilate::Bench;

use crate::frames::{self, Headers};
use crate::port::{self, fields};

struct Vi {
    headers: Headers,
    psn: u64,
    service: u8,
    loopback: bool,
    state: u8,
}

/// A packet given, its payload, and how its accesses ended.
struct Given {
    packet: port::Fields,
    payload: Option<(Vec<u8>, bool, bool)>,
}

struct Expected {
    bytes: Vec<u8>,
    loopback: bool,
    vlan: [u8; 4],
}

struct World {
    bench: Bench,
    rng: ChaCha8Rng,
    vis: Vec<Vi>,
    packets: VecDeque<Given>,
    acks: VecDeque<port::Fields>,
    frames: VecDeque<Expected>,
    ack_frames: VecDeque<Expected>,
    sent: VecDeque<port::Fields>,
    faults: VecDeque<(u64, u8)>,
    /// NAKs of answers that were refused.
    failed: VecDeque<port::Fields>,
}

fn world() -> World {
    let mut bench = Bench::new("transmit", &verilog(Transmit::default()));
    let mut rng = super::random(&bench);
    let vis: Vec<Vi> = (0..64)
        .map(|_| Vi {
            headers: Headers::random(&mut rng),
            psn: if rng.random_bool(0.2) { 0xff_fffe } else { rng.random_range(0..1 << 24) },
            service: rng.random_range(0..4),
            loopback: rng.random(),
            state: *[
                vi_states::CONNECTED,
                vi_states::CONNECTED,
                vi_states::CONNECTED,
                vi_states::ERROR,
                vi_states::IDLE,
            ]
            .choose(&mut rng)
            .unwrap(),
        })
        .collect();
    for (n, vi) in vis.iter().enumerate() {
        let mut row = [0; 3];
        transmit::PSN.put(&mut row, vi.psn);
        transmit::SERVICE.put(&mut row, vi.service.into());
        transmit::LOOPBACK.put(&mut row, vi.loopback.into());
        port::commit(&mut bench, table::TRANSMIT, n as u64, row);
        for (word, value) in vi.headers.template(&mut rng).into_iter().enumerate() {
            port::commit(&mut bench, table::TEMPLATE, (8 * n + word) as u64, [value, 0, 0]);
        }
        // One that has broken, or is idle again, was connected.
        port::state(&mut bench, n as u64, vi_states::CONNECTED);
        port::state(&mut bench, n as u64, vi.state);
        port::epoch(&mut bench, n as u64, false);
    }
    World {
        bench,
        rng,
        vis,
        packets: VecDeque::new(),
        acks: VecDeque::new(),
        frames: VecDeque::new(),
        ack_frames: VecDeque::new(),
        sent: VecDeque::new(),
        faults: VecDeque::new(),
        failed: VecDeque::new(),
    }
}

impl World {
    /// One message through the model: packets as gather gives them, and what must come of them.
    fn message(&mut self, n: u64, lengths: &[usize], wrong: bool) {
        let (write, again) = (self.rng.random_bool(0.4), self.rng.random_bool(0.3));
        self.message_of(n, lengths, wrong, write, again && !wrong);
    }

    /// The same: an RDMA write or a send, with a rewind in between or not.
    fn message_of(&mut self, n: u64, lengths: &[usize], wrong: bool, write: bool, again: bool) {
        let rng = &mut self.rng;
        let vi = &mut self.vis[n as usize];
        let reliable = ![service::UNRELIABLE, service::RAW].contains(&vi.service);
        // A frame is all there is to a raw one.
        let raw = vi.service == service::RAW;
        let single = [match rng.random_range(0..4) {
            0 => rng.random_range(14..40),
            1 => rng.random_range(4090..=4200),
            _ => rng.random_range(14..400),
        }];
        let lengths = if raw { &single[..] } else { lengths };
        let write = write && !raw;
        let immediate: Option<u32> = (!raw && rng.random()).then(|| rng.random());
        let (region, offset) = (rng.random_range(0..1 << 16), rng.random_range(0..1 << 34));
        let total: usize = lengths.iter().sum();
        let (mut error, mut broken, mut left) = (0, false, 0);
        let write: Option<(u64, u32)> = write.then(|| (rng.random(), rng.random()));
        let operation = if write.is_some() { control::OP_RDMAWRITE } else { control::OP_SENDRECV };
        let mut end = fields(&[
            ("vi", n),
            ("region", region),
            ("offset", offset),
            ("lost", 0),
            ("ends", 1),
            ("operation", operation.into()),
        ]);
        // Gather ends the message instead of a packet, sometimes.
        let cut = (wrong && rng.random_bool(0.2)).then(|| rng.random_range(0..lengths.len()));
        // The packets, each by its number. A rewind cuts a message off: its other packets are of the past, and some of
        // all come again; or it was rewound to the middle of before.
        let all = lengths.len();
        let (mut order, mut stale, mut restart): (Vec<usize>, _, _) = ((0..all).collect(), 0..0, None);
        if reliable && again && vi.state == vi_states::CONNECTED {
            let turn = rng.random_range(0..=all);
            let from = rng.random_range(0..=turn.min(all - 1));
            order.extend(from..all);
            (stale, restart) = (turn..all, Some(all));
        }
        let first_psn = vi.psn;
        for (turn, k) in order.into_iter().enumerate() {
            let length = &lengths[k];
            let (first, last) = (k == 0, k + 1 == lengths.len());
            let mut packet = fields(&[
                ("vi", n),
                ("first", first.into()),
                ("region", region),
                ("offset", offset),
                ("operation", operation.into()),
                ("epoch", stale.contains(&turn).into()),
                // Only with `restart` does it count.
                ("psn", rng.random_range(0..1 << 24)),
            ]);
            if let Some((address, rkey)) = write {
                packet.extend(fields(&[("remote_address", address), ("rkey", rkey.into())]));
            }
            if restart == Some(turn) {
                vi.psn = (first_psn + k as u64) & 0xff_ffff;
                packet.extend(fields(&[("restart", 1), ("psn", vi.psn)]));
            }
            if cut == Some(k) {
                // Gather finds that it was longer before.
                let shrunk = !first && vi.state == vi_states::CONNECTED && rng.random();
                let errors = if shrunk {
                    status::TRANSPORT_ERROR
                } else if !first || vi.state != vi_states::CONNECTED {
                    status::DESC_FLUSHED_ERROR
                } else {
                    *[status::FORMAT_ERROR, status::LENGTH_ERROR, status::DESC_FLUSHED_ERROR, 0]
                        .choose(rng)
                        .unwrap()
                };
                packet.extend(fields(&[
                    ("send", 0),
                    ("last", 1),
                    ("errors", errors.into()),
                    ("lost", (errors == 0).into()),
                ]));
                self.packets.push_back(Given { packet, payload: None });
                if error == 0 {
                    error = errors;
                    if errors == status::DESC_FLUSHED_ERROR && left > 0 {
                        error = status::TRANSPORT_ERROR;
                    } else if errors != status::DESC_FLUSHED_ERROR && errors != 0 {
                        broken = reliable && vi.state == vi_states::CONNECTED;
                    }
                }
                end.insert("lost".into(), (errors == 0).into());
                if broken {
                    self.faults.push_back((n, if shrunk { event_code::POST_DESC } else { 0 }));
                    vi.state = vi_states::ERROR;
                }
                end.extend(fields(&[("errors", error.into()), ("length", 0), ("acknowledged", 0)]));
                self.sent.push_back(end);
                return;
            }
            packet.extend(fields(&[("send", 1), ("last", last.into()), ("length", *length as u64)]));
            packet.insert("message_length".into(), total as u64);
            if last {
                if let Some(immediate) = immediate {
                    packet.extend(fields(&[("has_immediate", 1), ("immediate", immediate.into())]));
                }
            }
            let payload: Vec<u8> = (0..*length).map(|_| rng.random()).collect();
            let bad = wrong && *length > 0 && rng.random_bool(0.08);
            let refused = bad && rng.random();
            let failed = bad && (!refused || rng.random());
            let given = (*length > 0).then(|| {
                let kept = if bad { rng.random_range(0..=*length) } else { *length };
                (payload[..kept].to_vec(), refused, failed)
            });
            self.packets.push_back(Given { packet, payload: given });
            if error != 0 || stale.contains(&turn) {
                continue;
            }
            if vi.state != vi_states::CONNECTED {
                error = if left > 0 { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
                continue;
            }
            if bad {
                error = if refused { status::PROTECTION_ERROR } else { status::TRANSPORT_ERROR };
                if reliable {
                    self.faults.push_back((n, 0));
                    vi.state = vi_states::ERROR;
                }
                continue;
            }
            let extension = immediate.filter(|_| last);
            let code = match (first, last, extension) {
                (true, false, _) => opcode::UC_SEND_FIRST,
                (false, false, _) => opcode::UC_SEND_MIDDLE,
                (false, true, None) => opcode::UC_SEND_LAST,
                (false, true, Some(_)) => opcode::UC_SEND_LAST_IMMEDIATE,
                (true, true, None) => opcode::UC_SEND_ONLY,
                (true, true, Some(_)) => opcode::UC_SEND_ONLY_IMMEDIATE,
            };
            let code =
                if write.is_some() { code + opcode::UC_WRITE_FIRST - opcode::UC_SEND_FIRST } else { code };
            let frame = frames::Fields {
                opcode: if reliable { code - opcode::UC_SEND_FIRST } else { code },
                reth: write.filter(|_| first).map(|(address, rkey)| (address, rkey, total as u32)),
                ack_request: reliable && (last || vi.psn % 16 == 15),
                psn: vi.psn as u32,
                extension,
                payload,
            };
            self.frames.push_back(Expected {
                bytes: if raw { frame.payload.clone() } else { vi.headers.frame(&frame) },
                loopback: vi.loopback,
                vlan: if raw { [0; 4] } else { vi.headers.vlan },
            });
            left += 1;
            if last {
                end.insert("psn".into(), vi.psn);
                if turn + 1 == all && restart.is_some() {
                    // The first time.
                    let mut end = end.clone();
                    end.extend(fields(&[("errors", 0), ("length", total as u64), ("acknowledged", 1)]));
                    self.sent.push_back(end);
                }
            } else if reliable {
                self.sent.push_back(fields(&[
                    ("vi", n),
                    ("ends", 0),
                    ("psn", vi.psn),
                    ("length", total as u64),
                    ("operation", operation.into()),
                ]));
            }
            vi.psn = (vi.psn + 1) & 0xff_ffff;
        }
        end.extend(fields(&[
            ("errors", error.into()),
            ("length", if error == 0 { total as u64 } else { 0 }),
            ("acknowledged", (reliable && error == 0).into()),
        ]));
        self.sent.push_back(end);
    }

    fn acknowledgement(&mut self) {
        let rng = &mut self.rng;
        let others: Vec<u64> = (0..64).filter(|n| self.vis[*n as usize].service != service::RAW).collect();
        let n = *others.choose(rng).unwrap();
        let code = *[syndrome::ACK, syndrome::NAK_OPERATIONAL, syndrome::RNR_NAK].choose(rng).unwrap();
        // Its connection has ended meanwhile.
        let forgotten = rng.random_bool(0.1);
        let left = self.vis[n as usize].state != vi_states::IDLE && !forgotten;
        self.acknowledgement_of(n, code, forgotten, left);
    }

    /// An acknowledgement of a VI's, which leaves or does not.
    fn acknowledgement_of(&mut self, n: u64, code: u8, forgotten: bool, leaves: bool) {
        let rng = &mut self.rng;
        let (psn, msn) = (rng.random_range(0..1 << 24), rng.random_range(0..1 << 24));
        let kind = if forgotten { word::FORGET } else { word::SAY };
        self.acks.push_back(fields(&[
            ("vi", n),
            ("psn", psn),
            ("msn", msn),
            ("syndrome", code.into()),
            ("kind", kind),
        ]));
        let vi = &self.vis[n as usize];
        if leaves {
            let frame = frames::Fields {
                opcode: opcode::RC_ACKNOWLEDGE,
                psn: psn as u32,
                extension: Some(u32::from(code) << 24 | msn as u32),
                ..Default::default()
            };
            self.ack_frames.push_back(Expected {
                bytes: vi.headers.frame(&frame),
                loopback: vi.loopback,
                vlan: vi.headers.vlan,
            });
        }
    }

    /// Runs until everything expected has come. Returns the cycles taken.
    fn run(&mut self, eager: bool) -> u64 {
        let Self { bench, rng, packets, acks, frames, ack_frames, sent, faults, failed, .. } = self;
        let mut words: VecDeque<(u64, bool)> = VecDeque::new();
        let mut wholes: VecDeque<(bool, bool)> = VecDeque::new();
        let mut filled = 0;
        let (mut beats, mut broken) = (Vec::<u8>::new(), None);
        let (start, mut quiet) = (bench.cycles(), 0);
        let (mut positive, mut negative) = (0, 0);
        while !(packets.is_empty()
            && acks.is_empty()
            && frames.is_empty()
            && ack_frames.is_empty()
            && sent.is_empty())
        {
            // Payload comes in ahead of its packet's turn, or late.
            if filled < packets.len() && filled < 4 && (eager || rng.random_bool(0.1)) {
                if let Some((bytes, refused, failed)) = &packets[filled].payload {
                    let count = bytes.len().div_ceil(8).max(1);
                    for n in 0..count {
                        let mut word = [0; 8];
                        let part = &bytes[8 * n..bytes.len().min(8 * n + 8)];
                        word[..part.len()].copy_from_slice(part);
                        words.push_back((u64::from_le_bytes(word), n + 1 == count));
                    }
                    wholes.push_back((*refused, *failed));
                }
                filled += 1;
            }
            bench.set("packet_valid", (!packets.is_empty()).into());
            if let Some(given) = packets.front() {
                let list: Vec<(&str, u64)> = given.packet.iter().map(|(k, v)| (k.as_str(), *v)).collect();
                port::set::<Packet>(bench, "packet", &list);
            }
            let whole = wholes.front().copied();
            bench.set("whole_valid", whole.is_some().into());
            bench.set("whole_refused", whole.map_or(rng.random(), |w| w.0).into());
            bench.set("whole_failed", whole.map_or(rng.random(), |w| w.1).into());
            bench.set("payload_valid", (!words.is_empty()).into());
            let word = words.front().copied().unwrap_or((rng.random(), rng.random()));
            bench.set("payload", word.0);
            bench.set("payload_last", word.1.into());
            if bench.get("ack_valid") == 0 && !acks.is_empty() && (eager || rng.random_bool(0.05)) {
                let list: Vec<(&str, u64)> = acks[0].iter().map(|(k, v)| (k.as_str(), *v)).collect();
                port::set::<AckRequest>(bench, "ack", &list);
                bench.set("ack_valid", 1);
            }
            bench.set("frame_ready", (eager || rng.random_bool(0.8)).into());
            bench.set("sent_ready", (eager || rng.random_bool(0.5)).into());
            // No fault is taken while the state changes by the one before.
            bench.set("fault_ready", (broken.is_none() && rng.random_bool(0.2)).into());
            bench.set("failed_ready", rng.random_bool(0.2).into());
            bench.eval();

            if !beats.is_empty() {
                assert_eq!(bench.get("frame_valid"), 1, "a frame pauses");
            }
            if bench.get("frame_valid") == 1 && bench.get("frame_ready") == 1 {
                quiet = 0;
                let beat = port::get::<FrameBeat>(bench, "frame");
                let count = beat["count"] as usize;
                assert!(count == 8 || beat["last"] == 1);
                beats.extend(&beat["data"].to_le_bytes()[..count]);
                if beat["last"] == 1 {
                    let acknowledges = ack_frames.front().is_some_and(|frame| frame.bytes == beats);
                    let queue = if acknowledges { &mut *ack_frames } else { &mut *frames };
                    let expected = queue.pop_front().expect("a frame nobody expects");
                    assert_eq!(beats, expected.bytes);
                    assert_eq!(bench.get("frame_loopback") == 1, expected.loopback);
                    assert_eq!(bench.get("frame_vlan") as u32, u32::from_le_bytes(expected.vlan));
                    beats.clear();
                }
            }
            if bench.get("sent_valid") == 1 && bench.get("sent_ready") == 1 {
                quiet = 0;
                let got = port::get::<Sent>(bench, "sent");
                let expected = sent.pop_front().expect("a message nobody sent");
                for (name, value) in &expected {
                    assert_eq!(got[name], *value, "{name}: expected {expected:x?}, got {got:x?}");
                }
            }
            if bench.get("failed_valid") == 1 && bench.get("failed_ready") == 1 {
                let got = port::get::<AckRequest>(bench, "failed");
                let expected = failed.pop_front().expect("a NAK nobody expects");
                for (name, value) in &expected {
                    assert_eq!(got[name], *value, "{name}: expected {expected:x?}, got {got:x?}");
                }
            }
            let announce = broken.take();
            if bench.get("fault_valid") == 1 && bench.get("fault_ready") == 1 {
                let got = port::get::<Fault>(bench, "fault");
                assert_eq!(got["breaks"], 1);
                assert_eq!(Some((got["vi"], got["code"] as u8)), faults.pop_front());
                broken = Some(got["vi"]);
            }
            positive += bench.get("count_ack");
            negative += bench.get("count_nak");
            let taken = (
                bench.get("packet_ready") == 1,
                bench.get("whole_ready") == 1,
                bench.get("payload_ready") == 1,
                bench.get("ack_ready") == 1,
            );
            if let Some(vi) = announce {
                port::state(bench, vi, vi_states::ERROR);
            } else {
                bench.tick();
            }
            if taken.0 {
                packets.pop_front().expect("a packet that was not there");
                filled = filled.saturating_sub(1);
                quiet = 0;
            }
            if taken.1 {
                wholes.pop_front().expect("a whole that was not there");
            }
            if taken.2 {
                words.pop_front().expect("a word that was not there");
            }
            if taken.3 {
                acks.pop_front().expect("an acknowledgement that was not there");
                bench.set("ack_valid", 0);
            }
            quiet += 1;
            assert!(quiet < 4000, "transmit stands still");
        }
        let cycles = bench.cycles() - start;
        for port in ["packet_valid", "whole_valid", "payload_valid"] {
            bench.set(port, 0);
        }
        for _ in 0..8 {
            bench.tick();
        }
        assert!(faults.is_empty() && failed.is_empty() && words.is_empty() && wholes.is_empty());
        assert_eq!(bench.get("busy"), 0);
        println!("{positive} ACKs, {negative} NAKs, {cycles} cycles");
        cycles
    }
}

fn lengths(rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mtu = 256 << rng.random_range(0..5);
    let mut lengths = vec![mtu; *[0, 0, 0, 1, 2, 5].choose(rng).unwrap()];
    lengths.push(match rng.random_range(0..4) {
        0 => rng.random_range(0..20),
        1 => mtu,
        _ => rng.random_range(0..=mtu),
    });
    if lengths.len() > 1 && lengths.last() == Some(&0) {
        lengths.pop();
    }
    lengths
}

#[test]
fn frames_are_exact() {
    let mut world = world();
    for _ in 0..400 {
        let n = world.rng.random_range(0..64);
        let lengths = lengths(&mut world.rng);
        world.message(n, &lengths, false);
        if world.rng.random() {
            world.acknowledgement();
        }
    }
    world.run(false);
}

#[test]
fn every_length_and_extension() {
    let mut world = world();
    for length in 0..70 {
        for n in 0..8 {
            world.message(n, &[length], false);
        }
    }
    world.run(true);
}

#[test]
fn bad_packets_end_their_message() {
    let mut world = world();
    for _ in 0..1500 {
        let n = world.rng.random_range(0..64);
        let lengths: Vec<usize> = lengths(&mut world.rng).iter().map(|length| (*length).min(300)).collect();
        world.message(n, &lengths, true);
        // Broken VIs connect again, with a new PSN: a commit between messages.
        if world.rng.random_bool(0.1) {
            world.run(false);
            let n = world.rng.random_range(0..64);
            let vi = &mut world.vis[n];
            vi.state = vi_states::CONNECTED;
            vi.psn = world.rng.random_range(0..1 << 24);
            let mut row = [0; 3];
            transmit::PSN.put(&mut row, vi.psn);
            transmit::SERVICE.put(&mut row, vi.service.into());
            transmit::LOOPBACK.put(&mut row, vi.loopback.into());
            port::commit(&mut world.bench, table::TRANSMIT, n as u64, row);
            port::state(&mut world.bench, n as u64, vi_states::CONNECTED);
        }
    }
    world.run(false);
}

/// Gather puts answers to a peer's reads between the packets of a message; what becomes of that is nothing to them.
#[test]
fn an_answer_between_packets_that_are_dropped_goes_out() {
    let mut world = world();
    let find = |world: &World, service: u8| {
        let of = |vi: &Vi| vi.service == service && vi.state == vi_states::CONNECTED;
        world.vis.iter().position(of).expect("one of 64") as u64
    };
    let (sender, peer) = (find(&world, service::UNRELIABLE), find(&world, service::RELIABLE_DELIVERY));
    let packet = |first: bool, last: bool| {
        fields(&[
            ("vi", sender),
            ("first", first.into()),
            ("last", last.into()),
            ("send", 1),
            ("length", 64),
            ("message_length", 192),
        ])
    };
    let payload: Vec<u8> = (0..64).map(|_| world.rng.random()).collect();
    let data = || Some((payload.clone(), false, false));
    world.packets.push_back(Given { packet: packet(true, false), payload: Some((Vec::new(), true, false)) });
    // The middle of an answer.
    let answer = [("vi", peer), ("send", 1), ("reply", 1), ("length", 64), ("psn", 77)];
    world.packets.push_back(Given { packet: fields(&answer), payload: data() });
    world.packets.push_back(Given { packet: packet(false, true), payload: data() });
    let vi = &world.vis[peer as usize];
    let frame = frames::Fields {
        opcode: opcode::RC_READ_RESPONSE_MIDDLE,
        psn: 77,
        payload,
        ..frames::Fields::default()
    };
    let (bytes, loopback, vlan) = (vi.headers.frame(&frame), vi.loopback, vi.headers.vlan);
    world.frames.push_back(Expected { bytes, loopback, vlan });
    let errors = u64::from(status::PROTECTION_ERROR);
    world.sent.push_back(fields(&[("vi", sender), ("ends", 1), ("errors", errors), ("acknowledged", 0)]));
    world.run(true);
}

/// An error has broken its VI, and then the VI is rewound: the rest of the message is of the past, and the error is told all the same,
/// since nothing else says why the VI broke.
#[test]
fn an_error_that_has_broken_its_vi_is_told_behind_a_rewind() {
    let mut world = world();
    let of = |vi: &Vi| {
        vi.service == service::RELIABLE_DELIVERY && vi.state == vi_states::CONNECTED && !vi.loopback
    };
    let sender = world.vis.iter().position(of).expect("one of 64") as u64;
    let packet = |first: bool, last: bool| {
        fields(&[
            ("vi", sender),
            ("first", first.into()),
            ("last", last.into()),
            ("send", 1),
            ("length", 64),
            ("message_length", 128),
        ])
    };
    let payload: Vec<u8> = (0..64).map(|_| world.rng.random()).collect();
    let refused = Some((Vec::new(), true, false));
    world.packets.push_back(Given { packet: packet(true, false), payload: refused });
    world.faults.push_back((sender, 0));
    world.run(true);
    port::epoch(&mut world.bench, sender, true);
    world.packets.push_back(Given { packet: packet(false, true), payload: Some((payload, false, false)) });
    let errors = u64::from(status::PROTECTION_ERROR);
    world.sent.push_back(fields(&[("vi", sender), ("ends", 1), ("errors", errors), ("epoch", 0)]));
    world.run(true);
}

/// A peer's read is refused when its answer is made: that breaks the VI, the NAK is asked for, and no acknowledgement of what was asked for
/// behind the read leaves ahead of the NAK (docs/semantics.md, Responder 5), until the VI is connected again.
#[test]
fn an_answer_that_is_refused_holds_back_acknowledgements() {
    for (refused, code, nak) in [
        (true, event_code::RDMAR_PROT, syndrome::NAK_ACCESS),
        (false, event_code::CONN_LOST, syndrome::NAK_OPERATIONAL),
    ] {
        let mut world = world();
        let of = |vi: &Vi| vi.service == service::RELIABLE_DELIVERY && vi.state == vi_states::CONNECTED;
        let n = world.vis.iter().position(of).expect("one of 64") as u64;
        // What its reply says besides: the message's number, in the place of immediate data.
        let answer = [("vi", n), ("send", 1), ("reply", 1), ("length", 64), ("psn", 77), ("immediate", 5)];
        let payload = Some((Vec::new(), refused, !refused));
        world.packets.push_back(Given { packet: fields(&answer), payload });
        world.faults.push_back((n, code));
        let told = [("vi", n), ("psn", 77), ("msn", 4), ("syndrome", nak.into()), ("kind", word::LAST)];
        world.failed.push_back(fields(&told));
        world.run(true);
        world.acknowledgement_of(n, syndrome::ACK, false, false);
        world.acknowledgement_of(n, nak, false, true);
        world.run(true);
        // The rest of the answer.
        let payload = Some((vec![0; 64], false, false));
        world.packets.push_back(Given { packet: fields(&answer), payload });
        world.run(true);
        port::state(&mut world.bench, n, vi_states::CONNECTED);
        world.acknowledgement_of(n, syndrome::ACK, false, true);
        world.run(true);
    }
}

#[test]
fn a_small_send_takes_ten_cycles() {
    let mut world = world();
    for n in 0..64 {
        world.vis[n].state = vi_states::CONNECTED;
        port::state(&mut world.bench, n as u64, vi_states::CONNECTED);
    }
    // Without immediate data 66 bytes, with it 70: nine words.
    let vis: Vec<u64> = (0..64).filter(|n| world.vis[*n as usize].service != service::RAW).collect();
    for n in vis.iter().cycle().take(500) {
        world.message_of(*n, &[8], false, false, false);
    }
    let cycles = world.run(true);
    assert!(cycles <= 500 * 10 + 30, "{cycles}");
}

/// Acknowledgements and packets that are both always there take turns.
#[test]
fn acknowledgements_and_packets_take_turns() {
    let mut world = world();
    let n = world.vis.iter().position(|vi| vi.service != service::RAW).unwrap() as u64;
    port::state(&mut world.bench, n, vi_states::CONNECTED);
    world.bench.set("frame_ready", 1);
    world.bench.set("sent_ready", 1);
    world.bench.set("packet_valid", 1);
    port::set::<Packet>(&mut world.bench, "packet", &[("vi", n), ("send", 1), ("first", 1), ("last", 1)]);
    world.bench.set("ack_valid", 1);
    port::set::<AckRequest>(&mut world.bench, "ack", &[("vi", n), ("syndrome", syndrome::ACK.into())]);
    let (mut packets, mut acks) = (0, 0);
    for _ in 0..2000 {
        world.bench.eval();
        packets += world.bench.get("packet_ready");
        acks += world.bench.get("ack_ready");
        world.bench.tick();
    }
    assert!(packets > 100 && u64::abs_diff(packets, acks) <= 1, "{packets} {acks}");
}
