//! Why the agent did not do what it was asked: each error names the rule.

use crate::{
    address::PeerError, cm::wrong::Wrong, device::DeviceError, device_protocol::commands::CommandError,
    memory::MemoryError,
};

/// An error of the Kernel Agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Some other device.
    #[error("this is no Viaduct NIC: its first register reads {found:#010x}, not {expected:#010x}")]
    NotViaduct {
        /// What it reads.
        found: u32,
        /// What it should read.
        expected: u32,
    },
    /// Another generation of the NIC.
    #[error("the NIC's registers have layout version {found}; this agent knows version {known}")]
    Version {
        /// The NIC's.
        found: u32,
        /// The agent's.
        known: u32,
    },
    /// Neither RTL nor model.
    #[error("the NIC says it is of kind {0}, which this agent does not know")]
    Kind(u32),
    /// A table size that cannot be.
    #[error("the NIC says that {what} is {value}, which cannot be")]
    Limits {
        /// Which size.
        what: &'static str,
        /// Its value.
        value: u32,
    },
    /// The agent was given an address that no NIC can have.
    #[error("{0} cannot be the address of a NIC")]
    OwnAddress(String),
    /// The NIC did not finish a command.
    #[error("{}", CommandError::Stuck(.0.clone()))]
    Stuck(String),
    /// The NIC did not take a command.
    #[error("{}", CommandError::Refused(.0.clone()))]
    Command(String),
    /// No such tag.
    #[error("protection tag {0:#06x} does not exist")]
    UnknownTag(u16),
    /// The tag has users.
    #[error("protection tag {tag:#06x} is still used by {users} regions and virtual interfaces")]
    TagInUse {
        /// The tag.
        tag: u16,
        /// How many use it.
        users: usize,
    },
    /// Every tag is taken.
    #[error("all protection tags are in use")]
    NoTag,
    /// Memory that cannot be registered.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// No DMA addresses left.
    #[error(
        "the device reaches {all:#x} bytes of memory at a time, and {length:#x} more in a row find no room: \
         register less, or deregister something first"
    )]
    DmaAddresses {
        /// Bytes in a row that were needed.
        length: u64,
        /// Bytes that its IOMMU can translate.
        all: u64,
    },
    /// The arena for rings could not be had.
    #[error("memory for the rings: {0}")]
    Arena(std::io::Error),
    /// Memory for a program could not be had.
    #[error("memory that a device can reach: {0}")]
    NoMemory(std::io::Error),
    /// As many DMA maps as a session may have.
    #[error("this session may map memory {0} times at once, and does: deregister something first")]
    Maps(usize),
    /// A map that is not where its owner may have one.
    #[error("{bytes:#x} bytes at DMA address {iova:#x} are not inside what is leased: {leased:#x} bytes at {first:#x}")]
    OutsideLease {
        /// First DMA address.
        iova: u64,
        /// Bytes.
        bytes: u64,
        /// The lease's first address.
        first: u64,
        /// The lease's bytes.
        leased: u64,
    },
    /// A lease with regions in it does not end.
    #[error("{0} regions are registered in the lease: it ends behind them")]
    LeaseInUse(usize),
    /// The system has not unmapped what was mapped.
    #[error(
        "the kernel says that it unmapped {unmapped:#x} bytes of a lease in which at least {least:#x} were mapped: its addresses are not \
         used again"
    )]
    LeaseKept {
        /// What it says.
        unmapped: u64,
        /// What was mapped.
        least: u64,
    },
    /// The range is none.
    #[error(
        "{length:#x} bytes at {address:#x}: a region has 1 to 2^48 - 1 bytes and ends in the address space"
    )]
    Range {
        /// First byte.
        address: u64,
        /// Bytes.
        length: u64,
    },
    /// Rights that contradict the memory.
    #[error("the memory at {0:#x} is read-only: remote peers cannot be given the right to write it")]
    RightToWrite(u64),
    /// The table is full.
    #[error("all {0} rows of the NIC's {1} table are in use")]
    Full(usize, &'static str),
    /// No such handle.
    #[error("memory handle {0:#010x} names no registered region")]
    UnknownHandle(u32),
    /// RDMA reads on a level without them.
    #[error("RDMA reads are not offered with Unreliable Delivery")]
    RdmaRead,
    /// A ring of a size that cannot be.
    #[error("a ring of 2^{0} slots: rings have 2^3 to 2^10")]
    Ring(u32),
    /// No such completion queue, or no more.
    #[error("completion queue {0} does not exist (any more)")]
    UnknownCq(u16),
    /// The completion queue has users.
    #[error("completion queue {cq} is still that of {users} work queues")]
    CqInUse {
        /// The queue.
        cq: u16,
        /// How many have it.
        users: usize,
    },
    /// A completion queue of a size that cannot be.
    #[error("a completion queue of {0} entries: it has 1 to 2^15")]
    Entries(usize),
    /// An interrupt vector that the device has not.
    #[error("interrupt vector {0} does not exist")]
    UnknownVector(u8),
    /// Interrupts held off for longer than the NIC can count.
    #[error("interrupts held off for {0:?}: it is up to 33 ms")]
    Holdoff(std::time::Duration),
    /// What a VI is to do when a message finds no receive: a number outside its range.
    #[error("a virtual interface cannot be so: {0}")]
    NotReady(Wrong),
    /// MaxTransferSize outside its range.
    #[error("a MaxTransferSize of {0} bytes: it is 1 to 2^30")]
    MaxTransfer(u32),
    /// No such VI, or no more.
    #[error("virtual interface {0} does not exist (any more)")]
    UnknownVi(u16),
    /// Not in this state.
    #[error("virtual interface {vi} is {state}: {rule}")]
    State {
        /// Index of the VI.
        vi: u16,
        /// Its state.
        state: &'static str,
        /// What the state does not allow.
        rule: &'static str,
    },
    /// The raw channel has one owner.
    #[error("the raw channel is open already")]
    RawOpen,
    /// A frame that cannot be sent.
    #[error("a frame of {0} bytes: the raw channel sends 14 to 4200")]
    Frame(usize),
    /// No room for another frame now.
    #[error("as many raw frames as there is room for are on their way")]
    RawFull,
    /// A descriptor of the raw channel's failed.
    #[error("the raw channel broke (status {0:#x}): close it and open it again")]
    RawBroken(u32),
    /// viad's answer.
    #[error("{text}")]
    Remote {
        /// What kind of error it is.
        class: ErrorClass,
        /// The error, in words.
        text: String,
    },
    /// What the peer said of itself is wrong.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

/// Kinds of errors, by VIA's return code for them (VIP_RETURN).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum ErrorClass {
    /// VIP_INVALID_PARAMETER.
    Parameter,
    /// VIP_ERROR_RESOURCE.
    Resource,
    /// VIP_INVALID_PTAG.
    Ptag,
    /// VIP_INVALID_RDMAREAD.
    RdmaRead,
    /// VIP_INVALID_MTU.
    Mtu,
    /// VIP_INVALID_RELIABILITY_LEVEL.
    ReliabilityLevel,
    /// VIP_INVALID_STATE.
    State,
    /// VIP_REJECT.
    Reject,
    /// VIP_ERROR_RESOURCE: the device is gone.
    Gone,
}

impl From<CommandError> for AgentError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Device(error) => Self::Device(error),
            CommandError::Stuck(what) => Self::Stuck(what),
            CommandError::Refused(what) => Self::Command(what),
        }
    }
}

impl AgentError {
    /// What kind of error it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Remote { class, .. } => *class,
            Self::Device(DeviceError::Gone { .. }) => ErrorClass::Gone,
            Self::UnknownTag(_) => ErrorClass::Ptag,
            Self::RdmaRead => ErrorClass::RdmaRead,
            Self::MaxTransfer(_) | Self::Peer(PeerError::MaxTransfer { .. }) => ErrorClass::Mtu,
            Self::State { .. } | Self::RawBroken(_) | Self::LeaseInUse(_) => ErrorClass::State,
            Self::Peer(PeerError::Service { .. }) => ErrorClass::ReliabilityLevel,
            Self::Peer(_) => ErrorClass::Reject,
            Self::Memory(_)
            | Self::Range { .. }
            | Self::RightToWrite(_)
            | Self::OutsideLease { .. }
            | Self::UnknownHandle(_)
            | Self::UnknownVi(_)
            | Self::UnknownCq(_)
            | Self::Entries(_)
            | Self::UnknownVector(_)
            | Self::Holdoff(_)
            | Self::NotReady(_)
            | Self::OwnAddress(_)
            | Self::Ring(_)
            | Self::Frame(_) => ErrorClass::Parameter,
            Self::Device(_)
            | Self::NotViaduct { .. }
            | Self::Version { .. }
            | Self::Kind(_)
            | Self::Limits { .. }
            | Self::Stuck(_)
            | Self::Command(_)
            | Self::TagInUse { .. }
            | Self::NoTag
            | Self::CqInUse { .. }
            | Self::RawOpen
            | Self::RawFull
            | Self::DmaAddresses { .. }
            | Self::Arena(_)
            | Self::NoMemory(_)
            | Self::Maps(_)
            | Self::LeaseKept { .. }
            | Self::Full(..) => ErrorClass::Resource,
        }
    }
}
