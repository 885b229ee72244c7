//! A NIC, and its protection tags.

use std::{fmt, net::Ipv4Addr, sync::Arc, time::Duration};

use viaduct_driver::{
    address::{Mac, Mtu},
    agent::{
        vis::{MAX_RING_LOG2, MAX_TRANSFER},
        Agent, AgentError, Event, NicKind, Options,
    },
    device::PciDevice,
    vfio_user::VfioUser,
};
use viaduct_spec::{descriptor::MAX_SEGMENTS, layout::Code, register::VERSION_VALUE};

use crate::{Error, ReliabilityLevel};

/// What the names of NICs behind vfio-user sockets begin with.
const VFIO_USER: &str = "vfio-user:";

/// An open NIC (VIP_NIC_HANDLE). Clones are the same NIC; it is closed when the last clone and all
/// that was made with it are dropped.
#[derive(Clone)]
pub struct Nic(Arc<Inner>);

struct Inner {
    name: String,
    agent: Arc<Agent>,
}

/// What a NIC can do (VIP_NIC_ATTRIBUTES).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicAttributes {
    /// The name that it was opened with.
    pub name: String,
    /// Layout version of the hardware.
    pub hardware_version: u32,
    /// Version of this library, major and minor in 16 bits each.
    pub provider_version: u32,
    /// Its address: an Ethernet address.
    pub local_nic_address: Mac,
    /// Its IPv4 address.
    pub ip: Ipv4Addr,
    /// The RTL or the functional model.
    pub kind: NicKind,
    /// Every call may come from any thread.
    pub thread_safe: bool,
    /// Most bytes of all regions together.
    pub max_register_bytes: u64,
    /// Most regions.
    pub max_register_regions: u32,
    /// Most bytes of one region.
    pub max_register_block_bytes: u64,
    /// Most VIs.
    pub max_vi: u32,
    /// Most descriptors on a work queue.
    pub max_descriptors_per_queue: u32,
    /// Most segments of a descriptor.
    pub max_segments_per_desc: u32,
    /// Most completion queues: none yet.
    pub max_cq: u32,
    /// Largest message in bytes.
    pub max_transfer_size: u32,
    /// Largest packet in bytes.
    pub native_mtu: u32,
    /// Most protection tags.
    pub max_ptags: u32,
    /// The reliability levels that it offers.
    pub reliability_level_support: Vec<ReliabilityLevel>,
    /// The reliability levels with RDMA reads: none yet.
    pub rdma_read_support: Vec<ReliabilityLevel>,
}

impl Nic {
    /// Opens a NIC by its name (VipOpenNic), with the Kernel Agent in this process.
    ///
    /// `vfio-user:PATH` is a PCI function behind a vfio-user socket: a simulator's NIC. After the
    /// path, each after a comma: `mac=02:00:00:00:00:01`, `ip=10.0.0.1` (both random when not
    /// given; peers learn them when they connect), `seed=N` (random numbers repeat).
    ///
    /// # Errors
    /// A name of another form, no NIC there, or one that this library does not know.
    pub fn open(name: &str) -> Result<Self, Error> {
        let (path, options) = parse(name)?;
        Self::open_device(name, Arc::new(VfioUser::open(path)?), options)
    }

    /// Opens a NIC behind any [`PciDevice`].
    pub fn open_device(name: &str, device: Arc<dyn PciDevice>, options: Options) -> Result<Self, Error> {
        Ok(Self(Arc::new(Inner { name: name.into(), agent: Agent::open(device, options)? })))
    }

    /// What it can do (VipQueryNic).
    pub fn attributes(&self) -> NicAttributes {
        let agent = self.agent();
        let limits = agent.limits();
        NicAttributes {
            name: self.0.name.clone(),
            hardware_version: VERSION_VALUE,
            provider_version: version(),
            local_nic_address: agent.mac(),
            ip: agent.ip(),
            kind: agent.kind(),
            thread_safe: true,
            max_register_bytes: agent.dma_bytes(),
            // Row 0 is never used; one is the agent's.
            max_register_regions: limits.regions - 2,
            max_register_block_bytes: agent.dma_bytes().min(1 << 47),
            max_vi: limits.vis.into(),
            max_descriptors_per_queue: 1 << MAX_RING_LOG2,
            max_segments_per_desc: MAX_SEGMENTS.into(),
            max_cq: 0,
            max_transfer_size: MAX_TRANSFER,
            native_mtu: Mtu::MAX.bytes(),
            // All but 0 and the agent's.
            max_ptags: 0xfffe,
            reliability_level_support: vec![
                ReliabilityLevel::UnreliableDelivery,
                ReliabilityLevel::ReliableDelivery,
            ],
            rdma_read_support: Vec::new(),
        }
    }

    /// Makes a protection tag (VipCreatePtag).
    pub fn create_ptag(&self) -> Result<Ptag, Error> {
        let tag = self.agent().create_tag()?;
        Ok(Ptag(Arc::new(Tag { nic: self.clone(), tag })))
    }

    /// Takes what the NIC reported that no descriptor can tell, oldest first: VIA's asynchronous
    /// errors.
    pub fn take_events(&self) -> Result<Vec<Event>, Error> {
        Ok(self.agent().take_events()?)
    }

    /// [`Nic::take_events`], as soon as there is one; sleeps for `timeout` at most, then there are none.
    pub fn wait_events(&self, timeout: Duration) -> Result<Vec<Event>, Error> {
        Ok(self.agent().wait_events(timeout)?)
    }

    /// Whether the device still answers. What waits for completions asks this now and then by itself.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.agent().check()?)
    }

    /// Device time in ticks of 1.024 us; it wraps. On a simulated NIC it is the simulation's time.
    pub fn device_time(&self) -> Result<u32, Error> {
        Ok(self.agent().time()?)
    }

    /// Reads the NIC's counters, with their names and meanings.
    pub fn counters(&self) -> Result<Vec<(&'static Code, u64)>, Error> {
        Ok(self.agent().counters()?)
    }

    pub(crate) fn agent(&self) -> &Arc<Agent> {
        &self.0.agent
    }

    /// Whether both are the same open NIC.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Nic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Nic").field(&self.0.name).finish()
    }
}

/// A protection tag (VIP_PROTECTION_HANDLE): what a VI and the memory that it may use have in
/// common. It is destroyed when the last clone and all that was made with it are dropped.
#[derive(Debug, Clone)]
pub struct Ptag(Arc<Tag>);

#[derive(Debug)]
struct Tag {
    nic: Nic,
    tag: u16,
}

impl Ptag {
    /// Its number, for use on `nic`.
    pub(crate) fn tag_of(&self, nic: &Nic) -> Result<u16, Error> {
        if !self.0.nic.is(nic) {
            return Err(AgentError::UnknownTag(self.0.tag).into());
        }
        Ok(self.0.tag)
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        // Regions and VIs hold clones, so nobody uses it; a region that could not be deregistered
        // keeps it, rightly.
        let _ = self.nic.agent().destroy_tag(self.tag);
    }
}

/// This crate's version, major and minor.
fn version() -> u32 {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    number(env!("CARGO_PKG_VERSION_MAJOR")) << 16 | number(env!("CARGO_PKG_VERSION_MINOR"))
}

/// Socket path and options of a NIC's name.
fn parse(name: &str) -> Result<(&str, Options), Error> {
    let wrong = |reason: String| Error::Name { name: name.into(), reason };
    let rest =
        name.strip_prefix(VFIO_USER).ok_or_else(|| wrong(format!("it does not begin with {VFIO_USER}")))?;
    let mut parts = rest.split(',');
    let path = parts.next().filter(|path| !path.is_empty()).ok_or_else(|| wrong("no path".into()))?;
    let [a, b, c]: [u8; 3] = rand::random();
    // Locally administered; host part neither all zeros nor all ones.
    let mut options = Options::new(Mac([2, 0, 0, a, b, c | 1]), Ipv4Addr::new(10, a, b, c.clamp(1, 254)));
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("{part:?} is no option")))?;
        let bad = |error: &dyn fmt::Display| wrong(format!("{part:?}: {error}"));
        match key {
            "mac" => options.mac = value.parse().map_err(|e| bad(&e))?,
            "ip" => options.ip = value.parse().map_err(|e| bad(&e))?,
            "seed" => options.seed = Some(value.parse().map_err(|e| bad(&e))?),
            _ => return Err(wrong(format!("{key:?} is no option"))),
        }
    }
    Ok((path, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        let (path, options) =
            parse("vfio-user:/a/b.sock,mac=02:00:00:00:00:07,ip=10.0.0.7,seed=5").expect("a name");
        assert_eq!(path, "/a/b.sock");
        assert_eq!(options.mac, Mac([2, 0, 0, 0, 0, 7]));
        assert_eq!(options.ip, Ipv4Addr::new(10, 0, 0, 7));
        assert_eq!(options.seed, Some(5));
        for _ in 0..100 {
            let (_, options) = parse("vfio-user:x").expect("a name");
            assert!(options.mac.is_unicast() && options.ip.octets()[0] == 10);
        }
        for wrong in ["", "eth0", "vfio-user:", "vfio-user:x,fast", "vfio-user:x,ip=1", "vfio-user:x,a=b"] {
            assert!(matches!(parse(wrong), Err(Error::Name { .. })), "{wrong:?}");
        }
    }
}
