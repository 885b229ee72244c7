//! Bundles as the bench sees them: fields by name, packed as RustHDL packs a structure.

use std::collections::BTreeMap;

use rust_hdl::prelude::{Synth, TypeDescriptor, TypeKind};
use viaduct_hdl::bus::{Commit, StateWrite};
use viaduct_verilate::Bench;

/// Field values by name.
pub type Fields = BTreeMap<String, u64>;

fn width(kind: &TypeDescriptor) -> usize {
    match &kind.kind {
        TypeKind::Bits(n) | TypeKind::Signed(n) => *n,
        TypeKind::Enum(_) | TypeKind::Composite(_) => panic!("a bundle in a bundle"),
    }
}

fn layout<T: Synth>() -> Vec<(String, usize, usize)> {
    let TypeKind::Composite(fields) = T::descriptor().kind else { panic!("no structure") };
    let mut low = 0;
    fields
        .iter()
        .map(|field| {
            let width = width(&field.kind);
            low += width;
            (field.fieldname.clone(), low - width, width)
        })
        .collect()
}

/// Sets an input bundle; fields left out are 0.
#[track_caller]
pub fn set<T: Synth>(bench: &mut Bench, port: &str, fields: &[(&str, u64)]) {
    let layout = layout::<T>();
    let mut bits = vec![false; T::BITS];
    for (name, value) in fields {
        let (_, low, width) = layout.iter().find(|(n, ..)| n == name).unwrap_or_else(|| panic!("{name}"));
        assert!(*width >= 64 || value >> width == 0, "{port}.{name}: {value:#x} in {width} bits");
        for bit in 0..*width {
            bits[low + bit] = value >> bit & 1 == 1;
        }
    }
    let words: Vec<u32> = bits
        .chunks(32)
        .map(|chunk| chunk.iter().enumerate().fold(0, |word, (n, bit)| word | u32::from(*bit) << n))
        .collect();
    bench.set_wide(port, &words);
}

/// Reads an output bundle.
#[track_caller]
pub fn get<T: Synth>(bench: &Bench, port: &str) -> Fields {
    let words = bench.get_wide(port);
    layout::<T>()
        .into_iter()
        .map(|(name, low, width)| {
            let value = (low..low + width)
                .enumerate()
                .fold(0, |value, (n, bit)| value | u64::from(words[bit / 32] >> (bit % 32) & 1) << n);
            (name, value)
        })
        .collect()
}

/// Owned fields, for comparing.
pub fn fields(list: &[(&str, u64)]) -> Fields {
    list.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

/// Commits a table row and waits until it is taken.
#[track_caller]
pub fn commit(bench: &mut Bench, table: u8, row: u64, words: [u64; 3]) {
    set::<Commit>(
        bench,
        "commit",
        &[
            ("target", table.into()),
            ("row", row),
            ("word0", words[0]),
            ("word1", words[1]),
            ("word2", words[2]),
        ],
    );
    bench.set("commit_valid", 1);
    bench.eval();
    for _ in 0..10_000 {
        if bench.get("commit_ready") == 1 {
            bench.tick();
            bench.set("commit_valid", 0);
            bench.eval();
            return;
        }
        bench.tick();
    }
    panic!("a commit was never taken");
}

/// Broadcasts a VI's state.
pub fn state(bench: &mut Bench, vi: u64, state: u8) {
    set::<StateWrite>(bench, "state", &[("vi", vi), ("state", state.into())]);
    bench.set("state_valid", 1);
    bench.tick();
    bench.set("state_valid", 0);
    bench.eval();
}
