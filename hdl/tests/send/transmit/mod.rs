//! Transmit against frames built by hand, byte for byte.

mod acknowledgement;
mod answer_failure;
mod answers;
mod errors;
mod judges;
mod message;
mod traffic;

use std::collections::VecDeque;

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{AckRequest, Packet};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::Transmit;
use viaduct_spec::tables::{service, table, transmit, vi_states};
use viaduct_spec::wire::syndrome;
use viaduct_verilate::Bench;

use crate::frames::Headers;
use crate::port;

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

/// Rules WIRE-1 and WIRE-3.
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
