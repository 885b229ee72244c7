//! The root complex against packets that a test makes.

use std::collections::VecDeque;
use std::fs::File;

use rand::Rng;
use viaduct_driver::device::Bar;

use viaduct_spec::tlp::{class, completion_status};

use super::*;
use crate::memory::Range;
use crate::nic::{NicIn, NicOut};
use crate::tlp::{beat, Completion, Request};

mod messages;
mod unkind;

/// The other end of the edge: sends what it is given, keeps what it gets.
struct Edge {
    complex: RootComplex,
    now: Cycle,
    queue: VecDeque<Vec<u32>>,
    sent: usize,
    receiving: Vec<u32>,
    /// Arrival of the last beat, BAR, packet.
    got: Vec<(Cycle, u8, Vec<u32>)>,
    np_ready: bool,
    /// Cycles of a function reset so far, and after how many it is done.
    draining: u64,
    drains: u64,
    /// It sends all the same.
    insists: bool,
    input: NicIn,
}

impl Edge {
    fn new(options: Options) -> Self {
        Self::with(options, 4)
    }

    fn with(options: Options, pages: u64) -> Self {
        let file = tempfile::tempfile().unwrap();
        let content: Vec<u8> = (0..pages * 4096).map(|n| (n ^ n >> 8) as u8).collect();
        std::os::unix::fs::FileExt::write_all_at(&file, &content, 0).unwrap();
        let mut complex = RootComplex::new(options);
        let range = Range { iova: BASE, length: pages * 4096, offset: 0, readable: true, writable: true };
        complex.memory.map(&range, Some(file)).unwrap();
        complex.config_write(0, 4, &[6, 0]);
        Self {
            complex,
            now: 0,
            queue: VecDeque::new(),
            sent: 0,
            receiving: Vec::new(),
            got: Vec::new(),
            np_ready: true,
            draining: 0,
            drains: 20,
            insists: false,
            input: NicIn::default(),
        }
    }

    fn queue(&mut self, packet: &Tlp) {
        self.queue.push_back(packet.encode());
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.complex.drive(self.now, &mut self.input);
            let mut output = NicOut { tlp_rx_np_ready: self.np_ready, ..NicOut::default() };
            if self.input.cfg_function_reset && self.sent == 0 && !self.insists {
                self.queue.clear();
            }
            if let Some(packet) = self.queue.front() {
                let (data, keep) = beat(packet, self.sent);
                output.tlp_tx_valid = true;
                (output.tlp_tx_data, output.tlp_tx_keep) = (data, keep);
                output.tlp_tx_last = self.sent * 2 + 2 >= packet.len();
                output.tlp_tx_class = match packet[0] >> 24 {
                    0x40 | 0x60 => class::POSTED,
                    0x00 | 0x20 => class::NON_POSTED,
                    _ => class::COMPLETION,
                };
            }
            self.draining = if self.input.cfg_function_reset { self.draining + 1 } else { 0 };
            output.function_reset_done = self.draining > self.drains;
            self.complex.observe(self.now, &self.input, &output);
            if output.tlp_tx_valid && self.input.tlp_tx_ready {
                self.sent += 1;
                if output.tlp_tx_last {
                    self.queue.pop_front();
                    self.sent = 0;
                }
            }
            if self.input.tlp_rx_valid {
                self.receiving.push(self.input.tlp_rx_data as u32);
                if self.input.tlp_rx_keep == 0b11 {
                    self.receiving.push((self.input.tlp_rx_data >> 32) as u32);
                }
                if self.input.tlp_rx_last {
                    let packet = std::mem::take(&mut self.receiving);
                    self.got.push((self.now, self.input.tlp_rx_bar, packet));
                }
            }
            self.now += 1;
        }
    }

    fn completions(&self) -> Vec<Completion> {
        let decoded = self.got.iter().map(|(_, _, packet)| Tlp::decode(packet).unwrap());
        let only = decoded.filter_map(|packet| match packet {
            Tlp::Completion(completion) => Some(completion),
            _ => None,
        });
        only.collect()
    }

    fn memory(&self, iova: u64, length: usize) -> Vec<u8> {
        let mut data = vec![0; length];
        self.complex.memory.read(iova, &mut data).unwrap();
        data
    }
}

const BASE: u64 = 0x8_0000_0000;

fn read(offset: u64, bytes: usize, tag: u8) -> Tlp {
    Tlp::Read(Request::new(BASE + offset, bytes, tag, NIC_ID))
}

fn write(offset: u64, bytes: usize, value: u32) -> Tlp {
    let request = Request::new(BASE + offset, bytes, 0, NIC_ID);
    Tlp::Write(request, vec![value; request.length])
}

#[test]
fn a_read_takes_the_round_trip() {
    let mut edge = Edge::new(Options::default());
    edge.queue(&read(0, 4, 1));
    edge.run(200);
    // Two beats out, 62 cycles, two beats back: the first beat of the answer is at 1 + 62.
    assert_eq!(edge.got.len(), 1);
    assert_eq!(edge.got[0].0, 1 + 62 + 1);
    assert_eq!(edge.completions()[0].data, [0x0302_0100]);
    assert!(edge.complex.is_quiet(edge.now));
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn writes_reach_memory_and_only_their_bytes() {
    let mut edge = Edge::new(Options::default());
    edge.queue(&write(0x101, 6, 0xAAAA_AAAA));
    edge.queue(&write(0x200, 256, 0xBBBB_BBBB));
    let holes = Request { first_be: 0b1010, last_be: 0b0101, ..Request::new(BASE + 0x300, 8, 0, NIC_ID) };
    edge.queue(&Tlp::Write(holes, vec![0xCCCC_CCCC; 2]));
    edge.run(200);
    assert_eq!(edge.memory(BASE + 0x100, 8), [1, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 6]);
    assert_eq!(edge.memory(BASE + 0x200, 256), [0xBB; 256]);
    assert_eq!(edge.memory(BASE + 0x300, 8), [3, 0xCC, 1, 0xCC, 0xCC, 6, 0xCC, 4]);
    assert_eq!(edge.complex.counters().write_bytes, 6 + 256 + 4);
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn a_read_behind_a_write_sees_it() {
    let mut edge = Edge::new(Options {
        conditions: Conditions { reorder: 40, ..Conditions::default() },
        ..Options::default()
    });
    edge.queue(&write(0x40, 4, 0x1234_5678));
    edge.queue(&read(0x40, 4, 3));
    edge.run(300);
    assert_eq!(edge.completions()[0].data, [0x1234_5678]);
}

#[test]
fn reads_overtake_one_another_but_their_pieces_do_not() {
    let mut options = Options {
        conditions: Conditions {
            reorder: 200,
            split: Split::Random,
            stall: 100,
            gap: 100,
            ..Conditions::default()
        },
        ..Options::default()
    };
    let mut overtaken = false;
    for seed in 0..8 {
        println!("seed {seed}");
        options.seed = seed;
        let mut edge = Edge::new(options.clone());
        let expected: Vec<Vec<u8>> = (0..16).map(|n| edge.memory(BASE + n * 520, 512)).collect();
        (0..16).for_each(|tag| edge.queue(&read(u64::from(tag) * 520, 512, tag)));
        // Pieces that cross 4 KiB would be wrong of us, not of the root complex.
        edge.queue.retain(|packet| {
            let Ok(Tlp::Read(request)) = Tlp::decode(packet) else { return false };
            (request.address & 0xFFF) + 512 <= 4096
        });
        let asked = edge.queue.len();
        edge.run(4000);
        let mut found = vec![Vec::new(); 16];
        let mut order = Vec::new();
        for completion in edge.completions() {
            let data = &mut found[completion.tag as usize];
            assert_eq!(completion.byte_count, 512 - data.len());
            data.extend(completion.data.iter().flat_map(|dw| dw.to_le_bytes()));
            order.push(completion.tag);
        }
        let whole = (0..16).filter(|&tag| found[tag] == expected[tag]).count();
        assert_eq!(whole, asked);
        overtaken |= !order.is_sorted();
        assert_eq!(edge.complex.violations(), []);
        assert!(edge.complex.is_quiet(edge.now));
    }
    assert!(overtaken);
}

#[test]
fn what_is_not_mapped_is_unsupported() {
    let mut edge = Edge::new(Options::default());
    edge.queue(&Tlp::Read(Request::new(0x1000, 64, 5, NIC_ID)));
    edge.queue(&read(4 * 4096 - 4, 4, 6));
    edge.queue(&Tlp::Write(Request::new(0x1000, 4, 0, NIC_ID), vec![0]));
    edge.run(200);
    let completions = edge.completions();
    assert_eq!((completions[0].status, completions[0].tag), (completion_status::UNSUPPORTED, 5));
    assert_eq!((completions[0].byte_count, completions[0].data.len()), (64, 0));
    assert_eq!(completions[1].status, completion_status::SUCCESS, "the last word of the mapping");
    assert_eq!(edge.complex.counters().unsupported, 2);
}

#[test]
fn faults_hit_the_reads_they_name() {
    let faults = BTreeMap::from([
        (0, ReadFault::Poisoned),
        (1, ReadFault::Missing),
        (2, ReadFault::Aborted),
        (3, ReadFault::Cut),
        (4, ReadFault::Late(500)),
    ]);
    let mut edge = Edge::new(Options { faults, ..Options::default() });
    (0..6).for_each(|tag| edge.queue(&read(0, 512, tag)));
    edge.run(2000);
    let completions = edge.completions();
    let of = |tag| completions.iter().filter(|c| c.tag == tag).collect::<Vec<_>>();
    assert!(of(0)[0].poisoned && !of(0)[1].poisoned);
    assert!(of(1).is_empty());
    assert_eq!(of(2)[0].status, completion_status::ABORT);
    assert_eq!((of(3).len(), of(3)[0].data.len()), (1, 64));
    assert_eq!(completions.last().unwrap().tag, 4);
    assert_eq!(of(5).len(), 2);
    assert_eq!(edge.complex.violations(), []);
    // A tag whose read was lost must not be used again.
    edge.queue(&read(0, 4, 1));
    edge.queue(&read(0, 4, 5));
    edge.run(200);
    assert_eq!(edge.complex.counters().violations, 1);
}

#[test]
fn completions_never_pass_stores_and_reads_let_them_pass() {
    let mut edge = Edge::new(Options::default());
    edge.np_ready = false;
    let doorbell = Access::new(Bar::Doorbells, 0x1000, 8).unwrap();
    let register = Access::new(Bar::Registers, 0x28, 8).unwrap();
    edge.run(2);
    let load = edge.complex.load(edge.now, register);
    edge.queue(&read(0, 4, 1));
    edge.run(31);
    // Arrives just before the completion does.
    edge.complex.store(edge.now, doorbell, 0x1122_3344_5566_7788);
    edge.run(200);
    let kinds: Vec<u32> = edge.got.iter().map(|(_, _, packet)| packet[0] >> 24).collect();
    assert_eq!(kinds, [0x60, 0x4A], "the load waits and holds nobody up");
    assert_eq!(edge.got[0].1, 2);
    assert_eq!(edge.got[0].2[3..], [0x1000, 0x5566_7788, 0x1122_3344]);
    assert_eq!(edge.complex.answer(load), None);
    edge.np_ready = true;
    edge.run(20);
    let Ok(Tlp::Read(request)) = Tlp::decode(&edge.got[2].2) else { panic!("the load") };
    assert_eq!(edge.got[2].1, 0);
    let (_, byte_count) = request.bytes();
    edge.queue(&Tlp::Completion(Completion {
        status: 0,
        byte_count,
        lower_address: (request.address & 0x7F) as u8,
        tag: request.tag,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![3, 4],
    }));
    edge.run(100);
    assert_eq!(edge.complex.answer(load), Some(0x4_0000_0003));
    assert!(edge.complex.is_quiet(edge.now));
}

#[test]
fn a_load_that_nobody_answers_reads_as_ones() {
    let mut edge = Edge::new(Options { load_timeout: 1000, ..Options::default() });
    let load = edge.complex.load(0, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(900);
    assert_eq!(edge.complex.answer(load), None);
    edge.run(400);
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
}

#[test]
fn every_broken_rule_is_seen() {
    let broken = |options: &Options, packet: Tlp| {
        let mut edge = Edge::new(options.clone());
        edge.queue(&packet);
        edge.run(300);
        edge.complex.violations().iter().map(|v| v.what.clone()).collect::<Vec<_>>().join("; ")
    };
    let options = Options::default();
    let small = Options {
        conditions: Conditions { max_payload: 0, extended_tag: false, ..Conditions::default() },
        ..Options::default()
    };
    assert!(broken(&options, read(0, 1024, 0)).contains("1024 bytes; 512 are allowed"));
    assert!(broken(&small, write(0, 256, 0)).contains("256 bytes; 128 are allowed"));
    assert!(broken(&options, read(4096 - 4, 8, 0)).contains("crosses"));
    assert!(broken(&small, read(0, 4, 32)).contains("without extended tags"));
    let stranger = Request { requester: 0x200, ..Request::new(BASE, 4, 0, NIC_ID) };
    assert!(broken(&options, Tlp::Read(stranger)).contains("requester"));
    let credits = Limits { posted_data: Some(3), ..Limits::default() };
    let poor = Options { conditions: Conditions { credits, ..Conditions::default() }, ..Options::default() };
    assert!(broken(&poor, write(0, 64, 0)).contains("no credit"));
    assert_eq!(broken(&poor, write(0, 48, 0)), "");
    let nobody = Completion {
        status: 0,
        byte_count: 4,
        lower_address: 0,
        tag: 9,
        requester: HOST_ID,
        completer: NIC_ID,
        poisoned: false,
        data: vec![0],
    };
    assert!(broken(&options, Tlp::Completion(nobody)).contains("no load"));
    let mut edge = Edge::new(options);
    edge.run(1);
    edge.complex.config_write(edge.now, 4, &[2, 0]);
    edge.run(20);
    edge.queue(&write(0, 4, 0x1234_5678));
    edge.queue.push_back(vec![0x4000_0002, 0x0100_000F, 0x1000, 0]);
    edge.run(100);
    let violations = edge.complex.violations();
    assert!(violations[0].what.contains("no bus master"));
    assert!(violations[1].what.contains("malformed"));
    assert_eq!(edge.memory(BASE, 4), [0, 1, 2, 3], "it reached nothing");
}

#[test]
fn a_disabled_function_answers_nothing() {
    let mut edge = Edge::new(Options::default());
    edge.complex.config_write(0, 4, &[0, 0]);
    let access = Access::new(Bar::Registers, 0x20, 4).unwrap();
    edge.complex.store(0, access, 1);
    let load = edge.complex.load(0, access);
    edge.run(100);
    assert!(edge.got.is_empty());
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
    assert_eq!(edge.complex.counters().unsupported, 2);
}

#[test]
fn a_function_reset_answers_reads_and_loses_loads() {
    let mut edge = Edge::new(Options::default());
    edge.drains = 200;
    edge.queue(&read(0, 512, 1));
    let load = edge.complex.load(0, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(20);
    edge.complex.config_write(edge.now, 0x50 + 9, &[0x80]);
    edge.run(1);
    assert!(edge.input.cfg_function_reset && !edge.input.cfg_bus_master);
    edge.run(500);
    assert!(!edge.input.cfg_function_reset);
    // The load had not come to the NIC.
    assert_eq!((edge.completions().len(), edge.got.len()), (2, 2));
    assert_eq!(edge.complex.answer(load), Some(0xFFFF_FFFF));
    assert!(edge.complex.is_quiet(edge.now));
    assert_eq!(edge.complex.violations(), []);
}

#[test]
fn a_packet_that_a_reset_meets_goes_on_to_its_end() {
    let mut edge = Edge::new(Options::default());
    edge.complex.store(0, Access::new(Bar::Registers, 0x28, 8).unwrap(), 7);
    // A store of 8 bytes has three beats.
    while edge.receiving.len() != 2 {
        edge.run(1);
        assert!(edge.now < 100);
    }
    edge.complex.reset(edge.now);
    edge.run(2);
    assert!(edge.input.cfg_function_reset);
    assert!(edge.receiving.is_empty(), "the NIC has seen its last beat");
    edge.run(500);
    edge.complex.load(edge.now, Access::new(Bar::Registers, 0, 4).unwrap());
    edge.run(100);
    assert!(matches!(Tlp::decode(&edge.got[1].2), Ok(Tlp::Read(_))), "a packet of its own");
}

#[test]
fn random_traffic_is_the_same_for_the_same_seed() {
    let run = |seed| {
        let options = Options {
            seed,
            conditions: Conditions {
                reorder: 60,
                split: Split::Random,
                stall: 50,
                gap: 50,
                ..Conditions::default()
            },
            ..Options::default()
        };
        let mut edge = Edge::new(options);
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for n in 0..60 {
            let bytes = random.random_range(1..=256);
            let offset = random.random_range(0..4096 - bytes as u64);
            let packet = if n % 3 == 0 { write(offset, bytes, n) } else { read(offset, bytes, n as u8) };
            edge.queue(&packet);
        }
        edge.run(20_000);
        assert_eq!(edge.complex.violations(), []);
        edge.got
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_file_that_is_taken_away_is_unsupported() {
    let mut edge = Edge::new(Options::default());
    let named = tempfile::NamedTempFile::new().unwrap();
    named.as_file().set_len(4096).unwrap();
    let range = Range { iova: 0, length: 4096, offset: 0, readable: true, writable: false };
    edge.complex.memory.map(&range, Some(File::open(named.path()).unwrap())).unwrap();
    named.as_file().set_len(0).unwrap();
    edge.queue(&Tlp::Read(Request::new(0, 64, 1, NIC_ID)));
    edge.run(200);
    assert_eq!(edge.completions()[0].status, completion_status::UNSUPPORTED);
}
