//! The `viaduct` commands that come in pairs: a server that waits, and a client that asks it.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

use crate::program::program;

/// Runs `viaduct` to its end.
///
/// # Panics
/// It does not start.
pub fn viaduct(arguments: &[&str]) -> Output {
    Command::new(program("viaduct")).args(arguments).output().expect("it runs")
}

/// What a command that ended well has written to its standard output.
///
/// # Panics
/// It ended otherwise; what it said is in the message.
pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// What a command that failed has said.
///
/// # Panics
/// It ended well.
pub fn failure(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    said
}

/// A server that waits at its port.
pub struct Server {
    process: Child,
    out: BufReader<ChildStdout>,
    /// Its first line, which says where it waits.
    pub said: String,
}

impl Server {
    /// Starts one, and waits until it waits.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(program("viaduct"));
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let mut out = BufReader::new(process.stdout.take().expect("piped"));
        let mut said = String::new();
        out.read_line(&mut said).expect("UTF-8");
        Self { process, out, said: said.trim().into() }
    }

    /// The server's process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// How it ended, and what else it said.
    ///
    /// # Panics
    /// Its output cannot be read.
    pub fn end(mut self) -> Output {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.out.read_to_end(&mut stdout).expect("a pipe");
        self.process.stderr.take().expect("piped").read_to_end(&mut stderr).expect("a pipe");
        Output { status: self.process.wait().expect("it ends"), stdout, stderr }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
