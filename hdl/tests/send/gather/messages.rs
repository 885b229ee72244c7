//! Messages of all kinds.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_spec::tables::{gather, table, vi_states};

use super::descriptor::{any, Descriptor, Made, Segment};
use super::traffic::run;
use super::{setup, Context, Setup};
use crate::port::{self, fields};

/// Rule WIRE-2.
#[test]
fn cuts_messages_into_packets() {
    run(&mut setup(), 600, false, false, any);
}

/// Frames of the raw channel, of every length about the limits, and in one segment or a few.
/// Rule RAW-4.
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
        (Descriptor { head, words, held, unread: false }, segments, length)
    });
}

/// Rule WQ-2.
#[test]
fn refuses_what_is_wrong() {
    run(&mut setup(), 1500, true, false, any);
}

/// A message of 8 bytes on VI 3.
fn short(rng: &mut ChaCha8Rng, _: &[Context], _: bool) -> Made {
    let segment = Segment { address: rng.random_range(0..1 << 40), region: 5, key: 9, length: 8 };
    let mut words = vec![0, 1 << 32, 0, 8];
    words.extend([segment.address, 8 << 32 | 9 << 16 | 5]);
    let head = [("vi", 3), ("region", 1), ("offset", 2), ("words", 8), ("lost", 0)];
    let again = [("epoch", 0), ("restart", 0), ("skip", 0), ("psn", 0)];
    let head = fields(&[&head[..], &again].concat());
    (Descriptor { head, words, held: 8, unread: false }, vec![segment], 8)
}

/// A NIC whose VIs are all connected, and VI 3 not raw.
fn connected() -> Setup {
    let mut setup = setup();
    for context in &mut setup.contexts {
        context.connected = true;
    }
    setup.contexts[3].raw = false;
    let mut row = [0; 3];
    gather::TAG.put(&mut row, setup.contexts[3].tag);
    gather::MTU.put(&mut row, setup.contexts[3].mtu);
    gather::MAX_TRANSFER.put(&mut row, setup.contexts[3].max_transfer);
    port::commit(&mut setup.bench, table::GATHER, 3, row);
    for vi in 0..64 {
        port::state(&mut setup.bench, vi, vi_states::CONNECTED);
    }
    setup
}

/// Without waiting for data: messages of 8 bytes follow each other at check's and cut's pace, whatever the latency.
#[test]
fn keeps_reads_in_flight() {
    let cycles = run(&mut connected(), 200, false, true, short);
    println!("{} cycles a message", cycles / 200);
    assert!(cycles < 200 * 13 + 250, "{cycles}");
}

/// While `transmit` takes nothing, as many packets wait as there is room for, and nothing said of them is lost.
#[test]
fn packets_wait_for_transmit() {
    let mut setup = connected();
    setup.transmit_takes_after = 2000;
    run(&mut setup, 60, false, true, short);
}
