//! Two ranks in two guests, each with a NIC behind its kernel's VFIO and IOMMU, and a viad that trusts its rank with the function (`way=trusted`), as
//! on the nodes of a cluster. A guest has no network, so that nothing else can carry a message; what a rank asks its launcher goes over a serial line.

use super::{pmi::Job, provider};
use crate::command::Cmd;
use crate::guest::simulator::{Kind, Simulator};
use crate::guest::{Cache, Files, Sockets};
use crate::project::{write, Project};
use crate::vfio::{initramfs, log, programs, run, Machine};
use anyhow::{anyhow, ensure, Context, Result};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The guests, a rank in each.
const NAMES: [&str; 2] = ["guest-0", "guest-1"];
/// The job in them, in xtask/.
const SCRIPT: &str = "guest/mpi/ring";
/// How long they may take.
const LIMIT: Duration = Duration::from_secs(600);
/// How long QEMU may take until it has its serial line.
const START: Duration = Duration::from_secs(60);

/// What the guests have in common.
struct Place<'a> {
    cache: Cache,
    initramfs: PathBuf,
    folder: PathBuf,
    sockets: &'a Sockets,
    simulator: Simulator,
    job: Job,
    environment: Vec<String>,
}

/// Runs a ring of MPICH's in two guests.
pub fn ring(project: &Project, provider: &Path, kind: Kind) -> Result<()> {
    let start = Instant::now();
    let cache = Cache::ready(project, false)?;
    let folder = project.scratch("mpi/guests")?;
    let programs = all_programs(project, provider, &folder)?;
    let script = project.root.join("xtask").join(SCRIPT);
    let initramfs = folder.join("initramfs.cpio");
    write(&initramfs, initramfs::build(project, &cache, programs, &[script])?)?;
    let sockets = Sockets::make("mpi-guests")?;
    let (bytes, turns): (u64, u64) = match kind {
        Kind::Model => (100_000, 10),
        Kind::Rtl => (20_000, 1),
    };
    let simulator = Simulator::start(project, sockets.path(), (NAMES.len(), kind), &["--dma", "files"])?;
    let environment = [
        "jobs=ring".to_string(),
        format!("ranks={}", NAMES.len()),
        format!("bytes={bytes}"),
        format!("turns={turns}"),
    ];
    let (job, environment) = (Job::new(NAMES.len()), environment.to_vec());
    let place = Place { cache, initramfs, folder, sockets: &sockets, simulator, job, environment };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let place = &place;
        let guests = [0, 1].map(|rank| scope.spawn(move || one(place, rank)));
        let ends = guests.into_iter().zip(NAMES).map(|(guest, name)| {
            let end = guest.join().unwrap_or_else(|_| Err(anyhow!("xtask itself failed: see above")));
            end.err().map(|error| format!("{name}: {error:#}"))
        });
        ends.flatten().collect()
    });
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    place.simulator.judge()?;
    // The token leaves each rank in each turn.
    let (sent, token) = (place.simulator.sent_bytes()?, bytes * turns);
    ensure!(
        sent.len() == NAMES.len() && sent.iter().all(|&sent| sent >= token),
        "each rank has sent {token} bytes, and the NICs have sent {sent:?}: something else carried them"
    );
    println!("ring in two guests: passed, {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// One guest, from its start to its end.
fn one(place: &Place, rank: usize) -> Result<()> {
    let name = NAMES[rank];
    let socket = place.sockets.path().join(format!("{name}.sock"));
    let log = place.folder.join(format!("kernel-{name}.log"));
    if log.exists() {
        // What an earlier run left must not pass for this one's.
        fs::remove_file(&log)?;
    }
    let mut environment = place.environment.clone();
    environment.push(format!("rank={rank}"));
    let nics = place.simulator.sockets();
    let nics = nics.get(rank..=rank).context("a guest has a NIC")?;
    let initramfs = &place.initramfs;
    let (line, monitor) = (Some(&*socket), None);
    let machine = Machine { initramfs, log: &log, nics, line, monitor, environment: &environment };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| place.job.serve(&connected(&socket)?));
        let shown = run::run(name, &machine.command(&place.cache), &place.simulator, &log, None, LIMIT);
        let asked = asked.join().unwrap_or_else(|_| Err(anyhow!("xtask itself failed: see above")));
        // What the guest says is nearer to the cause.
        log::judge(&shown?.log)?;
        asked
    })
}

/// Connects to a serial line, as soon as it is there.
fn connected(line: &Path) -> Result<UnixStream> {
    let start = Instant::now();
    loop {
        match UnixStream::connect(line) {
            Ok(stream) => return Ok(stream),
            Err(error) if start.elapsed() > START => {
                return Err(error).with_context(|| format!("cannot connect to {}", line.display()));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// What every guest has, and the ring, compiled with the virtual environment's MPICH, the provider, and all libraries that they need.
fn all_programs(project: &Project, folder: &Path, scratch: &Path) -> Result<Files> {
    let ring = scratch.join("ring");
    let source = project.root.join("vipl/examples/mpi/ring.c");
    Cmd::new(project.venv.join("bin/mpicc")).args(["-std=c11", "-O1", "-o"]).arg(&ring).arg(source).run()?;
    let provider = folder.join(provider::NAME);
    let mut files = Files::default();
    files.add("bin/ring".into(), ring.clone())?;
    files.add(format!("lib/{}", provider::NAME), provider.clone())?;
    let folders = ["lib", "lib/mpich"].map(|folder| project.venv.join(folder));
    files.add_libraries(&ring, &folders)?;
    files.add_libraries(&provider, &folders)?;
    programs::add_static(project, &mut files)?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_is_there_and_tells_of_the_ring() {
        let script = Project::find().unwrap().root.join("xtask").join(SCRIPT);
        assert!(crate::project::read(&script).unwrap().contains("exec 3<>/dev/ttyS2"));
    }
}
