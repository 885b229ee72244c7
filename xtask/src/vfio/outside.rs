//! A process outside the guest. It has a NIC of the same fabric, by an agent of its own, and returns what a program in the guest sends by way of the
//! guest's viad.

use crate::guest::running::Running;
use crate::project::Project;
use anyhow::{bail, Context, Result};
use std::io::Read;
use std::path::Path;

/// The job that sends to it.
pub const JOB: &str = "outside";
/// Its NIC. The job names the address, too.
const OPTIONS: &str = "mac=02:00:00:00:00:03,ip=10.0.0.3";
/// What both ends of `viaduct perf` are told. The job says the same.
const MESSAGES: [&str; 8] = ["perf", "send", "lat", "-s", "64", "-n", "20", "--timeout"];
/// Seconds that a message may take.
const LIMIT: &str = "60";

/// The process.
pub struct Outside(Running);

impl Outside {
    /// Starts it at a NIC's socket. It waits for who asks.
    pub fn start(project: &Project, socket: &Path) -> Result<Outside> {
        let nic = format!("vfio-user:{},{OPTIONS}", socket.display());
        let cmd = project.built("viaduct")?.args(MESSAGES).args([LIMIT, "-d", &nic]);
        Running::start(&cmd).map(Outside)
    }

    /// Fails unless all that was to come has come, and it has ended.
    pub fn judge(mut self) -> Result<()> {
        let status = self.0.wait()?;
        let mut said = String::new();
        if status.is_none() {
            self.0.kill()?;
        }
        if let Some((mut output, mut errors)) = self.0.outputs() {
            output.read_to_string(&mut said).context("its output")?;
            errors.read_to_string(&mut said).context("its errors")?;
        }
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("the process outside the guest ended with {status}: {said}"),
            None => bail!("the process outside the guest waits still: {said}"),
        }
    }
}
