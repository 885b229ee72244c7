//! The headers of an untagged RoCEv2 frame, as its beats hold them: eight bytes each, as one number with the first byte on top.
//!
//! A bundle's first field has the lowest bits, so the fields stand in the wire's order from the end of the beat to its beginning. A field
//! that two beats share has its parts in both. `tests/receive/parse/beats.rs` holds the fields of BTH and RETH beside their layouts in
//! `viaduct_spec::wire`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Which beat of a frame is here: one of them, or none. Packed, bit n is beat n, and bit 7 every later one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct BeatAt {
    pub beat_0: bool,
    pub beat_1: bool,
    pub beat_2: bool,
    pub beat_3: bool,
    pub beat_4: bool,
    pub beat_5: bool,
    pub beat_6: bool,
    /// Beat 7, or one behind it.
    pub later: bool,
}

/// Bytes 0 to 7, in the wire's order and not turned round: MAC addresses are no numbers.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat0 {
    /// Destination MAC address, first byte in bits 7:0.
    pub destination: Bits<48>,
    /// The source's first two bytes.
    pub source: Bits<16>,
}

/// A MAC address in the wire's order.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MacAddress {
    /// The address is that of a group: multicast or broadcast.
    pub group: bool,
    pub rest: Bits<47>,
}

/// Bytes 8 to 15: the rest of the Ethernet header, and the first two of the IPv4 header.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat1 {
    /// Explicit congestion notification.
    pub ecn: Bits<2>,
    /// Differentiated services.
    pub dscp: Bits<6>,
    /// IP version and the header's length in words of four bytes.
    pub version: Bits<8>,
    pub ether_type: Bits<16>,
    /// The source's last four bytes.
    pub source: Bits<32>,
}

/// Bytes 16 to 23: of the IPv4 header.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat2 {
    pub protocol: Bits<8>,
    pub time_to_live: Bits<8>,
    /// Fragment offset, and above it the bit that says that more fragments follow: 0 of a whole packet.
    pub fragment: Bits<14>,
    /// Not to be fragmented; and a reserved bit.
    pub flags: Bits<2>,
    pub identification: Bits<16>,
    /// Bytes of the IP packet.
    pub total_length: Bits<16>,
}

/// Bytes 24 to 31: of the IPv4 header.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat3 {
    /// The destination's first two bytes.
    pub destination_high: Bits<16>,
    pub source: Bits<32>,
    pub checksum: Bits<16>,
}

/// Bytes 32 to 39: the end of the IPv4 header, and of the UDP header.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat4 {
    /// Bytes of the UDP datagram.
    pub udp_length: Bits<16>,
    pub destination_port: Bits<16>,
    pub source_port: Bits<16>,
    /// The destination's last two bytes.
    pub destination_low: Bits<16>,
}

/// Bytes 40 to 47: the end of the UDP header, and of the BTH.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat5 {
    /// The destination queue pair's first byte.
    pub queue_pair_high: Bits<8>,
    pub reserved: Bits<8>,
    pub pkey: Bits<16>,
    pub version: Bits<4>,
    pub pad: Bits<2>,
    pub migration: bool,
    pub solicited: bool,
    pub opcode: Bits<8>,
    pub udp_checksum: Bits<16>,
}

/// Bytes 48 to 55: the end of the BTH, and what follows it.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat6 {
    /// The first two bytes behind the BTH: of an AETH or of immediate data, or of the address in a RETH.
    pub behind: Bits<16>,
    pub psn: Bits<24>,
    pub reserved: Bits<7>,
    pub ack_request: bool,
    /// The destination queue pair's last two bytes.
    pub queue_pair_low: Bits<16>,
}

/// Bytes 56 to 63 of a frame with a RETH.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat7 {
    /// The memory handle's first two bytes.
    pub rkey_high: Bits<16>,
    /// The address' last six bytes.
    pub address_low: Bits<48>,
}

/// Bytes 64 to 71 of a frame with a RETH.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Beat8 {
    /// The first two bytes of immediate data, if there are any.
    pub extension_high: Bits<16>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// The memory handle's last two bytes.
    pub rkey_low: Bits<16>,
}

/// A beat in which an extension, begun in the beat before, ends: bytes 56 to 63, or with a RETH 72 to 79.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct BeatExtension {
    pub payload: Bits<48>,
    /// The extension's last two bytes.
    pub extension_low: Bits<16>,
}
