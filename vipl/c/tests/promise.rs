//! A program that breaks what it has promised by VipExtSetThreadSafe is ended with the reason, where a call finds another one in its queue.

use std::{os::unix::process::ExitStatusExt, path::Path, process::Command};

use crate::common::{compile, Simulator, Viads};

/// SIGABRT.
const ABORT: i32 = 6;

#[test]
fn a_call_that_finds_another_one_in_an_unshared_queue_ends_the_program_with_the_reason() {
    let simulator = Simulator::with(1);
    let folder = simulator.folder.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/promise.c");
    let program = compile(&source, "-std=gnu89", folder);
    // There a post takes no other lock before the queue's: over a socket of a simulator's it would wait for itself.
    let viads = Viads::of(&simulator, "");
    let output = Command::new(&program)
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", viads.names())
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .output()
        .expect("it starts");
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.status.signal(), &*said), (Some(ABORT), ""), "{why}");
    assert!(why.contains("no two threads use at one time: the process is aborted"), "{why}");
}
