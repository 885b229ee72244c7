//! A viad stops, is killed or is told to end: every caller has its error.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use viaduct_viad_tests::{
    honest::honest,
    program::program,
    stage::{connected, End, Stage, BUFFER, LONG},
    stopped::stop,
};
use vipl::{Error, Nic};

#[test]
fn a_viad_that_takes_no_doorbells_is_given_up() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let end = End::new(&nic);
    end.post_recv(1, BUFFER, 64);
    let pid = rustix::process::Pid::from_child(&stage.viads[0].0);
    stop(pid).expect("it lives");
    let start = Instant::now();
    let error = end.vi.post_recv(end.descriptor(2, BUFFER, 64)).expect_err("nobody takes it");
    assert!(error.is_gone() && error.to_string().contains("takes no doorbells"), "{error}");
    assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
    assert!(nic.create_ptag().expect_err("the session has ended").is_gone());
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).expect("it lives");
    drop((end, nic));
    honest(&Nic::open(&stage.name(0)).expect("it serves others"), 3);
}

/// When a call failed, and how.
fn timed(wait: impl FnOnce() -> Error) -> (Instant, Error) {
    let error = wait();
    (Instant::now(), error)
}

#[test]
fn when_viad_is_killed_every_caller_has_its_error_within_a_second() {
    let mut stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    let cq = nic.create_cq(4).expect("room");
    other.post_recv(1, BUFFER, 64);
    let sent = End::new(&nic);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| timed(|| other.vi.recv_wait(None).expect_err("nothing comes")));
        let queue = scope.spawn(|| timed(|| cq.wait(None).expect_err("nothing comes")));
        let events = scope.spawn(|| {
            timed(|| loop {
                if let Err(error) = nic.wait_events(LONG) {
                    return error;
                }
            })
        });
        let caller = scope.spawn(|| {
            timed(|| loop {
                if let Err(error) = nic.create_ptag() {
                    return error;
                }
            })
        });
        std::thread::sleep(Duration::from_millis(200));
        stage.kill(0);
        let killed = Instant::now();
        for (who, thread) in [("sleeper", sleeper), ("queue", queue), ("events", events), ("caller", caller)]
        {
            let (when, error) = thread.join().expect("no panic");
            let late = when.saturating_duration_since(killed);
            println!("{who}: {late:?}");
            assert!(error.is_gone() && late < Duration::from_secs(1), "{who}: {late:?}, {error}");
        }
    });
    // Posts say so too, and a new viad serves a new session.
    let error = one.vi.post_send(one.descriptor(0, BUFFER, 4)).expect_err("it is gone");
    assert!(error.is_gone(), "{error}");
    drop((one, other, sent, cq));
    let viad = stage.start(0);
    let again = Nic::open(&stage.name(0)).expect("it serves");
    honest(&again, 3);
    assert!(nic.create_ptag().expect_err("its session is gone").is_gone());
    drop(viad);
}

#[test]
fn a_signal_ends_viad_in_order() {
    let mut stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let (one, other) = connected(&nic, &nic);
    other.post_recv(1, BUFFER, 64);
    // Nobody else serves there meanwhile.
    let second = Command::new(program("viad"))
        .args(["--nic", "vfio-user:/nowhere", "--socket"])
        .arg(stage.socket(0))
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("/nowhere"), "{said}");
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| timed(|| other.vi.recv_wait(None).expect_err("nothing comes")));
        std::thread::sleep(Duration::from_millis(100));
        let pid = rustix::process::Pid::from_child(&stage.viads[0].0);
        let told = Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it lives");
        let (when, error) = sleeper.join().expect("no panic");
        // Either it is woken first, or its receive is flushed first.
        let flushed = matches!(&error, Error::Descriptor(head) if head.status().is_error());
        assert!(error.is_gone() || flushed, "{error}");
        assert!(when.saturating_duration_since(told) < Duration::from_secs(1), "{error}");
    });
    let ended = stage.viads[0].0.wait().expect("it ends");
    assert!(ended.success(), "{}", stage.log(0));
    assert!(!stage.socket(0).exists(), "its socket is gone");
    assert!(!stage.log(0).contains("not everything was given back"), "{}", stage.log(0));
    assert!(nic.create_ptag().expect_err("it has ended").is_gone());
    drop((one, other));
}
