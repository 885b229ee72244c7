//! The layouts of `viaduct_spec::wire`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Base transport header, as a 96-bit big-endian number: bit 95 is the first on the wire.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Bth {
    /// Packet sequence number.
    pub psn: Bits<24>,
    /// Reserved, 0.
    pub reserved_24: Bits<7>,
    /// The sender asks for an acknowledgement: of a reliable service, never of the unreliable one.
    pub ack_request: bool,
    /// Destination queue pair number.
    pub queue_pair: Bits<24>,
    /// Reserved, 0.
    pub reserved_56: Bits<8>,
    /// Partition key.
    pub pkey: Bits<16>,
    /// Transport version: 0.
    pub version: Bits<4>,
    /// Zero bytes after the payload, 0 to 3.
    pub pad: Bits<2>,
    /// Migration request.
    pub migration: bool,
    /// Solicited event.
    pub solicited: bool,
    /// See opcode.
    pub opcode: Bits<8>,
}

/// RDMA extended transport header, as a 128-bit big-endian number.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Reth {
    /// Bytes of the whole message.
    pub length: Bits<32>,
    /// Memory handle of the region, the rkey.
    pub rkey: Bits<32>,
    /// Virtual address of the first byte.
    pub address: Bits<64>,
}

/// ACK extended transport header, as a 32-bit big-endian number.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Aeth {
    /// Messages completed, modulo 2^24.
    pub msn: Bits<24>,
    /// See syndrome.
    pub syndrome: Bits<8>,
}

/// What a syndrome is made of.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SyndromeParts {
    /// Timer code or error code.
    pub value: Bits<5>,
    /// See syndrome_class.
    pub class: Bits<2>,
    /// Reserved, 0.
    pub reserved_7: bool,
}
