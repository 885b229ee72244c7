//! The trace of TLPs on a serial line, read as a terminal reads it.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::board::trace::TlpTrace;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::bus::TlpWord;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Cycles of a bit: fewer than on a board, so that the test ends soon.
const BIT: u64 = 4;

/// A terminal: the start bit's middle, and each bit's from there.
#[derive(Default)]
struct Terminal {
    /// Cycles until the next bit is looked at, and bits that have come.
    bit: Option<(u64, u32, u64)>,
    text: String,
}

impl Terminal {
    fn look(&mut self, line: u64) {
        match self.bit {
            None if line == 0 => self.bit = Some((BIT + BIT / 2 - 1, 0, 0)),
            None => {}
            Some((0, 8, byte)) => {
                assert_eq!(line, 1, "a stop bit");
                self.text.push(byte as u8 as char);
                self.bit = None;
            }
            Some((0, bits, byte)) => self.bit = Some((BIT - 1, bits + 1, byte | line << bits)),
            Some((wait, bits, byte)) => self.bit = Some((wait - 1, bits, byte)),
        }
    }
}

struct World {
    bench: Bench,
    ports: [(&'static str, Bundle); 2],
    /// What passes each way in a cycle: a word, as data, first and last; or nothing.
    ways: [VecDeque<Option<(u16, bool, bool)>>; 2],
    /// How often a cycle is one in which words move.
    pace: f64,
    terminal: Terminal,
    random: ChaCha8Rng,
}

impl World {
    fn new() -> Self {
        let bench = Bench::new("trace", &verilog(TlpTrace::new(BIT)));
        let random = ChaCha8Rng::seed_from_u64(bench.seed());
        let mut world = Self {
            bench,
            ports: [
                ("came_valid", Bundle::of::<TlpWord>("came")),
                ("went_valid", Bundle::of::<TlpWord>("went")),
            ],
            ways: Default::default(),
            pace: 0.8,
            terminal: Terminal::default(),
            random,
        };
        // The line is high before anything is said.
        world.run(20);
        world
    }

    /// A TLP of these double words is to pass, with a cycle behind it.
    fn pass(&mut self, way: usize, words: &[u32]) {
        self.pass_close(way, words);
        self.ways[way].push_back(None);
    }

    /// The same, and the next one may follow at once.
    fn pass_close(&mut self, way: usize, words: &[u32]) {
        let last = words.len() * 2 - 1;
        for (n, half) in words.iter().flat_map(|word| [word >> 16, word & 0xffff]).enumerate() {
            // The first byte on the wire is the low one.
            self.ways[way].push_back(Some(((half as u16).swap_bytes(), n == 0, n == last)));
        }
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            for ((valid, port), queue) in self.ports.iter().zip(&mut self.ways) {
                let word =
                    if self.random.random_bool(self.pace) { queue.pop_front().flatten() } else { None };
                let (data, first, last) = word.unwrap_or_else(|| self.random.random());
                self.bench.set(valid, word.is_some().into());
                let values = [("data", data.into()), ("first", first.into()), ("last", last.into())];
                port.set(&mut self.bench, &values);
            }
            self.bench.tick();
            self.bench.eval();
            let line = self.bench.get("line");
            self.terminal.look(line);
        }
    }

    /// What the terminal has shown since the last time.
    fn lines(&mut self) -> Vec<String> {
        let text = std::mem::take(&mut self.terminal.text);
        assert!(text.is_empty() || text.ends_with("\r\n"), "{text:?}");
        text.split_terminator("\r\n").map(String::from).collect()
    }
}

/// The line of a TLP.
fn line(way: char, words: &[u32]) -> String {
    words.iter().take(4).fold(way.to_string(), |line, word| format!("{line} {word:08X}"))
}

#[test]
fn each_tlp_is_a_line() {
    let mut world = World::new();
    let read = [0x0400_0001, 0x0000_000f, 0x0100_0000];
    world.pass(0, &read);
    world.run(3000);
    assert_eq!(world.lines(), [line('R', &read)]);
    let answer = [0x4a00_0001, 0x0100_0004, 0x0000_0000, 0xdead_beef];
    world.pass(1, &answer);
    world.run(3000);
    assert_eq!(world.lines(), [line('T', &answer)]);
    // A write of 64 bits' address and 8 bytes: its first four double words.
    let write = [0x6000_0002, 0x0100_00ff, 0x0000_0001, 0x2345_6780, 0x0102_0304, 0x0506_0708];
    world.pass(0, &write);
    world.run(3000);
    assert_eq!(world.lines(), ["R 60000002 010000FF 00000001 23456780"]);
}

#[test]
fn both_ways_at_once_and_nothing_is_lost_while_there_is_room() {
    let mut world = World::new();
    let mut sent = [Vec::new(), Vec::new()];
    for n in 0..8 {
        for (way, letter) in [(0, 'R'), (1, 'T')] {
            let length = world.random.random_range(3..12);
            let words: Vec<u32> = (0..length).map(|_| world.random.random()).collect();
            world.pass(way, &words);
            sent[way].push(line(letter, &words));
        }
        // The next one follows a cycle later, or some time.
        world.run(if n % 2 == 0 { 40 } else { 0 });
    }
    world.run(60_000);
    let lines = world.lines();
    for (way, letter) in [(0, 'R'), (1, 'T')] {
        let of: Vec<_> = lines.iter().filter(|line| line.starts_with(letter)).cloned().collect();
        assert_eq!(of, sent[way], "{letter}");
    }
    assert_eq!(lines.len(), 16);
}

/// Two TLPs end together, one each way: the one from the host goes first, and the next one to the host comes before the other one's record is away.
#[test]
fn what_follows_at_once_behind_a_record_that_waits_is_said_to_be_missing() {
    let mut world = World::new();
    world.pace = 1.0;
    let words = |n: u32| [0x4000_0001 + (n << 8), n, n << 16];
    world.pass(0, &words(0));
    world.pass_close(1, &words(1));
    world.pass(1, &words(2));
    world.pass(1, &words(3));
    world.run(6000);
    assert_eq!(world.lines(), [line('R', &words(0)), line('T', &words(1)), line('t', &words(3))]);
}

#[test]
fn what_finds_no_room_is_said_to_be_missing() {
    let mut world = World::new();
    let words = |n: u32| [0x4000_0001 + (n << 8), n, n << 16];
    for n in 0..100 {
        world.pass(0, &words(n));
    }
    world.run(60_000);
    world.pass(0, &words(100));
    world.pass(0, &words(101));
    world.run(6000);
    let lines = world.lines();
    // The rows' sixteen, one that the tap holds and one that is printed, at the least, and all in their order.
    assert!(lines.len() >= 18 + 2 && lines.len() < 102, "{lines:#?}");
    let mut next = 0;
    for said in &lines {
        let n =
            (next..102).find(|n| said[1..] == line('R', &words(*n))[1..]).unwrap_or_else(|| panic!("{said}"));
        assert_eq!(said.starts_with('r'), n != next, "{said} behind {next}");
        next = n + 1;
    }
    assert_eq!(next, 102);
}
