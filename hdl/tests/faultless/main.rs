//! A block with mutants in it, none turned on, is the block: cycle by cycle, from the first evaluation after power-up on.
//!
//! `cargo xtask mutate` makes such blocks and runs this.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use viaduct_hdl::blocks;
use viaduct_verilate::{Bench, Direction, Dut, Options, ONES, ZEROS};

/// Cycles of each run.
const CYCLES: usize = 3000;

/// The clocks of a block: all of them turn at once here.
fn is_clock(name: &str) -> bool {
    name == "clock" || name.ends_with("_clock")
}

/// Random values on all inputs: one bit of control is mostly 0 for some time, and mostly 1 for some.
fn drive(duts: &mut [&mut Dut; 2], random: &mut ChaCha8Rng, busy: f64) {
    for port in duts[0].ports().to_vec() {
        if port.direction == Direction::Out || is_clock(&port.name) {
            continue;
        }
        let mut words: Vec<u32> = (0..port.width.div_ceil(32)).map(|_| random.random()).collect();
        match (port.name.as_str(), port.width) {
            ("reset", _) => words[0] = u32::from(random.random_bool(0.002)),
            (_, 1) => words[0] = u32::from(random.random_bool(busy)),
            _ => {}
        }
        // Small numbers meet rows and lengths that are in use.
        if port.width > 1 && random.random_bool(0.3) {
            words.iter_mut().for_each(|word| *word &= 0x0101_0103);
        }
        let top = port.width - (words.len() - 1) * 32;
        if top < 32 {
            *words.last_mut().expect("a port has a bit") &= (1 << top) - 1;
        }
        duts.iter_mut().for_each(|dut| dut.set_wide(&port.name, &words));
    }
}

#[test]
#[ignore = "needs a block with mutants: cargo xtask mutate"]
fn with_no_mutant_turned_on_a_block_is_what_it_was() {
    let name = std::env::var("VIADUCT_BLOCK").expect("VIADUCT_BLOCK: the block's name");
    let entry = blocks::all().into_iter().find(|block| block.name == name);
    let verilog = (entry.unwrap_or_else(|| panic!("there is no block {name}")).verilog)();
    // Another text of the same block: no mutant stands for it.
    let plain = format!("{verilog}\n// as it is\n");
    let mut seen = 0;
    for power_up in [ZEROS, ONES] {
        let options = Options { clock: clock_of(&verilog), ..Options::named(&name) };
        let build =
            |text: &str| Dut::seeded(text, &options, power_up).unwrap_or_else(|error| panic!("{error}"));
        let (mut mutated, mut block) = (build(&verilog), build(&plain));
        let outputs: Vec<String> = block
            .ports()
            .iter()
            .filter(|port| port.direction == Direction::Out)
            .map(|port| port.name.clone())
            .collect();
        let mut random = ChaCha8Rng::seed_from_u64(Bench::usual_seed() ^ power_up);
        for cycle in 0..CYCLES {
            let busy = [0.1, 0.5, 0.9][cycle / 100 % 3];
            drive(&mut [&mut mutated, &mut block], &mut random, busy);
            mutated.eval();
            block.eval();
            for output in &outputs {
                let (has, had) = (mutated.get_wide(output), block.get_wide(output));
                assert_eq!(has, had, "{output} of {name} in cycle {cycle} after a power-up of {power_up:#x}");
                seen += usize::from(has.iter().any(|word| *word != 0));
            }
            if !options.clock.is_empty() {
                mutated.tick();
                block.tick();
            }
        }
    }
    assert!(seen > 0, "nothing of {name} has moved");
}

/// The clock that a model's `tick` drives; empty if the block has none.
fn clock_of(verilog: &str) -> String {
    let head = verilog.split("module top (\n").nth(1).and_then(|rest| rest.split("\n);").next());
    let inputs = head.unwrap_or_default().lines().filter(|line| line.trim().starts_with("input "));
    let mut names = inputs.filter_map(|line| line.trim_end_matches(',').split_whitespace().last());
    names.find(|name| is_clock(name)).unwrap_or_default().to_owned()
}
