//! The simulator's process, and its control socket: a JSON object a line, a JSON object back.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{
        net::UnixStream,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};
use rustix::{
    event::{poll, PollFd, PollFlags, Timespec},
    net::sockopt::socket_peercred,
    process::{
        kill_process, pidfd_open, pidfd_send_signal, set_parent_process_death_signal, setsid, Pid,
        PidfdFlags, Signal,
    },
};
use serde::Deserialize;
use serde_json::{json, Value};
use viaduct_driver::log;

use crate::{link::LinkStatus, program::Program, stop::Stop};

/// The simulator's program.
const SIMULATOR: Program =
    Program { name: "viaduct-sim", variable: "VIADUCT_SIM", package: "viaduct-sim", what: "simulator" };
/// Name of the control socket in the simulator's folder.
const CONTROL: &str = "control.sock";
/// How long a simulator may take to start: it resets its NICs first.
const START: Duration = Duration::from_secs(60);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a process may take to end when it is asked to.
const END: Duration = Duration::from_secs(5);
/// How often something that is waited for is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// The longest answer.
const MAX_ANSWER: u64 = 1 << 20;

/// What a simulator is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of its sockets.
    pub dir: PathBuf,
    /// NICs on its fabric.
    pub nics: usize,
    /// Capture of every frame.
    pub pcap: Option<PathBuf>,
    /// Waveform of every signal.
    pub trace: Option<PathBuf>,
    /// More arguments, for the simulator to judge.
    pub more: Vec<OsString>,
}

impl Settings {
    fn command(&self) -> Result<Command> {
        let mut command = Command::new(SIMULATOR.locate()?);
        command.arg("--dir").arg(&self.dir).arg("--nics").arg(self.nics.to_string());
        for (option, path) in [("--pcap", &self.pcap), ("--trace", &self.trace)] {
            if let Some(path) = path {
                command.arg(option).arg(path);
            }
        }
        command.args(&self.more).stdin(Stdio::null());
        Ok(command)
    }
}

/// The socket of a NIC.
pub fn nic_socket(dir: &Path, nic: usize) -> PathBuf {
    dir.join(format!("nic{nic}.sock"))
}

/// Where a simulator's sockets are unless somebody says otherwise.
pub fn default_dir() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join("viaduct"),
        None => PathBuf::from(format!("/tmp/viaduct-{}", rustix::process::geteuid().as_raw())),
    }
}

/// What a simulator says of itself.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    /// Cycles since power-up.
    pub cycles: u64,
    /// Simulated time in nanoseconds.
    pub simulated_ns: u64,
    /// Wall time since the start in nanoseconds.
    pub wall_ns: u64,
    /// Wall time of it in which something moved.
    pub busy_ns: u64,
    /// The NICs.
    pub nics: Vec<NicStatus>,
    /// The rest, for people.
    #[serde(flatten)]
    pub other: serde_json::Map<String, Value>,
}

/// What it says of one NIC.
#[derive(Debug, Clone, Deserialize)]
pub struct NicStatus {
    /// Rules of the bus that the NIC has broken.
    #[serde(default)]
    pub violations: Vec<String>,
    /// What its PCI Express link has carried, if it has one.
    #[serde(default)]
    pub pcie: Option<LinkStatus>,
    /// The rest, for people.
    #[serde(flatten)]
    pub other: serde_json::Map<String, Value>,
}

/// A connection to a simulator's control socket.
pub struct Control(BufReader<UnixStream>);

impl Control {
    /// Connects to the simulator whose sockets are in `dir`.
    pub fn connect(dir: &Path) -> Result<Self> {
        let path = dir.join(CONTROL);
        let stream =
            UnixStream::connect(&path).with_context(|| format!("no simulator at {}", path.display()))?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// What the simulation is doing.
    pub fn status(&mut self) -> Result<Status> {
        let answer = self.ask(&json!({"command": "status"}))?;
        serde_json::from_value(answer["status"].clone()).context("the simulator's status")
    }

    /// From now on these RoCE frames, counted from 1, arrive with a wrong ICRC.
    pub fn flip_icrc(&mut self, frames: &[u64]) -> Result<()> {
        self.ask(&json!({"command": "faults", "flip_icrc": frames})).map(drop)
    }

    fn ask(&mut self, question: &Value) -> Result<Value> {
        self.0.get_mut().write_all(format!("{question}\n").as_bytes()).context("the simulator")?;
        let mut line = String::new();
        (&mut self.0).take(MAX_ANSWER).read_line(&mut line).context("the simulator does not answer")?;
        ensure!(!line.is_empty(), "the simulator ended");
        let answer: Value = serde_json::from_str(&line).context("the simulator's answer")?;
        ensure!(answer["ok"] == true, "the simulator refused {question}: {}", answer["error"]);
        Ok(answer)
    }

    /// The process at the other end.
    fn pid(&self) -> Result<Pid> {
        Ok(socket_peercred(self.0.get_ref())?.pid)
    }
}

/// Ends the simulator whose sockets are in `dir`; returns its process.
pub fn down(dir: &Path) -> Result<i32> {
    let control = Control::connect(dir)?;
    let pid = control.pid()?;
    // Names the process, not its number: it cannot become another one meanwhile.
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let gone = |time: Duration| {
        let mut processes = [PollFd::new(&process, PollFlags::IN)];
        matches!(poll(&mut processes, Timespec::try_from(time).ok().as_ref()), Ok(count) if count > 0)
    };
    for signal in [Signal::TERM, Signal::KILL] {
        match pidfd_send_signal(&process, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error).context("ending the simulator"),
        }
        if gone(END) {
            return Ok(pid.as_raw_nonzero().get());
        }
    }
    bail!("the simulator, process {}, does not end", pid.as_raw_nonzero())
}

/// A child process of this one, that ends with it.
pub struct Process {
    name: &'static str,
    child: Child,
}

impl Process {
    /// Starts `command` in a process group of its own, so that Ctrl-C reaches it through this process
    /// only; it is told to end when this process does, however that comes about.
    pub fn start(name: &'static str, mut command: Command) -> Result<Self> {
        command.process_group(0);
        // SAFETY: prctl is async-signal-safe and touches nothing of the parent's.
        unsafe { command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?)) };
        let program = command.get_program().to_owned();
        let child = command.spawn().with_context(|| format!("starting {program:?}"))?;
        tracing::debug!(name, pid = child.id(), ?program, "a program is started");
        Ok(Self { name, child })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output, once.
    pub fn output(&mut self) -> Option<impl Read + Send + 'static> {
        self.child.stdout.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// An error that says how it ended, if it has.
    pub fn check(&mut self) -> Result<()> {
        match self.ended()? {
            None => Ok(()),
            Some(status) => bail!("the {}, process {}, ended: {}", self.name, self.pid(), how(status)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let ended = |child: &mut Child| {
            let start = Instant::now();
            while start.elapsed() < END {
                if !matches!(child.try_wait(), Ok(None)) {
                    return true;
                }
                std::thread::sleep(LOOK);
            }
            false
        };
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), Pid::from_raw(self.child.id() as i32)) {
            // It is a child that nobody has waited for: the number is still its own.
            let _ = kill_process(pid, Signal::TERM);
            if !ended(&mut self.child) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

/// How a process ended, for people.
pub fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "somehow".into(),
    }
}

/// Starts a simulator that ends with this process, and waits until it answers.
pub fn start(settings: &Settings, stop: &Stop) -> Result<(Process, Control)> {
    let mut command = settings.command()?;
    command.stdout(Stdio::null());
    if std::env::var_os(log::VARIABLE).is_none() {
        command.env(log::VARIABLE, "warn");
    }
    let mut process = Process::start("simulator", command)?;
    let control = answers(settings, stop, || process.check())?;
    Ok((process, control))
}

/// Starts a simulator that stays when this process ends, and waits for its answer. It logs to a file beside its sockets.
pub fn up(settings: &Settings, stop: &Stop) -> Result<(u32, Control)> {
    if let Ok(control) = Control::connect(&settings.dir) {
        bail!(
            "a simulator, process {}, is up at {}",
            control.pid()?.as_raw_nonzero(),
            settings.dir.display()
        );
    }
    let context = || format!("{}", settings.dir.display());
    match std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&settings.dir)
    {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(context)
        }
        _ => {}
    }
    let log = settings.dir.join("sim.log");
    let file = File::create(&log).with_context(|| format!("{}", log.display()))?;
    let mut command = settings.command()?;
    command.stdout(file.try_clone()?).stderr(file);
    // SAFETY: setsid is async-signal-safe and touches nothing of the parent's.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            Ok(())
        })
    };
    let mut child = command.spawn().with_context(|| format!("starting {:?}", command.get_program()))?;
    let pid = child.id();
    let ready = answers(settings, stop, || match child.try_wait()? {
        None => Ok(()),
        Some(status) => bail!("the simulator ended {}: {}", how(status), tail(&log)),
    });
    if ready.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    Ok((pid, ready?))
}

/// Waits until a simulator answers on its control socket and all its NICs have theirs.
fn answers(settings: &Settings, stop: &Stop, mut alive: impl FnMut() -> Result<()>) -> Result<Control> {
    let start = Instant::now();
    loop {
        stop.check()?;
        alive()?;
        if let Ok(mut control) = Control::connect(&settings.dir) {
            let nics = control.status()?.nics.len();
            ensure!(nics == settings.nics, "the simulator has {nics} NICs, not {}", settings.nics);
            if (0..nics).all(|nic| nic_socket(&settings.dir, nic).exists()) {
                return Ok(control);
            }
        }
        ensure!(start.elapsed() < START, "the simulator does not answer after {} s", START.as_secs());
        std::thread::sleep(LOOK);
    }
}

/// The last line of a file.
fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().last().unwrap_or("it said nothing").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A control socket that answers each line with the next of `answers`.
    fn scripted(answers: &[&str]) -> (tempfile::TempDir, std::thread::JoinHandle<Vec<String>>) {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join(CONTROL)).expect("a socket");
        let answers: Vec<String> = answers.iter().map(|answer| format!("{answer}\n")).collect();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut lines = BufReader::new(&stream).lines();
            let mut heard = Vec::new();
            for answer in answers {
                let Some(Ok(line)) = lines.next() else { break };
                heard.push(line);
                (&stream).write_all(answer.as_bytes()).expect("a listener");
            }
            heard
        });
        (folder, thread)
    }

    #[test]
    fn a_status_is_read_and_what_is_new_in_it_is_kept() {
        let status = r#"{"ok":true,"status":{"cycles":7,"simulated_ns":56,"wall_ns":9,"busy_ns":8,
            "nics":[{"mappings":3,"violations":[]},{}],"weather":"fair"}}"#
            .replace('\n', "");
        let (folder, thread) =
            scripted(&[&status, r#"{"ok":true}"#, r#"{"ok":false,"error":"no"}"#, "nonsense"]);
        let mut control = Control::connect(folder.path()).expect("a socket");
        let status = control.status().expect("a status");
        assert_eq!((status.cycles, status.nics.len()), (7, 2));
        assert_eq!(status.other["weather"], "fair");
        assert_eq!(status.nics[0].other["mappings"], 3);
        control.flip_icrc(&[3, 9]).expect("taken");
        assert!(control.status().expect_err("refused").to_string().contains("no"));
        assert!(control.status().is_err(), "nonsense");
        assert!(control.status().is_err(), "nobody is there");
        let heard = thread.join().expect("no panic");
        assert_eq!(heard[0], r#"{"command":"status"}"#);
        assert_eq!(heard[1], r#"{"command":"faults","flip_icrc":[3,9]}"#);
    }

    #[test]
    fn a_process_ends_with_its_owner() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let mut process = Process::start("sleeper", command).expect("sleep is everywhere");
        let pid = process.pid();
        process.check().expect("it sleeps");
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        let mut process = Process::start("liar", Command::new("false")).expect("false is everywhere");
        let start = Instant::now();
        let error = loop {
            if let Err(error) = process.check() {
                break error.to_string();
            }
            assert!(start.elapsed() < END);
        };
        assert!(error.contains("the liar") && error.contains("status 1"), "{error}");
    }
}
