//! The read engine's time: a read fails when its answer has not gone on for so many ticks, neither earlier nor later.

use rand::Rng;
use viaduct_hdl::bus::{DmaCommand, ReadBeat};
use viaduct_hdl::dma::DmaRead;
use viaduct_hdl::export::verilog;
use viaduct_spec::tlp::request_dw1;
use viaduct_verilate::Bench;

use crate::beat::{beats, field, Beat, Collector};
use crate::bundle::Bundle;
use crate::dma_read::{completion, REQUESTER};

/// Ticks of 1.024 us: 50.3 ms.
const LIMIT: u64 = 3 << 14;

/// Asks for 64 bytes; the tag that they are asked for with.
fn read(bench: &mut Bench) -> u64 {
    let command = [("address", 0x1000), ("length", 64), ("user", 7), ("last", 1)];
    Bundle::of::<DmaCommand>("command").set(bench, &command);
    bench.set("command_valid", 1);
    bench.set("tx_ready", 1);
    let mut collector = Collector::default();
    for _ in 0..40 {
        bench.eval();
        let taken = bench.get("command_ready") == 1;
        let packet = (bench.get("tx_valid") == 1).then(|| collector.push(Beat::get(bench, "tx"))).flatten();
        bench.tick();
        if taken {
            bench.set("command_valid", 0);
        }
        if let Some(packet) = packet {
            return field(request_dw1::TAG, packet[1]);
        }
    }
    panic!("nothing is asked for");
}

/// No data for so many cycles.
#[track_caller]
fn waits(bench: &mut Bench, cycles: usize) {
    for _ in 0..cycles {
        bench.eval();
        assert_eq!(bench.get("beat_valid"), 0);
        bench.tick();
    }
}

/// Rule WQ-8.
#[test]
fn a_read_fails_at_its_time_to_the_tick() {
    let mut bench = Bench::new("dma_read", &verilog(DmaRead::default()));
    let mut rng = crate::random(&bench);
    bench.set("cfg_requester_id", REQUESTER);
    bench.set("max_read", 2);
    for round in 0..64 {
        // Any time, and such that a bit of the deadline's sum carries into all above it.
        let mut time: u64 = match round % 2 {
            0 => rng.random_range(0..1 << 32),
            _ => (1_u64 << (1 + round / 2)).wrapping_sub(rng.random_range(1..3)) & 0xffff_ffff,
        };
        bench.set("command_valid", 0);
        bench.set("time_now", time);
        bench.reset();
        waits(&mut bench, 4);
        let tag = read(&mut bench);
        waits(&mut bench, 20);
        if round % 4 >= 2 {
            // A part of it comes: the time begins anew.
            time = (time + rng.random_range(1..LIMIT)) & 0xffff_ffff;
            bench.set("time_now", time);
            waits(&mut bench, 3);
            for beat in beats(&completion(tag, 0x1000, 0x1004, 0x1040)) {
                bench.set("completion_valid", 1);
                beat.set(&mut bench, "completion");
                bench.tick();
            }
            bench.set("completion_valid", 0);
            waits(&mut bench, 20);
        }
        let deadline = (time + LIMIT) & 0xffff_ffff;
        assert_eq!((bench.get("deadline_valid"), bench.get("deadline")), (1, deadline), "from {time:#x}");
        for before in [LIMIT - 1, LIMIT / 2, 1] {
            bench.set("time_now", deadline.wrapping_sub(before) & 0xffff_ffff);
            waits(&mut bench, 20);
            assert_eq!((bench.get("deadline_valid"), bench.get("deadline")), (1, deadline));
        }
        bench.set("time_now", deadline);
        let mut failed = 0;
        for _ in 0..12 {
            bench.eval();
            if bench.get("beat_valid") == 1 {
                let beat = Bundle::of::<ReadBeat>("beat");
                let get = |name| beat.get(&bench, name);
                assert_eq!([get("failed"), get("last"), get("count"), get("user")], [1, 1, 0, 7]);
                failed += 1;
            }
            bench.tick();
        }
        assert_eq!(failed, 1, "from {time:#x}");
        assert_eq!((bench.get("deadline_valid"), bench.get("timed_out")), (0, 1));
    }
}
