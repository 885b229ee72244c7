//! What is done in a process of its own: this binary again, with other arguments; or another program.

use std::{
    io::{BufRead, BufReader, Read},
    process::{self, Command, ExitCode, Stdio},
};

use anyhow::{bail, ensure, Context, Result};
use clap::ValueEnum;
use rustix::{
    process::{geteuid, getgroups, kill_process, prlimit, Pid, Resource, Rlimit, Signal},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid, Gid, Uid},
};
use viaduct_viad_tests::stopped::stop;
use vipl::{Mac, MemAttributes};

use crate::{
    bench::Bench,
    hostile,
    note::note,
    ranks,
    setting::{Place, Setting},
    stream, Options,
};

/// What a child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Deed {
    /// Opens the first NIC.
    Open,
    /// Opens two NICs, and does the transfer.
    Transfer,
    /// As Transfer; but before it, registers more memory than it may lock, and says the error.
    Register,
    /// Nothing.
    Limit,
    /// Waits on a NIC of viad's for somebody with a ball, and returns each.
    Return,
    /// Serves the ball to a peer's NIC.
    Serve,
    /// Everything against a viad and another user of it, until it is killed.
    Hostile,
    /// RDMA of its own without end, until it is killed.
    Flight,
    /// Messages of its own without end, until it is killed.
    Stream,
}

/// More than a child may lock that is allowed [`MEMLOCK`].
const MUCH: usize = 8 << 20;
/// Enough for the agent's own memory on two NICs.
pub const MEMLOCK: u64 = 6 << 20;
/// What a child says before the error of the registration.
pub const REFUSED: &str = "refused: ";

/// A child to be.
pub struct Child(Command);

/// How a child ended.
#[derive(Debug)]
pub struct End {
    /// With status 0.
    pub success: bool,
    /// All that it said.
    pub said: String,
}

impl Child {
    /// One that does this with these NICs.
    pub fn new(deed: Deed, nics: &[String]) -> Self {
        // Not `current_exe`: the file may have been replaced by the next build.
        let mut command = Command::new("/proc/self/exe");
        let value = deed.to_possible_value();
        command.arg("--deed").arg(value.as_ref().map_or("", |value| value.get_name()));
        for nic in nics {
            command.arg("--nic").arg(nic);
        }
        Self(command)
    }

    /// Another program.
    pub fn program(command: Command) -> Self {
        Self(command)
    }

    /// As another user.
    pub fn user(mut self, uid: u32) -> Self {
        self.0.arg("--as-user").arg(uid.to_string());
        self
    }

    /// With another limit on memory that it may lock.
    pub fn memlock(mut self, bytes: u64) -> Self {
        self.0.arg("--memlock").arg(bytes.to_string());
        self
    }

    /// Its peer's NIC.
    pub fn peer(mut self, peer: Mac) -> Self {
        self.0.arg("--peer").arg(peer.to_string());
        self
    }

    /// What it knows of somebody else.
    pub fn told(mut self, told: &str) -> Self {
        self.0.arg("--told").arg(told);
        self
    }

    /// How many balls it serves or returns; else it does so until it is killed.
    pub fn balls(mut self, count: u64) -> Self {
        self.0.arg("--balls").arg(count.to_string());
        self
    }

    /// Starts it. Its input ends when somebody waits for its end.
    pub fn start(mut self) -> Result<Running> {
        let child = self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Ok(Running(child.context("another process")?))
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Result<End> {
        let output = self.0.output().context("another process")?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let end = End { success: output.status.success(), said: said.concat() };
        note(format!("{}: {}", output.status, end.said.trim_end()));
        Ok(end)
    }
}

/// A child that lives. It is killed when this is dropped.
pub struct Running(process::Child);

impl Running {
    /// Waits until it has said a line that ends so.
    pub fn wait_for(&mut self, what: &str) -> Result<()> {
        let out = self.0.stdout.as_mut().context("piped")?;
        let mut out = BufReader::with_capacity(1, out);
        let mut line = String::new();
        loop {
            line.clear();
            if out.read_line(&mut line).context("its output")? == 0 {
                break;
            }
            note(line.trim_end());
            if line.trim_end().ends_with(what) {
                return Ok(());
            }
        }
        let mut error = String::new();
        if let Some(out) = &mut self.0.stderr {
            out.read_to_string(&mut error)?;
        }
        bail!("it ended without {what:?}: {error}");
    }

    /// It has not ended.
    pub fn lives(&mut self) -> Result<()> {
        if let Some(status) = self.0.try_wait()? {
            let mut error = String::new();
            if let Some(out) = &mut self.0.stderr {
                out.read_to_string(&mut error)?;
            }
            bail!("it has ended by itself, {status}: {error}");
        }
        Ok(())
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Stops it, and returns when none of its threads runs, until it goes on.
    pub fn stop(&self) -> Result<()> {
        stop(Pid::from_child(&self.0)).context("its stop")
    }

    /// It goes on where it was stopped.
    pub fn go_on(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills it; who waits for its end is whoever drops it.
    pub fn kill_stopped(&self) -> Result<()> {
        self.signal(Signal::KILL)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.0), signal)?)
    }

    /// Kills it in whatever it does.
    pub fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    /// Waits for its end.
    pub fn end(mut self) -> Result<End> {
        let mut said = String::new();
        // It says less than the pipes hold.
        let success = self.0.wait()?.success();
        if let Some(out) = &mut self.0.stdout {
            out.read_to_string(&mut said)?;
        }
        if let Some(out) = &mut self.0.stderr {
            out.read_to_string(&mut said)?;
        }
        note(said.trim_end());
        Ok(End { success, said })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The child's side.
pub fn main(deed: Deed, options: &Options) -> ExitCode {
    // First of all, while there is one thread.
    let done = options.as_user.map_or(Ok(()), become_user).and_then(|()| {
        if let Some(bytes) = options.memlock {
            let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
            prlimit(options.of.and_then(Pid::from_raw), Resource::Memlock, limit)
                .context("RLIMIT_MEMLOCK")?;
        }
        perform(deed, options)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Gives up every right that this user has not, for good.
fn become_user(uid: u32) -> Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    set_thread_groups(&[]).context("setgroups")?;
    set_thread_res_gid(group, group, group).context("setgid")?;
    set_thread_res_uid(user, user, user).context("setuid")?;
    ensure!(geteuid() == user && getgroups()?.is_empty(), "still somebody else");
    ensure!(std::fs::File::open("/proc/1/mem").is_err(), "user {uid} has rights of root's");
    Ok(())
}

fn perform(deed: Deed, options: &Options) -> Result<()> {
    if deed == Deed::Limit {
        return Ok(());
    }
    let nics = &options.nic[..];
    let one = || match nics {
        [name] => Ok(name.as_str()),
        _ => bail!("one NIC"),
    };
    match deed {
        Deed::Open => return Place::of(one()?)?.open().map(drop),
        Deed::Return => return ranks::give_back(one()?, options.balls),
        Deed::Serve => return ranks::serve(one()?, options.peer.context("a peer is needed")?, options.balls),
        Deed::Hostile | Deed::Flight => {
            return hostile::be(deed, one()?, options.told.as_deref().context("somebody to be against")?)
        }
        Deed::Stream => return stream::go_on(one()?),
        Deed::Transfer | Deed::Register | Deed::Limit => {}
    }
    let [a, b] = nics else { bail!("two NICs") };
    let setting = Setting { nics: [a.clone(), b.clone()], ledger: None, machine: None };
    let mut bench = Bench::open(&setting)?;
    if deed == Deed::Register {
        for end in &bench.ends {
            match end.nic.allocate(MUCH, &MemAttributes::new(&end.ptag)) {
                Ok(_) => bail!("{MUCH} bytes were registered, which is more than may be locked"),
                Err(error) => println!("{REFUSED}{error}"),
            }
        }
    }
    bench.transfer()
}
