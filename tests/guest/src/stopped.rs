//! The function of a viad is reset, stopped or taken away by somebody else, in the middle of what its clients do.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::{ensure, Result};
use libtest_mimic::Completion;
use vipl::Nic;

use crate::{
    bench::LIMIT,
    function::{Function, Unbinding},
    ranks::PLAYING,
    setting::Setting,
    shared::{game, hears_of_the_end, lacking, trust, trusted_pair, trusting},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "a_reset_of_viad_s_function_is_told_to_all_its_programs", body: Body::Names(reset) },
    Test { name: "bus_master_off_under_viad_is_told_to_all_its_programs", body: Body::Names(stop) },
    Test {
        name: "an_unbind_of_viad_s_function_waits_until_all_its_programs_let_go",
        body: Body::Names(unbind),
    },
];

fn reset(setting: &Setting) -> Result<Completion> {
    under_way(setting, "somebody else", Function::reset, Ok)
}

fn stop(setting: &Setting) -> Result<Completion> {
    under_way(setting, "somebody else", Function::stop, Ok)
}

/// Until nobody has the function open the NIC does what it is told: viad ends all VIs before a trusted program hears of the end and unmaps its memory, so
/// the IOMMU has nothing to refuse.
fn unbind(setting: &Setting) -> Result<Completion> {
    let begin = |function: &Function| function.clone().unbind();
    under_way(setting, "the system wants it back", begin, Unbinding::bind_again)
}

/// Two trusted ranks play, and a third program looks on; then it `happens` to the NIC of the one who returns the ball. All hear of it, and
/// viad, which ends with this `reason`. What is to be done `behind` it is; then the next viad has a NIC that works.
fn under_way<T>(
    setting: &Setting,
    reason: &str,
    happens: impl FnOnce(&Function) -> Result<T>,
    behind: impl FnOnce(T) -> Result<()>,
) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let viads = trusting(setting)?;
    let looks_on = Nic::open(&viads[0].name(",way=pools"))?;
    let [returns, serves] = trusted_pair(&viads);
    let returns = returns.start()?;
    let mut serves = serves.start()?;
    serves.wait_for(PLAYING)?;
    let happened = happens(&Function::of(setting, 0)?)?;
    let [viad, other] = viads;
    viad.wait_end(reason)?;
    for end in [returns.end()?, serves.end()?] {
        hears_of_the_end(&end)?;
    }
    let start = Instant::now();
    while looks_on.check().is_ok() {
        ensure!(start.elapsed() < LIMIT, "a program must hear of it");
        thread::sleep(Duration::from_millis(10));
    }
    drop(looks_on);
    behind(happened)?;
    let viads = [Viad::start(setting, 0, None, &trust())?, other];
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}
