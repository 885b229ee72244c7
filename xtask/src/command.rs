//! Child processes: shown as a person would type them, and an error when they fail.

use anyhow::{bail, Context, Result};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A command line that can be printed before it is run.
#[derive(Clone, Debug)]
pub struct Cmd {
    program: OsString,
    /// What to print for the program, where its path would only be noise.
    name: Option<&'static str>,
    args: Vec<OsString>,
    set: Vec<(OsString, OsString)>,
    ambient: Vec<(OsString, OsString)>,
    removed: Vec<OsString>,
    folder: Option<PathBuf>,
}

impl Cmd {
    /// A command with no arguments yet.
    pub fn new(program: impl AsRef<OsStr>) -> Cmd {
        Cmd {
            program: program.as_ref().to_owned(),
            name: None,
            args: Vec::new(),
            set: Vec::new(),
            ambient: Vec::new(),
            removed: Vec::new(),
            folder: None,
        }
    }

    /// Ends the command when it takes longer, as a failure.
    pub fn limit(mut self, seconds: u32) -> Cmd {
        let program = std::mem::replace(&mut self.program, "timeout".into());
        self.args.splice(0..0, [seconds.to_string().into(), program]);
        self.name = None;
        self
    }

    /// Makes the kernel end the command when whoever started it ends, however that comes about.
    pub fn tethered(mut self) -> Cmd {
        let program = std::mem::replace(&mut self.program, "setpriv".into());
        self.args.splice(0..0, ["--pdeathsig".into(), "KILL".into(), "--".into(), program]);
        self.name = None;
        self
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Cmd {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(mut self, args: I) -> Cmd {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable; it is part of what is printed.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Cmd {
        self.set.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable that is the same for every such command, and not printed.
    pub fn ambient(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Cmd {
        self.ambient.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Prints `name` in place of the program's path.
    pub fn named(mut self, name: &'static str) -> Cmd {
        self.name = Some(name);
        self
    }

    /// Takes an environment variable away from the child.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Cmd {
        self.removed.push(name.as_ref().to_owned());
        self
    }

    /// The folder to run in.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Cmd {
        self.folder = Some(folder.into());
        self
    }

    #[cfg(test)]
    /// The value that the child will see, if this command sets the variable.
    pub fn get_env(&self, name: &str) -> Option<&OsStr> {
        let mut both = self.set.iter().rev().chain(self.ambient.iter().rev());
        both.find(|(n, _)| n == name).map(|(_, value)| value.as_os_str())
    }

    /// The variables that are not printed with the command, as a shell would take them.
    pub fn ambience(&self) -> String {
        let pairs = self.ambient.iter();
        let pairs = pairs.map(|(name, value)| format!("{}={}", name.to_string_lossy(), quote(value)));
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// The command for what the methods here do not do.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for name in &self.removed {
            command.env_remove(name);
        }
        for (name, value) in self.ambient.iter().chain(&self.set) {
            command.env(name, value);
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// Prints the command, runs it on this terminal, and fails if it fails.
    pub fn run(&self) -> Result<()> {
        println!("$ {self}");
        self.run_quietly()
    }

    /// As `run`, without printing the command.
    pub fn run_quietly(&self) -> Result<()> {
        let status = self.command().status().with_context(|| format!("cannot start {self}"))?;
        if !status.success() {
            bail!("{status}: {self}");
        }
        Ok(())
    }

    /// Runs the command and shows what it writes: whether it succeeded, and a copy of its standard error. It has no input: with a limit it is in the
    /// terminal's background, and would be stopped when it reads from there.
    pub fn run_watching_errors(&self) -> Result<(bool, String)> {
        let mut command = self.command();
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {self}"))?;
        let mut copy = String::new();
        if let Some(errors) = child.stderr.take() {
            for line in BufReader::new(errors).lines() {
                let line = line.with_context(|| format!("reading the errors of {self}"))?;
                eprintln!("{line}");
                copy.push_str(&line);
                copy.push('\n');
            }
        }
        let status = child.wait().with_context(|| format!("waiting for {self}"))?;
        Ok((status.success(), copy))
    }

    /// Runs the command and returns what it wrote to standard output. Its standard error is shown.
    pub fn read(&self) -> Result<String> {
        let output = self
            .command()
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {self}"))?;
        if !output.status.success() {
            bail!("{}: {self}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the command in silence: its two outputs together if it could be started and succeeded.
    pub fn probe(&self) -> Option<String> {
        let output = self.command().stdin(Stdio::null()).output().ok()?;
        let text = [output.stdout, output.stderr].concat();
        output.status.success().then(|| String::from_utf8_lossy(&text).into_owned())
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.set {
            write!(f, "{}={} ", name.to_string_lossy(), quote(value))?;
        }
        let program = self.name.map_or(self.program.as_os_str(), OsStr::new);
        write!(f, "{}", quote(program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quote(arg)))
    }
}

/// Quotes a word for a POSIX shell where it needs it.
fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_a_shell_would_take() {
        let cmd = Cmd::new("env").env("A", "x y").args(["it's", "", "plain-1.0"]);
        assert_eq!(cmd.to_string(), r"A='x y' env 'it'\''s' '' plain-1.0");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = Cmd::new("false").arg("here").run_quietly().unwrap_err();
        assert!(error.to_string().ends_with(": false here"), "{error}");
        let error = Cmd::new("/no/such/program").read().unwrap_err();
        assert!(error.to_string().contains("/no/such/program"), "{error}");
        assert!(Cmd::new("false").probe().is_none());
    }

    #[test]
    fn ends_what_takes_too_long() {
        let cmd = Cmd::new("sleep").arg("60").limit(1);
        assert_eq!(cmd.to_string(), "timeout 1 sleep 60");
        assert!(cmd.run_quietly().is_err());
    }

    #[test]
    fn what_is_watched_has_no_input() {
        let cmd = Cmd::new("sh").args(["-c", "cat; echo read >&2"]).limit(60);
        assert_eq!(cmd.run_watching_errors().unwrap(), (true, "read\n".into()));
    }

    #[test]
    fn keeps_a_copy_of_the_errors() {
        let cmd = Cmd::new("sh").args(["-c", "echo locked >&2; exit 3"]);
        assert_eq!(cmd.run_watching_errors().unwrap(), (false, "locked\n".into()));
    }

    #[test]
    fn passes_and_removes_environment() {
        let cmd = Cmd::new("sh").args(["-c", "echo ${GIVEN-none} ${HOME-none}"]);
        let text = cmd.env("GIVEN", "yes").env_remove("HOME").read().unwrap();
        assert_eq!(text, "yes none\n");
    }
}
