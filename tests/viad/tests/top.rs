//! `viaduct top` of a running viad: once, as JSON, and live on a terminal.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Command, Output, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex,
    },
};

use serde_json::Value;
use viaduct_viad_tests::{
    child::user,
    pair::text,
    program::program,
    skip::skip,
    stage::{connected, until, End, Process, Stage, BUFFER, LONG},
};
use vipl::Nic;

fn top(arguments: &[&str], uid: Option<u32>) -> Output {
    let mut command = Command::new(program("viaduct"));
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    command.arg("top").args(arguments).output().expect("it runs")
}

fn json(said: &str) -> Value {
    serde_json::from_str(said).expect("JSON")
}

/// Sends message after message from one end to the other, until this is dropped.
struct Traffic<'a>(&'a AtomicBool);

impl Drop for Traffic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn messages(one: &End, other: &End, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        other.post_recv(1, BUFFER, 64);
        one.send(0, BUFFER, b"ball");
        other.vi.recv_wait(Some(LONG)).expect("it arrives");
        one.vi.send_wait(Some(LONG)).expect("sent");
    }
}

#[test]
fn rates_and_two_sessions_are_told_once() {
    let stage = Stage::new(1);
    let nics = [0, 1].map(|_| Nic::open(&stage.name(0)).expect("it serves"));
    let (one, other) = connected(&nics[0], &nics[1]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| messages(&one, &other, &over));
        let _traffic = Traffic(&over);
        let said = text(&top(&["--once", "--json", "--interval", "1", &stage.name(0)], None));
        assert_eq!(said.lines().count(), 1, "{said}");
        let view = json(&said);
        assert!(view["interval_us"].as_f64().is_some_and(|us| us > 0.0), "{said}");
        let counter = |name: &str| {
            let all = view["counters"].as_array().expect("a list");
            all.iter().find(|counter| counter["name"] == name).expect("it is there").clone()
        };
        let sent = counter("MESSAGES_SENT");
        assert!(sent["per_second"].as_f64().is_some_and(|rate| rate > 0.0), "{sent}");
        assert!(sent["value"].as_u64().is_some_and(|value| value > 0), "{sent}");
        assert_eq!(counter("EVENT_LOST")["per_second"].as_f64(), Some(0.0));
        assert_eq!(view["all_sessions"]["sessions"], 2, "{said}");
        assert_eq!(view["all_sessions"]["vis"], 2, "{said}");
        let sessions = view["sessions"].as_array().expect("a list");
        assert_eq!(sessions.len(), 2, "{said}");
        for session in sessions {
            assert_eq!(session["pid"], std::process::id(), "{said}");
            assert!(session["program"].as_str().is_some_and(|name| !name.is_empty()), "{said}");
            let vis = session["virtual_interfaces"].as_array().expect("a list");
            assert_eq!((vis.len(), &vis[0]["state"]), (1, &"Connected".into()), "{said}");
            assert!(vis[0]["waits_for"].as_array().is_some_and(|waits| !waits.is_empty()), "{said}");
        }
        let said = text(&top(&["--once", "--interval", "0.3", &stage.name(0)], None));
        for part in ["s of the NIC's time", "per second", "MESSAGES_SENT", "all 2 sessions", "waits for "] {
            assert!(said.contains(part), "{part}: {said}");
        }
    });
}

#[test]
fn other_users_sessions_are_totals() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let _end = End::new(&nic);
    let Some(stranger) = user(9) else { return skip("only root can start a program of another user's") };
    let view = json(&text(&top(&["--once", "--json", "--interval", "0.05", &stage.name(0)], Some(stranger))));
    assert_eq!(view["sessions"], Value::Array(Vec::new()));
    let all = &view["all_sessions"];
    assert_eq!((&all["sessions"], &all["vis"], &all["regions"]), (&1.into(), &1.into(), &1.into()), "{view}");
}

#[test]
fn what_is_wrong_is_named() {
    let stage = Stage::new(1);
    let (name, device) = (stage.name(0), format!("vfio-user:{}", stage.socket(0).display()));
    for (arguments, reason) in [
        (&["--once", device.as_str()][..], "one owner"),
        (&["--once", "viad:/nowhere"], "/nowhere"),
        (&["--interval", "0", "--once"], "from 0.01"),
        (&[name.as_str()], "no terminal"),
    ] {
        let output = top(arguments, None);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(reason), "{reason}: {said}");
    }
}

/// A viad that may run as a user of its own is asked by the same name as it is opened by.
#[test]
fn the_user_of_a_viad_is_no_part_of_its_path() {
    let stage = Stage::new(1);
    let name = format!("{},user=992", stage.name(0));
    let said = text(&top(&["--once", "--interval", "0.05", &name], None));
    assert!(said.contains("all 0 sessions"), "{said}");
}

/// Both ends of a new terminal of 30 lines of 100 characters: the one of who looks, and the program's.
fn terminal() -> [OwnedFd; 2] {
    let (mut ours, mut programs) = (-1, -1);
    let size = libc::winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: places for two descriptors, and a size that is only read; neither name nor settings are asked for.
    let result =
        unsafe { libc::openpty(&mut ours, &mut programs, std::ptr::null_mut(), std::ptr::null(), &size) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were opened just now, and are nobody else's.
    [ours, programs].map(|file| unsafe { OwnedFd::from_raw_fd(file) })
}

/// The flags of a terminal, echo among them.
fn flags(terminal: &OwnedFd) -> libc::tcflag_t {
    // SAFETY: a structure of numbers, for which zeros are values.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: a place for the settings.
    let result = unsafe { libc::tcgetattr(terminal.as_raw_fd(), &mut settings) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    settings.c_lflag
}

#[test]
fn a_terminal_shows_it_live_and_is_given_back() {
    let stage = Stage::new(1);
    let nic = Nic::open(&stage.name(0)).expect("it serves");
    let [ours, programs] = terminal();
    let before = flags(&programs);
    let end = || Stdio::from(programs.try_clone().expect("a descriptor"));
    let mut command = Command::new(program("viaduct"));
    command.args(["top", "--interval", "0.05", &stage.name(0)]).stdin(end()).stdout(end()).stderr(end());
    // SAFETY: two system calls, in the child before it is the program; its standard input is open.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(BorrowedFd::borrow_raw(0))?;
            Ok(())
        })
    };
    let mut top = Process(command.spawn().expect("it starts"));
    drop(command);
    let mut ours = File::from(ours);
    let shown = Arc::new(Mutex::new(Vec::new()));
    let (mut from, to) = (ours.try_clone().expect("a descriptor"), Arc::clone(&shown));
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        loop {
            match from.read(&mut bytes) {
                Ok(count @ 1..) => {
                    to.lock().expect("nobody panics with it").extend_from_slice(&bytes[..count])
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
    let so_far = || String::from_utf8_lossy(&shown.lock().expect("nobody panics with it")).into_owned();
    assert!(
        until(LONG, || so_far().contains("q ends") && so_far().contains("all 1 sessions")),
        "{}",
        so_far()
    );
    assert_ne!(flags(&programs), before, "keys come one by one");
    // It is looked at again and again: what is made meanwhile is seen.
    let end = End::new(&nic);
    assert!(until(LONG, || so_far().contains(&format!("VI {} Idle", end.vi.index()))), "{}", so_far());
    ours.write_all(b"q").expect("it reads");
    let status = top.0.wait().expect("it ends");
    assert!(status.success(), "{}", so_far());
    assert!(until(LONG, || so_far().contains("\x1b[?1049l")), "the other screen is left: {}", so_far());
    assert_eq!(flags(&programs), before);
}
