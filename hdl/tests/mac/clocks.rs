//! The crossings alone, with clocks whose periods have no common divisor, so that every phase comes up.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_hdl::prelude::Bits;
use viaduct_hdl::clocks::{AsyncFifo, Crossing, Handover, Synchronizer};
use viaduct_hdl::export::verilog;

use super::world::{clockless, seed, Clock};

/// Relatively prime periods: equal but for 100 ppm, and up to a factor of 125 either way.
const PERIODS: [(u64, u64); 7] =
    [(9999, 10000), (10000, 9999), (1001, 8), (8, 1001), (131, 1009), (1009, 131), (640, 641)];

#[test]
fn the_queue_loses_nothing_and_makes_nothing() {
    let seed = seed("async_fifo");
    let text = verilog(AsyncFifo::<Bits<32>, 4, 5>::default());
    for (index, (write, read)) in PERIODS.into_iter().enumerate() {
        let words = if write.max(read) > 20 * write.min(read) { 400 } else { 4000 };
        let (fullest, refused) = match carry(&text, seed + index as u64, (write, read), words) {
            Ok(use_made) => use_made,
            Err(wrong) => panic!("periods {write} and {read}: {wrong}"),
        };
        assert!(fullest <= 17, "{fullest} words in the queue");
        assert!(write > read * 3 || (fullest >= 16 && refused > 0), "{write}/{read} never full: {fullest}");
    }
}

#[test]
fn a_queue_that_looks_too_soon_or_never_is_full_is_found_out() {
    let text = verilog(AsyncFifo::<Bits<32>, 4, 5>::default());
    for (from, to) in [
        ("room <= full_head != tail_gray;", "room <= 1'b1;"),
        // The count goes over before the word is there.
        ("if (push) begin", "tail_gray <= tail_after_gray;\nif (push) begin"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        let wrong = carry(&text.replace(from, to), seed("mutant"), (640, 641), 4000);
        assert!(wrong.is_err(), "{to}");
    }
}

/// Carries words from one clock to the other and says how full the queue was and how often it refused a word, or what
/// went wrong.
fn carry(text: &str, seed: u64, (write, read): (u64, u64), words: u64) -> Result<(usize, u64), String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut dut = clockless("async_fifo", text, seed);
    // Half a period each, so twice the time.
    let mut writer = Clock::new(&dut, "write_clock", 2 * write, 0);
    let mut reader = Clock::new(&dut, "read_clock", 2 * read, 0);
    let mut under_way: VecDeque<u64> = VecDeque::new();
    let (mut given, mut taken, mut fullest, mut refused) = (0u64, 0u64, 0, 0u64);
    let mut offered = None;
    // How eager each side is, changed now and then, so that the queue is full and empty in turn.
    let mut eager = (50, 50);
    let end = 1000 * words * write.max(read);
    while taken < words {
        if writer.next.min(reader.next) > end {
            return Err(format!("stuck behind {taken} words"));
        }
        if writer.next <= reader.next {
            if !writer.level {
                if given % 64 == 0 {
                    eager = (random.random_range(5..=100), random.random_range(5..=100));
                }
                if offered.is_none() && random.random_ratio(eager.0, 100) {
                    offered = Some(random.random::<u32>());
                }
                dut.set("sink_valid", offered.is_some().into());
                dut.set("sink", offered.unwrap_or(0xdead_beef).into());
                dut.eval();
                match offered {
                    Some(word) if dut.get("sink_ready") == 1 => {
                        under_way.push_back(word.into());
                        fullest = fullest.max(under_way.len());
                        given += 1;
                        offered = None;
                    }
                    Some(_) => refused += 1,
                    None => {}
                }
            }
            writer.turn(&mut dut);
        } else {
            if !reader.level {
                let ready = random.random_ratio(eager.1, 100);
                dut.set("source_ready", ready.into());
                dut.eval();
                if ready && dut.get("source_valid") == 1 {
                    let (word, expected) = (dut.get("source"), under_way.pop_front());
                    if expected != Some(word) {
                        return Err(format!("word {taken} is {word:#x} and not {expected:x?}"));
                    }
                    taken += 1;
                }
            }
            reader.turn(&mut dut);
        }
    }
    Ok((fullest, refused))
}

#[test]
fn the_queue_is_as_fast_as_its_slower_clock() {
    let text = verilog(AsyncFifo::<Bits<32>, 4, 5>::default());
    for (write, read) in [(9999u64, 10000u64), (10000, 9999), (131, 257), (257, 131)] {
        let mut dut = clockless("async_fifo", &text, 1);
        let mut writer = Clock::new(&dut, "write_clock", 2 * write, 0);
        let mut reader = Clock::new(&dut, "read_clock", 2 * read, 0);
        dut.set("sink_valid", 1);
        dut.set("source_ready", 1);
        let (mut taken, mut cycles) = (0u64, 0u64);
        while cycles < 2000 {
            if writer.next <= reader.next {
                let slow = write > read && !writer.level;
                writer.turn(&mut dut);
                cycles += u64::from(slow);
            } else {
                if !reader.level {
                    dut.eval();
                    taken += dut.get("source_valid");
                    cycles += u64::from(write <= read);
                }
                reader.turn(&mut dut);
            }
        }
        assert!(taken >= 2000 - 8, "{taken} words in 2000 cycles");
    }
}

#[test]
fn what_is_handed_over_comes_once_and_whole() {
    let seed = seed("handover");
    let text = verilog(Handover::<Bits<16>>::default());
    for (from, to) in [(9999u64, 10000u64), (10000, 9999), (131, 1009), (1009, 131)] {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut dut = clockless("handover", &text, seed);
        let mut source = Clock::new(&dut, "in_clock", 2 * from, 0);
        let mut target = Clock::new(&dut, "out_clock", 2 * to, 0);
        let mut under_way: VecDeque<u64> = VecDeque::new();
        let (mut now, mut earliest, mut taken) = (0u64, 0u64, 0);
        while taken < 2000 {
            if source.next <= target.next {
                if !source.level {
                    now = source.next;
                    let give = now >= earliest && random.random_ratio(1, 3);
                    let word = u64::from(random.random::<u16>());
                    dut.set("sink_valid", give.into());
                    dut.set("sink", word);
                    dut.eval();
                    if give {
                        under_way.push_back(word);
                        // As close as the contract allows.
                        earliest = now + 2 * from + 8 * to;
                    }
                }
                source.turn(&mut dut);
            } else {
                if !target.level {
                    dut.eval();
                    if dut.get("source_valid") == 1 {
                        assert_eq!(Some(dut.get("source")), under_way.pop_front());
                        taken += 1;
                    }
                }
                target.turn(&mut dut);
            }
        }
        assert!(now > 0 && under_way.len() <= 1);
    }
}

#[test]
fn a_bit_takes_two_or_three_edges_and_each_its_own() {
    let mut dut = clockless("crossing", &verilog(Crossing::<8>::default()), seed("crossing"));
    let mut clock = Clock::new(&dut, "clock", 2, 0);
    let mut early = [false; 2];
    let mut split = false;
    for level in (0..200).map(|n| if n % 2 == 0 { 0xff } else { 0 }) {
        let before = dut.get("out_data");
        dut.set("in_data", level);
        dut.eval();
        let mut seen = Vec::new();
        for _ in 0..3 {
            clock.turn(&mut dut);
            clock.turn(&mut dut);
            seen.push(dut.get("out_data"));
        }
        assert_eq!((seen[0], seen[2]), (before, level), "never in one, always in three");
        early[usize::from(seen[1] & 1 == level & 1)] = true;
        split |= seen[1] != level && seen[1] != before;
    }
    assert!(early == [true, true] && split, "what a crossing may do has been done");
}

#[test]
fn what_a_crossing_draws_does_not_depend_on_models_of_other_threads() {
    let text = verilog(Crossing::<8>::default());
    let seed = seed("crossing");
    let seen = |others: &dyn Fn()| {
        let mut dut = clockless("crossing", &text, seed);
        let mut clock = Clock::new(&dut, "clock", 2, 0);
        let mut seen = Vec::new();
        for level in (0..100).map(|n| if n % 2 == 0 { 0xff } else { 0 }) {
            others();
            dut.set("in_data", level);
            clock.turn(&mut dut);
            clock.turn(&mut dut);
            seen.push(dut.get("out_data"));
        }
        seen
    };
    let made = || {
        let other = || drop(clockless("crossing", &text, 1));
        std::thread::scope(|scope| scope.spawn(other).join()).expect("a model");
    };
    assert_eq!(seen(&|| ()), seen(&made));
}

#[test]
fn one_bit_arrives() {
    let mut dut = clockless("synchronizer", &verilog(Synchronizer::default()), 1);
    let mut clock = Clock::new(&dut, "clock", 2, 0);
    for level in [1, 0, 1, 1, 0] {
        dut.set("in_data", level);
        for _ in 0..6 {
            clock.turn(&mut dut);
        }
        assert_eq!(dut.get("out_data"), level);
    }
}
