//! `viaduct sim tap`: TCP/IP of this machine's on the simulated wire, with no NIC between.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::{kill_process, Pid, Signal};
use viaduct_viad_tests::{
    host::{ip, obstacle, separate, Host, Ping},
    program::program,
    skip::skip,
    stage::{until, Process, LONG},
};

/// A simulator with two ports for peers outside, which serves.
fn simulator(folder: &Path) -> Process {
    let mut command = Command::new(program("viaduct-sim"));
    command.args(["--nics", "1", "--nic", "model", "--ports", "2", "--dir"]).arg(folder);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    let simulator = Process(child);
    assert!(until(LONG, || folder.join("control.sock").exists()), "the simulator serves");
    simulator
}

/// `viaduct sim tap` of a port.
fn bridge(folder: &Path, port: usize) -> Command {
    let mut command = Command::new(program("viaduct"));
    command.args(["sim", "tap", &port.to_string(), "--name", &format!("via{port}"), "--dir"]).arg(folder);
    command
}

/// The same on a host of its own; it has said that it carries frames.
fn carries(folder: &Path, port: usize) -> Process {
    let mut command = bridge(folder, port);
    separate(&mut command);
    let mut process =
        Process(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut said = String::new();
    let output = process.0.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut said).expect("it says so");
    let socket = folder.join(format!("port{port}.sock"));
    assert_eq!(said, format!("via{port} is on {}\n", socket.display()));
    process
}

#[test]
fn two_hosts_ping_each_other_over_ports_of_the_switch() {
    if let Some(reason) = obstacle() {
        return skip(reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let _simulator = simulator(folder.path());
    let mut bridges = [0, 1].map(|port| carries(folder.path(), port));
    let processes = [0, 1].map(|port| bridges[port].0.id());
    // A thread of its own: it moves to other hosts.
    let hosts = std::thread::spawn(move || {
        let [client, server] = [0, 1].map(|number| Host::of(processes[number], number));
        server.enter();
        client.enter();
        let (ping, mut sequence) = (Ping::new(), 0);
        assert!(
            until(LONG, || {
                sequence += 1;
                ping.answered(ip(1), sequence)
            }),
            "no echo"
        );
        assert!((0..20).all(|n| ping.answered(ip(1), 1000 + n)), "the wire loses none");
    });
    hosts.join().expect("the hosts talk");
    for bridge in &mut bridges {
        kill_process(Pid::from_child(&bridge.0), Signal::TERM).expect("it lives");
        assert!(bridge.0.wait().expect("it ends").success());
    }
}

#[test]
fn a_bridge_ends_when_the_simulator_does() {
    if let Some(reason) = obstacle() {
        return skip(reason);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let simulator = simulator(folder.path());
    let mut bridge = carries(folder.path(), 1);
    drop(simulator);
    assert!(bridge.0.wait().expect("it ends").success());
}

#[test]
fn a_port_that_there_is_not_is_said_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let _simulator = simulator(folder.path());
    let output = bridge(folder.path(), 2).output().expect("it starts");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("port2.sock") && said.contains("--ports"), "{said}");
}
