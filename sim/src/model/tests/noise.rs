//! Whatever hosts, agents and peers do: the NIC goes on, and touches nothing that it may not.

use std::collections::BTreeSet;

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::profile::VIS;
use viaduct_spec::register::registers;
use viaduct_spec::tables::{region, table, vi_states};
use viaduct_spec::wire::opcode;

use super::bench::{handle, moved, Bench, Descriptor, Level, DATA, PSN, RECEIVED, SENT};
use crate::model::frame::{self, Packet};

/// Half of user memory is no live region here.
const OPEN: u64 = 0x4_0000;

fn random_bytes(random: &mut ChaCha8Rng, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..most)];
    random.fill_bytes(&mut bytes);
    bytes
}

/// A descriptor's bytes: good in parts.
fn descriptor(random: &mut ChaCha8Rng) -> Descriptor {
    if random.random_range(0..3) == 0 {
        let [remote, local] = [0, 0].map(|_| DATA + random.random_range(0..OPEN));
        return Descriptor::rdma(random.random_range(1..3), remote, local, random.random_range(0..3000));
    }
    let mut made = Descriptor::new();
    for _ in 0..random.random_range(0..5) {
        made = made.segment(DATA + random.random_range(0..OPEN), random.random_range(0..3000));
        if random.random_range(0..6) == 0 {
            made = made.handle(0, random.random());
        }
    }
    if random.random_range(0..6) == 0 {
        made = made.length(random.random_range(0..5000));
    }
    let bits = if random.random_range(0..9) == 0 { random.random() } else { random.random_range(0..16) };
    made.flags(bits)
}

#[test]
fn noise_of_every_kind_harms_nobody_else() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        println!("seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut bench = Bench::new(2);
        let reliable = seed % 2 == 0;
        let level = if reliable { Level::reliable() } else { Level::unreliable() };
        let noisy = [(0, 1), (1, 2)];
        let quiet = [(0, 3), (1, 4)];
        // The noisy ones have descriptors and data in the region that everybody has, cut to its first part.
        bench.connect(noisy, Level { timeout: 20, retries: 2, rnr: 2, ..level });
        bench.connect(quiet, Level::reliable());
        for nic in 0..2 {
            bench.write(nic, DATA + 0x6_0000, &[0xEE; 0x4_0000]);
            bench.region(nic, 5, &[(region::BASE, DATA + 0x5_0000), (region::LENGTH, 0x1000)]);
        }
        for turn in 0..300 {
            if turn % 30 == 0 {
                // Most of it breaks them. A torn row may hold a time-out of minutes, so nothing is waited for.
                for state in [vi_states::ERROR, vi_states::IDLE] {
                    noisy.into_iter().for_each(|end| bench.set_state(end, state));
                    bench.net.step(1000);
                }
                bench.connect(noisy, Level { timeout: 20, retries: 2, rnr: 2, ..level });
            }
            let (nic, vi) = noisy[random.random_range(0..2)];
            match random.random_range(0..8) {
                0..=1 => {
                    let made = descriptor(&mut random);
                    bench.post((nic, vi), random.random(), &made);
                }
                2..=4 => {
                    let template = Bench::template(noisy[1 - nic], noisy[nic]);
                    let opcode = random.random_range(0..0x14) | if reliable { 0 } else { 0x20 };
                    let psn = PSN.wrapping_add(random.random_range(0..4)) & 0xFF_FFFF;
                    let mut body = random_bytes(&mut random, 400);
                    if random.random() && body.len() >= 16 {
                        body[..8].copy_from_slice(&(DATA + random.random_range(0..OPEN)).to_be_bytes());
                        body[8..12].copy_from_slice(&handle().to_be_bytes());
                        body[12..16].copy_from_slice(&random.random_range(0..3000u32).to_be_bytes());
                    }
                    if opcode == opcode::RC_READ_REQUEST {
                        body.resize(16, 0);
                    } else if random.random_range(0..4) == 0 {
                        body.resize(256, 7);
                    }
                    let ack_request = random.random();
                    bench.inject(nic, frame::build(&template, &Packet { opcode, psn, ack_request, body }));
                }
                5 => {
                    let frame = random_bytes(&mut random, 200);
                    bench.inject(nic, frame);
                }
                6 => {
                    // Doorbells of the noisy VI, as its owner could ring them, and of queues that nobody has.
                    let page = [vi, 9, VIS + random.random_range(0..60)][random.random_range(0..3)];
                    let length = [4, 8][random.random_range(0..2)];
                    let at = random.random_range(0..8) * 8 + if length == 4 { 4 } else { 0 };
                    bench.ring(nic, page, at, length, random.random());
                }
                _ => {
                    let at = 8 * random.random_range(0..0x40);
                    bench.load(nic, at, 8);
                    if random.random_range(0..8) == 0 {
                        // The agent tears rows of the noisy VI.
                        let number =
                            [table::GATHER, table::TRANSMIT, table::RECEIVE][random.random_range(0..3)];
                        let words = [random.random(), random.random(), random.random()];
                        bench.commit(nic, number, vi as u64, words);
                    }
                }
            }
            bench.net.step(random.random_range(0..600));
        }
        for (nic, vi) in noisy {
            bench.set_state((nic, vi), vi_states::ERROR);
            bench.set_state((nic, vi), vi_states::IDLE);
        }
        bench.settle();
        bench.write(0, DATA + 0x5_0000, &[seed as u8; 700]);
        let receive = bench.receive(quiet[1], &Descriptor::of(DATA + 0x5_1000, 700));
        let send = bench.send(quiet[0], &Descriptor::of(DATA + 0x5_0000, 700));
        bench.settle();
        assert_eq!([bench.peek(0, send), bench.peek(1, receive)], [(700, SENT), (700, RECEIVED)]);
        assert_eq!(bench.read(1, DATA + 0x5_1000, 700), [seed as u8; 700]);
        for nic in 0..2 {
            assert!(bench.read(nic, DATA + 0x6_0000, 0x4_0000).iter().all(|byte| *byte == 0xEE));
            assert_eq!(bench.load(nic, registers::STATE, 4) & 4, 4, "idle");
        }
        bench.check();
        for nic in 0..2 {
            seen.extend(moved(&mut bench, nic).into_iter().map(|(name, _)| name));
        }
    }
    for name in [
        "READS_SERVED",
        "DUPLICATES",
        "RNR_SENT",
        "NAKS_SENT",
        "DROP_PARTIAL",
        "ACCESS_REFUSED",
        "MESSAGES_RECEIVED",
        "TIMEOUTS",
        "DROP_PSN",
        "DROP_RESPONSE",
        "DROP_NO_RECEIVE",
    ] {
        assert!(seen.contains(name), "{name}: {seen:?}");
    }
}
