//! A program of C with the NICs of its own (vipl/c/tests/c/failure.c), of which the system wants both functions back (REQ), or the bus gives both up
//! (ERR), while everything that can wait for them does. The program itself checks what VIPL says of that; here is what it keeps of the functions.

use std::{path::PathBuf, process::Command};

use anyhow::{ensure, Result};
use libtest_mimic::Completion;

use crate::{
    child::{Child, Running},
    function::{device_files, signal_bus_error, Function, Unbinding},
    setting::Setting,
    Body, Test,
};

/// The tests.
pub const TESTS: &[Test] = &[
    Test { name: "a_c_program_is_told_of_an_error_of_the_bus", body: Body::Names(error) },
    Test { name: "a_c_program_is_told_that_its_functions_are_wanted_back", body: Body::Names(removal) },
];

/// What the program says when all its calls wait.
const UNDER_WAY: &str = "under way";
/// What it says when its handlers have been told, no call has hung, and it has closed the NICs.
const ENDED: &str = "all has ended";

fn error(setting: &Setting) -> Result<Completion> {
    let signal = |program: &Running| {
        let files = device_files(program.id())?;
        ensure!(files.len() == 2, "it has {} files of devices", files.len());
        files.iter().try_for_each(signal_bus_error)
    };
    fail(setting, signal, Ok)
}

fn removal(setting: &Setting) -> Result<Completion> {
    let unbind = |_: &Running| [0, 1].map(|nic| Function::of(setting, nic)?.unbind()).into_iter().collect();
    fail(setting, unbind, |unbound: Vec<_>| unbound.into_iter().try_for_each(Unbinding::bind_again))
}

/// Starts the program; then it `happens` to its NICs. What is to be done `behind` it is done while the program lives still, which has closed them.
fn fail<T>(
    setting: &Setting,
    happens: impl FnOnce(&Running) -> Result<T>,
    behind: impl FnOnce(T) -> Result<()>,
) -> Result<Completion> {
    if !setting.is_vfio() {
        return Ok(Completion::ignored_with("no kernel has this device's functions"));
    }
    let Some(file) = file() else {
        return Ok(Completion::ignored_with("the program failure is not beside this one"));
    };
    let mut command = Command::new(file);
    // Neither function has died: closed without an error, it reaches nothing any more.
    command.arg("answers").env("VIADUCT_NICS", nics(setting)).env("VIADUCT_NICS_FILE", "/dev/null");
    let mut program = Child::program(command).start()?;
    program.wait_for(UNDER_WAY)?;
    let happened = happens(&program)?;
    program.wait_for(ENDED)?;
    let kept = device_files(program.id())?.len();
    ensure!(kept == 0, "it has closed its NICs, and keeps {kept} files of devices");
    behind(happened)?;
    program.lives()?;
    let end = program.end()?;
    ensure!(end.success, "it has failed: {}", end.said);
    Ok(Completion::Completed)
}

/// The program, if it is beside this one.
fn file() -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?.with_file_name("failure");
    file.exists().then_some(file)
}

/// What VIPL programs are told of the NICs.
fn nics(setting: &Setting) -> String {
    let names = setting.nics.iter().enumerate().map(|(nic, name)| {
        let (place, number) = (name.split(',').next().unwrap_or_default(), nic + 1);
        format!("nic{nic}={place},mac=02:00:00:00:00:{number:02},ip=10.0.0.{number}")
    });
    names.collect::<Vec<_>>().join(";")
}
