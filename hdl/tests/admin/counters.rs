use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::admin::Counters;
use viaduct_hdl::export::verilog;
use viaduct_spec::register::counter;
use viaduct_verilate::Bench;

/// All that count events.
const ALL: u64 = ((1 << 39) - 1) & !(1 << counter::BYTES_SENT | 1 << counter::BYTES_RECEIVED);

fn read(dut: &mut Bench, index: u64) -> u64 {
    dut.set("read_valid", 1);
    dut.set("read", index);
    for _ in 0..50 {
        dut.eval();
        if dut.get("read_value_valid") == 1 {
            let value = dut.get("read_value");
            dut.set("read_valid", 0);
            dut.tick();
            return value;
        }
        dut.tick();
    }
    panic!("counter {index} was not answered within 50 cycles");
}

#[test]
fn every_event_is_counted_and_reset_clears() {
    let mut dut = Bench::new("counters", &verilog(Counters::default()));
    let mut random = ChaCha8Rng::seed_from_u64(dut.seed());
    let mut expected = [0u64; 39];
    // Cycles until the next payload may come, each way.
    let mut rests = [0u64; 2];
    for round in 0..4 {
        let busy: u64 = [0, 1, 0x68_0002_0001, ALL][round];
        let mut before = 0;
        for cycle in 0..1000 {
            // At most every second cycle for each counter, at that rate for the busy ones.
            let wanted = random.random::<u64>() & ALL | if cycle % 2 == 0 { busy } else { 0 };
            let events = wanted & !before;
            before = events;
            dut.set("events", events);
            let ways = [("bytes_sent", counter::BYTES_SENT), ("bytes_received", counter::BYTES_RECEIVED)];
            for ((name, number), rest) in ways.into_iter().zip(&mut rests) {
                *rest = rest.saturating_sub(1);
                let bytes = match round {
                    0 => 0,
                    1 => random.random_range(1..40),
                    2 => random.random_range(0..=4096),
                    _ => 4096,
                };
                let bytes: u64 = if *rest == 0 { bytes } else { 0 };
                *rest += bytes.div_ceil(8);
                dut.set(name, bytes);
                expected[number as usize] += bytes;
            }
            dut.tick();
            for (bit, count) in expected.iter_mut().enumerate() {
                *count += events >> bit & 1;
            }
        }
        ["events", "bytes_sent", "bytes_received"].into_iter().for_each(|name| dut.set(name, 0));
        for _ in 0..44 {
            dut.tick();
        }
        for (index, &count) in expected.iter().enumerate() {
            assert_eq!(read(&mut dut, index as u64), count, "counter {index}, round {round}");
        }
    }
    dut.set("reset", 1);
    dut.tick();
    dut.set("reset", 0);
    for _ in 0..44 {
        dut.tick();
    }
    for index in 0..39 {
        assert_eq!(read(&mut dut, index), 0, "counter {index} after reset");
    }
}

/// As many bytes as a link of 8 bytes a cycle brings in half a million cycles: more bits than a payload's length has.
#[test]
fn bytes_are_counted_beyond_millions() {
    let mut dut = Bench::new("counters", &verilog(Counters::default()));
    const PAYLOADS: u64 = 1100;
    for _ in 0..PAYLOADS {
        for name in ["bytes_sent", "bytes_received"] {
            dut.set(name, 4096);
        }
        dut.tick();
        for name in ["bytes_sent", "bytes_received"] {
            dut.set(name, 0);
        }
        for _ in 0..4096 / 8 {
            dut.tick();
        }
    }
    // In more than one pass of the scan, which writes each row anew.
    for _ in 0..3 {
        for index in [counter::BYTES_SENT, counter::BYTES_RECEIVED] {
            assert_eq!(read(&mut dut, index), PAYLOADS * 4096, "counter {index}");
        }
    }
}
