//! The program at the other end of the wire, for the commands that come in pairs: `viaduct send` and `viaduct receive`, and the two sides
//! of `viaduct perf`.
//!
//! One of the two is the server: it waits at a port of its NIC. The other one is the client: it asks for that port. They connect their VIs
//! by the connection manager of their NICs, and need no socket beside it. What the client offers and what the server answers stands in the
//! private data of the connection's messages ([`port`]). Once they are connected they say to each other what has become of their work in
//! messages on the same VI ([`end`]).

mod end;
mod inbox;
mod port;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use vipl::{Mtu, Nic, ReliabilityLevel};

pub use end::{credit_of, End, Names, Needs};
pub use port::{Port, Purpose};

/// VIA's reliability levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Reliability {
    /// Unreliable Delivery: messages may be lost
    Unreliable,
    /// Reliable Delivery: messages arrive, or the connection breaks
    Delivery,
    /// Reliable Reception: the same, and a send is complete when its data is in the peer's memory
    Reception,
}

impl Reliability {
    /// As the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreliable => "unreliable",
            Self::Delivery => "delivery",
            Self::Reception => "reception",
        }
    }
}

impl From<Reliability> for ReliabilityLevel {
    fn from(level: Reliability) -> Self {
        match level {
            Reliability::Unreliable => Self::UnreliableDelivery,
            Reliability::Delivery => Self::ReliableDelivery,
            Reliability::Reception => Self::ReliableReception,
        }
    }
}

/// What both programs of a pair are told.
#[derive(Args)]
#[group(skip)]
pub struct Options {
    /// The NIC: viad:SOCKET, an alias of one, or vfio:PCI-ADDRESS or vfio-user:PATH, then [,mac=..][,ip=..][,ack_time=..][,seed=..]
    #[arg(short = 'd', long)]
    pub nic: String,
    /// Port of the server's NIC, at which it waits
    #[arg(short, long, default_value_t = 18515)]
    pub port: u16,
    /// Reliability level; the same at both ends
    #[arg(long, value_enum, default_value = "delivery")]
    pub reliability: Reliability,
    /// Largest packet in bytes: 256, 512, 1024, 2048 or 4096. The smaller one of both ends counts
    #[arg(short, long, default_value = "1024")]
    pub mtu: Mtu,
    /// Seconds without any progress after which to give up. A server waits for its client without end
    #[arg(long, default_value_t = 10)]
    pub timeout: u64,
}

impl Options {
    /// Opens the NIC.
    pub fn open(&self) -> Result<Nic> {
        Ok(Nic::open(&self.nic)?)
    }

    /// How long nothing may happen.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}
