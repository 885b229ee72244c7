//! Bundles as the bench sees them, and what the agent broadcasts.

use rust_hdl::prelude::Synth;
use viaduct_hdl::bus::{Commit, EpochWrite, StateWrite};
use viaduct_verilate::Bench;

use crate::bundle::Bundle;
pub use crate::bundle::{fields, Fields};

/// Sets an input bundle; fields left out are 0.
#[track_caller]
pub fn set<T: Synth + 'static>(bench: &mut Bench, port: &str, fields: &[(&str, u64)]) {
    Bundle::of::<T>(port).set(bench, fields);
}

/// Sets an input bundle to fields that are kept; fields left out are 0.
#[track_caller]
pub fn set_all<T: Synth + 'static>(bench: &mut Bench, port: &str, fields: &Fields) {
    let fields: Vec<(&str, u64)> = fields.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    set::<T>(bench, port, &fields);
}

/// Reads an output bundle.
pub fn get<T: Synth + 'static>(bench: &Bench, port: &str) -> Fields {
    Bundle::of::<T>(port).all(bench)
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
