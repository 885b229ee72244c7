//! VIA's private data: what InfiniBand's messages have no fields for.

use viaduct_spec::cm::{via, VIA_MAGIC, VIA_VERSION};

use super::{
    discriminator::Discriminator,
    wrong::{need, Wrong},
};
use crate::address::{Mtu, Service};

/// VIA's private data. What a message does not need is 0 in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Via {
    /// RTU: show that you are there.
    pub probe: bool,
    /// REQ: a peer request.
    pub peer: bool,
    /// The sender lets its peer write.
    pub rdma_write: bool,
    /// The sender lets its peer read.
    pub rdma_read: bool,
    /// The sender stays connected when a message finds no receive, and asks for the time of this code; None: it breaks.
    pub stays: Option<u8>,
    /// The sender's reliability level.
    pub level: Service,
    /// The sender's MaxTransferSize in bytes.
    pub max_transfer: u32,
    /// Largest packet that the sender takes.
    pub mtu: Mtu,
    /// REQ: the sender's discriminator.
    pub from: Discriminator,
    /// REQ: the discriminator that is asked for.
    pub to: Discriminator,
    /// The consumer's own.
    pub data: Vec<u8>,
}

impl Via {
    /// All that says nothing.
    pub fn blank() -> Self {
        let none = Discriminator::of_nothing();
        Self {
            probe: false,
            peer: false,
            rdma_write: false,
            rdma_read: false,
            stays: None,
            level: Service::UnreliableDelivery,
            max_transfer: 0,
            mtu: Mtu::DEFAULT,
            from: none,
            to: none,
            data: Vec::new(),
        }
    }

    /// Bytes that it needs.
    pub fn length(&self) -> usize {
        via::BYTES + self.from.as_bytes().len() + self.to.as_bytes().len() + self.data.len()
    }

    /// Into private data. Nothing is written, and the answer is false, if there is too little of it.
    pub fn encode(&self, private: &mut [u8]) -> bool {
        let length = self.length();
        // The longest private data has 224 bytes.
        let Some(private) = private.get_mut(..length).filter(|_| length < 256) else { return false };
        let (from, to) = (self.from.as_bytes(), self.to.as_bytes());
        let (stay, timer) = self.stays.map_or((0, 0), |timer| (1, timer & 0x1f));
        via::MAGIC.put(private, VIA_MAGIC.into());
        via::VERSION.put(private, VIA_VERSION.into());
        via::PROBE.put(private, self.probe.into());
        via::PEER.put(private, self.peer.into());
        via::RDMA_WRITE.put(private, self.rdma_write.into());
        via::RDMA_READ.put(private, self.rdma_read.into());
        via::RNR_STAY.put(private, stay);
        via::LEVEL.put(private, self.level.code().into());
        via::MAX_TRANSFER.put(private, self.max_transfer.into());
        via::FROM_LENGTH.put(private, from.len() as u64);
        via::TO_LENGTH.put(private, to.len() as u64);
        via::MTU.put(private, self.mtu.wire_code().into());
        via::RNR_TIMER.put(private, timer.into());
        via::DATA_LENGTH.put(private, self.data.len() as u64);
        let parts = from.iter().chain(to).chain(&self.data);
        private[via::BYTES..].iter_mut().zip(parts).for_each(|(at, byte)| *at = *byte);
        true
    }

    /// From private data. None: there is no VI behind it.
    ///
    /// # Errors
    /// Another version, lengths that do not fit, a level or an MTU that does not exist.
    pub fn decode(private: &[u8]) -> Result<Option<Self>, Wrong> {
        let get = |member: viaduct_spec::packet::Member| member.get(private);
        if private.len() < via::BYTES || get(via::MAGIC) != u64::from(VIA_MAGIC) {
            return Ok(None);
        }
        let version = get(via::VERSION);
        need(version == u64::from(VIA_VERSION), "VIA's version", version, "2 is known")?;
        let level = get(via::LEVEL);
        let rule = "0 to 2 are reliability levels";
        let no_level = Wrong { field: "VIA's level", value: level, rule };
        let level = Service::from_code(level as u8).ok_or(no_level)?;
        let mtu = get(via::MTU);
        let no_mtu = Wrong { field: "VIA's MTU", value: mtu, rule: "1 to 5 are MTUs" };
        let mtu = Mtu::from_wire_code(mtu as u8).ok_or(no_mtu)?;
        let [from, to, data] =
            [via::FROM_LENGTH, via::TO_LENGTH, via::DATA_LENGTH].map(|length| get(length) as usize);
        let room = private.len() - via::BYTES;
        let rule = "discriminators and data fit into the private data";
        need(from + to + data <= room, "VIA's lengths", (from + to + data) as u64, rule)?;
        let (from, rest) = private[via::BYTES..].split_at(from);
        let (to, rest) = rest.split_at(to);
        let discriminator = |bytes: &[u8]| {
            let rule = "a discriminator has up to 22 bytes";
            let wrong = Wrong { field: "VIA's discriminator length", value: bytes.len() as u64, rule };
            Discriminator::try_from(bytes).map_err(|_| wrong)
        };
        let stays = (get(via::RNR_STAY) != 0).then(|| get(via::RNR_TIMER) as u8);
        Ok(Some(Self {
            probe: get(via::PROBE) != 0,
            peer: get(via::PEER) != 0,
            rdma_write: get(via::RDMA_WRITE) != 0,
            rdma_read: get(via::RDMA_READ) != 0,
            stays,
            level,
            max_transfer: get(via::MAX_TRANSFER) as u32,
            mtu,
            from: discriminator(from)?,
            to: discriminator(to)?,
            data: rest[..data].to_vec(),
        }))
    }
}
