//! `Unskip` and `Align`: SKP sets go, COM is low, and nothing else changes.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rust_hdl::prelude::Block;
use viaduct_hdl::export::verilog;
use viaduct_hdl::pcie::mac::{Align, Aligned, Symbol as Left, Unskip};
use viaduct_link::ordered_set::{Kind, TrainingSet};
use viaduct_link::symbol::Symbol;
use viaduct_verilate::{Dut, Options};

use super::world::seed;
use crate::bundle::Bundle;

/// A symbol that came; `None` is damaged.
type Came = Option<Symbol>;

fn dut<B: Block>(name: &str, block: B, seed: u64) -> Dut {
    match Dut::seeded(&verilog(block), &Options::named(name), seed) {
        Ok(dut) => dut,
        Err(error) => panic!("{error}"),
    }
}

/// What comes of these symbols, and behind which of them a SKP set was.
fn through(seed: u64, symbols: &[Came]) -> Vec<(Came, bool)> {
    let (mut unskip, mut align) =
        (dut("unskip", Unskip::default(), seed), dut("align", Align::default(), seed));
    let left = ["first", "second"].map(Bundle::of::<Left>);
    let word = Bundle::of::<Aligned>("aligned");
    let mut out = Vec::new();
    // Nothing but data is in the registers at first, and their contents go out at last.
    let still = [Some(Symbol::data(0x11)); 24];
    let all = [&still[..], symbols, &still[..]].concat();
    for (cycle, pair) in all.chunks_exact(2).enumerate() {
        for bundle in &left {
            let fields = bundle.all(&unskip);
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            bundle.set(&mut align, &fields);
        }
        for name in ["one", "two"] {
            align.set(name, unskip.get(name));
        }
        let bits = |f: &dyn Fn(&Came) -> u64, width: u64| f(&pair[0]) | f(&pair[1]) << width;
        unskip.set("rx_data", bits(&|came| came.map_or(0x1c, |symbol| symbol.value.into()), 8));
        // The value of a damaged symbol means nothing: it looks like SKP here.
        unskip.set("rx_k", bits(&|came| came.is_none_or(|symbol| symbol.k).into(), 1));
        unskip.set("rx_error", bits(&|came| came.is_none().into(), 1));
        unskip.tick();
        align.tick();
        if cycle >= 8 && align.get("aligned_valid") == 1 {
            for side in ["low", "high"] {
                let get = |name: &str| word.get(&align, &format!("{side}{name}"));
                let symbol = Symbol { value: get("") as u8, k: get("_k") == 1 };
                let came = (get("_error") == 0).then_some(symbol);
                assert_eq!(
                    side == "low" && came == Some(Symbol::COM),
                    side == "low" && word.get(&align, "com") == 1
                );
                assert!(side == "low" || came != Some(Symbol::COM), "COM is high");
                out.push((came, get("_skipped") == 1));
            }
        }
    }
    out
}

/// The same symbols without SKP sets, and behind which of them there was one.
fn without_sets(symbols: &[Came]) -> Vec<(Came, bool)> {
    let (mut out, mut place, mut skipped) = (Vec::new(), 0, false);
    while place < symbols.len() {
        if symbols[place] == Some(Symbol::COM) && symbols.get(place + 1) == Some(&Some(Symbol::SKP)) {
            place += 1;
            while symbols.get(place) == Some(&Some(Symbol::SKP)) {
                place += 1;
            }
            skipped = true;
        } else {
            out.push((symbols[place], skipped));
            skipped = false;
            place += 1;
        }
    }
    out
}

/// What stands before and behind the test's own symbols goes.
fn trimmed(mut out: Vec<(Came, bool)>) -> Vec<(Came, bool)> {
    let filler = (Some(Symbol::data(0x11)), false);
    let begin = out.iter().position(|symbol| *symbol != filler).unwrap_or(0);
    out.drain(..begin);
    while out.last() == Some(&filler) {
        out.pop();
    }
    out
}

/// A SKP before COM says nothing.
fn without_fillers(out: &[(Came, bool)]) -> Vec<(Came, bool)> {
    let is = |place: usize, symbol| out.get(place).is_some_and(|(came, _)| *came == Some(symbol));
    let places = 0..out.len();
    places
        .filter(|place| !(is(*place, Symbol::SKP) && is(place + 1, Symbol::COM)))
        .map(|place| out[place])
        .collect()
}

/// Packets, training sets, damage and idle; SKP sets behind each training set if `sets`.
fn stream(random: &mut ChaCha8Rng, sets: bool) -> Vec<Came> {
    let mut symbols = vec![Some(Symbol::STP)];
    for _ in 0..400 {
        match random.random_range(0..4) {
            0 => symbols.extend((0..random.random_range(1..9)).map(|_| Some(Symbol::data(random.random())))),
            1 => symbols.extend([Some(Symbol::STP), None, Some(Symbol::END)]),
            _ => {
                let set = TrainingSet::new(Kind::Ts1, Some(random.random()), Some(0)).encode();
                symbols.extend(set.map(Some).iter().take(if random.random() { 16 } else { 15 }));
                if sets {
                    symbols.push(Some(Symbol::COM));
                    symbols.extend(vec![Some(Symbol::SKP); random.random_range(1..=5)]);
                }
            }
        }
    }
    symbols.push(Some(Symbol::END));
    if symbols.len() % 2 == 1 {
        symbols.push(Some(Symbol::END));
    }
    symbols
}

#[test]
fn skp_sets_go_and_nothing_else_changes() {
    let seed = seed("pcie mac align");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..20 {
        let symbols = stream(&mut random, true);
        let out = trimmed(through(seed, &symbols));
        assert_eq!(without_fillers(&out), without_sets(&symbols));
    }
}

#[test]
fn without_skp_sets_no_more_is_lost_than_the_symbol_before_com() {
    let seed = seed("pcie mac align without sets");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut lost = 0;
    for _ in 0..20 {
        let symbols = stream(&mut random, false);
        let expected = without_sets(&symbols);
        let out = without_fillers(&trimmed(through(seed, &symbols)));
        let mut place = 0;
        for (number, symbol) in expected.iter().enumerate() {
            if out.get(place) == Some(symbol) {
                place += 1;
            } else {
                assert_eq!(expected[number + 1].0, Some(Symbol::COM), "{number} of {}", expected.len());
                lost += 1;
            }
        }
        assert_eq!(place, out.len());
    }
    assert!(lost > 0, "the room was never used up");
}

#[test]
fn a_damaged_symbol_is_no_skp() {
    let com = Some(Symbol::COM);
    let symbols =
        [Some(Symbol::STP), Some(Symbol::END), com, None, com, Some(Symbol::SKP), None, Some(Symbol::END)];
    let out = without_fillers(&trimmed(through(1, &symbols)));
    let expected =
        [(Some(Symbol::STP), false), (Some(Symbol::END), false), (com, false), (None, false), (None, true)];
    assert_eq!(out[..5], expected);
    assert_eq!(out[5..], [(Some(Symbol::END), false)]);
}
