//! `vfio`: real VFIO with no board. A guest with Debian's kernel, its IOMMU and vfio-pci drives two
//! simulated NICs, which QEMU puts on its PCI bus. Nothing of it needs root, KVM or a kernel module
//! of this machine; see docs/guest.md.

mod archive;
mod cache;
mod console;
mod guest;
mod initramfs;
mod kernel;
mod log;
mod programs;
mod qemu;
mod running;
mod simulator;
mod sources;

use crate::need::Need;
use crate::project::{write, Project};
use crate::setup;
use anyhow::{anyhow, ensure, Context, Result};
pub use cache::Cache;
use clap::ValueEnum;
use qemu::Machine;
use simulator::Simulator;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// NICs in the guest.
const NICS: usize = 2;

/// How the NICs reach the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Dma {
    /// The simulator has the guest's memory as a file, and follows what the IOMMU maps
    Files,
    /// Each access is a message to QEMU, whose IOMMU translates or refuses it
    Messages,
    /// One guest of each, at the same time
    Both,
}

/// The command line of `vfio`.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// How the NICs reach the guest's memory
    #[arg(long, value_enum, default_value = "both")]
    dma: Dma,
    /// Bytes of the file that goes from one NIC to the other
    #[arg(long, default_value_t = 1 << 20)]
    size: u64,
    /// Only this job of xtask/guest/jobs (may be repeated)
    #[arg(long = "job", value_name = "NAME")]
    jobs: Vec<String>,
    /// Seconds after which a guest that is not done is ended
    #[arg(long, default_value_t = 400, value_name = "SECONDS")]
    limit: u64,
    /// Fetches the newest QEMU and kernel of Debian, though there are some already
    #[arg(long)]
    refresh: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { dma: Dma::Both, size: 1 << 20, jobs: Vec::new(), limit: 400, refresh: false }
    }
}

/// A folder for sockets, whose paths must be short; it goes when its owner does.
struct Sockets(PathBuf);

impl Sockets {
    fn make(name: &str) -> Result<Sockets> {
        let folder = std::env::temp_dir().join(format!("viaduct-vfio-{}-{name}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Sockets(folder))
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // A left-over folder in the temporary folder harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Fetches and builds what is missing, and runs the guest.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    let known = initramfs::jobs(project)?;
    let unknown = options.jobs.iter().find(|job| !known.contains(job));
    ensure!(unknown.is_none(), "there is no job {unknown:?}; there are {}", known.join(", "));
    let cache = Cache::ready(project, options.refresh)?;
    if !built {
        setup::ensure(project, &[Need::Simulator])?;
        project.cargo("build")?.args(["-p", "viaduct-sim"]).run()?;
    }
    let programs = programs::build(project)?;
    let folder = project.scratch("vfio")?;
    let initramfs = folder.join("initramfs.cpio");
    write(&initramfs, initramfs::build(project, &cache, &programs)?)?;
    let jobs = if options.jobs.is_empty() { &known } else { &options.jobs };
    let jobs = jobs.join(",");
    let ways: &[&'static str] = match options.dma {
        Dma::Files => &["files"],
        Dma::Messages => &["messages"],
        Dma::Both => &["files", "messages"],
    };
    println!("guests, by their way of DMA: {}", ways.join(", "));
    // At the same time: much of a guest's time is waiting, and each uses one processor.
    let failures: Vec<String> = std::thread::scope(|scope| {
        let guest = |dma: &'static str| {
            let (cache, initramfs, jobs) = (&cache, &initramfs, &jobs);
            scope.spawn(move || one(project, cache, initramfs, dma, jobs, options))
        };
        let guests: Vec<_> = ways.iter().map(|dma| (dma, guest(dma))).collect();
        let ends = guests.into_iter().map(|(dma, guest)| {
            let end = guest.join().unwrap_or_else(|_| Err(anyhow!("xtask itself failed: see above")));
            end.err().map(|error| format!("DMA by {dma}: {error:#}"))
        });
        ends.flatten().collect()
    });
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// One guest, in a simulation of its own.
fn one(
    project: &Project,
    cache: &Cache,
    initramfs: &Path,
    dma: &'static str,
    jobs: &str,
    options: &Options,
) -> Result<()> {
    let start = Instant::now();
    let sockets = Sockets::make(dma)?;
    let mut simulator = Simulator::start(project, &sockets.0, NICS, &["--dma", dma])?;
    let log = initramfs.with_file_name(format!("kernel-{dma}.log"));
    if log.exists() {
        // What an earlier run left must not pass for this one's.
        fs::remove_file(&log)?;
    }
    let environment = [format!("jobs={jobs}"), format!("size={}", options.size), format!("dma={dma}")];
    let nics = simulator.sockets();
    let machine = Machine { initramfs, log: &log, nics: &nics, environment: &environment };
    let limit = Duration::from_secs(options.limit);
    let shown = guest::run(dma, &machine.command(cache), &mut simulator, &log, limit)?;
    log::judge(&shown.log)?;
    let cycles = simulator.judge()?;
    println!(
        "  {dma:8}  {} checks passed, {:.1} s, {cycles} cycles of the NICs' clock; the kernel's log: {}",
        shown.passed,
        start.elapsed().as_secs_f64(),
        log.display()
    );
    Ok(())
}
