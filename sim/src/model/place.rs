//! Accesses to host memory: where, how far, under which tag, and what for.

use viaduct_spec::handle::memory_handle;

/// The checker has refused an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// Why a read has brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The checker has refused it.
    Refused,
    /// The host has: no memory answers there.
    Failed,
}

impl From<Refused> for Unread {
    fn from(Refused: Refused) -> Self {
        Self::Refused
    }
}

/// Where an access begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By virtual address and memory handle: data.
    Address {
        /// The address.
        address: u64,
        /// The handle: region and key.
        handle: u32,
    },
    /// By bytes from the region's base rounded down to 64: descriptors and rings.
    Offset {
        /// The region.
        region: u16,
        /// Bytes.
        offset: u64,
    },
}

impl Place {
    /// So many bytes further on.
    pub fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Address { address, handle } => {
                Self::Address { address: address.wrapping_add(bytes), handle }
            }
            Self::Offset { region, offset } => Self::Offset { region, offset: offset.wrapping_add(bytes) },
        }
    }

    /// The region's row.
    pub fn region(self) -> usize {
        match self {
            Self::Address { handle, .. } => memory_handle::INDEX.get(&[handle.into()]) as usize,
            Self::Offset { region, .. } => region.into(),
        }
    }
}

/// What is done there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// The VI's own NIC reads.
    Read,
    /// The VI's own NIC writes.
    Write,
    /// The peer reads: RDMA.
    RemoteRead,
    /// The peer writes: RDMA.
    RemoteWrite,
    /// The NIC reads a ring of the agent's.
    SystemRead,
    /// The NIC writes a ring of the agent's.
    SystemWrite,
}

impl Right {
    /// It changes memory.
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::RemoteWrite | Self::SystemWrite)
    }

    /// It is the NIC's own, to the agent's memory.
    pub fn system(self) -> bool {
        matches!(self, Self::SystemRead | Self::SystemWrite)
    }
}

/// An access to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub place: Place,
    /// Bytes that have to lie in the region: those that are moved now; of a peer's access all that are still to come.
    pub span: u64,
    /// The tag that the region must have.
    pub tag: u16,
    /// What for.
    pub right: Right,
}
