//! A viad stops, and its program's other NIC has another one: nobody who has nothing to do with the first one waits for it.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::{kill_process, Pid, Signal};

use crate::common::{compile, stop, Simulator, Viads};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/mute.c");

#[test]
fn a_connection_queue_is_destroyed_while_the_viad_of_another_nic_does_not_answer() {
    let simulator = Simulator::start();
    let viads = Viads::of(&simulator, "");
    let program = compile(Path::new(SOURCE), "-std=gnu89", simulator.folder.path());
    let mut program = Command::new(program)
        .env("LD_LIBRARY_PATH", simulator.folder.path())
        .env("VIADUCT_NICS", viads.names())
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut to = program.stdin.take().expect("piped");
    let mut lines =
        BufReader::new(program.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    let viad = Pid::from_raw(viads.ids()[1] as i32).expect("a process");
    let go_on: fn(Pid) = |viad| kill_process(viad, Signal::CONT).expect("it is there");
    for (said, what) in [("ready", stop as fn(Pid)), ("destroyed", go_on)] {
        assert_eq!(lines.next().as_deref(), Some(said));
        what(viad);
        to.write_all(b"\n").expect("it hears");
    }
    assert_eq!(lines.collect::<Vec<_>>(), ["ended"]);
    assert!(program.wait().expect("it ends").success());
}
