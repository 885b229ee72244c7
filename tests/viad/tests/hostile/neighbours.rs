//! Processes share a NIC, and one of them forks, intrudes or does not answer.

use std::time::{Duration, Instant};

use viaduct_viad_tests::{
    child::{child, lines, user},
    honest::honest,
    skip::skip,
    stage::{connected, until, End, Stage, LONG},
};
use vipl::Nic;

#[test]
fn a_forked_child_gets_errors_and_keeps_no_session_alive() {
    let stage = Stage::new(1);
    let mut parent = child("forker", &stage.name(0), None);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(parent.0.stdout.take().expect("piped")));
    let pid = loop {
        let line = lines.next().expect("it says the child's number").expect("text");
        if let Some((_, pid)) = line.split_once("child ") {
            if let Ok(pid) = pid.trim().parse::<i32>() {
                break pid;
            }
        }
    };
    parent.0.kill().expect("it lives");
    assert!(until(LONG, || stage.log(0).contains("its process ended")), "{}", stage.log(0));
    let child = rustix::process::Pid::from_raw(pid).expect("a number");
    assert!(rustix::process::test_kill_process(child).is_ok(), "the child lives");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    // Not to leave it behind.
    let _ = rustix::process::kill_process(child, rustix::process::Signal::KILL);
}

#[test]
fn eight_processes_of_eight_users_share_a_nic() {
    let stage = Stage::new(1);
    let mut children: Vec<_> = (0..8).map(|n| child("honest 60", &stage.name(0), user(n))).collect();
    for child in &mut children {
        assert!(child.0.wait().expect("it ends").success());
    }
}

#[test]
fn nobody_sends_to_a_neighbour_who_was_not_asked() {
    let stage = Stage::new(1);
    let Some(stranger) = user(6) else {
        return skip("we are not root, and cannot be another user");
    };
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let mut ends: Vec<u32> = Vec::new();
    for end in [&one, &other] {
        let info = end.vi.connection_info();
        ends.push(info.queue_pair);
        let mut intruder = child(
            &format!("intruder {}", serde_json::to_string(&info).expect("JSON")),
            &stage.name(0),
            Some(stranger),
        );
        assert!(intruder.0.wait().expect("it ends").success());
    }
    // The next ones are not to be guessed either.
    ends.extend((0..5).map(|_| End::new(&nic).vi.connection_info().queue_pair));
    let steps: std::collections::HashSet<u32> =
        ends.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    assert!(steps.len() > 3, "{ends:x?}");
}

#[test]
fn memory_that_does_not_answer_stops_nobody_else() {
    let stage = Stage::new(1);
    let Some(stranger) = user(7) else {
        return skip("we are not root, and cannot be another user");
    };
    let mut victim = child(&format!("blocker {stranger}"), &stage.name(0), None);
    let mut said = lines(&mut victim);
    let first = said.find(|line| line.starts_with("blocking ") || line.starts_with("no file system"));
    let first = first.expect("it says so");
    let Some(server) = first.strip_prefix("blocking ") else {
        return skip(first);
    };
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let given_up = || {
        let log = std::fs::read_to_string(stage.folder.path().join("sim.log")).unwrap_or_default();
        log.contains("a client's memory does not answer")
    };
    let start = Instant::now();
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while rounds < 20 || !given_up() {
        let one = Instant::now();
        honest(&nic, 5);
        rounds += 1;
        longest = longest.max(one.elapsed());
        assert!(start.elapsed() < LONG, "it is not given up");
    }
    println!("{rounds} rounds in {:?}, the longest {longest:?}", start.elapsed());
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    // A process cannot end while somebody waits for its memory: only who provides it can change that. Then all of it comes back.
    victim.0.kill().expect("it lives");
    let server = rustix::process::Pid::from_raw(server.parse().expect("a number")).expect("a process");
    rustix::process::kill_process(server, rustix::process::Signal::KILL).expect("it lives");
    assert!(until(LONG, || stage.log(0).contains("session ended")), "{}", stage.log(0));
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    honest(&nic, 5);
}
