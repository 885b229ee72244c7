//! How a descriptor completed.

use std::fmt;

use viaduct_spec::descriptor::status;

bitflags::bitflags! {
    /// The status word of a completed descriptor, without the operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Status: u32 {
        /// The descriptor is complete.
        const DONE = status::DONE;
        /// The descriptor is malformed.
        const FORMAT_ERROR = status::FORMAT_ERROR;
        /// A local data segment failed its handle, range or tag check.
        const PROTECTION_ERROR = status::PROTECTION_ERROR;
        /// Send: Length is not the sum of the segments, or above MaxTransferSize. Receive: the message is longer than the buffers.
        const LENGTH_ERROR = status::LENGTH_ERROR;
        /// Only part of the message arrived (Unreliable Delivery).
        const PARTIAL_ERROR = status::PARTIAL_ERROR;
        /// Taken off the queue without being executed.
        const DESC_FLUSHED_ERROR = status::DESC_FLUSHED_ERROR;
        /// The transport failed while the descriptor was executed; delivery is not known.
        const TRANSPORT_ERROR = status::TRANSPORT_ERROR;
        /// The remote side refused an RDMA access.
        const RDMA_PROT_ERROR = status::RDMA_PROT_ERROR;
        /// The remote receive descriptor was in error or missing.
        const REMOTE_DESC_ERROR = status::REMOTE_DESC_ERROR;
        /// ImmediateData is valid.
        const IMMEDIATE = status::IMMEDIATE;
    }
}

impl Status {
    /// Whether any error bit is set.
    pub fn is_error(self) -> bool {
        self.bits() & status::ERROR_MASK != 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bitflags::parser::to_writer(self, f)
    }
}
