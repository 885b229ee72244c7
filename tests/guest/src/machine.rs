//! Who runs the machine, and does to it what its own system cannot: for a guest, xtask with QEMU's monitor (xtask/src/vfio/monitor.rs).

use std::{fs::OpenOptions, io::Write, path::PathBuf};

use anyhow::{Context, Result};

/// The line on which one asks.
#[derive(Debug, Clone)]
pub struct Machine(pub PathBuf);

impl Machine {
    /// The root port of a NIC finds an error of its link that cannot be corrected, and sends the message of it.
    pub fn bus_error(&self, nic: usize) -> Result<()> {
        let mut line = OpenOptions::new().write(true).open(&self.0).context("the machine's line")?;
        // In one call: jobs write there, too.
        Ok(line.write_all(format!("guest: ask bus-error {nic}\n").as_bytes())?)
    }
}
