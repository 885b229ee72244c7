//! Runs the program of calls under callgrind, over the stand-in.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{bail, ensure, Context, Result};

use crate::{
    atomics::Atomics,
    callgrind::{self, Costs},
    stand_in::StandIn,
};

/// How long a socket may take to be there, and the program.
const LIMIT: Duration = Duration::from_secs(120);
/// viad stays awake for so long without a doorbell, in microseconds.
const AWAKE_US: u64 = 600_000_000;
/// The entry points in which instructions are counted.
const COUNTED: [&str; 8] = [
    "VipPostSend",
    "VipPostRecv",
    "VipSendDone",
    "VipRecvDone",
    "VipCQDone",
    "VipExtPostSendMany",
    "VipExtPostRecvMany",
    "VipExtCQPoll",
];

/// What doorbells are rung on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// A page of the BAR, mapped: the agent is in the program.
    Bar,
    /// A page that viad polls, awake.
    Polled,
}

/// A process that ends with its owner.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folders of what was built.
#[derive(Debug, Clone, Copy)]
pub struct Built<'a> {
    /// That of libvipl.so, which is measured.
    pub library: &'a Path,
    /// That of viad.
    pub viad: &'a Path,
}

/// The costs by the names of the program's dumps.
///
/// # Errors
/// What is not there, or does not run.
pub fn run(built: Built<'_>, page: Page) -> Result<BTreeMap<String, Costs>> {
    let folder = tempfile::tempdir()?;
    let place = |name: &str| folder.path().join(name);
    let program = compile(built.library, folder.path())?;
    let socket = place("nic0.sock");
    let stand_in = StandIn::bind(&socket)?;
    thread::spawn(|| stand_in.serve());
    let device = format!("vfio-user:{},mac=02:00:00:00:00:01,ip=10.0.0.1,seed=1", socket.display());
    let mut viad = None;
    let name = match page {
        Page::Bar => device,
        Page::Polled => {
            let (served, config) = (place("viad.sock"), place("viad.toml"));
            fs::write(&config, format!("poll_us = {AWAKE_US}\n"))?;
            let child = Command::new(existing(built.viad, "viad")?)
                .args(["--nic", &device, "--config"])
                .arg(&config)
                .arg("--socket")
                .arg(&served)
                .env("VIADUCT_LOG", "error")
                .stdin(Stdio::null())
                .spawn()
                .context("viad")?;
            viad = Some(Ends(child));
            let start = Instant::now();
            while !served.exists() {
                ensure!(start.elapsed() < LIMIT, "viad does not serve");
                sleep(Duration::from_millis(5));
            }
            format!("viad:{}", served.display())
        }
    };
    let counted = COUNTED.map(|function| format!("--toggle-collect={function}"));
    let child = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "-q"])
        .args(["--dump-instr=yes", "--dump-line=no", "--compress-pos=no", "--compress-strings=no"])
        .args(counted)
        .arg(format!("--callgrind-out-file={}", place("out").display()))
        .arg(&program)
        .env("LD_LIBRARY_PATH", folder.path())
        .env("VIADUCT_NICS", format!("nic0={name}"))
        .env("VIADUCT_NICS_FILE", "/dev/null")
        .stdin(Stdio::null())
        .spawn()
        .context("valgrind: `cargo xtask setup` installs it")?;
    let mut child = Ends(child);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.0.try_wait()? {
            break status;
        }
        ensure!(start.elapsed() < LIMIT, "the calls hang");
        sleep(Duration::from_millis(5));
    };
    drop(viad);
    ensure!(status.success(), "the calls: {status}");
    let (mut costs, mut atomics) = (BTreeMap::new(), Atomics::default());
    for file in fs::read_dir(folder.path())? {
        let file = file?.path();
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("out.")) {
            let text = fs::read_to_string(&file)?;
            let mut is_atomic = |object: &str, address| atomics.has(object, address);
            callgrind::add(&text, &mut costs, &mut is_atomic)
                .map_err(|line| anyhow::anyhow!("callgrind: {line:?}"))?;
        }
    }
    Ok(costs)
}

fn existing(built: &Path, name: &str) -> Result<PathBuf> {
    let path = built.join(name);
    if !path.exists() {
        bail!("{} is not built: `cargo xtask instructions` does so", path.display());
    }
    Ok(path)
}

/// Compiles the program, and links it with the library that is shipped.
fn compile(built: &Path, folder: &Path) -> Result<PathBuf> {
    let library = existing(built, "libvipl.so")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // As an installed library is found: by its soname.
    std::os::unix::fs::symlink(&library, folder.join("libvipl.so.1"))?;
    let program = folder.join("calls");
    let output = Command::new("cc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("../../vipl/include"))
        .arg(root.join("src/calls.c"))
        .arg("-o")
        .arg(&program)
        .arg(&library)
        .output()
        .context("cc")?;
    ensure!(output.status.success(), "calls.c: {}", String::from_utf8_lossy(&output.stderr));
    Ok(program)
}
