//! The NICs of a C program fail: a process that simulates them is killed. Whether the NICs are the program's own or viads', its handler is told of a
//! catastrophic error, and no call hangs.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{compile, Simulator, Viads};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/failure.c");

/// Runs failure.c; its NICs fail when its calls are under way.
fn fail(through_viad: bool) {
    let mut simulator = Simulator::start();
    let viads = through_viad.then(|| Viads::of(&simulator, ""));
    let nics = viads.as_ref().map_or_else(|| simulator.names(), Viads::names);
    let program = compile(Path::new(SOURCE), "-std=gnu89", simulator.folder.path());
    let mut program = Command::new(program)
        .env("LD_LIBRARY_PATH", simulator.folder.path())
        .env("VIADUCT_NICS", nics)
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines =
        BufReader::new(program.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    assert_eq!(lines.next().as_deref(), Some("under way"));
    simulator.kill();
    let said: Vec<String> = lines.collect();
    let status = program.wait().expect("it ends");
    assert!(status.success(), "{status}: {said:?}");
    assert_eq!(said, ["all has ended"]);
}

#[test]
fn a_program_with_its_own_nics_hears_that_they_have_failed_and_no_call_hangs() {
    fail(false);
}

#[test]
fn a_program_of_viads_hears_that_their_nics_have_failed_and_no_call_hangs() {
    fail(true);
}
