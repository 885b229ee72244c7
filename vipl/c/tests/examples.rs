//! The examples in C and in Rust as a user runs them: a server on one NIC, clients on others.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::common::{built, compile, Simulator};

/// One of the examples, built, over a network.
struct Example<'a> {
    program: PathBuf,
    simulator: &'a Simulator,
}

impl<'a> Example<'a> {
    fn new(name: &str, simulator: &'a Simulator) -> Self {
        let source = format!("{}/../examples/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
        Self { program: compile(Path::new(&source), "-std=gnu99", simulator.folder.path()), simulator }
    }

    /// The one in Rust, which is built with its package's tests.
    fn rust(name: &str, simulator: &'a Simulator) -> Self {
        Self { program: built(&format!("examples/{name}")), simulator }
    }

    /// Both.
    fn each(name: &str, simulator: &'a Simulator) -> [Self; 2] {
        [Self::new(name, simulator), Self::rust(name, simulator)]
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
    for example in Example::each("hello", &simulator) {
        let (server, address) = example.serve(&["nic0"]);
        example.ask(&["VINIC1", &address]);
        assert_eq!(server.end(), "hello over the Virtual Interface Architecture\n");
    }
}

#[test]
fn balls_come_back() {
    let simulator = Simulator::start();
    for example in Example::each("pingpong", &simulator) {
        let (server, address) = example.serve(&["nic0"]);
        let said = example.ask(&["nic1", &address]);
        assert!(said.starts_with("1000 balls there and back, "), "{said}");
        server.end();
    }
}

#[test]
fn bytes_are_put_and_got() {
    let simulator = Simulator::start();
    for example in Example::each("put_get", &simulator) {
        let (server, address) = example.serve(&["nic0"]);
        assert_eq!(example.ask(&["nic1", &address]), "65536 bytes were got from there\n");
        assert_eq!(server.end(), "65536 bytes were put here\n");
    }
}

#[test]
fn one_queue_serves_many_clients() {
    let simulator = Simulator::with(4);
    for example in Example::each("server", &simulator) {
        let (server, address) = example.serve(&["nic0", "3"]);
        for (nic, text, answer) in
            [("nic1", "one", "ONE\n"), ("nic2", "two words", "TWO WORDS\n"), ("nic3", "3", "3\n")]
        {
            assert_eq!(example.ask(&[nic, &address, text]), answer);
        }
        assert_eq!(server.end(), "3 clients served\n");
    }
}

#[test]
fn what_one_node_writes_the_next_one_reads() {
    let simulator = Simulator::with(4);
    for example in Example::each("dsm", &simulator) {
        let (server, address) = example.serve(&["nic0", "3"]);
        std::thread::scope(|scope| {
            for nic in ["nic1", "nic2", "nic3"] {
                let (example, address) = (&example, &address);
                scope.spawn(move || example.ask(&[nic, address, "15"]));
            }
        });
        // No round of anybody's is lost, on any page.
        let all: String = (0..8).map(|page| format!("page {page}: 45\n")).collect();
        assert_eq!(server.end(), all);
    }
}
