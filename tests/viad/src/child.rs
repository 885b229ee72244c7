//! Client processes: a test program starts itself once more, to run the test `a_client_process` of the same file or folder in one of its roles.

use std::{
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    panic::Location,
    process::{Command, Stdio},
};

use crate::stage::Process;

const ROLE: &str = "VIAD_TEST_ROLE";
const NIC: &str = "VIAD_TEST_NIC";

/// Starts this test program once more, as a client, of another user if one is given. Its roles are those of the file of `tests` that calls this, or of the folder.
#[track_caller]
pub fn child(role: &str, nic: &str, uid: Option<u32>) -> Process {
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    let test = format!("{}::a_client_process", module(Location::caller().file()));
    command.args(["--ignored", "--exact", &test, "--nocapture"]);
    command.env(ROLE, role).env(NIC, nic).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    Process(command.spawn().expect("it starts"))
}

/// The module of a test program that a file is, or is in.
fn module(file: &str) -> &str {
    let (_, inside) = file.rsplit_once("tests/").expect("a test has a file");
    let first = inside.split('/').next().expect("one at least");
    first.strip_suffix(".rs").unwrap_or(first)
}

/// What this process is to do, and with which NIC, if it is such a child.
pub fn role() -> Option<(String, String)> {
    Some((std::env::var(ROLE).ok()?, std::env::var(NIC).ok()?))
}

/// Another user, if we may be one.
pub fn user(n: u32) -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(3000 + n)
}

/// The lines that a child says.
pub fn lines(child: &mut Process) -> impl Iterator<Item = String> {
    let out = child.0.stdout.take().expect("piped, and taken once");
    BufReader::new(out).lines().map_while(Result::ok)
}

/// Waits until a child has said a line that ends so.
pub fn wait_for(lines: &mut impl Iterator<Item = String>, what: &str) {
    // The test harness writes to the same line.
    assert!(lines.any(|line| line.ends_with(what)), "the child has ended without {what:?}");
}
