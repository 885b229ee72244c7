//! What is done in a process of its own: this binary again, with other arguments.

use std::process::{Command, ExitCode};

use anyhow::{bail, ensure, Context, Result};
use clap::ValueEnum;
use rustix::{
    process::{geteuid, getgroups, setrlimit, Resource, Rlimit},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid, Gid, Uid},
};
use vipl::MemAttributes;

use crate::{
    bench::Bench,
    note::note,
    setting::{Place, Setting},
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

    /// Runs it to its end.
    pub fn run(mut self) -> Result<End> {
        let output = self.0.output().context("another process")?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let end = End { success: output.status.success(), said: said.concat() };
        note(format!("{}: {}", output.status, end.said.trim_end()));
        Ok(end)
    }
}

/// The child's side.
pub fn main(deed: Deed, nics: &[String], user: Option<u32>, memlock: Option<u64>) -> ExitCode {
    // First of all, while there is one thread.
    let done = user.map_or(Ok(()), become_user).and_then(|()| {
        if let Some(bytes) = memlock {
            let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
            setrlimit(Resource::Memlock, limit).context("RLIMIT_MEMLOCK")?;
        }
        perform(deed, nics)
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

fn perform(deed: Deed, nics: &[String]) -> Result<()> {
    if deed == Deed::Open {
        let [name] = nics else { bail!("one NIC") };
        return Place::of(name)?.open().map(drop);
    }
    let [a, b] = nics else { bail!("two NICs") };
    let setting = Setting { nics: [a.clone(), b.clone()], dmar: false };
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
