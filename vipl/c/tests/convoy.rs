//! A call that waits for the agent keeps no other thread waiting that needs no agent.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::{channel, Receiver},
    time::Duration,
};

use rustix::process::{kill_process, Pid, Signal};

use crate::common::{compile, stop, Simulator, Viads};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// What ends the test when the program hangs.
const HANG: Duration = Duration::from_secs(60);

fn hears(lines: &Receiver<String>, expected: &str) {
    let line = lines.recv_timeout(HANG).unwrap_or_else(|_| panic!("it never says {expected:?}"));
    assert_eq!(line, expected);
}

#[test]
fn a_post_does_not_wait_for_a_thread_that_waits_for_the_agent() {
    let simulator = Simulator::with(1);
    let viads = Viads::of(&simulator, "");
    let folder = simulator.folder.path();
    let program = compile(Path::new(&format!("{FOLDER}/tests/c/convoy.c")), "-std=gnu89", folder);
    let mut child = Command::new(program)
        .env("LD_LIBRARY_PATH", folder)
        .env("VIADUCT_NICS", viads.names())
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let (tell, lines) = channel();
    let said = BufReader::new(child.stdout.take().expect("a pipe"));
    let reader = std::thread::spawn(move || {
        said.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)).ok();
    });
    hears(&lines, "ready");
    let viad = Pid::from_raw(viads.ids()[0] as i32).expect("a process");
    stop(viad);
    child.stdin.take().expect("a pipe").write_all(b"x").expect("it reads");
    hears(&lines, "setting");
    // Not "set": that waits for viad.
    hears(&lines, "posted");
    kill_process(viad, Signal::CONT).expect("it is there");
    hears(&lines, "set");
    hears(&lines, "over");
    assert!(child.wait().expect("it ends").success());
    reader.join().expect("it reads to the end");
}
