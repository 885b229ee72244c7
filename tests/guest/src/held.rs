//! The NIC of a viad that has died is not free: a program that it trusted has the function still. The next viad says who, and waits.

use anyhow::{ensure, Result};
use libtest_mimic::Completion;

use crate::{
    child::{Deed, Running},
    ranks::OPEN,
    setting::Setting,
    shared::{game, lacking, rank, trust, trusted_pair, TRUSTED},
    viads::Viad,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[Test { name: "who_holds_on_to_the_nic_is_named", body: Body::Names(held) }];

/// What viad says while it waits.
const WAITS: &str = "waits until the NIC is free";

fn held(setting: &Setting) -> Result<Completion> {
    if let Some(reason) = lacking(setting) {
        return Ok(Completion::ignored_with(reason));
    }
    let mut viad = Viad::start(setting, 0, None, &trust())?;
    // One lets go of it by itself, as soon as it can; of the other the kernel takes it.
    for lets_go in [Running::go_on, Running::kill_stopped] {
        let mut holder = rank(Deed::Return, viad.name(",way=trusted"), TRUSTED).start()?;
        holder.wait_for(OPEN)?;
        // It cannot hear of viad's death, and keeps the function.
        holder.stop()?;
        // By SIGKILL.
        drop(viad);
        let mut next = Viad::begin(setting, 0, None, &trust())?;
        next.says(WAITS)?;
        let log = next.log();
        let named = format!("process {} (", holder.id());
        ensure!(log.contains(&named), "who has it must be named, {named:?}: {log}");
        ensure!(!log.contains("serving"), "it has a NIC that somebody else has: {log}");
        lets_go(&holder)?;
        next.says("serving")?;
        viad = next;
    }
    let viads = [viad, Viad::start(setting, 1, None, &trust())?];
    let [returns, serves] = trusted_pair(&viads);
    game(returns, serves)?;
    viads.into_iter().try_for_each(Viad::stop)?;
    Ok(Completion::Completed)
}
