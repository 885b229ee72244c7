//! What the simulator puts between a NIC and its host, and what it says of that.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;

/// What is between a NIC and its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Link {
    /// Nothing: the host is at the core's edge
    Core,
    /// A PCI Express link, with the endpoint's RTL at its end
    Pcie,
}

impl Link {
    /// As the simulator has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Pcie => "pcie",
        }
    }
}

/// What it says of a PCI Express link: packets each way, and those that were sent again.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct LinkStatus {
    /// To the NIC.
    pub to_nic: u64,
    /// From it.
    pub from_nic: u64,
    /// To it, once more.
    pub to_nic_again: u64,
    /// From it, once more: as they came in.
    pub from_nic_again: u64,
}

/// Prints what each link has carried, of a sender's NIC and a receiver's.
///
/// # Errors
/// A NIC has no link.
pub fn report(links: impl IntoIterator<Item = Option<LinkStatus>>) -> Result<()> {
    for (who, link) in ["sender", "receiver"].iter().zip(links) {
        let link = link.with_context(|| format!("the {who}'s NIC has no PCI Express link"))?;
        println!(
            "  PCI Express {} packets to the {who}'s NIC and {} from it; {} and {} more than once",
            link.to_nic, link.from_nic, link.to_nic_again, link.from_nic_again
        );
    }
    Ok(())
}
