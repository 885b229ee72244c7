//! What the examples have in common: an open NIC, memory that is registered, and connections.
//!
//! ```text
//! export VIADUCT_NICS="nic0=vfio-user:/run/viaduct/nic0.sock;nic1=vfio-user:/run/viaduct/nic1.sock"
//! pingpong nic0 &            the server, which prints its address
//! pingpong nic1 ADDRESS      a client
//! ```

#![allow(dead_code, reason = "each example uses its own part")]

use std::{error::Error, sync::Arc, time::Duration};

use vipl::{
    connections::{Connections, NetAddress},
    Cq, Descriptor, Mac, MemAttributes, Nic, Ptag, Region, ReliabilityLevel, Vi, ViAttributes,
};

/// What an example's main returns.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a client asks.
const LONG: Option<Duration> = Some(Duration::from_secs(10));

/// A NIC, and memory for descriptors and data, which peers may write and read.
pub struct End {
    /// The NIC.
    pub nic: Nic,
    /// The tag of the memory and of all VIs.
    pub ptag: Ptag,
    /// The memory.
    pub memory: Region,
    connections: Arc<dyn Connections>,
}

impl End {
    /// Opens a NIC, and registers so many bytes.
    pub fn open(name: &str, bytes: usize) -> Result<Self> {
        let nic = Nic::open(name)?;
        let ptag = nic.create_ptag()?;
        let rights =
            MemAttributes { enable_rdma_write: true, enable_rdma_read: true, ..MemAttributes::new(&ptag) };
        let memory = nic.allocate(bytes, &rights)?;
        let connections = nic.connections()?;
        Ok(Self { nic, ptag, memory, connections })
    }

    /// A VI of Reliable Reception: what was sent is in the peer's memory when the descriptor is complete.
    pub fn vi(&self, receive_cq: Option<&Cq>) -> Result<Vi> {
        Ok(self.nic.create_vi(&ViAttributes {
            reliability_level: ReliabilityLevel::ReliableReception,
            enable_rdma_write: true,
            enable_rdma_read: true,
            receive_cq: receive_cq.cloned(),
            ..ViAttributes::new(&self.ptag)
        })?)
    }

    /// Its NIC's address.
    pub fn mac(&self) -> Mac {
        self.nic.attributes().local_nic_address
    }

    /// Waits for a client, and takes it.
    pub fn accept(&self, service: &str, vi: &Vi) -> Result<()> {
        let request = self.connections.wait(&address(self.mac(), service), None, &|| false)?;
        Ok(request.accept(vi, &[])?)
    }

    /// Asks a server until it waits.
    pub fn ask(&self, server: &str, service: &str, vi: &Vi) -> Result<()> {
        let (own, server) = (address(self.mac(), "client"), address(server.parse()?, service));
        loop {
            match self.connections.request(vi, &own, &server, &[], LONG) {
                Err(vipl::Error::NoMatch) => {}
                result => return Ok(result.map(drop)?),
            }
        }
    }

    /// A descriptor at `place` for `bytes` bytes at `data`, to send them or to receive there.
    pub fn describe(&self, place: usize, data: usize, bytes: usize) -> Result<Descriptor> {
        Ok(Descriptor::new().segment(&self.memory, data, bytes)?.build(&self.memory, place)?)
    }

    /// Bytes of the memory.
    pub fn read(&self, offset: usize, bytes: usize) -> Result<Vec<u8>> {
        let mut all = vec![0; bytes];
        self.memory.read(offset, &mut all)?;
        Ok(all)
    }

    /// A word of the memory.
    pub fn word(&self, offset: usize) -> Result<u64> {
        let mut word = [0; 8];
        self.memory.read(offset, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }
}

fn address(host: Mac, service: &str) -> NetAddress {
    NetAddress { host: host.into(), discriminator: service.as_bytes().to_vec() }
}
