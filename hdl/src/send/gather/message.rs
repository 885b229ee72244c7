//! What check has found out about a message, for cut and for the count of its packets.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A message as check has found it: its fields, and whether it may be sent.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CheckedMessage {
    /// Nothing of it is sent: `errors` says why, or the descriptor is lost.
    pub ends: bool,
    /// The message may not begin before a read is complete.
    pub parks: bool,
    /// Error bits 8:1 of the status.
    pub errors: Bits<9>,
    /// With an error: segments of the descriptor could not be read.
    pub unread: bool,
    /// The message is an RDMA read.
    pub reads: bool,
    /// `viaduct_spec::descriptor::control` bits 1:0.
    pub operation: Bits<2>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// The message carries immediate data.
    pub has_immediate: bool,
    /// Immediate data as in the descriptor.
    pub immediate: Bits<32>,
    /// RDMA: virtual address at the peer.
    pub remote_address: Bits<64>,
    /// RDMA: memory handle at the peer.
    pub rkey: Bits<32>,
    /// Protection tag of the VI.
    pub tag: Bits<16>,
    /// Bytes of payload that a packet may have; of service RAW more than any frame has.
    pub mtu: Bits<13>,
    /// log2 of the path MTU.
    pub mtu_log2: Bits<4>,
    /// Packets of the message that are not sent again.
    pub skip: Bits<24>,
    /// Reads of the VI that were complete, modulo 8, when `parks` was decided.
    pub complete: Bits<3>,
}
