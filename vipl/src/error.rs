//! What a call answers: VIA's codes, and errors that say which rule was broken.

use std::io;

use viaduct_driver::{
    device::DeviceError,
    kernel_agent::{AgentError, ErrorClass},
};
use viaduct_spec::cm::MAX_DISCRIMINATOR;

use crate::Descriptor;

/// VIP_RETURN: the codes of the C interface, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Return {
    /// VIP_SUCCESS.
    Success = 0,
    /// VIP_NOT_DONE: the head of the queue is not complete.
    NotDone = 1,
    /// VIP_INVALID_PARAMETER.
    InvalidParameter = 2,
    /// VIP_ERROR_RESOURCE.
    ErrorResource = 3,
    /// VIP_TIMEOUT.
    Timeout = 4,
    /// VIP_REJECT.
    Reject = 5,
    /// VIP_INVALID_RELIABILITY_LEVEL.
    InvalidReliabilityLevel = 6,
    /// VIP_INVALID_MTU: the maximum transfer sizes differ, or the size is not offered.
    InvalidMtu = 7,
    /// VIP_INVALID_QOS.
    InvalidQos = 8,
    /// VIP_INVALID_PTAG.
    InvalidPtag = 9,
    /// VIP_INVALID_RDMAREAD.
    InvalidRdmaRead = 10,
    /// VIP_DESCRIPTOR_ERROR: completed in error, or nothing is posted.
    DescriptorError = 11,
    /// VIP_INVALID_STATE.
    InvalidState = 12,
    /// VIP_ERROR_NAMESERVICE.
    ErrorNameservice = 13,
    /// VIP_NO_MATCH.
    NoMatch = 14,
    /// VIP_NOT_REACHABLE.
    NotReachable = 15,
    /// VIP_ERROR_NOT_SUPPORTED.
    ErrorNotSupported = 16,
}

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The head of the queue is not complete.
    #[error("the descriptor at the head of the queue is not complete")]
    NotDone,
    /// Nothing is posted on the queue.
    #[error("nothing is posted on the queue")]
    Empty,
    /// The head of the queue completed in error; it is off the queue, here.
    #[error("a descriptor completed with {}", .0.status())]
    Descriptor(Box<Descriptor>),
    /// The time was up.
    #[error("the time was up")]
    Timeout,
    /// As many descriptors are posted as the ring has slots.
    #[error("all {0} slots of the work queue hold descriptors that are not taken off it yet")]
    Overrun(usize),
    /// The work queue has a completion queue: that one is waited for.
    #[error("the work queue has a completion queue: wait for that, and then ask the work queue whether it is done")]
    HasCq,
    /// A completion queue has a VI whose descriptors have another form than those that are asked for.
    #[error("the completion queue has a virtual interface whose descriptors have another form than those that are polled for: poll for that form, or take its entries one by one")]
    OtherForm,
    /// The queue is not empty.
    #[error("receives are posted, under the protection tag that the virtual interface has")]
    Posted,
    /// The virtual interface is not as the call needs it.
    #[error("the virtual interface {0}")]
    State(&'static str),
    /// Nobody waits for the connection.
    #[error("nobody waits for a connection at that address")]
    NoMatch,
    /// The peer does not want the connection; its private data.
    #[error("the peer rejected the connection")]
    Rejected(Vec<u8>),
    /// A discriminator that is too long.
    #[error("a discriminator of {0} bytes: it has {MAX_DISCRIMINATOR} at most")]
    Discriminator(usize),
    /// More private data than the message of a connection has room for.
    #[error("{length} bytes of private data: there is room for {room}")]
    PrivateData {
        /// Bytes.
        length: usize,
        /// Room.
        room: usize,
    },
    /// A listener that has room for no request.
    #[error("a backlog of 0: at least one request may wait to be decided on")]
    Backlog,
    /// No way to the peer.
    #[error("there is no way to {0}")]
    NotReachable(String),
    /// Something that is not there.
    #[error("{0} is not supported")]
    NotSupported(&'static str),
    /// A name that no NIC has.
    #[error("{name:?} is no name of a NIC: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A range outside a region.
    #[error("{length} bytes at offset {offset} are outside the region's {region} bytes")]
    Range {
        /// From the region's first byte.
        offset: usize,
        /// Bytes.
        length: usize,
        /// The region's bytes.
        region: usize,
    },
    /// No place for a descriptor.
    #[error("no descriptor can be at {address:#x} of memory with the handle {handle:#x}: it is not registered, or read-only, the descriptor does not fit into it, or is not aligned to 64 bytes")]
    NoRegion {
        /// The handle.
        handle: u32,
        /// The address.
        address: usize,
    },
    /// A descriptor at an address that is no multiple of 64.
    #[error("a descriptor at {0:#x}: descriptors are aligned to 64 bytes")]
    Alignment(usize),
    /// Too many segments.
    #[error("a descriptor has at most 252 segments")]
    Segments,
    /// More bytes than a descriptor can say.
    #[error("{0} bytes in the segments of a descriptor: they have less than 2^32 in all")]
    Length(u64),
    /// The memory or completion queue belongs to another NIC.
    #[error("the memory, or the completion queue, is of another NIC than the virtual interface's")]
    OtherNic,
    /// The region has other users.
    #[error("the region is still held by a descriptor, a clone or another call")]
    InUse,
    /// The region's registration was ended, though there were clones.
    #[error(
        "the region is not registered any more: its registration was ended while there were clones of it"
    )]
    Revoked,
    /// The memory is read-only, and the NIC writes descriptors.
    #[error("a descriptor in memory that is registered read-only: the NIC completes it there")]
    ReadOnly,
    /// Memory could not be had.
    #[error("memory: {0}")]
    Memory(io::Error),
    /// The system gives no descriptor to wait on.
    #[error("a descriptor to wait on: {0}")]
    Descriptors(io::Error),
    /// The Kernel Agent's or the device's answer.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl Error {
    /// VIA's code for it.
    pub fn code(&self) -> Return {
        match self {
            Self::NotDone => Return::NotDone,
            Self::Empty | Self::Descriptor(_) => Return::DescriptorError,
            Self::Timeout => Return::Timeout,
            Self::Posted | Self::State(_) => Return::InvalidState,
            Self::NoMatch => Return::NoMatch,
            Self::Rejected(_) => Return::Reject,
            Self::NotReachable(_) => Return::NotReachable,
            Self::NotSupported(_) => Return::ErrorNotSupported,
            Self::Overrun(_) | Self::Memory(_) | Self::Descriptors(_) | Self::InUse => Return::ErrorResource,
            Self::Name { .. }
            | Self::Range { .. }
            | Self::Alignment(_)
            | Self::NoRegion { .. }
            | Self::Segments
            | Self::Length(_)
            | Self::Discriminator(_)
            | Self::PrivateData { .. }
            | Self::Backlog
            | Self::ReadOnly
            | Self::Revoked
            | Self::HasCq
            | Self::OtherForm
            | Self::OtherNic => Return::InvalidParameter,
            Self::Agent(error) => agent_code(error),
        }
    }

    /// Whether the device is gone: the simulator ended, or the function was removed.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Agent(error) if error.class() == ErrorClass::Gone)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        Self::Agent(error.into())
    }
}

impl Descriptor {
    /// An error of the descriptor's is one of the call's.
    pub(crate) fn judged(self) -> Result<Self, Error> {
        if self.status().is_error() {
            return Err(Error::Descriptor(Box::new(self)));
        }
        Ok(self)
    }
}

fn agent_code(error: &AgentError) -> Return {
    match error.class() {
        ErrorClass::Parameter => Return::InvalidParameter,
        ErrorClass::Resource | ErrorClass::Gone => Return::ErrorResource,
        ErrorClass::Ptag => Return::InvalidPtag,
        ErrorClass::RdmaRead => Return::InvalidRdmaRead,
        ErrorClass::Mtu => Return::InvalidMtu,
        ErrorClass::ReliabilityLevel => Return::InvalidReliabilityLevel,
        ErrorClass::State => Return::InvalidState,
        ErrorClass::Reject => Return::Reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_vias_numbers() {
        let numbers = [
            (Return::Success, 0),
            (Return::NotDone, 1),
            (Return::ErrorResource, 3),
            (Return::InvalidMtu, 7),
            (Return::DescriptorError, 11),
            (Return::NoMatch, 14),
            (Return::ErrorNotSupported, 16),
        ];
        assert!(numbers.iter().all(|(code, number)| *code as u32 == *number));
    }

    #[test]
    fn errors_have_vias_codes() {
        assert_eq!(Error::Overrun(8).code(), Return::ErrorResource);
        assert_eq!(Error::Empty.code(), Return::DescriptorError);
        assert_eq!(Error::Alignment(1).code(), Return::InvalidParameter);
        assert_eq!(Error::from(AgentError::UnknownTag(1)).code(), Return::InvalidPtag);
        let gone = DeviceError::Gone { place: "x".into(), reason: "y".into() };
        assert!(Error::from(gone).is_gone() && !Error::Timeout.is_gone());
    }
}
