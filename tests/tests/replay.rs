//! Linux's soft-RoCE as the peer, from its captures: sends, RDMA writes and RDMA reads, through losses, duplicates,
//! refusals, a receiver that is not ready, and the end of the PSNs.
//!
//! * Linux asks: its requests come to our NIC in the order in which they came to Linux, and our answers are Linux's,
//!   byte for byte but for the identification (see `linux.rs`).
//! * Linux answers: our NIC posts what its client had posted; each answer of Linux's comes when the requests before it
//!   are out. Where no frame was lost, our requests are Linux's; everywhere, the bytes and the completions are right.
//!
//! Where we go another way than Linux, and why:
//! * A send that is longer than its receive is NAK_INVALID, as the InfiniBand specification has it (volume 1, 9.9.6);
//!   Linux says NAK_OPERATIONAL.
//! * A queue pair that broke answers each further request with its last NAK: the first one may have been lost. Linux
//!   says nothing, and its peer finds out by its time-outs.
//! * After a time-out we begin at the first packet that is not acknowledged, Linux at the first of its message.
//! * The rest of a read, asked for again, is a request of its own: its answer begins with FIRST or is an ONLY. Linux goes on
//!   with the opcodes of the whole. We take both.
//! * A gap in the answers to a read is an implied NAK (volume 1, 9.7.5.2.8); Linux waits for its time-out.
//! * One acknowledgement may stand for several requests that ask, as InfiniBand lets it, and a packet in every sixteen asks; Linux acknowledges each
//!   that asks, and only a message's last packet does.
//! * An unreliable FIRST or ONLY behind the expected PSN is dropped, so that no message comes twice (design: VIA forbids it); Linux takes it at
//!   any PSN. After a hole in a message the next whole one is delivered; Linux loses it too.
//! * BTH's MigReq is 0 as Linux has it, and not looked at: there is no path migration.
//!
//! Atomic operations are not VIA's: captures end here before the first one. So `rc_loss_responses_10pct`, which has
//! them throughout, is not used: `loss.rs` and `bulk.rs` lose more.

use std::collections::BTreeMap;

use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::agent::MemoryAttributes;
use viaduct_driver::rows::Rights;
use viaduct_sim::fabric::Capture;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::refusal::error;
use viaduct_spec::wire::{opcode, syndrome, HEADER_BYTES as HEADERS};
use viaduct_tests::frame::{is_roce, seal, untrailed, Reading, Tape, BTH, IP};
use viaduct_tests::guests::{self, assert_linux, open, sender, Guests, Terms};
use viaduct_tests::raw::{Completion, Descriptor, RawVi, Region};
use viaduct_tests::world::{quick, Host, World};

/// Where the server's buffer is in its host's memory, and its bytes: receives and writes go there, reads come from
/// there, as in the program that Linux ran.
const BUFFER: usize = 0x8000;
const BYTES: usize = 0x4000;
/// Ticks without progress after which our client sends again.
const TIMEOUT: u32 = 64;
/// Cycles after which it has.
const LATE: u64 = 4 * 64 * 128;
const ALL: Rights = Rights { write: true, read: true, reads: 4 };

/// How a capture is played.
struct Case {
    name: &'static str,
    mtu: u32,
    /// Room of each receive.
    room: usize,
    terms: Terms,
    /// Frames of Linux's server, by number, that its client never got.
    lost: &'static [usize],
    /// Frames were lost: our client may send a packet again when Linux's did not, and the other way round.
    lossy: bool,
    /// How the last message of the client ends, if not well.
    refused: Option<u32>,
}

impl Case {
    const fn of(name: &'static str) -> Self {
        let terms = Terms { rights: ALL, timeout: TIMEOUT, not_ready: None };
        Self { name, mtu: 1024, room: 8192, terms, lost: &[], lossy: false, refused: None }
    }

    const fn lossy(name: &'static str, lost: &'static [usize]) -> Self {
        Self { lossy: true, lost, ..Self::of(name) }
    }

    const fn refused(name: &'static str, syndrome: u8, rdma: bool) -> Self {
        Self { refused: Some(error(syndrome, rdma, false)), ..Self::of(name) }
    }

    const fn not_ready(self, retries: u32, timer: u8) -> Self {
        Self { terms: Terms { not_ready: Some((retries, timer)), ..self.terms }, ..self }
    }
}

#[rustfmt::skip]
const CASES: [Case; 19] = [
    Case::of("rc_ops"),
    Case::of("rc_pipelined"),
    Case::of("rc_psn_wrap"),
    Case::of("rc_dscp26_ect"),
    Case { mtu: 256, ..Case::of("rc_mtu256") },
    Case { mtu: 4096, room: 9000, ..Case::of("rc_mtu4096") },
    Case::of("ib_write_bw"),
    Case::lossy("rc_drop_middle", &[]),
    Case::lossy("rc_drop_last", &[]),
    Case::lossy("rc_drop_ack", &[0]),
    Case::lossy("rc_drop_read_request", &[]),
    Case::lossy("rc_drop_read_resp_last", &[4]),
    Case::lossy("rc_dup_requests", &[]),
    Case::lossy("rc_swap_requests", &[]),
    Case { lossy: true, ..Case::of("rc_nak_rnr").not_ready(100, 20) },
    Case { lossy: true, ..Case::refused("rc_nak_rnr_exhausted", syndrome::RNR_NAK, false).not_ready(1, 26) },
    Case::refused("rc_nak_access_write", syndrome::NAK_ACCESS, true),
    Case::refused("rc_nak_access_read", syndrome::NAK_ACCESS, true),
    Case { room: 1000, ..Case::refused("rc_nak_invalid_toolong", syndrome::NAK_OPERATIONAL, false) },
];

/// The server has opened nothing.
fn closed() -> Case {
    let mut case = Case::refused("rc_nak_access_perm", syndrome::NAK_INVALID, true);
    case.terms.rights = Rights { write: false, ..ALL };
    case
}

/// A message of Linux's client.
#[derive(Debug)]
struct Message {
    /// PSN of its first packet, and packets.
    psn: u32,
    packets: u32,
    operation: u16,
    data: Vec<u8>,
    immediate: Option<u32>,
    /// Where it writes or reads: address, key, bytes.
    remote: Option<(u64, u32, usize)>,
}

/// What Linux did.
struct Play {
    case: Case,
    guests: Guests,
    frames: Vec<Vec<u8>>,
    messages: Vec<Message>,
    /// The lowest address of the server's buffer, and its key.
    base: u64,
    key: u32,
}

fn is_write(part: u8) -> bool {
    (opcode::RC_WRITE_FIRST..=opcode::RC_WRITE_ONLY_IMMEDIATE).contains(&part)
}

fn has_immediate(part: u8) -> bool {
    [
        opcode::RC_SEND_LAST_IMMEDIATE,
        opcode::RC_SEND_ONLY_IMMEDIATE,
        opcode::RC_WRITE_LAST_IMMEDIATE,
        opcode::RC_WRITE_ONLY_IMMEDIATE,
    ]
    .contains(&part)
}

fn begins(part: u8) -> bool {
    [
        opcode::RC_SEND_FIRST,
        opcode::RC_SEND_ONLY,
        opcode::RC_SEND_ONLY_IMMEDIATE,
        opcode::RC_WRITE_FIRST,
        opcode::RC_WRITE_ONLY,
        opcode::RC_WRITE_ONLY_IMMEDIATE,
        opcode::RC_READ_REQUEST,
    ]
    .contains(&part)
}

fn has_reth(part: u8) -> bool {
    begins(part) && part >= opcode::RC_WRITE_FIRST
}

fn reth(body: &[u8]) -> (u64, u32, usize) {
    let be = |at: usize| u32::from_be_bytes(body[at..at + 4].try_into().expect("four bytes"));
    (u64::from(be(0)) << 32 | u64::from(be(4)), be(8), be(12) as usize)
}

impl Play {
    fn of(case: Case) -> Self {
        let mut frames = guests::frames(case.name);
        // Up to the first atomic operation, and what answers that.
        if let Some(atomic) = frames.iter().position(|frame| frame[BTH] > opcode::RC_ACKNOWLEDGE) {
            let end = Reading::of(&frames[atomic]).psn;
            frames.retain(|frame| Reading::of(frame).psn.wrapping_sub(end) & 0x80_0000 != 0);
        }
        let (mut queue_pairs, mut psns) = ([0; 2], [None; 2]);
        // The packets of the client, each once: what was sent again is in them already.
        let mut packets: BTreeMap<u32, Reading> = BTreeMap::new();
        for frame in &frames {
            let reading = Reading::of(frame);
            let nic = sender(&reading);
            queue_pairs[1 - nic] = reading.queue_pair;
            if nic == 0 {
                let first = *psns[0].get_or_insert(reading.psn);
                packets.entry(reading.psn.wrapping_sub(first) & 0xFF_FFFF).or_insert(reading);
            }
        }
        let guests = Guests {
            queue_pairs,
            psns: psns.map(|psn| psn.unwrap_or(0)),
            mtu: case.mtu,
            service: Service::ReliableDelivery,
            tos: frames[0][IP + 1],
        };
        let mut messages: Vec<Message> = Vec::new();
        let mut behind = 0;
        for (place, packet) in packets {
            let (part, mut body) = (packet.opcode, &packet.body[..]);
            if place < behind {
                // A part of a read that was asked for again.
                assert_eq!(part, opcode::RC_READ_REQUEST, "{}", case.name);
                continue;
            }
            if begins(part) {
                let remote = has_reth(part).then(|| reth(body));
                let operation = match part {
                    opcode::RC_READ_REQUEST => control::OP_RDMAREAD,
                    part if is_write(part) => control::OP_RDMAWRITE,
                    _ => control::OP_SENDRECV,
                };
                let (data, immediate) = (Vec::new(), None);
                messages.push(Message { psn: packet.psn, packets: 0, operation, data, immediate, remote });
            }
            let message = messages.last_mut().expect("it has begun");
            message.packets += 1;
            body = &body[if has_reth(part) { 16 } else { 0 }..];
            if has_immediate(part) {
                let (immediate, rest) = body.split_first_chunk::<4>().expect("immediate data");
                (message.immediate, body) = (Some(u32::from_be_bytes(*immediate)), rest);
            }
            message.data.extend_from_slice(body);
            if part == opcode::RC_READ_REQUEST {
                let bytes = message.remote.map_or(0, |(_, _, bytes)| bytes);
                message.packets = (bytes.div_ceil(case.mtu as usize) as u32).max(1);
                behind = place + message.packets;
            }
        }
        let remotes = || messages.iter().filter_map(|message| message.remote);
        let base = remotes().map(|(address, ..)| address & !0xFFF).min().unwrap_or(0);
        let key = remotes().next().map_or(0, |(_, key, _)| key);
        Self { case, guests, frames, messages, base, key }
    }

    fn of_sender(frames: &[Vec<u8>], nic: usize) -> Vec<&[u8]> {
        frames.iter().filter(|frame| sender(&Reading::of(frame)) == nic).map(|frame| &frame[..]).collect()
    }

    /// A request of Linux's that names our server's region where Linux named its own.
    fn at_home(&self, frame: &[u8], region: &Region) -> Vec<u8> {
        let mut frame = frame.to_vec();
        if has_reth(frame[BTH]) {
            let (address, key, _) = reth(&frame[HEADERS..]);
            let address = region.address + (address - self.base);
            // A key that is wrong stays wrong.
            let key = region.handle ^ if key == self.key { 0 } else { 1 << 20 };
            frame[HEADERS..HEADERS + 8].copy_from_slice(&address.to_be_bytes());
            frame[HEADERS + 8..HEADERS + 12].copy_from_slice(&key.to_be_bytes());
            seal(&mut frame);
        }
        frame
    }

    /// How far into the messages a PSN is.
    fn place(&self, psn: u32) -> u32 {
        psn.wrapping_sub(self.guests.psns[0]) & 0xFF_FFFF
    }
}

/// A network that is recorded.
struct Stage {
    tape: Tape,
    vi: RawVi,
    hosts: [Host; 2],
    world: World,
}

impl Stage {
    /// With our NIC in one of the two places; nobody is in the other one.
    fn new(play: &Play, nic: usize) -> Self {
        let (world, hosts) = open(&quick(3));
        let tape = Tape::default();
        let capture = Capture::new(Box::new(tape.clone())).expect("memory");
        world.net.network().fabric_mut().set_capture(capture);
        let vi = play.guests.connect_one(&world, &hosts[nic], nic, play.case.terms);
        Self { tape, vi, hosts, world }
    }

    /// What a guest's NIC has sent so far.
    fn frames(&self, nic: usize) -> Vec<Vec<u8>> {
        let frames = self.tape.frames().into_iter().filter(|frame| is_roce(frame));
        let frames = frames.map(|frame| untrailed(&frame).to_vec());
        frames.filter(|frame| sender(&Reading::of(frame)) == nic).collect()
    }

    fn receive(&mut self, room: usize) {
        let [_, server] = &mut self.hosts;
        let receive = Descriptor::of(server, BUFFER, room);
        self.vi.receive(server, &receive);
    }
}

/// Linux's requests to our NIC, one after the other; our answers.
fn ask(play: &Play) -> Vec<Vec<u8>> {
    let mut stage = Stage::new(play, 1);
    let takes = |message: &&Message| message.operation == control::OP_SENDRECV || message.immediate.is_some();
    let receives = play.messages.iter().filter(takes).count();
    let server = &stage.hosts[1];
    let bytes: Vec<u8> = (0..BYTES).map(|n| if n < 64 { 0 } else { 0xA0 + (n % 16) as u8 }).collect();
    server.memory.write(BUFFER, &bytes);
    let attributes = MemoryAttributes { tag: server.tag, rdma_write: true, rdma_read: true };
    let region = server.register_as(BUFFER, BYTES, attributes);
    // A receiver that was not ready becomes so after its last NAK.
    let is_rnr = |frame: &Vec<u8>| {
        let reading = Reading::of(frame);
        reading.opcode == opcode::RC_ACKNOWLEDGE && reading.body[0] >> 5 == syndrome::RNR_NAK >> 5
    };
    let ready = play.frames.iter().rposition(is_rnr).map_or(0, |last| last + 1);
    for (n, frame) in play.frames.iter().enumerate() {
        if n == ready {
            (0..receives).for_each(|_| stage.receive(play.case.room));
            stage.world.arrived(1);
        }
        if sender(&Reading::of(frame)) == 0 {
            stage.world.inject(1, &play.at_home(frame, &region));
            stage.world.settle();
        }
    }
    stage.world.check();
    stage.frames(1)
}

#[test]
fn linux_asks_and_our_answers_are_those_of_linux() {
    for case in CASES.into_iter().chain([closed()]) {
        let play = Play::of(case);
        let name = play.case.name;
        let (mut ours, theirs) = (ask(&play), Play::of_sender(&play.frames, 1));
        if play.case.refused.is_some() && play.case.terms.not_ready.is_none() {
            // Ours repeats what it said last; Linux is silent.
            let repeated = ours.split_off(theirs.len());
            let last = Reading::of(ours.last().expect("a refusal"));
            assert!(repeated.iter().all(|frame| Reading::of(frame) == last), "{name}");
        }
        println!("{name}: {} answers", ours.len());
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (n, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            let mut theirs = theirs.to_vec();
            if theirs[BTH] == opcode::RC_ACKNOWLEDGE && theirs[HEADERS] == syndrome::NAK_OPERATIONAL {
                assert_eq!(name, "rc_nak_invalid_toolong");
                theirs[HEADERS] = syndrome::NAK_INVALID;
                seal(&mut theirs);
            }
            if (name, n) == ("rc_drop_read_resp_last", 5) {
                assert_eq!(theirs[BTH], opcode::RC_READ_RESPONSE_LAST);
                theirs[BTH] = opcode::RC_READ_RESPONSE_ONLY;
                seal(&mut theirs);
            }
            assert_linux(ours, &theirs, &format!("{name}: answer {n}"));
        }
    }
}

/// The packets that a frame of the client's stands for: a read's request, for all of its answer.
fn covers(play: &Play, frame: &Reading, psn: u32) -> bool {
    let place = play.place(frame.psn);
    let behind = match frame.opcode {
        opcode::RC_READ_REQUEST => {
            let (_, _, bytes) = reth(&frame.body);
            place + (bytes.div_ceil(play.case.mtu as usize) as u32).max(1)
        }
        _ => place + 1,
    };
    (place..behind).contains(&play.place(psn))
}

/// Our NIC posts Linux's messages, and gets Linux's answers; what it sent.
fn answer(play: &Play) -> Vec<Vec<u8>> {
    let mut stage = Stage::new(play, 0);
    let name = play.case.name;
    let answers: Vec<(usize, Reading)> = play
        .frames
        .iter()
        .map(|frame| Reading::of(frame))
        .enumerate()
        .filter(|(_, reading)| sender(reading) == 1)
        .collect();
    let times = |frames: &[Reading], psn| frames.iter().filter(|frame| covers(play, frame, psn)).count();
    let client_before = |n: usize| -> Vec<Reading> {
        let before = play.frames[..n].iter().map(|frame| Reading::of(frame));
        before.filter(|reading| sender(reading) == 0).collect()
    };
    let pipelined = name == "rc_pipelined";
    let mut answers = answers.iter().enumerate().peekable();
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut free = 0;
    for (number, message) in play.messages.iter().enumerate() {
        // Data from the start of the memory, answers behind it.
        let length = message.remote.map_or(message.data.len(), |(_, _, bytes)| bytes);
        let [client, _] = &mut stage.hosts;
        client.memory.write(free, &message.data);
        let mut descriptor = Descriptor::of(client, free, length);
        if let Some((address, key, _)) = message.remote {
            descriptor = descriptor.write_to(address, key);
            descriptor.control = message.operation;
        }
        descriptor = message.immediate.into_iter().fold(descriptor, Descriptor::immediate);
        places.push((stage.vi.send(client, &descriptor), free));
        free += length.next_multiple_of(64);
        if pipelined && number + 1 < play.messages.len() {
            continue;
        }
        // The answers, each when what it answers is out as often as it was.
        let last = play.place(message.psn) + message.packets - 1;
        while let Some((index, (n, reading))) =
            answers.next_if(|(_, (_, reading))| play.place(reading.psn) <= last)
        {
            let needed = times(&client_before(*n), reading.psn).max(1);
            let limit =
                stage.world.now() + if play.case.terms.not_ready.is_some() { 12_000_000 } else { LATE };
            let mut read = usize::MAX;
            let mut sent = 0;
            while sent < needed && stage.world.now() < limit {
                if stage.tape.bytes() == read {
                    stage.world.run(500);
                    continue;
                }
                read = stage.tape.bytes();
                let frames: Vec<Reading> = stage.frames(0).iter().map(|frame| Reading::of(frame)).collect();
                sent = times(&frames, reading.psn);
            }
            if !play.case.lost.contains(&index) {
                stage.world.inject(0, &play.frames[*n]);
                stage.world.run(200);
            }
        }
        let done = number + 1 == play.messages.len();
        let expected = play.case.refused.filter(|_| done).unwrap_or(0);
        let range = if pipelined { 0..=number } else { number..=number };
        for (message, (place, at)) in
            play.messages.iter().zip(&places).skip(*range.start()).take(range.count())
        {
            let completion = stage.world.complete(&stage.hosts[0], *place);
            let (operation, bytes) = match message.operation {
                control::OP_RDMAREAD => (status::OP_RDMA_READ, read_by_linux(play, message)),
                control::OP_RDMAWRITE => (status::OP_RDMA_WRITE, message.data.clone()),
                _ => (status::OP_SEND, message.data.clone()),
            };
            let length = if expected == 0 { bytes.len() as u32 } else { 0 };
            let wanted = Completion {
                status: status::DONE | operation | expected,
                length,
                immediate: message.immediate.unwrap_or(0),
            };
            assert_eq!(completion, wanted, "{name}: message {:#x}", message.psn);
            if expected == 0 {
                assert!(stage.hosts[0].memory.read(*at, bytes.len()) == bytes, "{name}: {:#x}", message.psn);
            }
        }
    }
    stage.world.settle();
    let state = if play.case.refused.is_some() { ViState::Error } else { ViState::Connected };
    assert_eq!(stage.vi.state(), state, "{name}");
    stage.world.check();
    stage.frames(0)
}

/// What Linux's server answered to a read.
fn read_by_linux(play: &Play, message: &Message) -> Vec<u8> {
    let (_, _, bytes) = message.remote.expect("a read");
    let first = play.place(message.psn);
    let mut parts: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for reading in play.frames.iter().map(|frame| Reading::of(frame)).filter(|reading| sender(reading) == 1) {
        let place = play.place(reading.psn);
        let header = match reading.opcode {
            opcode::RC_READ_RESPONSE_MIDDLE => 0,
            opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_READ_RESPONSE_ONLY => 4,
            _ => continue,
        };
        if (first..first + message.packets).contains(&place) {
            parts.insert(place, reading.body[header..].to_vec());
        }
    }
    let data = parts.into_values().flatten().collect::<Vec<u8>>();
    assert!(data.len() == bytes || play.case.refused.is_some());
    data
}

/// The first request of each PSN, counted from the first one.
fn firsts<'a>(play: &Play, frames: impl Iterator<Item = &'a [u8]>) -> BTreeMap<u32, Vec<u8>> {
    let mut firsts = BTreeMap::new();
    for frame in frames {
        let mut frame = frame.to_vec();
        // Solicited events are not VIA's.
        frame[BTH + 1] &= 0x7F;
        seal(&mut frame);
        firsts.entry(play.place(Reading::of(&frame).psn)).or_insert(frame);
    }
    firsts
}

#[test]
fn linux_answers_and_our_requests_are_those_of_linux() {
    for case in CASES.into_iter().chain([closed()]) {
        let play = Play::of(case);
        let name = play.case.name;
        let (ours, theirs) = (answer(&play), Play::of_sender(&play.frames, 0));
        println!(
            "{name}: {} messages, {} requests, {} of Linux",
            play.messages.len(),
            ours.len(),
            theirs.len()
        );
        if !play.case.lossy {
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for (n, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                let mut theirs = theirs.to_vec();
                // Solicited events are not VIA's.
                theirs[BTH + 1] &= 0x7F;
                seal(&mut theirs);
                assert_linux(ours, &theirs, &format!("{name}: request {n}"));
            }
        }
        if play.case.lossy {
            // What was lost, and when, is not the same: so the same packet comes at other times, and how often. But each has the same bytes.
            let (ours, theirs) =
                (firsts(&play, ours.iter().map(|frame| &frame[..])), firsts(&play, theirs.iter().copied()));
            let places = |frames: &BTreeMap<u32, Vec<u8>>| frames.keys().copied().collect::<Vec<_>>();
            assert_eq!(places(&ours), places(&theirs), "{name}");
            for (place, ours) in &ours {
                assert_linux(ours, &theirs[place], &format!("{name}: packet {place}"));
            }
        }
        if name == "rc_drop_read_resp_last" {
            // The rest of the read, asked for as Linux did: its PSN, address and length.
            let again = theirs[1];
            let found = ours.iter().find(|frame| Reading::of(frame) == Reading::of(again));
            assert_linux(found.expect("the read is asked for again"), again, name);
        }
    }
}
