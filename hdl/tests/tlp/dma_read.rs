//! The read engine against a model of host memory that answers in its own order and time.

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{DmaCommand, ReadBeat};
use viaduct_hdl::dma::DmaRead;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::{completion_dw1, completion_dw2, completion_status, dw0, kind, request_dw1};
use viaduct_verilate::Bench;

use crate::beat::{beats, field, header, memory, Beat, Collector};
use crate::bundle::Bundle;

pub const REQUESTER: u64 = 0x2A18;

#[derive(Clone, Copy, Debug)]
struct Command {
    address: u64,
    length: u64,
    client: u64,
    user: u64,
    epoch: bool,
    last: bool,
    refused: bool,
}

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Good,
    Poisoned,
    Unsupported,
    /// Ends before its data does.
    Short,
    Missing,
    /// Known only when it is sent.
    Open,
}

/// One piece of a command, as the engine must cut it.
#[derive(Clone, Debug)]
struct Piece {
    command: Command,
    address: u64,
    length: u64,
    last: bool,
    done: bool,
    fate: Fate,
}

/// A completion on its way.
struct Answer {
    packet: Vec<u32>,
    tag: u64,
}

struct Host {
    bench: Bench,
    rng: ChaCha8Rng,
    size: u64,
    commands: VecDeque<Command>,
    /// Pieces whose data has not left, oldest first; the first `sent` have been requested.
    pieces: VecDeque<Piece>,
    sent: usize,
    /// Bytes of the oldest piece that have left.
    out: u64,
    spoiled: bool,
    /// Beats of reads that failed later.
    early: u64,
    collector: Collector,
    /// Completions not delivered, in order for each tag.
    answers: Vec<Answer>,
    delivering: VecDeque<Beat>,
    in_use: [bool; 16],
    dead: [bool; 16],
    tags: VecDeque<u64>,
    unexpected: u64,
    seen_unexpected: u64,
    seen_lost: u64,
    retired: [u64; 2],
    want_retired: [u64; 2],
    time: u64,
    quiet: u32,
    requests: u64,
    /// Weights of the fates, one in so many requests.
    poison: u32,
    missing: u32,
    bogus: f64,
    tx_rate: f64,
    rx_rate: f64,
}

impl Host {
    fn new(max_read: u64) -> Self {
        let mut bench = Bench::new("dma_read", &verilog(DmaRead::default()));
        let rng = crate::random(&bench);
        bench.set("cfg_requester_id", REQUESTER);
        bench.set("max_read", max_read);
        // Until the size is in force.
        (0..3).for_each(|_| bench.tick());
        Self {
            bench,
            rng,
            size: (128 << max_read).min(512),
            commands: VecDeque::new(),
            pieces: VecDeque::new(),
            sent: 0,
            out: 0,
            spoiled: false,
            early: 0,
            collector: Collector::default(),
            answers: Vec::new(),
            delivering: VecDeque::new(),
            in_use: [false; 16],
            dead: [false; 16],
            tags: VecDeque::new(),
            unexpected: 0,
            seen_unexpected: 0,
            seen_lost: 0,
            retired: [0; 2],
            want_retired: [0; 2],
            time: 0xFFFF_0000,
            quiet: 0,
            requests: 0,
            poison: 0,
            missing: 0,
            bogus: 0.0,
            tx_rate: 1.0,
            rx_rate: 1.0,
        }
    }

    fn command(&mut self, command: Command) {
        let end = command.address + command.length;
        let mut at = command.address;
        self.want_retired[usize::from(command.epoch)] += 1;
        while at < end {
            let stop = if command.refused { end } else { end.min(at / self.size * self.size + self.size) };
            self.pieces.push_back(Piece {
                command,
                address: at,
                length: stop - at,
                last: command.last && stop == end,
                done: stop == end,
                fate: Fate::Open,
            });
            at = stop;
        }
        self.commands.push_back(command);
    }

    fn random_command(&mut self, last: bool) -> Command {
        let rng = &mut self.rng;
        let length = match rng.random_range(0..4) {
            0 => rng.random_range(1..=16),
            1 => rng.random_range(1..=300),
            2 => 64,
            _ => rng.random_range(1..=4096),
        };
        let base: u64 = match rng.random_range(0..4) {
            0 => 0x1_0000,
            1 => 0xFFFF_F000,
            2 => 0x7_FFFF_F000,
            _ => rng.random::<u64>() >> 8,
        };
        let address = base
            + rng.random_range(0..0x1000) / *[1, 1, 4, 64].choose(rng).unwrap() * 4
            + rng.random_range(0..4);
        Command {
            address,
            length,
            client: rng.random_range(0..4),
            user: rng.random_range(0..256),
            epoch: rng.random(),
            last,
            refused: last && rng.random_bool(0.05),
        }
    }

    /// A request has been taken: it must be the next piece, and is answered one day.
    fn request(&mut self, packet: &[u32]) {
        let skipped =
            self.pieces.range(self.sent..).position(|p| !p.command.refused).expect("a request for nothing");
        self.sent += skipped;
        let tag = field(request_dw1::TAG, packet[1]);
        let long = field(dw0::KIND, packet[0]) == u64::from(kind::READ_4DW);
        assert!(long || field(dw0::KIND, packet[0]) == u64::from(kind::READ_3DW));
        assert_eq!(packet.len(), if long { 4 } else { 3 });
        let address = if long { u64::from(packet[2]) << 32 | u64::from(packet[3]) } else { packet[2].into() };
        assert_eq!(long, address >> 32 != 0, "short header exactly below 4 GiB");
        let words = field(dw0::LENGTH, packet[0]);
        assert_eq!(packet[0] & 0x00FF_FC00, 0, "no attribute, no class");
        assert_eq!(field(request_dw1::REQUESTER, packet[1]), REQUESTER);
        assert!(tag < 16 && !self.in_use[tag as usize] && !self.dead[tag as usize], "tag {tag}");
        let piece = &self.pieces[self.sent];
        let end = piece.address + piece.length;
        assert_eq!(address, piece.address & !3);
        assert_eq!(words, end.div_ceil(4) - address / 4);
        let enabled = |word: u64| {
            (0..4).filter(|b| (piece.address..end).contains(&(word * 4 + b))).fold(0, |m, b| m | 1u64 << b)
        };
        assert_eq!(field(request_dw1::FIRST_BE, packet[1]), enabled(address / 4));
        let last = if words == 1 { 0 } else { enabled(address / 4 + words - 1) };
        assert_eq!(field(request_dw1::LAST_BE, packet[1]), last);
        self.requests += 1;

        let (at, length) = (piece.address, piece.length);
        let roll = self.rng.random_range(0..self.poison.max(1));
        let fate = if self.missing > 0 && self.rng.random_range(0..40) == 0 {
            self.missing -= 1;
            Fate::Missing
        } else if self.poison > 0 && roll == 0 {
            *[Fate::Poisoned, Fate::Unsupported, Fate::Short].choose(&mut self.rng).unwrap()
        } else {
            Fate::Good
        };
        self.pieces[self.sent].fate = fate;
        self.sent += 1;
        self.in_use[tag as usize] = true;
        self.tags.push_back(tag);
        self.answer(tag, at, length, fate);
    }

    fn answer(&mut self, tag: u64, address: u64, length: u64, fate: Fate) {
        let end = address + length;
        let rcb = if self.rng.random() { 64 } else { 128 };
        let mut parts = Vec::new();
        let mut at = address;
        while at < end {
            let mut stop = end;
            if self.rng.random_bool(0.6) {
                let boundary = at / rcb * rcb + rcb * self.rng.random_range(1..4);
                stop = end.min(boundary);
            }
            parts.push((at, stop));
            at = stop;
        }
        let stops = match fate {
            Fate::Missing => self.rng.random_range(0..parts.len()),
            Fate::Unsupported => self.rng.random_range(0..=parts.len() - 1),
            _ => parts.len(),
        };
        let bad = self.rng.random_range(0..parts.len());
        for (n, &(from, to)) in parts[..stops].iter().enumerate() {
            let mut packet = completion(tag, from, to, end);
            if n == bad && fate == Fate::Poisoned {
                packet[0] |= 1 << dw0::POISONED.lo;
            }
            if n == bad && fate == Fate::Short {
                let keep = self.rng.random_range(3..packet.len());
                packet.truncate(keep);
            }
            if fate != Fate::Short && self.rng.random_bool(0.02) {
                // A digest.
                packet.push(self.rng.random());
            }
            self.answers.push(Answer { packet, tag });
        }
        if fate == Fate::Unsupported {
            let status =
                if self.rng.random() { completion_status::UNSUPPORTED } else { completion_status::ABORT };
            let mut packet = completion(tag, parts[stops].0, parts[stops].0, end);
            packet[0] = header(&[(dw0::KIND, kind::COMPLETION.into())]);
            packet[1] |= u32::from(status) << completion_dw1::STATUS.lo;
            self.answers.push(Answer { packet, tag });
        }
    }

    /// A completion that nobody must take for good.
    fn bogus(&mut self) -> Option<Vec<u32>> {
        let whole = self.answers.choose(&mut self.rng);
        let mut packet = match whole {
            // Nearly right: of the answer that is next for its tag, or not.
            Some(answer) if self.rng.random_bool(0.8) => answer.packet.clone(),
            _ => {
                let from = self.rng.random_range(0..0x1000);
                let to = from + self.rng.random_range(1..=256);
                completion(self.rng.random_range(0..16), from, to, to + self.rng.random_range(0..4096))
            }
        };
        if field(dw0::KIND, packet[0]) != u64::from(kind::COMPLETION_DATA) {
            return None;
        }
        // Whoever takes it for good shows it.
        packet[3..].fill_with(|| self.rng.random());
        match self.rng.random_range(0..6) {
            0 => packet[2] ^= 1 << self.rng.random_range(16..32),
            1 => packet[2] ^= 1 << self.rng.random_range(12..16),
            2 => packet[2] ^= 1 << self.rng.random_range(0..7),
            3 => packet[1] ^= 1 << self.rng.random_range(0..12),
            // More than is missing.
            4 => {
                let words = missing(&packet) + self.rng.random_range(1..40);
                packet[0] = packet[0] & !0x3FF | (words as u32 & 0x3FF);
                packet.resize(3 + words as usize, 0xDEAD_BEEF);
            }
            // A length of 1024 double words.
            _ => {
                packet[0] &= !0x3FF;
                packet.resize(3 + 1024, 0xDEAD_BEEF);
            }
        }
        Some(packet)
    }

    /// Whether a completion is what the slot waits for: the bogus must not be right by chance.
    fn matches(&self, packet: &[u32]) -> bool {
        let tag = field(completion_dw2::TAG, packet[2]);
        let length = field(dw0::LENGTH, packet[0]);
        self.answers.iter().find(|a| a.tag == tag).is_some_and(|a| {
            a.packet[1] & 0xFFF == packet[1] & 0xFFF
                && a.packet[2] == packet[2]
                && (1..=missing(packet)).contains(&length)
        })
    }

    fn choose_completion(&mut self) {
        if self.bogus > 0.0 && self.rng.random_bool(self.bogus) {
            if let Some(packet) = self.bogus() {
                if !self.matches(&packet) {
                    self.unexpected += 1;
                    self.delivering = beats(&packet).into();
                    return;
                }
            }
        }
        if self.answers.is_empty() {
            return;
        }
        let tag = self.answers.choose(&mut self.rng).map(|a| a.tag).unwrap();
        let first = self.answers.iter().position(|a| a.tag == tag).unwrap();
        let answer = self.answers.remove(first);
        self.delivering = beats(&answer.packet).into();
    }

    /// A beat of data must be the next bytes of the oldest piece.
    fn data(&mut self) {
        let bundle = Bundle::of::<ReadBeat>("beat");
        let get = |name| bundle.get(&self.bench, name);
        let (client, user) = (get("client"), get("user"));
        let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
        let [last, refused, failed] = ["last", "refused", "failed"].map(|name| get(name) == 1);
        let piece = self.pieces.front().expect("data nobody asked for").clone();
        let command = piece.command;
        assert_eq!((client, user), (command.client, command.user));
        assert_eq!(refused, command.refused);
        let fault = !command.refused && piece.fate != Fate::Good;
        let mut ends = true;
        // What had come of a read before it failed; its last row never.
        let early = fault && !failed && piece.length - self.out > 8 - start;
        self.early += u64::from(early);
        if command.refused || (fault && !early) {
            assert_eq!(count, 0);
            assert_eq!(failed, fault, "{piece:?}");
            assert_eq!(last, piece.last);
        } else {
            let at = piece.address + self.out;
            assert_eq!(start, at % 8);
            let rest = piece.length - self.out;
            let want = rest.min(8 - start);
            ends = want == rest;
            assert_eq!(last, ends && piece.last);
            assert_eq!(failed, self.spoiled && last, "a fault shows again at the end");
            assert!(!(early && last));
            if failed {
                assert_eq!(count, 0);
            } else {
                assert_eq!(count, want, "{piece:?} {}", self.out);
                for k in 0..count {
                    assert_eq!(data[(start + k) as usize], memory(at + k), "byte {:#x} of {piece:?}", at + k);
                }
            }
            self.out += want;
        }
        self.spoiled = !last && (self.spoiled || (fault && !early));
        if self.bench.get("retire_valid") == 1 {
            assert!(ends && piece.done);
            let epoch = self.bench.get("retire_epoch");
            assert_eq!(epoch, u64::from(command.epoch));
            self.retired[epoch as usize] += 1;
        } else {
            assert!(!(ends && piece.done), "a command that does not retire: {piece:?}");
        }
        if ends {
            if !command.refused && piece.fate != Fate::Open {
                let tag = self.tags.pop_front().unwrap();
                self.in_use[tag as usize] = false;
                if piece.fate == Fate::Missing {
                    self.dead[tag as usize] = true;
                }
            }
            self.pieces.pop_front();
            self.sent = self.sent.saturating_sub(1);
            self.out = 0;
        }
    }

    /// One cycle.
    fn step(&mut self) {
        let command = self.commands.front().copied();
        self.bench.set("command_valid", command.is_some().into());
        if let Some(c) = command {
            let fields = [
                ("address", c.address),
                ("length", c.length),
                ("client", c.client),
                ("user", c.user),
                ("epoch", c.epoch.into()),
                ("last", c.last.into()),
                ("refused", c.refused.into()),
            ];
            Bundle::of::<DmaCommand>("command").set(&mut self.bench, &fields);
        }
        let mut beat = None;
        if self.rng.random_bool(self.rx_rate) {
            if self.delivering.is_empty() {
                self.choose_completion();
            }
            beat = self.delivering.pop_front();
        }
        self.bench.set("completion_valid", beat.is_some().into());
        if let Some(beat) = beat {
            beat.set(&mut self.bench, "completion");
        }
        let ready = self.rng.random_bool(self.tx_rate);
        self.bench.set("tx_ready", ready.into());
        self.bench.set("time_now", self.time & 0xFFFF_FFFF);
        self.bench.eval();

        if command.is_some() && self.bench.get("command_ready") == 1 {
            self.commands.pop_front();
        }
        if ready && self.bench.get("tx_valid") == 1 {
            let beat = Beat::get(&self.bench, "tx");
            if let Some(packet) = self.collector.push(beat) {
                self.request(&packet);
            }
        }
        self.quiet += 1;
        if self.bench.get("beat_valid") == 1 {
            self.quiet = 0;
            self.data();
        } else {
            assert_eq!(self.bench.get("retire_valid"), 0);
        }
        if !self.answers.is_empty() {
            self.quiet = 0;
        }
        self.seen_unexpected += self.bench.get("count_unexpected");
        self.seen_lost += self.bench.get("count_lost");
        if self.bench.cycles() % 128 == 0 {
            self.time += 1;
        }
        self.bench.tick();
    }

    /// Runs until everything asked for has come, letting time jump when nothing else can happen.
    fn finish(&mut self) {
        while !(self.commands.is_empty() && self.pieces.is_empty()) {
            self.step();
            if self.quiet == 600 {
                assert_eq!(self.bench.get("deadline_valid"), 1, "stuck at {:?}", self.pieces.front());
                let deadline = self.bench.get("deadline");
                let ahead = deadline.wrapping_sub(self.time) & 0xFFFF_FFFF;
                assert!((1..=50_400).contains(&ahead), "{ahead}");
                // Not before its time.
                self.time += ahead - 1;
                let before = self.pieces.len();
                for _ in 0..20 {
                    if self.bench.cycles() % 128 != 0 {
                        self.step();
                    }
                }
                assert_eq!(self.pieces.len(), before);
                self.time += 1;
            }
            assert!(self.quiet < 1000, "stuck at {:?}", self.pieces.front());
        }
        while !self.delivering.is_empty() {
            self.step();
        }
        let rate = std::mem::take(&mut self.rx_rate);
        // Sixteen hollow slots may have to be passed over.
        for _ in 0..40 {
            self.step();
        }
        self.rx_rate = rate;
        assert_eq!(self.bench.get("busy"), 0);
        assert_eq!(self.retired, self.want_retired);
        assert_eq!(self.seen_unexpected, self.unexpected);
    }

    fn accesses(&mut self, count: usize) {
        for _ in 0..count {
            while self.rng.random_bool(0.2) {
                let command = self.random_command(false);
                self.command(command);
            }
            let command = self.random_command(true);
            self.command(command);
        }
    }
}

/// Double words missing when this completion comes.
fn missing(packet: &[u32]) -> u64 {
    let lane = field(completion_dw2::LOWER_ADDRESS, packet[2]) % 4;
    (field(completion_dw1::BYTE_COUNT, packet[1]) + lane).div_ceil(4)
}

/// A completion with the bytes `from..to` of a read that ends at `end`.
pub fn completion(tag: u64, from: u64, to: u64, end: u64) -> Vec<u32> {
    let words = to.div_ceil(4) - from / 4;
    let mut packet = vec![
        header(&[(dw0::KIND, kind::COMPLETION_DATA.into()), (dw0::LENGTH, words & 0x3FF)]),
        header(&[(completion_dw1::BYTE_COUNT, (end - from) & 0xFFF), (completion_dw1::COMPLETER, 0x0100)]),
        header(&[
            (completion_dw2::LOWER_ADDRESS, from & 0x7F),
            (completion_dw2::TAG, tag),
            (completion_dw2::REQUESTER, REQUESTER),
        ]),
    ];
    for word in from / 4..from / 4 + words {
        packet.push(u32::from_le_bytes([0, 1, 2, 3].map(|b| memory(word * 4 + b))));
    }
    packet
}

#[test]
fn reads_come_back_in_order_whatever_the_completions_do() {
    for max_read in [0, 1, 2, 5] {
        let mut host = Host::new(max_read);
        for round in 0..3 {
            (host.tx_rate, host.rx_rate) = [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)][round % 3];
            host.accesses(60);
            host.finish();
        }
        assert!(host.requests > 300);
        assert_eq!(host.bench.get("timed_out"), 0);
    }
}

#[test]
fn a_fault_fails_its_own_access_only() {
    let mut host = Host::new(2);
    host.poison = 6;
    host.bogus = 0.1;
    for _ in 0..4 {
        host.accesses(100);
        host.finish();
    }
    assert!(host.unexpected > 100);
    assert!(host.early > 20, "{}", host.early);
}

#[test]
fn a_lost_completion_times_out_and_its_tag_is_not_used_again() {
    let mut host = Host::new(1);
    host.missing = 6;
    host.poison = 20;
    host.bogus = 0.02;
    while host.missing > 0 {
        host.accesses(50);
        host.finish();
    }
    assert_eq!(host.bench.get("timed_out"), 1);
    assert_eq!((host.dead.iter().filter(|d| **d).count(), host.seen_lost), (6, 6));
    // What comes too late is dropped.
    let tag = host.dead.iter().position(|d| *d).unwrap() as u64;
    host.unexpected += 1;
    host.delivering = beats(&completion(tag, 0x40, 0x80, 0x80)).into();
    host.accesses(20);
    host.finish();
}

#[test]
fn latencies_are_as_described() {
    let mut host = Host::new(2);
    let command = Command {
        address: 0x1234_5640,
        length: 64,
        client: 0,
        user: 7,
        epoch: false,
        last: true,
        refused: false,
    };
    for _ in 0..20 {
        host.rx_rate = 0.0;
        host.command(command);
        let start = host.bench.cycles();
        while host.sent == 0 {
            host.step();
        }
        // Command in cycle 0, beats of the request in cycles 3 and 4.
        assert_eq!(host.bench.cycles() - start, 5);
        host.rx_rate = 1.0;
        assert!(!host.answers.is_empty());
        while !host.delivering.is_empty() || !host.answers.is_empty() {
            host.step();
        }
        // All but the last beat of data leave while the completion comes.
        let last = host.bench.cycles() - 1;
        while !host.pieces.is_empty() {
            host.step();
        }
        assert_eq!(host.bench.cycles() - 1 - last, 2);
        host.finish();
    }
}

#[test]
fn with_all_tags_lost_reads_fail_at_once() {
    let mut host = Host::new(2);
    let mut command = host.random_command(true);
    (command.length, command.refused) = (4, false);
    command.address &= !0xFFF;
    host.rx_rate = 0.0;
    for _ in 0..16 {
        host.command(command);
    }
    for _ in 0..200 {
        host.step();
    }
    assert_eq!(host.requests, 16);
    for piece in &mut host.pieces {
        piece.fate = Fate::Missing;
    }
    host.answers.clear();
    host.finish();
    for _ in 0..40 {
        host.command(command);
        host.pieces.back_mut().unwrap().fate = Fate::Open;
    }
    host.finish();
    assert_eq!(host.requests, 16);
    // Reset brings them back.
    host.bench.reset();
    host.dead = [false; 16];
    host.rx_rate = 1.0;
    host.accesses(50);
    host.finish();
}

/// The agent's reset leaves the edge alone: the rest of a completion that it meets goes on coming, and may look like anything.
#[test]
fn the_rest_of_a_completion_that_a_reset_meets_is_no_header() {
    let mut host = Host::new(2);
    let command =
        Command { address: 0x1000, length: 64, client: 0, user: 7, epoch: false, last: true, refused: false };
    for cut in 1..4 {
        // A stray, for a tag that is not open, whose data are the answer to the first read of after the reset.
        let mut stray = completion(9, 0x1000, 0x1080, 0x1080);
        stray.truncate(2 * cut + 2);
        stray.extend(completion(0, 0x1000, 0x1040, 0x1040));
        stray[2 * cut + 5..].fill(0xBAD0_BAD0);
        host.bench.set("command_valid", 0);
        for (n, beat) in beats(&stray).iter().enumerate() {
            if n == cut + 1 {
                // The read of the next life is out before the rest comes.
                host.bench.set("completion_valid", 0);
                host.rx_rate = 0.0;
                host.command(command);
                let before = host.requests;
                while host.requests == before {
                    host.step();
                }
                for _ in 0..4 {
                    host.step();
                }
            }
            host.bench.set("completion_valid", 1);
            beat.set(&mut host.bench, "completion");
            host.bench.set("reset", (n == cut).into());
            host.bench.set("tx_ready", 1);
            host.bench.tick();
            host.bench.set("reset", 0);
            assert_eq!(host.bench.get("beat_valid"), 0, "reset at beat {cut}: data of a stray's");
        }
        host.bench.set("completion_valid", 0);
        for _ in 0..4 {
            host.bench.tick();
            assert_eq!(host.bench.get("beat_valid"), 0, "reset at beat {cut}: data of a stray's");
        }
        host.seen_unexpected = host.unexpected;
        host.rx_rate = 1.0;
        host.finish();
        host.bench.set("completion_valid", 0);
        host.bench.reset();
    }
}

/// Before a reset: what has been sent is waited for no longer than one request may take, all of it together, and what has not been sent
/// is not waited for at all.
#[test]
fn all_that_is_outstanding_ends_within_one_time_out() {
    for requests in [0, 1, 16] {
        let mut host = Host::new(2);
        let mut command = host.random_command(true);
        (command.length, command.refused) = (4, false);
        command.address &= !0xFFF;
        host.rx_rate = 0.0;
        for _ in 0..requests {
            host.command(command);
        }
        for _ in 0..200 {
            host.step();
        }
        assert_eq!(host.requests, requests);
        // These find no credits.
        host.tx_rate = 0.0;
        for _ in 0..3 {
            host.command(command);
        }
        for _ in 0..20 {
            host.step();
        }
        assert_eq!(host.bench.get("busy"), 1);
        assert_eq!(host.bench.get("outstanding"), u64::from(requests != 0));
        host.time += 40_000;
        host.bench.set("draining", 1);
        for piece in host.pieces.range_mut(..requests as usize) {
            piece.fate = Fate::Missing;
        }
        host.answers.clear();
        for _ in 0..20 {
            host.step();
        }
        assert_eq!(host.bench.get("outstanding"), u64::from(requests != 0));
        host.time += 9152;
        for _ in 0..16 * 8 {
            host.step();
        }
        assert_eq!((host.seen_lost, host.bench.get("outstanding")), (requests, 0));
    }
}
