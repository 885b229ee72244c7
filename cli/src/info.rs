//! `viaduct info`: what the NIC of a running viad is, and what this user may have of it.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc};

use anyhow::{bail, Context, Result};
use clap::Args;
use serde::Serialize;
use viaduct_driver::viad::{
    place::{Place, Way},
    Client,
};
use vipl::{full_name, Nic};

use crate::{note, output::print};

/// The NIC of a viad.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// viad:SOCKET, or an alias of that
    #[arg(value_name = "NIC", default_value = "nic0")]
    pub nic: String,
    /// The same in JSON
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// The name of the NIC, and where its viad is. Any other NIC would have to be taken over to be asked.
    pub fn viad(&self) -> Result<(String, Place)> {
        let name = full_name(&self.nic)?;
        match name.strip_prefix("viad:") {
            Some(place) => Ok((name.clone(), place.parse().with_context(|| name.clone())?)),
            None => {
                bail!("{:?} is {name}, which has one owner: only a viad can be asked by others", self.nic)
            }
        }
    }

    /// A session with its viad, and the name of the NIC.
    pub fn session(&self) -> Result<(String, Arc<Client>)> {
        let (name, place) = self.viad()?;
        // Who only looks hands no memory over.
        let viad = Client::open_at(&Place { way: Way::Pools, ..place }).with_context(|| name.clone())?;
        Ok((name, viad))
    }
}

/// What it is.
#[derive(Serialize)]
struct Info {
    nic: String,
    kind: &'static str,
    mac: String,
    ip: String,
    hardware_version: u32,
    native_mtu: u32,
    max_transfer_size: u32,
    reliability_levels: Vec<String>,
    rdma_read_levels: Vec<String>,
    /// What this user may have.
    limits: BTreeMap<&'static str, u64>,
}

/// `viaduct info`.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (name, _) = arguments.viad()?;
    let nic = Nic::open(&name).with_context(|| name.clone())?;
    let is = nic.attributes();
    let names = |levels: &[vipl::ReliabilityLevel]| levels.iter().map(words).collect();
    let info = Info {
        nic: name,
        kind: note::kind(is.kind),
        mac: is.local_nic_address.to_string(),
        ip: is.ip.to_string(),
        hardware_version: is.hardware_version,
        native_mtu: is.native_mtu,
        max_transfer_size: is.max_transfer_size,
        reliability_levels: names(&is.reliability_level_support),
        rdma_read_levels: names(&is.rdma_read_support),
        limits: BTreeMap::from([
            ("virtual_interfaces", is.max_vi.into()),
            ("completion_queues", is.max_cq.into()),
            ("completion_queue_entries", is.max_cq_entries.into()),
            ("descriptors_per_queue", is.max_descriptors_per_queue.into()),
            ("segments_per_descriptor", is.max_segments_per_desc.into()),
            ("regions", is.max_register_regions.into()),
            ("registered_bytes", is.max_register_bytes),
        ]),
    };
    if arguments.json {
        return print(&serde_json::to_string_pretty(&info)?);
    }
    let mut lines = vec![
        format!("{}", info.nic),
        format!("  carried out by  {}", info.kind),
        format!("  addresses       {}, {}", info.mac, info.ip),
        format!("  layout version  {}", info.hardware_version),
        format!("  largest packet  {} bytes", info.native_mtu),
        format!("  largest message {} bytes", info.max_transfer_size),
        format!("  levels          {}", info.reliability_levels.join(", ")),
        format!("  RDMA reads on   {}", info.rdma_read_levels.join(", ")),
        "  this user may have".into(),
    ];
    lines
        .extend(info.limits.iter().map(|(what, most)| format!("    {most:>16}  {}", what.replace('_', " "))));
    print(&lines.join("\n"))
}

/// The words of a name such as ReliableDelivery.
pub fn words(name: &impl Debug) -> String {
    let mut words = String::new();
    for letter in format!("{name:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter);
    }
    words
}
