//! What VIPL's codes cannot say is on stderr: why a NIC does not open, by the name that the program gave, and what is wrong with the hosts
//! file, by its line. And what a program does not see of the library: its threads take no signals.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::common::{compile, Simulator, Viads};

/// What tests/c/reasons.c says on stderr with these variables; it ends with `code`.
fn stderr(simulator: &Simulator, variables: &[(&str, &str)], code: i32) -> String {
    let folder = simulator.folder.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/reasons.c");
    let output = Command::new(compile(&source, "-std=gnu89", folder))
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", simulator.names())
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .env_remove("VIPL_HOSTS")
        .envs(variables.iter().copied())
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

const OPEN: i32 = 1;
const INIT: i32 = 2;
const NAME: i32 = 3;
const NONE: i32 = 0;

#[test]
fn what_keeps_a_nic_from_opening_has_the_name_that_the_program_gave() {
    let simulator = Simulator::with(1);
    for (nics, reasons) in [
        ("*=", &["\"nic0\"", "alias of \"\"", "viad:"][..]),
        ("nic0=nic1", &["\"nic0\"", "alias of \"nic1\"", "viad:"]),
        ("nic0=viad:/nowhere/at/all", &["nic0, an alias of viad:/nowhere/at/all", "No such file"]),
    ] {
        let said = stderr(&simulator, &[("VIADUCT_NICS", nics)], OPEN);
        for reason in reasons {
            assert!(said.contains(reason), "{nics}: {reason}: {said}");
        }
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn what_is_wrong_with_the_hosts_file_is_said_with_its_line() {
    let simulator = Simulator::with(1);
    let file = simulator.folder.path().join("hosts");
    let name = file.to_str().expect("a name").to_owned();
    let said = stderr(&simulator, &[("VIPL_HOSTS", &name)], INIT);
    assert!(said.contains("name service") && said.contains(&name) && said.contains("No such file"), "{said}");

    fs::write(&file, "# nothing\nnode1 02:00:00:00:01\n").expect("written");
    let said = stderr(&simulator, &[("VIPL_HOSTS", &name)], NAME);
    assert!(said.contains(&format!("{name}, line 2: \"02:00:00:00:01\" is no Ethernet address")), "{said}");
    assert!(said.contains("it has no host \"node1\""), "{said}");

    fs::write(&file, "node1 02:00:00:00:00:01\n").expect("written");
    assert_eq!(stderr(&simulator, &[("VIPL_HOSTS", &name)], NONE), "");
}

#[test]
fn the_library_s_threads_take_no_signals() {
    let simulator = Simulator::with(1);
    let folder = simulator.folder.path();
    let program =
        compile(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/reasons.c"), "-std=gnu89", folder);
    // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS are raised by the thread itself.
    let own = [4, 5, 7, 8, 11, 31].into_iter().fold(0u64, |mask, signal| mask | 1 << (signal - 1));
    // Nobody blocks SIGKILL and SIGSTOP, nor the C library's two.
    let never = [9, 19, 32, 33].into_iter().fold(0u64, |mask, signal| mask | 1 << (signal - 1));
    let through_viad = Viads::of(&simulator, "");
    let viad_names = through_viad.names();
    let look = |names: &str, expected: &[&str]| {
        let mut child = Command::new(&program)
            .arg("wait")
            .env("LD_LIBRARY_PATH", folder)
            .env("VIADUCT_NICS", names)
            .env("VIADUCT_NICS_FILE", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it opens the NIC");
        assert_eq!(line, "open\n");
        // Name and mask of each thread. One that begins has the program's name, and all signals blocked by the C library; by the time that
        // it has its own it has its mask.
        let threads = || -> Vec<(String, u64)> {
            let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).expect("it lives");
            let of = |task: PathBuf| {
                let status = fs::read_to_string(task.join("status")).expect("it lives");
                let field = |name: &str| {
                    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
                    line.trim().to_owned()
                };
                (field("Name:"), u64::from_str_radix(&field("SigBlk:"), 16).expect("a mask"))
            };
            tasks.map(|task| of(task.expect("it lives").path())).collect()
        };
        let start = Instant::now();
        let all = loop {
            let all = threads();
            let begun = all.iter().filter(|(name, _)| name == "reasons").count() == 1;
            if begun && expected.iter().all(|name| all.iter().any(|(thread, _)| thread == name)) {
                break all;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{expected:?}: {all:?}");
        };
        for (name, blocked) in all {
            if name == "reasons" {
                assert_eq!(blocked, 0, "the program's own thread");
            } else {
                assert_eq!(blocked | own | never, u64::MAX, "{name}");
                assert_eq!(blocked & own, 0, "{name}");
            }
        }
        drop(child.stdin.take());
        assert!(child.wait().expect("it ends").success());
    };
    // The kernel keeps 15 bytes of a name.
    look(&viad_names, &["viad-watch", "vipl-connection", "vipl-errors"]);
    look(&Simulator::with(1).names(), &["viaduct-interru", "vipl-connection", "vipl-errors"]);
}
