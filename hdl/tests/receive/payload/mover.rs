//! The payload's mover, alone: what is granted goes, to the byte, and nothing else.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::WriteBeat;
use viaduct_hdl::export::verilog;
use viaduct_hdl::receive::PayloadMover;
use viaduct_verilate::Bench;

use crate::bundle::Bundle;

/// Payload as beats: the first may begin in any lane.
fn beats(random: &mut ChaCha8Rng, payload: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    let mut start = random.random_range(0..8usize);
    let mut rest = payload;
    let mut beats = Vec::new();
    while !rest.is_empty() {
        let count = rest.len().min(8 - start);
        beats.push((start as u64, count as u64, rest[..count].to_vec()));
        (rest, start) = (&rest[count..], 0);
    }
    beats
}

#[test]
fn what_is_granted_goes_and_no_more() {
    let mut bench = Bench::new("mover", &verilog(PayloadMover::default()));
    let mut random = ChaCha8Rng::seed_from_u64(bench.seed());
    bench.tick();
    for round in 0..300 {
        let length = [random.random_range(1..20), random.random_range(1..400), 4100][round % 3];
        let payload: Vec<u8> = (0..length).map(|_| random.random()).collect();
        let mut queue = beats(&mut random, &payload).into_iter().peekable();
        bench.set("begins", 1);
        bench.set("payload_valid", 0);
        bench.tick();
        bench.set("begins", 0);
        let (mut granted, mut got) = (0, Vec::new());
        // Now and then the job ends before all of the payload has gone.
        let end = if round % 4 == 3 { random.random_range(1..=length) } else { length };
        let mut idle = 0;
        while idle < 4 {
            let next = queue.peek().filter(|_| random.random_ratio(3, 4));
            bench.set("payload_valid", next.is_some().into());
            if let Some((start, count, bytes)) = next {
                let mut lanes: [u8; 8] = random.random();
                lanes[*start as usize..][..bytes.len()].copy_from_slice(bytes);
                let fields = [("data", u64::from_le_bytes(lanes)), ("start", *start), ("count", *count)];
                Bundle::of::<WriteBeat>("payload").set(&mut bench, &fields);
            }
            bench.set("write_ready", random.random_ratio(2, 3).into());
            bench.eval();
            assert_eq!(
                bench.get("moving"),
                u64::from(granted > taken(&got, &bench)),
                "{granted} bytes granted"
            );
            let grants = bench.get("moving") == 0 && granted < end && random.random_ratio(1, 2);
            bench.set("grant_valid", grants.into());
            if grants {
                let more = random.random_range(1..=end - granted);
                bench.set("grant", more as u64);
                granted += more;
            }
            bench.eval();
            if bench.get("write_valid") == 1 && bench.get("write_ready") == 1 {
                let beat = Bundle::of::<WriteBeat>("write");
                let get = |name| beat.get(&bench, name);
                let (data, start, count) = (get("data").to_le_bytes(), get("start"), get("count"));
                assert!(count >= 1 && start + count <= 8, "lanes {start}+{count}");
                got.extend(&data[start as usize..][..count as usize]);
                assert!(got.len() <= granted, "more than is granted");
            }
            if next.is_some() && bench.get("payload_ready") == 1 {
                queue.next();
            }
            idle = if got.len() == end && bench.get("waits") == 0 { idle + 1 } else { 0 };
            bench.tick();
        }
        assert_eq!(got[..], payload[..end], "round {round}");
    }
}

/// Bytes that the mover has taken: those that it gave out, and those that wait.
fn taken(got: &[u8], bench: &Bench) -> usize {
    let waiting =
        if bench.get("waits") == 1 { Bundle::of::<WriteBeat>("write").get(bench, "count") } else { 0 };
    got.len() + waiting as usize
}
