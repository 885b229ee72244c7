//! Programs of C, linked with the library.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::program::program;

/// A program of C, compiled once, for any NIC.
pub struct Example {
    program: PathBuf,
    folder: PathBuf,
    preload: Option<PathBuf>,
}

impl Example {
    /// Compiles one of the examples.
    pub fn new(name: &str, folder: &Path) -> Self {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vipl");
        Self::of(&sources.join(format!("examples/c/{name}.c")), folder)
    }

    /// Compiles a source.
    pub fn of(source: &Path, folder: &Path) -> Self {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vipl/include");
        let library = program("libvipl.so");
        // As an installed library is found: by its soname.
        let link = folder.join("libvipl.so.1");
        if !link.exists() {
            symlink(&library, link).expect("linked");
        }
        let program = folder.join(source.file_stem().expect("a name"));
        let output = Command::new("cc")
            .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .arg(&program)
            .arg("-I")
            .arg(include)
            .arg(source)
            .arg(&library)
            .output()
            .expect("cc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { program, folder: folder.into(), preload: None }
    }

    /// With a library that is loaded before all others.
    pub fn preloading(self, library: &Path) -> Self {
        Self { preload: Some(library.into()), ..self }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("LD_LIBRARY_PATH", &self.folder).env_remove("VIPL_HOSTS");
        if let Some(library) = &self.preload {
            command.env("LD_PRELOAD", library);
        }
        command
    }

    /// Starts a server; its address, which it says first.
    pub fn serve(&self, arguments: &[&str]) -> (Server, String) {
        let mut process = self.command(arguments).stdout(Stdio::piped()).spawn().expect("the server starts");
        let mut said = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut address = String::new();
        said.read_line(&mut address).expect("its address");
        (Server { process, said }, address.trim().to_owned())
    }

    /// Starts a program that one talks with.
    pub fn converse(&self, arguments: &[&str]) -> Server {
        let mut command = self.command(arguments);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let said = BufReader::new(process.stdout.take().expect("a pipe"));
        Server { process, said }
    }

    /// Runs a client; what it said.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).stderr(Stdio::inherit()).output().expect("the client starts");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs a program that fails; why.
    pub fn fail(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().expect("it starts");
        assert!(!output.status.success(), "{arguments:?}: {}", output.status);
        String::from_utf8(output.stderr).expect("UTF-8")
    }
}

/// A server that runs.
pub struct Server {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Server {
    /// The next line that it says.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("UTF-8");
        line.trim_end().to_owned()
    }

    /// Says a line to a program that listens.
    pub fn say(&mut self, line: &str) {
        let to = self.process.stdin.as_mut().expect("one talks with it");
        writeln!(to, "{line}").expect("it lives");
    }

    /// What else it said, when it has ended well.
    pub fn end(mut self) -> String {
        let mut text = String::new();
        self.said.read_to_string(&mut text).expect("UTF-8");
        let status = self.process.wait().expect("it ends");
        assert!(status.success(), "{status}: {text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
