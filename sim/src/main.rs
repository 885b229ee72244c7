//! `viaduct-sim`: a network of simulated NICs as a process.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use viaduct_driver::log;
use viaduct_sim::arguments::Arguments;
use viaduct_sim::directory::default_path;
use viaduct_sim::served::Served;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    log::start(Some("info"))?;

    let path = arguments.dir.clone().unwrap_or_else(default_path);
    let pcap = arguments.pcap.as_ref().map(|path| std::path::absolute(path).unwrap_or(path.clone()));
    let (live, served) = Served::open(arguments.setup().build()?, &path, pcap)?;
    let live = live.holding(Duration::from_micros(arguments.hold));

    let mut signals = Signals::new([SIGINT, SIGTERM]).context("signals cannot be caught")?;
    let stop = served.handle().clone();
    std::thread::spawn(move || signals.forever().take(1).for_each(|_| stop.stop()));

    tracing::info!(verilog_sha256 = viaduct_sim::rtl::VERILOG_SHA256, "the NICs' Verilog");
    tracing::info!(verilog_sha256 = viaduct_sim::pcie::VERILOG_SHA256, "the PCI Express endpoint's Verilog");
    announce(served.folder(), served.handle().nics())?;
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
