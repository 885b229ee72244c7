//! VIA descriptors: one 32-byte control segment, then up to 252 segments of 16 bytes
//! (VI Architecture Specification 1.0, descriptor format; offsets as in `vipl.h`).

use crate::{codes, layout};

/// Descriptors are aligned to this many bytes.
pub const ALIGNMENT: usize = 64;
/// The control segment's size in bytes.
pub const CONTROL_SEGMENT_BYTES: usize = 32;
/// A data or address segment's size in bytes.
pub const SEGMENT_BYTES: usize = 16;
/// The most segments a descriptor may have after its control segment.
pub const MAX_SEGMENTS: u16 = 252;
/// Byte offset of `ImmediateData` in the descriptor.
pub const IMMEDIATE_OFFSET: u64 = 20;
/// Byte offset of `Length`; `Status` follows it: the aligned 8 bytes of an in-place completion.
pub const COMPLETION_OFFSET: u64 = 24;

layout! {
    /// Control segment: the first 32 bytes of a descriptor.
    control_segment: 256 {
        /// Address of the next descriptor: the provider's from post to completion.
        NEXT: 0, 64;
        /// Memory handle of the next descriptor: the provider's from post to completion.
        NEXT_HANDLE: 64, 32;
        /// Segments after the control segment, the address segment of RDMA included.
        SEG_COUNT: 96, 16;
        /// Operation and flags: see control.
        CONTROL: 112, 16;
        /// Must be 0.
        RESERVED: 128, 32;
        /// 32 bits that travel with the message.
        IMMEDIATE: 160, 32;
        /// In: bytes in all data segments. Out: bytes transferred.
        LENGTH: 192, 32;
        /// 0 when posted; written last by the NIC: see status.
        STATUS: 224, 32;
    }
}

layout! {
    /// Data segment: 16 bytes.
    data_segment: 128 {
        /// Virtual address of the first byte, any alignment.
        ADDRESS: 0, 64;
        /// Memory handle of the region.
        HANDLE: 64, 32;
        /// Bytes; 0 is legal.
        LENGTH: 96, 32;
    }
}

layout! {
    /// Address segment: the first segment of an RDMA descriptor, counted in SEG_COUNT and not in LENGTH.
    address_segment: 128 {
        /// Remote virtual address of the first byte.
        ADDRESS: 0, 64;
        /// Remote memory handle: the rkey on the wire.
        HANDLE: 64, 32;
        /// Must be 0.
        RESERVED: 96, 32;
    }
}

codes! {
    /// Bits of the control word.
    control: u16 {
        /// Operation: send or receive.
        OP_SENDRECV = 0;
        /// Operation: RDMA write.
        OP_RDMAWRITE = 1;
        /// Operation: RDMA read.
        OP_RDMAREAD = 2;
        /// Mask of the operation.
        OP_MASK = 3;
        /// ImmediateData is valid.
        IMMEDIATE = 4;
        /// Queue fence: start only when every earlier RDMA read of the queue has completed.
        QFENCE = 8;
        /// Must be 0.
        RESERVED = 0xFFF0;
    }
}

codes! {
    /// Bits of the status word.
    status: u32 {
        /// The descriptor is complete.
        DONE = 0x1;
        /// The descriptor is malformed.
        FORMAT_ERROR = 0x2;
        /// A local data segment failed its handle, range or tag check.
        PROTECTION_ERROR = 0x4;
        /// Send: Length is not the sum of the segments, or above MaxTransferSize. Receive: the message is longer than the buffers.
        LENGTH_ERROR = 0x8;
        /// Only part of the message arrived (Unreliable Delivery).
        PARTIAL_ERROR = 0x10;
        /// Taken off the queue without being executed.
        DESC_FLUSHED_ERROR = 0x20;
        /// The transport failed while the descriptor was executed; delivery is not known.
        TRANSPORT_ERROR = 0x40;
        /// The remote side refused an RDMA access.
        RDMA_PROT_ERROR = 0x80;
        /// The remote receive descriptor was in error or missing.
        REMOTE_DESC_ERROR = 0x100;
        /// All error bits.
        ERROR_MASK = 0x1FE;
        /// Operation completed: send.
        OP_SEND = 0x0_0000;
        /// Operation completed: receive.
        OP_RECEIVE = 0x1_0000;
        /// Operation completed: RDMA write.
        OP_RDMA_WRITE = 0x2_0000;
        /// Operation completed: a remote RDMA write with immediate data.
        OP_REMOTE_RDMA_WRITE = 0x3_0000;
        /// Operation completed: RDMA read.
        OP_RDMA_READ = 0x4_0000;
        /// Mask of the operation.
        OP_MASK = 0x7_0000;
        /// ImmediateData is valid: of a receive, never of a send.
        IMMEDIATE = 0x8_0000;
        /// Reserved, 0.
        RESERVED = 0xFFF0_FE00;
    }
}
