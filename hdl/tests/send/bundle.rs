//! Bundles as the bench sees them: fields by name, packed as RustHDL packs a structure.

use std::any::TypeId;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use rust_hdl::prelude::{Synth, TypeDescriptor, TypeKind};
use viaduct_hdl::bus::{Commit, EpochWrite, StateWrite};
use viaduct_verilate::Bench;

/// Field values by name.
pub type Fields = BTreeMap<String, u64>;

fn width(kind: &TypeDescriptor) -> usize {
    match &kind.kind {
        TypeKind::Bits(n) | TypeKind::Signed(n) => *n,
        TypeKind::Enum(_) | TypeKind::Composite(_) => panic!("a bundle in a bundle"),
    }
}

/// Name, lowest bit and width of each field.
type Layout = Rc<Vec<(String, usize, usize)>>;

thread_local! {
    static LAYOUTS: RefCell<HashMap<TypeId, Layout>> = RefCell::default();
}

fn layout<T: Synth + 'static>() -> Layout {
    LAYOUTS.with_borrow_mut(|layouts| {
        let layout = layouts.entry(TypeId::of::<T>()).or_insert_with(|| {
            let TypeKind::Composite(fields) = T::descriptor().kind else { panic!("no structure") };
            let mut low = 0;
            let layout = fields.iter().map(|field| {
                let width = width(&field.kind);
                low += width;
                (field.fieldname.clone(), low - width, width)
            });
            Rc::new(layout.collect())
        });
        layout.clone()
    })
}

/// Sets an input bundle; fields left out are 0.
#[track_caller]
pub fn set<T: Synth + 'static>(bench: &mut Bench, port: &str, fields: &[(&str, u64)]) {
    let layout = layout::<T>();
    let mut words = vec![0_u32; T::BITS.div_ceil(32)];
    for (name, value) in fields {
        let (_, low, width) = layout.iter().find(|(n, ..)| n == name).unwrap_or_else(|| panic!("{name}"));
        assert!(*width >= 64 || value >> width == 0, "{port}.{name}: {value:#x} in {width} bits");
        let shifted = u128::from(*value) << (low % 32);
        for (word, part) in words[low / 32..].iter_mut().zip([0, 32, 64]) {
            *word |= (shifted >> part) as u32;
        }
    }
    bench.set_wide(port, &words);
}

/// Reads an output bundle.
#[track_caller]
pub fn get<T: Synth + 'static>(bench: &Bench, port: &str) -> Fields {
    let words = bench.get_wide(port);
    let field = |low: usize, width: usize| {
        let parts = words[low / 32..].iter().take(3).zip([0, 32, 64]);
        let wide = parts.fold(0_u128, |wide, (word, part)| wide | u128::from(*word) << part);
        (wide >> (low % 32)) as u64 & (u64::MAX >> (64 - width))
    };
    layout::<T>().iter().map(|(name, low, width)| (name.clone(), field(*low, *width))).collect()
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

/// Broadcasts a VI's epoch.
pub fn epoch(bench: &mut Bench, vi: u64, epoch: bool) {
    set::<EpochWrite>(bench, "epoch", &[("vi", vi), ("epoch", epoch.into())]);
    bench.set("epoch_valid", 1);
    bench.tick();
    bench.set("epoch_valid", 0);
    bench.eval();
}
