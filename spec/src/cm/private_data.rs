//! What stands in the private data of communication management's messages: the header of Linux's rdma_cm, and VIA's own.

use crate::packet;

packet! {
    /// The header that rdma_cm puts in front of a REQ's private data.
    rdma_cm: 36 {
        /// Version: 0.
        VERSION: 0, 0, 8;
        /// IP version: 4 or 6.
        IP_VERSION: 1, 0, 4;
        /// The sender's port.
        PORT: 2, 0, 16;
        /// The sender's address; IPv4 in the last four bytes.
        SOURCE: 4, 0, 128;
        /// The receiver's address.
        TARGET: 20, 0, 128;
    }
}

packet! {
    /// What a VI's side tells of itself, in a REQ's private data behind rdma_cm, in a REP's at its start. In an RTU only MAGIC,
    /// VERSION and PROBE.
    via: 12 {
        /// 0x5649: there is a VI.
        MAGIC: 0, 0, 16;
        /// Version of this layout: 2.
        VERSION: 2, 0, 4;
        /// RTU: answer with the REP, to show that you are there.
        PROBE: 2, 7, 1;
        /// REQ: a peer request; else a client's.
        PEER: 3, 0, 1;
        /// The sender's VI lets its peer write memory that is open to it.
        RDMA_WRITE: 3, 1, 1;
        /// The sender's VI lets its peer read memory that is open to it.
        RDMA_READ: 3, 2, 1;
        /// The sender stays connected when a message finds no receive; else it breaks.
        RNR_STAY: 3, 3, 1;
        /// Reliability level: see service.
        LEVEL: 3, 6, 2;
        /// MaxTransferSize in bytes.
        MAX_TRANSFER: 4, 0, 32;
        /// Bytes of the sender's discriminator, which stands behind this header (REQ).
        FROM_LENGTH: 8, 0, 8;
        /// Bytes of the discriminator that is asked for, behind that (REQ).
        TO_LENGTH: 9, 0, 8;
        /// Largest packet that the sender takes: 1 is 256 bytes, 5 is 4096.
        MTU: 10, 0, 3;
        /// Timer code of its receiver-not-ready answers.
        RNR_TIMER: 10, 3, 5;
        /// Bytes of the consumer's own, behind the discriminators.
        DATA_LENGTH: 11, 0, 8;
    }
}

/// What marks VIA's private data.
pub const VIA_MAGIC: u16 = 0x5649;
/// Version of its layout. In version 1 the starting PSN of a REQ or REP was that of its sender's own first packet.
pub const VIA_VERSION: u8 = 2;
