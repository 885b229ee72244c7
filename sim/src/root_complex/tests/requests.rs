//! Requests of the NIC: what they take, and in which order they are answered.

use std::fs::File;

use viaduct_spec::tlp::completion_status;

use super::*;
use crate::memory::Range;

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
