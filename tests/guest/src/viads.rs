//! viad in a process of its own, on one of the NICs.

use std::{
    fs::{self, File},
    os::unix::{
        fs::{chown, PermissionsExt},
        process::CommandExt,
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use vipl::Mac;

use crate::{bench::LIMIT, note::note, setting::Setting};

/// The ways in which a program shares a NIC behind VFIO, as options of its name.
pub const WAYS: [&str; 2] = [",way=trusted", ",way=pools"];
/// Why a viad ends whose function the system wants back. It ends all VIs before.
pub const WANTED: &str = "the system wants it back";

/// Why a viad ends whose function somebody else has reset or stopped.
pub const SOMEBODY_ELSE: &str = "somebody else";

/// Folders of viads so far.
static FOLDERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// A viad. It is killed when this is dropped.
pub struct Viad {
    process: Child,
    folder: PathBuf,
    number: u8,
}

/// The program, if it is beside this one.
pub fn program() -> Option<PathBuf> {
    let viad = std::env::current_exe().ok()?.with_file_name("viad");
    viad.exists().then_some(viad)
}

impl Viad {
    /// Starts one on an end's NIC, as a user if one is given, with more of a configuration, and waits until it serves.
    pub fn start(setting: &Setting, end: usize, user: Option<u32>, config: &str) -> Result<Self> {
        let mut viad = Self::begin(setting, end, user, config)?;
        viad.says("serving")?;
        Ok(viad)
    }

    /// As [`Viad::start`], and waits for nothing.
    pub fn begin(setting: &Setting, end: usize, user: Option<u32>, config: &str) -> Result<Self> {
        let program = program().context("viad is not beside this program")?;
        let number = FOLDERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("viad-{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        chown(&folder, user, user)?;
        let number = end as u8 + 1;
        let nic = setting.nics[end].split(',').next().unwrap_or_default();
        fs::write(folder.join("viad.toml"), format!("mode = 0o666\n{config}"))?;
        let mut command = Command::new(program);
        command
            .args(["--nic", &format!("{nic},mac={},ip=10.0.0.{number}", Self::mac_of(number)), "--config"])
            .arg(folder.join("viad.toml"))
            .arg("--socket")
            .arg(folder.join("viad.sock"))
            .env("VIADUCT_LOG", "info,viad=debug")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("log"))?);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let process = command.spawn().context("viad")?;
        Ok(Self { process, folder, number })
    }

    /// Waits until it has logged this.
    pub fn says(&mut self, what: &str) -> Result<()> {
        let start = Instant::now();
        while !self.log().contains(what) {
            let ended = self.process.try_wait()?;
            self.expect(ended.is_none() && start.elapsed() < LIMIT, || {
                format!("viad does not say {what:?}; its end: {ended:?}")
            })?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// What programs open, with options.
    pub fn name(&self, options: &str) -> String {
        format!("viad:{}{options}", self.folder.join("viad.sock").display())
    }

    fn mac_of(number: u8) -> Mac {
        Mac([2, 0, 0, 0, 0, number])
    }

    /// The address of its NIC.
    pub fn mac(&self) -> Mac {
        Self::mac_of(self.number)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Waits until it has given back what so many sessions had.
    pub fn wait_ended(&self, sessions: usize) -> Result<()> {
        let start = Instant::now();
        while self.log().matches("session ended").count() < sessions {
            self.expect(start.elapsed() < LIMIT, || format!("not {sessions} sessions of viad's have ended"))?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Waits until it ends because of its NIC, and says why.
    pub fn wait_end(mut self, reason: &str) -> Result<()> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.process.try_wait()? {
                break status;
            }
            self.expect(start.elapsed() < LIMIT, || "viad goes on".into())?;
            thread::sleep(Duration::from_millis(10));
        };
        let log = self.log();
        note(&log);
        ensure!(!status.success(), "viad ended with {status}");
        ensure!(log.contains(reason), "viad ended, and did not say {reason:?}");
        ensure!(!log.contains("panicked"), "viad panicked");
        Ok(())
    }

    /// What it has logged is told before the reason of a failure, so that the reason stands at the end.
    fn expect(&self, holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
        if !holds {
            note(self.log());
            bail!(otherwise());
        }
        Ok(())
    }

    /// Kills it in whatever it does.
    pub fn kill(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.process), Signal::KILL)?)
    }

    /// Ends it as a service manager does. It must have lost nothing.
    pub fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.process), Signal::TERM)?;
        let status = self.process.wait()?;
        let log = self.log();
        note(&log);
        ensure!(status.success(), "viad ended with {status}");
        ensure!(!log.contains("panicked"), "viad panicked");
        ensure!(!log.contains("not everything was given back"), "viad had not everything back");
        Ok(())
    }
}

impl Drop for Viad {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
