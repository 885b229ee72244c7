//! The wire: RoCEv2 (InfiniBand Architecture 1.4 volume 1, chapter 9, and annex A17). Multi-byte
//! fields are big-endian on the wire; the ICRC is little-endian.

use crate::{codes, layout};

/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Ethernet header in bytes, untagged.
pub const ETHERNET_BYTES: usize = 14;
/// IPv4 header in bytes; options are not taken.
pub const IPV4_BYTES: usize = 20;
/// UDP header in bytes.
pub const UDP_BYTES: usize = 8;
/// Base transport header in bytes.
pub const BTH_BYTES: usize = 12;
/// Headers of every frame, in bytes, untagged.
pub const HEADER_BYTES: usize = ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + BTH_BYTES;
/// RDMA extended transport header in bytes.
pub const RETH_BYTES: usize = 16;
/// An extension header of ours (immediate data or AETH) in bytes.
pub const EXTENSION_BYTES: usize = 4;
/// Invariant CRC in bytes.
pub const ICRC_BYTES: usize = 4;
/// Largest payload of a frame in bytes.
pub const MAX_MTU: usize = 4096;
/// The default P_Key, full member.
pub const DEFAULT_PKEY: u16 = 0xFFFF;
/// CRC-32 register after an undamaged frame and its ICRC have gone through it (reflected, before
/// the final inversion).
pub const ICRC_RESIDUE: u32 = 0xDEBB_20E3;

layout! {
    /// Base transport header, as a 96-bit big-endian number: bit 95 is the first on the wire.
    bth: 96 {
        /// Packet sequence number.
        PSN: 0, 24;
        /// The sender asks for an acknowledgement: of a reliable service, never of the unreliable one.
        ACK_REQUEST: 31, 1;
        /// Destination queue pair number.
        QUEUE_PAIR: 32, 24;
        /// Partition key.
        PKEY: 64, 16;
        /// Transport version: 0.
        VERSION: 80, 4;
        /// Zero bytes after the payload, 0 to 3.
        PAD: 84, 2;
        /// Migration request.
        MIGRATION: 86, 1;
        /// Solicited event.
        SOLICITED: 87, 1;
        /// See opcode.
        OPCODE: 88, 8;
    }
}

layout! {
    /// RDMA extended transport header, as a 128-bit big-endian number.
    reth: 128 {
        /// Bytes of the whole message.
        LENGTH: 0, 32;
        /// Memory handle of the region, the rkey.
        RKEY: 32, 32;
        /// Virtual address of the first byte.
        ADDRESS: 64, 64;
    }
}

layout! {
    /// ACK extended transport header, as a 32-bit big-endian number.
    aeth: 32 {
        /// Messages completed, modulo 2^24.
        MSN: 0, 24;
        /// See syndrome.
        SYNDROME: 24, 8;
    }
}

codes! {
    /// BTH opcodes.
    opcode: u8 {
        /// Reliable connection: first packet of a send.
        RC_SEND_FIRST = 0x00;
        /// Reliable connection: middle packet of a send.
        RC_SEND_MIDDLE = 0x01;
        /// Reliable connection: last packet of a send.
        RC_SEND_LAST = 0x02;
        /// Reliable connection: last packet of a send, with immediate data.
        RC_SEND_LAST_IMMEDIATE = 0x03;
        /// Reliable connection: a send in one packet.
        RC_SEND_ONLY = 0x04;
        /// Reliable connection: a send in one packet, with immediate data.
        RC_SEND_ONLY_IMMEDIATE = 0x05;
        /// Reliable connection: first packet of an RDMA write, with RETH.
        RC_WRITE_FIRST = 0x06;
        /// Reliable connection: middle packet of an RDMA write.
        RC_WRITE_MIDDLE = 0x07;
        /// Reliable connection: last packet of an RDMA write.
        RC_WRITE_LAST = 0x08;
        /// Reliable connection: last packet of an RDMA write, with immediate data.
        RC_WRITE_LAST_IMMEDIATE = 0x09;
        /// Reliable connection: an RDMA write in one packet, with RETH.
        RC_WRITE_ONLY = 0x0A;
        /// Reliable connection: an RDMA write in one packet, with RETH and immediate data.
        RC_WRITE_ONLY_IMMEDIATE = 0x0B;
        /// Reliable connection: an RDMA read request, with RETH.
        RC_READ_REQUEST = 0x0C;
        /// Reliable connection: first packet of an answer to an RDMA read, with AETH.
        RC_READ_RESPONSE_FIRST = 0x0D;
        /// Reliable connection: middle packet of an answer to an RDMA read.
        RC_READ_RESPONSE_MIDDLE = 0x0E;
        /// Reliable connection: last packet of an answer to an RDMA read, with AETH.
        RC_READ_RESPONSE_LAST = 0x0F;
        /// Reliable connection: an answer to an RDMA read in one packet, with AETH.
        RC_READ_RESPONSE_ONLY = 0x10;
        /// Reliable connection: acknowledgement, with AETH.
        RC_ACKNOWLEDGE = 0x11;
        /// Unreliable connection: first packet of a send.
        UC_SEND_FIRST = 0x20;
        /// Unreliable connection: middle packet of a send.
        UC_SEND_MIDDLE = 0x21;
        /// Unreliable connection: last packet of a send.
        UC_SEND_LAST = 0x22;
        /// Unreliable connection: last packet of a send, with immediate data.
        UC_SEND_LAST_IMMEDIATE = 0x23;
        /// Unreliable connection: a send in one packet.
        UC_SEND_ONLY = 0x24;
        /// Unreliable connection: a send in one packet, with immediate data.
        UC_SEND_ONLY_IMMEDIATE = 0x25;
        /// Unreliable connection: first packet of an RDMA write, with RETH.
        UC_WRITE_FIRST = 0x26;
        /// Unreliable connection: middle packet of an RDMA write.
        UC_WRITE_MIDDLE = 0x27;
        /// Unreliable connection: last packet of an RDMA write.
        UC_WRITE_LAST = 0x28;
        /// Unreliable connection: last packet of an RDMA write, with immediate data.
        UC_WRITE_LAST_IMMEDIATE = 0x29;
        /// Unreliable connection: an RDMA write in one packet, with RETH.
        UC_WRITE_ONLY = 0x2A;
        /// Unreliable connection: an RDMA write in one packet, with RETH and immediate data.
        UC_WRITE_ONLY_IMMEDIATE = 0x2B;
        /// Unreliable datagram: a send in one packet, with DETH: the raw channel's.
        UD_SEND_ONLY = 0x64;
        /// Congestion notification.
        CONGESTION = 0x81;
    }
}

codes! {
    /// AETH syndromes.
    syndrome: u8 {
        /// Acknowledgement; no credits are counted.
        ACK = 0x1F;
        /// Receiver not ready; the low 5 bits are its timer code.
        RNR_NAK = 0x20;
        /// Negative acknowledgement: PSN sequence error.
        NAK_SEQUENCE = 0x60;
        /// Negative acknowledgement: invalid request.
        NAK_INVALID = 0x61;
        /// Negative acknowledgement: remote access error.
        NAK_ACCESS = 0x62;
        /// Negative acknowledgement: remote operational error.
        NAK_OPERATIONAL = 0x63;
    }
}

layout! {
    /// What a syndrome is made of.
    syndrome_parts: 8 {
        /// Timer code or error code.
        VALUE: 0, 5;
        /// See syndrome_class.
        CLASS: 5, 2;
    }
}

codes! {
    /// Classes of syndromes.
    syndrome_class: u64 {
        /// Positive.
        ACK = 0;
        /// The receiver is not ready.
        RNR = 1;
        /// Reserved.
        RESERVED = 2;
        /// Negative.
        NAK = 3;
    }
}

/// How long a receiver-not-ready answer asks to wait, in microseconds, by its timer code.
pub const RNR_DELAY: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840, 5120, 7680,
    10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840, 245_760, 327_680, 491_520,
];
