//! The guest: QEMU, and the shell at its console.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure, Context, Result};

use crate::program::KillOnDrop;
use crate::reader::Reader;
use crate::talk::LIMIT;

/// How long QEMU may take to make the console's socket.
const START: Duration = Duration::from_secs(20);
/// How long the guest may take to boot, on a machine that does other things.
const BOOT: Duration = Duration::from_secs(120);
/// The file with the state of the RDMA device's port.
const PORT_STATE: &str = "/sys/class/infiniband/rxe0/ports/1/state";
/// In front of what the guest's shell says behind each command.
const ENDED: &str = "@ended";
/// The line that ends the text of a command.
const TEXT_ENDS: &str = "@command";
/// The status of a command that took longer than its limit: it was killed with signal 9.
const KILLED: &str = "137";
/// How much longer than a command's limit its end may take to come here.
const GRACE: Duration = Duration::from_secs(10);

/// The guest. It ends with this value.
pub struct Guest {
    /// Held to its end: nobody asks it for anything but by its sockets.
    _qemu: KillOnDrop,
    console: UnixStream,
    lines: Reader,
    commands: u32,
    /// The other end of the guest's TCP connections.
    pub numbers: UnixStream,
    /// QEMU's monitor, and what it says.
    monitor: UnixStream,
    said: Reader,
}

impl Guest {
    /// Starts QEMU by this command line, and waits until the guest has an RDMA device. `folder` is where QEMU makes its sockets.
    pub fn start(qemu: &[String], folder: &Path) -> Result<Self> {
        let (program, arguments) = qemu.split_first().context("QEMU's command line is empty")?;
        let qemu = Command::new(program).args(arguments).stdin(Stdio::null()).spawn().context("QEMU")?;
        let qemu = KillOnDrop(qemu);
        let start = Instant::now();
        let connect = |name: &str| loop {
            let socket = folder.join(name);
            match UnixStream::connect(&socket) {
                Ok(stream) => break Ok(stream),
                Err(error) if start.elapsed() > START => bail!("{}: {error}", socket.display()),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        };
        let (console, numbers) = (connect("console.sock")?, connect("numbers.sock")?);
        let monitor = connect("monitor.sock")?;
        numbers.set_read_timeout(Some(BOOT))?;
        let lines = Reader::new(console.try_clone()?);
        let said = Reader::new(monitor.try_clone()?);
        let mut guest = Self { _qemu: qemu, console, lines, commands: 0, numbers, monitor, said };
        // The kernel tells the device some time after the card that there is a link.
        guest.run(&format!("until grep -qs ACTIVE {PORT_STATE}; do usleep 20000; done"), BOOT)?;
        Ok(guest)
    }

    /// Runs a command; what it has printed. One that takes longer than `limit` is killed: the shell is free for the next.
    ///
    /// # Errors
    /// It takes longer than `limit`, or ends with another status than 0: with what it has printed.
    pub fn run(&mut self, command: &str, limit: Duration) -> Result<String> {
        self.commands += 1;
        let number = self.commands;
        let seconds = limit.as_secs();
        // In a shell of its own: `exit` and changes of the folder stay there.
        writeln!(
            self.console,
            "timeout -s KILL {seconds} sh <<'{TEXT_ENDS}'\n{command}\n{TEXT_ENDS}\necho \"{ENDED} {number} $?\""
        )?;
        let mut printed = String::new();
        let start = Instant::now();
        loop {
            let left = (limit + GRACE).saturating_sub(start.elapsed());
            let line = self
                .lines
                .next(left)
                .with_context(|| format!("the guest: `{command}` printed {printed:?}"))?;
            match line.strip_prefix(&format!("{ENDED} {number} ")) {
                Some("0") => return Ok(printed),
                Some(KILLED) => bail!("`{command}` took longer than {seconds} s and printed {printed:?}"),
                Some(status) => bail!("`{command}` ended with {status} and printed {printed:?}"),
                None => {
                    printed += &line;
                    printed.push('\n');
                }
            }
        }
    }

    /// Pulls the cable out of the guest's network card for this time. Its kernel sees that the link is down. The thread plugs it in again.
    pub fn unplug_for(&mut self, time: Duration) -> Result<JoinHandle<io::Result<()>>> {
        writeln!(self.monitor, "set_link wire off").context("QEMU's monitor")?;
        let mut monitor = self.monitor.try_clone()?;
        Ok(thread::spawn(move || {
            thread::sleep(time);
            writeln!(monitor, "set_link wire on")
        }))
    }

    /// From when this returns until [`Guest::go_on`] the guest stands still: its processor, its clock and its network card.
    pub fn stand_still(&mut self) -> Result<()> {
        writeln!(self.monitor, "stop\ninfo status").context("QEMU's monitor")?;
        while !self.said.next(LIMIT).context("QEMU's monitor")?.contains("VM status: paused") {}
        Ok(())
    }

    /// The guest goes on.
    pub fn go_on(&mut self) -> Result<()> {
        writeln!(self.monitor, "cont").context("QEMU's monitor")
    }

    /// Starts a command in the background, what it prints in the file /tmp/`name`.
    pub fn start_command(&mut self, name: &str, command: &str) -> Result<()> {
        let quick = Duration::from_secs(10);
        self.run(&format!("{{ {command}; echo \"status $?\"; }} >/tmp/{name} 2>&1 &"), quick).map(drop)
    }

    /// Waits until a command in the background has ended; what it has printed.
    ///
    /// # Errors
    /// It takes longer than `limit`, or ends with another status than 0.
    pub fn finish_command(&mut self, name: &str, limit: Duration) -> Result<String> {
        let printed = self.end_of_command(name, limit)?;
        ensure!(printed.ends_with("status 0\n"), "{name}: {printed:?}");
        Ok(printed)
    }

    /// The same, with whatever status: what it has printed, whose last line is `status` and that.
    ///
    /// # Errors
    /// It takes longer than `limit`.
    pub fn end_of_command(&mut self, name: &str, limit: Duration) -> Result<String> {
        self.wait_for_output(name, "^status ", limit)?;
        self.run(&format!("cat /tmp/{name}"), limit)
    }

    /// Waits until a command in the background has printed a line that matches `pattern`, grep's.
    ///
    /// # Errors
    /// It takes longer than `limit`.
    pub fn wait_for_output(&mut self, name: &str, pattern: &str, limit: Duration) -> Result<()> {
        let wait = format!("until grep -q '{pattern}' /tmp/{name}; do usleep 20000; done");
        self.run(&wait, limit).map(drop)
    }
}
