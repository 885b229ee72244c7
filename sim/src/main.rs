//! `viaduct-sim`: a network of simulated NICs as a process.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing_subscriber::EnvFilter;
use viaduct_sim::arguments::Arguments;
use viaduct_sim::directory::{default_path, nic_socket, Directory, CONTROL};
use viaduct_sim::live::Live;
use viaduct_sim::{control, vfio_user};

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    let path = arguments.dir.clone().unwrap_or_else(default_path);
    let mut directory = Directory::open(&path)?;
    let (live, handle) = Live::new(arguments.setup().build()?);
    for nic in 0..handle.nics() {
        vfio_user::serve(directory.listen(&nic_socket(nic))?, nic, handle.clone())?;
    }
    let pcap = arguments.pcap.as_ref().map(|path| std::path::absolute(path).unwrap_or(path.clone()));
    control::serve(directory.listen(CONTROL)?, handle.clone(), pcap)?;

    let mut signals = Signals::new([SIGINT, SIGTERM]).context("signals cannot be caught")?;
    let stop = handle.clone();
    std::thread::spawn(move || signals.forever().take(1).for_each(|_| stop.stop()));

    tracing::info!(verilog_sha256 = viaduct_sim::rtl::VERILOG_SHA256, "the NICs' Verilog");
    announce(directory.path(), handle.nics())?;
    let mut network = live.run();
    network.fabric_mut().finish_capture().context("the capture is not whole")?;
    tracing::info!(cycles = network.now(), "ended");
    Ok(())
}

/// One line on standard output once clients can connect.
fn announce(path: &Path, nics: usize) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "viaduct-sim: {nics} NICs in {}", path.display())?;
    out.flush().context("standard output")
}
