//! Posts, and looks that find something, make no system call; looks that find nothing do not sleep; who waits for errors that do not come asks viad for nothing. What strace
//! says is believed.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use viaduct_driver::device::Polling;
use viaduct_viad_tests::stage::{connected, End, Stage, BUFFER};
use vipl::{Error, Nic};

#[path = "../../../vipl/tests/paper/mod.rs"]
mod paper;
use paper::{Doorbells, Paper};

const NIC: &str = "VIAD_TEST_NIC";
const ROUNDS: usize = 200;
/// Looks in vain, at each of two queues.
const LOOKS: usize = 5000;

/// A device of paper that does nothing.
struct Nothing;

impl Doorbells for Nothing {
    fn store(&self, _: &Paper<Self>, _: u64, _: u64) {}
}

/// Where the status of the descriptor in slot `n` is.
fn status(slot: usize) -> usize {
    slot * 64 + 28
}

fn say(what: &str) {
    std::io::stdout().write_all(what.as_bytes()).expect("a pipe");
    std::io::stdout().flush().expect("a pipe");
}

/// Not a test: what strace looks at.
#[test]
#[ignore = "the process that the other test looks at"]
fn a_quiet_client() {
    let Ok(name) = std::env::var(NIC) else { return };
    let nic = Nic::open(&name).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let complete = |end: &End, slot: usize| loop {
        let mut word = [0; 4];
        end.memory.read(status(slot), &mut word).expect("inside");
        if word != [0; 4] {
            return;
        }
        std::hint::spin_loop();
    };
    for round in 0..ROUNDS {
        other.post_recv(1, BUFFER, 64);
        one.memory.write(BUFFER, b"quiet").expect("inside");
        let descriptor = one.descriptor(0, BUFFER, 5);
        if round == ROUNDS / 2 {
            say("begin\n");
        }
        one.vi.post_send(descriptor).expect("posted");
        complete(&one, 0);
        complete(&other, 1);
        one.vi.send_done().expect("it is complete");
        other.vi.recv_done().expect("it is complete");
    }
    say("end\n");
}

/// Not a test, either.
#[test]
#[ignore = "the process that the other test looks at"]
fn a_client_that_looks_in_vain() {
    let Ok(name) = std::env::var(NIC) else { return };
    let nic = match name.strip_prefix("paper:") {
        Some(polling) => {
            let paper = Paper::new(0, Nothing);
            let polling = if polling == "spin" { Polling::Spin } else { Polling::Yield };
            *paper.polling.lock().expect("no panic") = polling;
            paper.nic()
        }
        None => Nic::open(&name).expect("it serves"),
    };
    let end = End::new(&nic);
    end.post_recv(0, BUFFER, 64);
    let cq = nic.create_cq(4).expect("a queue");
    say("begin\n");
    for _ in 0..LOOKS {
        assert!(matches!(end.vi.recv_done(), Err(Error::NotDone)));
        assert!(matches!(cq.done(), Err(Error::NotDone)));
    }
    say("end\n");
}

/// Not a test, either.
#[test]
#[ignore = "the process that the other test looks at"]
fn a_client_that_waits_for_errors() {
    let Ok(name) = std::env::var(NIC) else { return };
    let nic = Nic::open(&name).expect("it serves");
    say("begin\n");
    for _ in 0..20 {
        let events = nic.wait_events(Duration::from_millis(20)).expect("it serves");
        assert!(events.is_empty(), "{events:?}");
    }
    say("end\n");
}

/// The system calls of one of these between its lines, as a client of a viad.
fn calls(client: &str, config: &str) -> Vec<String> {
    let stage = Stage::with(1, config);
    calls_on(&stage.name(0), client)
}

/// The same, on a NIC.
fn calls_on(nic: &str, client: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let output = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("a test has a path"))
        .args(["--ignored", "--exact", &format!("silence::{client}"), "--nocapture"])
        .env(NIC, nic)
        .stdin(Stdio::null())
        .output()
        .expect("strace is there: `cargo xtask setup`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(trace).expect("strace wrote it");
    let begin = trace.lines().find(|line| line.contains("write(1, \"begin")).expect("it began");
    let thread = begin.split_whitespace().next().expect("a number");
    assert!(trace.contains("write(1, \"end"), "it ended");
    trace
        .lines()
        .skip_while(|line| *line != begin)
        .skip(1)
        .take_while(|line| !line.contains("write(1, \"end"))
        // Others of its process only sleep.
        .filter(|line| line.split_whitespace().next() == Some(thread))
        // The end of the line's own write may be one of strace's; another write would have its beginning here, too.
        .filter(|line| !line.contains("<... write resumed>"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn posts_and_looks_that_find_something_make_no_system_call() {
    // The forwarder stays awake: it looks for a second.
    let mut calls = calls("a_quiet_client", "poll_us = 1000000\n");
    // A receive waits until the device has its doorbell: without a processor for the forwarder it lets others run.
    calls.retain(|line| !line.contains("sched_yield"));
    assert!(calls.is_empty(), "{} system calls in {} rounds: {calls:#?}", calls.len(), ROUNDS / 2);
}

#[test]
fn looks_that_find_nothing_yield_to_a_simulated_nic_and_do_not_sleep() {
    let mut calls = calls("a_client_that_looks_in_vain", "");
    // Now and then each asks whether the NIC lives, with one question and one answer.
    let asked = calls.iter().filter(|line| line.contains("sendmsg(")).count();
    assert_eq!(asked, 2 * (LOOKS / 1024), "{calls:#?}");
    calls.retain(|line| !["sendmsg", "recvmsg"].iter().any(|call| line.contains(call)));
    assert!(calls.iter().all(|line| line.contains("sched_yield(")), "{calls:#?}");
    assert_eq!(calls.len(), 2 * (LOOKS - 64));
}

#[test]
fn looks_that_find_nothing_make_no_system_call_where_the_nic_needs_no_processor() {
    let client = "a_client_that_looks_in_vain";
    assert_eq!(calls_on("paper:spin", client), [""; 0]);
    // The other way: what strace is to see it sees.
    let calls = calls_on("paper:yield", client);
    assert!(calls.len() == 2 * (LOOKS - 64) && calls.iter().all(|line| line.contains("sched_yield(")));
}

#[test]
fn who_waits_for_errors_that_do_not_come_only_sleeps() {
    let calls = calls("a_client_that_waits_for_errors", "");
    assert!(calls.len() >= 20 && calls.iter().all(|line| line.contains("futex")), "{calls:#?}");
}
