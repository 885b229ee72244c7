//! A NIC has one owner.

use anyhow::{ensure, Result};
use libtest_mimic::Completion;

use crate::{
    bench::Bench,
    child::{Child, Deed},
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "two_processes_cannot_own_one", body: Body::Pair(one_owner) }];

fn one_owner(bench: &mut Bench) -> Result<Completion> {
    let vis = bench.connect(vipl::ReliabilityLevel::ReliableDelivery)?;
    for name in &bench.setting.nics.clone() {
        let end = Child::new(Deed::Open, std::slice::from_ref(name)).run()?;
        ensure!(!end.success, "a second process has opened {name}");
        ensure!(end.said.contains("is open in another program"), "the error must say why: {}", end.said);
        let place = name.split_once(':').map_or(name.as_str(), |(_, place)| place);
        ensure!(end.said.contains(place), "the error must name {place}: {}", end.said);
        // The owner has noticed nothing.
        for from in [0, 1] {
            bench.message(&vis, from)?;
        }
    }
    Ok(Completion::Completed)
}
