//! `linux`: Linux as the peer. A guest with Debian's kernel and soft-RoCE (rdma_rxe) has a network card whose cable is a port of the
//! simulator's switch; VIA programs on this machine talk to RDMA programs in the guest. Nothing of it needs root, KVM or a kernel module of
//! this machine; see docs/linux.md.

mod figures;
mod initramfs;
mod qemu;

use crate::guest::{Cache, Sockets};
use crate::need::Need;
use crate::project::{read, write, Project};
use crate::setup;
use anyhow::Result;
use clap::ValueEnum;
use qemu::Machine;

/// The program that has the cases.
const PROGRAM: &str = "viaduct-linux";
/// The program that the guest has of ours.
const ASK: &str = "viaduct-linux-ask";
/// Their package.
const PACKAGE: &str = "viaduct-linux-tests";
/// The table of docs/linux.md.
const TABLE: &str = "figures.md";

/// What the NIC is.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Nic {
    /// The functional model
    Model,
    /// The RTL, Verilated
    Rtl,
    /// One after the other
    Both,
}

/// The command line of `linux`.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// What the NIC is
    #[arg(long, value_enum, default_value = "both")]
    nic: Nic,
    /// Only this case (may be repeated)
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Fetches the newest QEMU and kernel of Debian, though there are some already
    #[arg(long)]
    refresh: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { nic: Nic::Both, cases: Vec::new(), refresh: false }
    }
}

/// Fetches and builds what is missing, and runs the cases, with a guest for each kind of NIC.
pub fn run(project: &Project, options: &Options, built: bool) -> Result<()> {
    let cache = Cache::ready(project, options.refresh)?;
    if !built {
        setup::ensure(project, &[Need::Simulator])?;
        project.cargo("build")?.args(["-p", PACKAGE, "-p", "viad"]).run()?;
        project.cargo("build")?.args(["-p", "vipl", "--example", "rping"]).run()?;
    }
    let folder = project.scratch("linux")?;
    let archive = folder.join("initramfs.cpio");
    write(&archive, initramfs::build(project, &cache, &[ASK])?)?;
    let kinds: &[&str] = match options.nic {
        Nic::Model => &["model"],
        Nic::Rtl => &["rtl"],
        Nic::Both => &["model", "rtl"],
    };
    let mut measured = Vec::new();
    for kind in kinds {
        let sockets = Sockets::make(&format!("linux-{kind}"))?;
        let log = folder.join(format!("kernel-{kind}.log"));
        let machine = Machine { initramfs: &archive, log: &log, sockets: sockets.path() };
        let command = folder.join(format!("qemu-{kind}.json"));
        write(&command, machine.command(&cache)?)?;
        let mut program = project.built(PROGRAM)?.args(["--nic", kind]);
        program =
            program.arg("--sockets").arg(sockets.path()).arg("--qemu").arg(&command).arg("--log").arg(&log);
        let rows = folder.join(format!("rows-{kind}.txt"));
        program = program.arg("--rows").arg(&rows);
        for case in &options.cases {
            program = program.args(["--case", case]);
        }
        program.run()?;
        measured.push((*kind, read(&rows)?));
    }
    let table = folder.join(TABLE);
    write(&table, figures::table(&measured)?)?;
    println!("linux: the table of docs/linux.md is {}", table.display());
    Ok(())
}
