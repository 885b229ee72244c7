//! The examples in C as a user runs them: a server on one NIC, clients on others.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

mod common;
use common::{compile, Simulator};

/// One of the examples, compiled, over a network.
struct Example<'a> {
    program: PathBuf,
    simulator: &'a Simulator,
}

impl<'a> Example<'a> {
    fn new(name: &str, simulator: &'a Simulator) -> Self {
        let source = format!("{}/../examples/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
        Self { program: compile(Path::new(&source), "-std=gnu99", simulator.folder.path()), simulator }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let folder = self.simulator.folder.path();
        command.args(arguments).env("LD_LIBRARY_PATH", folder).env("VIADUCT_NICS", self.simulator.names());
        command
    }

    /// Starts a server; its address, which it says first.
    fn serve(&self, arguments: &[&str]) -> (Server, String) {
        let mut process = self.command(arguments).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut said = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut address = String::new();
        said.read_line(&mut address).expect("its address");
        (Server { process, said }, address.trim().to_owned())
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).stderr(Stdio::inherit()).output().expect("the client starts");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

struct Server {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Server {
    /// What else it said, when it has ended well.
    fn end(mut self) -> String {
        let mut text = String::new();
        self.said.read_to_string(&mut text).expect("UTF-8");
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{status}: {text}");
        text
    }
}

#[test]
fn hello_arrives() {
    let simulator = Simulator::start();
    let example = Example::new("hello", &simulator);
    let (server, address) = example.serve(&["nic0"]);
    example.ask(&["VINIC1", &address]);
    assert_eq!(server.end(), "hello over the Virtual Interface Architecture\n");
}

#[test]
fn balls_come_back() {
    let simulator = Simulator::start();
    let example = Example::new("pingpong", &simulator);
    let (server, address) = example.serve(&["nic0"]);
    let said = example.ask(&["nic1", &address]);
    assert!(said.starts_with("1000 balls there and back, "), "{said}");
    server.end();
}

#[test]
fn bytes_are_put_where_the_server_said() {
    let simulator = Simulator::start();
    let example = Example::new("put", &simulator);
    let (server, address) = example.serve(&["nic0"]);
    example.ask(&["nic1", &address]);
    assert_eq!(server.end(), "262144 bytes were put here\n");
}

#[test]
fn one_queue_serves_many_clients() {
    let simulator = Simulator::with(4);
    let example = Example::new("server", &simulator);
    let (server, address) = example.serve(&["nic0", "3"]);
    for (nic, text, answer) in
        [("nic1", "one", "ONE\n"), ("nic2", "two words", "TWO WORDS\n"), ("nic3", "3", "3\n")]
    {
        assert_eq!(example.ask(&[nic, &address, text]), answer);
    }
    assert_eq!(server.end(), "3 clients served\n");
}
