//! `vfio`: real VFIO with no board. A guest with Debian's kernel, its IOMMU and vfio-pci drives two
//! simulated NICs, which QEMU puts on its PCI bus. Nothing of it needs root, KVM or a kernel module
//! of this machine; see docs/guest.md.

pub mod initramfs;
pub mod log;
mod monitor;
mod outside;
pub mod programs;
mod qemu;
pub mod run;

use crate::guest::simulator::{Kind, Simulator};
use crate::guest::{Cache, Files, Sockets};
use crate::need::Need;
use crate::project::{write, Project};
use crate::setup;
use anyhow::{anyhow, ensure, Result};
use clap::ValueEnum;
pub use monitor::Monitor;
use outside::Outside;
pub use qemu::Machine;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// NICs in the guest.
const NICS: usize = 2;
/// Seconds after which a guest hangs, if the command line does not say otherwise: twice as much as it takes beside other parts of the suite on two cores.
const LIMIT: u64 = 1400;

/// Jobs whose outcome does not depend on what the NIC is: they run in the guest with models, which is the faster one, unless `--job` names them.
const ONCE: [&str; 2] = ["page", "permissions"];

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
    /// What the NICs are; else they are models where DMA goes by files, and the RTL where it goes by messages
    #[arg(long, value_enum)]
    nic: Option<Kind>,
    /// Bytes of the file that goes from one NIC to the other
    #[arg(long, default_value_t = 1 << 20)]
    size: u64,
    /// Only this job of xtask/guest/jobs (may be repeated)
    #[arg(long = "job", value_name = "NAME")]
    jobs: Vec<String>,
    /// Only those tests of the job `suite` whose names contain this
    #[arg(long, value_name = "TEXT")]
    tests: Option<String>,
    /// Seconds after which a guest that is not done is ended
    #[arg(long, default_value_t = LIMIT, value_name = "SECONDS")]
    limit: u64,
    /// Fetches the newest QEMU and kernel of Debian, though there are some already
    #[arg(long)]
    refresh: bool,
}

impl Default for Options {
    fn default() -> Options {
        let (jobs, tests) = (Vec::new(), None);
        Options { dma: Dma::Both, nic: None, size: 1 << 20, jobs, tests, limit: LIMIT, refresh: false }
    }
}

/// Fetches and builds what is missing, and runs the guest.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    let known = initramfs::jobs(project)?;
    let unknown = options.jobs.iter().find(|job| !known.contains(job));
    ensure!(unknown.is_none(), "there is no job {unknown:?}; there are {}", known.join(", "));
    let is_word = |text: &String| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    ensure!(options.tests.as_ref().is_none_or(is_word), "--tests is a part of a test's name");
    let cache = Cache::ready(project, options.refresh)?;
    if !built {
        setup::ensure(project, &[Need::Simulator])?;
        let packages = ["-p", "viaduct-sim", "-p", "viaduct-cli", "-p", "vipl-c", "-p", "vipl-heap"];
        project.cargo("build")?.args(packages).run()?;
    }
    let mut files = Files::default();
    programs::add_static(project, &mut files)?;
    programs::add_dynamic(project, &mut files)?;
    let folder = project.scratch("vfio")?;
    let initramfs = folder.join("initramfs.cpio");
    let scripts: Vec<_> = known.iter().map(|name| initramfs::script(project, name)).collect();
    write(&initramfs, initramfs::build(project, &cache, files, &scripts)?)?;
    let jobs = if options.jobs.is_empty() { &known } else { &options.jobs };
    // The two differ in what is in front of the NIC; it is the RTL where the kernel's log tells of what it reaches for.
    let (files, messages) = (("files", Kind::Model), ("messages", Kind::Rtl));
    let ways: &[(&'static str, Kind)] = match options.dma {
        Dma::Files => &[files],
        Dma::Messages => &[messages],
        Dma::Both => &[files, messages],
    };
    let ways: Vec<_> = ways.iter().map(|(dma, kind)| (*dma, options.nic.unwrap_or(*kind))).collect();
    let names: Vec<_> = ways.iter().map(|(dma, kind)| format!("{dma} ({})", kind.name())).collect();
    println!("guests, by their way of DMA: {}", names.join(", "));
    // At the same time: much of a guest's time is waiting, and each uses one processor.
    let failures: Vec<String> = std::thread::scope(|scope| {
        let guest = |way: (&'static str, Kind)| {
            let (cache, initramfs) = (&cache, &initramfs);
            scope.spawn(move || one(project, cache, initramfs, way, jobs, options))
        };
        let guests: Vec<_> = ways.iter().map(|way| (way.0, guest(*way))).collect();
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
    (dma, kind): (&'static str, Kind),
    jobs: &[String],
    options: &Options,
) -> Result<()> {
    let start = Instant::now();
    let sockets = Sockets::make(&format!("vfio-{dma}"))?;
    // One more NIC of RTL would slow all others down.
    let has_outside = kind == Kind::Model && jobs.iter().any(|job| job == outside::JOB);
    let is_here = |job: &&str| match *job {
        outside::JOB => has_outside,
        job => kind == Kind::Model || !options.jobs.is_empty() || !ONCE.contains(&job),
    };
    let jobs: Vec<&str> = jobs.iter().map(String::as_str).filter(is_here).collect();
    ensure!(!jobs.is_empty(), "the job {} is for functional models: --nic model", outside::JOB);
    let all = NICS + usize::from(has_outside);
    let simulator = Simulator::start(project, sockets.path(), (all, kind), &["--dma", dma])?;
    let log = initramfs.with_file_name(format!("kernel-{dma}.log"));
    if log.exists() {
        // What an earlier run left must not pass for this one's.
        fs::remove_file(&log)?;
    }
    let environment = [
        format!("jobs={}", jobs.join(",")),
        format!("size={}", options.size),
        format!("dma={dma}"),
        format!("nic={}", kind.name()),
        format!("tests={}", options.tests.as_deref().unwrap_or_default()),
    ];
    let nics = simulator.sockets();
    let (nics, others) = nics.split_at(NICS);
    let outside = others.first().map(|socket| Outside::start(project, socket)).transpose()?;
    let socket = sockets.path().join("monitor.sock");
    let monitor = Monitor::new(&socket, NICS);
    let (line, at) = (None, Some(&*socket));
    let machine = Machine { initramfs, log: &log, nics, line, monitor: at, environment: &environment };
    let limit = Duration::from_secs(options.limit);
    let shown = run::run(dma, &machine.command(cache), &simulator, &log, Some(&monitor), limit)?;
    log::judge(&shown.log)?;
    outside.map_or(Ok(()), Outside::judge)?;
    let cycles = simulator.judge()?;
    println!(
        "  {dma:8}  {} checks passed, {:.1} s, {cycles} cycles of the NICs' clock; the kernel's log: {}",
        shown.passed,
        start.elapsed().as_secs_f64(),
        log.display()
    );
    Ok(())
}
