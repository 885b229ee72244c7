//! What posts and looks cost in system calls: nothing through viad, and one doorbell each where the doorbell page is at the other end of a
//! vfio-user socket. What strace says is believed.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::common::{compile, Simulator, Viads};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// Posts between the lines of a thread: quiet.c.
const ROUNDS: usize = 100;

/// The system calls of the program's two threads between their lines.
fn calls(simulator: &Simulator, nics: &str) -> [Vec<String>; 2] {
    let folder = simulator.folder.path();
    let program = compile(Path::new(&format!("{FOLDER}/tests/c/quiet.c")), "-std=gnu89", folder);
    let trace = folder.join("trace");
    let output = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&trace)
        .arg(program)
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", nics)
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .expect("strace is there: `cargo xtask setup`");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let trace = fs::read_to_string(trace).expect("strace wrote it");
    ["one", "two"].map(|name| {
        let says = |what: &str| format!("write(1, \"{what} {name}");
        let begin = trace.lines().position(|line| line.contains(&says("begin"))).expect("it began");
        let end = trace.lines().position(|line| line.contains(&says("end"))).expect("it ended");
        let thread = trace.lines().nth(begin).and_then(|line| line.split_whitespace().next());
        // The end of the line's own write may be one of strace's; another write would have its beginning here, too.
        let is_its =
            |line: &&str| line.split_whitespace().next() == thread && !line.contains("<... write resumed>");
        trace.lines().take(end).skip(begin + 1).filter(is_its).map(str::to_owned).collect()
    })
}

#[test]
fn through_viad_posts_and_looks_that_find_something_make_no_system_call() {
    let simulator = Simulator::with(1);
    // It looks for so long before it sleeps: it stays awake.
    let viads = Viads::of(&simulator, "poll_us = 1000000\n");
    for calls in calls(&simulator, &viads.names()) {
        assert!(calls.is_empty(), "{} in {ROUNDS} rounds: {calls:#?}", calls.len());
    }
}

#[test]
fn with_an_agent_of_its_own_a_post_is_one_doorbell_and_a_look_is_nothing() {
    let simulator = Simulator::with(1);
    for (calls, more) in calls(&simulator, &format!("nic0={}", simulator.nic(0))).into_iter().zip([0, 4]) {
        // The two threads share the socket; and strace has two lines for what takes a while.
        let quiet = |call: &String| call.contains("futex(") || call.contains(" resumed>");
        let calls: Vec<String> = calls.into_iter().filter(|call| !quiet(call)).collect();
        let messages = calls.iter().filter(|call| call.contains("sendmsg(")).count();
        // A completion queue has an index that is stored when the NIC needs the room.
        assert_eq!(messages, calls.len(), "{calls:#?}");
        assert!((ROUNDS..=ROUNDS + more).contains(&messages), "{calls:#?}");
    }
}
