use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::bus::{client, Access, AckRequest, Commit, ReadBeat};
use viaduct_hdl::export::verilog;
use viaduct_hdl::send::FlushRead;
use viaduct_spec::tables::{table, work_queue};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
use crate::ring::Ring;

const REGION: u64 = 0x4321;
const TAG: u64 = 0x77AA;
const OFFSET: u64 = 0x2_0000_1234;

fn commit(dut: &mut Bench, target: u8, region: u64, open: bool) {
    let mut row = [0; 2];
    work_queue::RING_REGION.put(&mut row, region);
    work_queue::RING_OFFSET.put(&mut row, OFFSET);
    work_queue::OPEN.put(&mut row, open.into());
    work_queue::SYSTEM_TAG.put(&mut row, TAG);
    let words = [("target", target.into()), ("row", 9), ("word0", row[0]), ("word1", row[1]), ("word2", 0)];
    Bundle::of::<Commit>("commit").set(dut, &words);
    dut.set("commit_valid", 1);
    dut.tick();
    dut.set("commit_valid", 0);
}

fn new() -> Bench {
    let mut dut = Bench::new("flush_read", &verilog(FlushRead::default()));
    commit(&mut dut, table::WORK_QUEUE, REGION, true);
    // None of these is a ring to read.
    commit(&mut dut, table::WORK_QUEUE, 5, false);
    commit(&mut dut, table::RECEIVE, 6, true);
    dut
}

fn beat(dut: &mut Bench, of: u64, last: bool, refused: bool, failed: bool) {
    let fields = [
        ("client", of),
        ("last", last.into()),
        ("refused", refused.into()),
        ("failed", failed.into()),
        ("count", 8),
    ];
    Bundle::of::<ReadBeat>("beat").set(dut, &fields);
    dut.set("beat_valid", 1);
}

/// Requests carry their number as PSN. What is released must be the next one in order, but for those that a failed
/// read has dropped, and one of Reliable Reception only after a read that was asked for behind it.
#[test]
fn what_waits_for_memory_comes_behind_a_read() {
    let mut dut = new();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let request = Bundle::of::<AckRequest>("sink");
    let released = Bundle::of::<AckRequest>("source");
    let access = Bundle::of::<Access>("access");
    let (mut entered, mut reads, mut dropped, mut shared) = (0u64, 0, 0, 0);
    let mut waiting: VecDeque<(u64, bool)> = VecDeque::new();
    // When the read under way is back, and the number of the request that came last before it was asked for.
    let mut under_way: Option<(u64, u64)> = None;
    // Requests before this one are in memory.
    let mut covered = 0;
    for cycle in 0..60_000 {
        let draining = cycle > 59_000;
        let share = [0, 2, 10][cycle as usize / 2000 % 3];
        let offers = !draining && random.random_ratio(1, 4);
        let reception = random.random_range(0..10) < share;
        request.set(
            &mut dut,
            &[
                ("vi", entered % 64),
                ("psn", entered % (1 << 24)),
                ("kind", 0),
                ("reception", reception.into()),
            ],
        );
        dut.set("sink_valid", offers.into());
        let accepts = random.random_ratio(1, 3);
        dut.set("access_ready", accepts.into());
        let takes = draining || random.random_ratio(1, 2);
        dut.set("source_ready", takes.into());
        dut.set("beat_valid", 0);
        let back = under_way.filter(|(at, _)| *at <= cycle);
        let bad = back.is_some() && random.random_ratio(1, 10);
        if back.is_some() {
            let refused = bad && random.random();
            beat(&mut dut, client::COMPLETE, true, refused, bad && !refused);
        } else if random.random_ratio(1, 3) {
            beat(&mut dut, random.random_range(0..3), true, false, false);
        }
        dut.eval();

        if dut.get("source_valid") == 1 {
            let &(number, held) = waiting.front().expect("nothing that did not go in");
            assert_eq!(released.get(&dut, "psn"), number);
            assert_eq!(released.get(&dut, "vi"), number % 64);
            assert!(!held || number < covered, "request {number} is in memory up to {covered} only");
            if takes {
                waiting.pop_front();
            }
        }
        if let Some((_, before)) = back {
            under_way = None;
            if bad {
                dropped += 1;
                waiting.pop_front().expect("it waits for the read");
            } else {
                shared += before - covered.max(waiting.front().expect("it waits").0);
                covered = before;
            }
        }
        if dut.get("access_valid") == 1 && accepts {
            assert_eq!(under_way, None, "one read at a time");
            assert_eq!(access.get(&dut, "address"), OFFSET * 64);
            assert_eq!((access.get(&dut, "region"), access.get(&dut, "tag")), (REGION, TAG));
            assert_eq!((access.get(&dut, "length"), access.get(&dut, "span")), (8, 8));
            let flag = |name| access.get(&dut, name) == 1;
            assert!(flag("system") && flag("by_offset") && !flag("write") && !flag("clip"));
            reads += 1;
            under_way = Some((cycle + random.random_range(1..80), entered));
        }
        if offers && dut.get("sink_ready") == 1 {
            waiting.push_back((entered, reception));
            entered += 1;
        }
        dut.tick();
    }
    assert_eq!((waiting.len(), under_way), (0, None));
    assert_eq!(dut.get("busy"), 0);
    println!("{entered} requests, {reads} reads, {dropped} failed, {shared} covered");
    assert!(reads > 200 && dropped > 10 && entered > 3000 && shared > 2 * reads);
}

/// What is not of Reliable Reception does not wait for the bus.
#[test]
fn others_are_not_held() {
    let mut dut = new();
    let request = Bundle::of::<AckRequest>("sink");
    dut.set("source_ready", 1);
    for number in 0..200 {
        request.set(&mut dut, &[("psn", number), ("reception", 0)]);
        dut.set("sink_valid", 1);
        dut.tick();
        dut.set("sink_valid", 0);
        dut.eval();
        assert_eq!((dut.get("source_valid"), dut.get("access_valid")), (1, 0));
        dut.tick();
    }
}

/// Every field of a request, whatever it is; and the ring that is read is the one opened last, wherever it lies.
#[test]
fn a_request_comes_out_as_it_went_in_behind_a_read_of_the_last_ring() {
    let mut dut = new();
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let (request, released) = (Bundle::of::<AckRequest>("sink"), Bundle::of::<AckRequest>("source"));
    let access = Bundle::of::<Access>("access");
    let mut reads = 0;
    for round in 0..500 {
        let Ring { region, offset, tag } = Ring::open(&mut dut, &mut random);

        let reception = random.random_range(0..2);
        let fields = [
            ("vi", random.random_range(0..64)),
            ("psn", random.random_range(0..1 << 24)),
            ("msn", random.random_range(0..1 << 24)),
            ("syndrome", random.random_range(0..256)),
            ("kind", random.random_range(0..4)),
            ("reception", reception),
        ];
        request.set(&mut dut, &fields);
        dut.set("sink_valid", 1);
        dut.set("access_ready", 1);
        dut.set("source_ready", 0);
        dut.tick();
        dut.set("sink_valid", 0);
        request.set(&mut dut, &[]);
        let mut patience = 0;
        loop {
            dut.eval();
            dut.set("beat_valid", 0);
            if dut.get("source_valid") == 1 {
                break;
            }
            if dut.get("access_valid") == 1 {
                let seen = ["region", "address", "tag"].map(|name| access.get(&dut, name));
                assert_eq!(seen, [region, offset * 64, tag], "round {round}");
                reads += 1;
                dut.tick();
                beat(&mut dut, client::COMPLETE, true, false, false);
            }
            dut.tick();
            patience += 1;
            assert!(patience < 20, "round {round}: not released");
        }
        assert_eq!(released.all(&dut), crate::bundle::fields(&fields), "round {round}");
        dut.set("source_ready", 1);
        dut.tick();
    }
    assert!(reads > 200);
}
