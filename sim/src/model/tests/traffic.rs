//! Random operations of all kinds, in both directions, over a wire that loses, repeats and damages frames.

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_spec::descriptor::{control, status};
use viaduct_spec::tables::{service, vi_states};

use super::bench::{moved, Bench, Descriptor, Level, DATA, RECEIVED, SENT};
use crate::fabric::Faults;

/// What was posted, and what must be the same at the end.
struct Posted {
    /// NIC and place of each descriptor, and how it ends.
    ends: Vec<(usize, u64, u32)>,
    /// NIC, address of source and of sink, bytes.
    source: (usize, u64),
    sink: (usize, u64),
    length: u32,
}

/// Bytes that each operation has for itself.
const ROOM: u64 = 0x1800;

fn run(seed: u64, service: u8, permille: u32) {
    println!("seed {seed}, service {service}, {permille} in 1000");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut bench = Bench::new(2);
    let pairs = [[(0, 2), (1, 3)], [(0, 4), (0, 5)], [(1, 6), (0, 7)]];
    for ends in pairs {
        let level = Level { service, mtu: random.random_range(0..3), ..Level::reliable() };
        bench.connect(ends, level);
    }
    let mut hit = || (1..6000).filter(|_| random.random_range(0..1000) < permille).collect();
    bench.faults(Faults {
        drop: hit(),
        duplicate: hit(),
        flip_icrc: hit(),
        damage: hit(),
        ..Faults::default()
    });
    let mut all = Vec::new();
    for number in 0..60 {
        let pair = pairs[random.random_range(0..3)];
        let turned = random.random_range(0..2);
        let (from, to) = (pair[turned], pair[1 - turned]);
        let length: u32 =
            [random.random_range(0..5), random.random_range(0..6000)][random.random_range(0..2)];
        // Two halves of user memory: one is sent from, the other received into.
        let (out, into) = (DATA + number * ROOM, DATA + 0x6_0000 + number * ROOM);
        let kind = random.random_range(0..4);
        let (source, sink) =
            if kind == 3 { ((to.0, out), (from.0, into)) } else { ((from.0, out), (to.0, into)) };
        let mut data = vec![0; length as usize];
        random.fill_bytes(&mut data);
        bench.write(source.0, source.1, &data);
        let ends = match kind {
            0 => {
                let cut = random.random_range(0..=length);
                let gather = Descriptor::of(out, cut).segment(out + u64::from(cut), length - cut);
                let sink = Descriptor::of(into, length);
                // The receive may be late: the sender is told so.
                let late = random.random_range(0..4) == 0;
                let early = (!late).then(|| bench.receive(to, &sink));
                let send = bench.send(from, &gather);
                if late {
                    bench.net.step(random.random_range(0..8000));
                }
                let receive = early.unwrap_or_else(|| bench.receive(to, &sink));
                vec![(to.0, receive, RECEIVED), (from.0, send, SENT)]
            }
            1 => {
                let write = Descriptor::rdma(control::OP_RDMAWRITE, into, out, length);
                vec![(from.0, bench.send(from, &write), SENT | status::OP_RDMA_WRITE)]
            }
            2 => {
                let write = Descriptor::rdma(control::OP_RDMAWRITE, into, out, length).immediate(77);
                let receive = bench.receive(to, &Descriptor::new());
                let done = status::DONE | status::OP_REMOTE_RDMA_WRITE | status::IMMEDIATE;
                vec![(to.0, receive, done), (from.0, bench.send(from, &write), SENT | status::OP_RDMA_WRITE)]
            }
            _ => {
                let fence = if random.random() { control::QFENCE } else { 0 };
                let read = Descriptor::rdma(control::OP_RDMAREAD, out, into, length).flags(fence);
                vec![(from.0, bench.send(from, &read), SENT | status::OP_RDMA_READ)]
            }
        };
        all.push(Posted { ends, source, sink, length });
        if random.random_range(0..3) == 0 {
            bench.net.step(random.random_range(0..4000));
        }
        // The rings have 32 slots.
        if number % 10 == 9 {
            bench.settle();
        }
    }
    bench.settle();
    let counters = [0, 1].map(|nic| moved(&mut bench, nic));
    let happened = |name: &str| counters.iter().flatten().any(|(counter, _)| *counter == name);
    for name in ["RETRANSMITTED", "DUPLICATES", "TIMEOUTS", "DROP_PSN", "DROP_ICRC", "DROP_RESPONSE"] {
        assert!(permille == 0 && !happened(name) || permille < 50 || happened(name), "{name}");
    }
    assert!(happened("RNR_SENT"), "some receives are late");
    for posted in all {
        for (nic, place, expected) in posted.ends {
            assert_eq!(bench.peek(nic, place), (posted.length, expected), "seed {seed}: {counters:#?}");
        }
        let length = posted.length as usize;
        let [sent, got] = [posted.source, posted.sink].map(|(nic, at)| bench.read(nic, at, length));
        assert!(sent == got, "seed {seed}: {length} bytes differ");
    }
    for (nic, vi) in pairs.into_iter().flatten() {
        assert_eq!(bench.state((nic, vi)), vi_states::CONNECTED);
    }
    for nic in 0..2 {
        assert_eq!(bench.events(nic), []);
    }
    bench.check();
}

#[test]
fn reliable_operations_survive_every_fault_and_happen_once() {
    for seed in 0..30 {
        for permille in [0, 10, 60] {
            run(seed, [service::RELIABLE_DELIVERY, service::RELIABLE_RECEPTION][seed as usize % 2], permille);
        }
    }
}
