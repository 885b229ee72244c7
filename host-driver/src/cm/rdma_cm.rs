//! The header that Linux's rdma_cm puts in front of a REQ's private data.

use std::net::Ipv4Addr;

use viaduct_spec::{cm::rdma_cm, packet::Member};

use super::wrong::{need, Wrong};

/// The header, of IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RdmaCm {
    /// The sender's port.
    pub port: u16,
    /// The sender's address.
    pub source: Ipv4Addr,
    /// The receiver's address.
    pub target: Ipv4Addr,
}

impl RdmaCm {
    /// From the start of private data.
    ///
    /// # Errors
    /// Another version, or IPv6.
    pub fn decode(private: &[u8]) -> Result<Self, Wrong> {
        let version = rdma_cm::VERSION.get(private);
        need(version == 0, "rdma_cm's version", version, "0 is known")?;
        let version = rdma_cm::IP_VERSION.get(private);
        need(version == 4, "rdma_cm's IP version", version, "IPv4 is spoken here")?;
        let ip = |member: Member| {
            let last: [u8; 4] = std::array::from_fn(|n| *private.get(member.end() - 4 + n).unwrap_or(&0));
            Ipv4Addr::from(last)
        };
        Ok(Self {
            port: rdma_cm::PORT.get(private) as u16,
            source: ip(rdma_cm::SOURCE),
            target: ip(rdma_cm::TARGET),
        })
    }

    /// Into the start of private data: 36 bytes.
    pub fn encode(&self, private: &mut [u8; rdma_cm::BYTES]) {
        rdma_cm::IP_VERSION.put(private, 4);
        rdma_cm::PORT.put(private, self.port.into());
        private[rdma_cm::SOURCE.end() - 4..rdma_cm::SOURCE.end()].copy_from_slice(&self.source.octets());
        private[rdma_cm::TARGET.end() - 4..rdma_cm::TARGET.end()].copy_from_slice(&self.target.octets());
    }
}
