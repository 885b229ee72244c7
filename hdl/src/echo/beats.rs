//! The beats of ARP requests and pings behind the Ethernet header, as bundles. Bytes stand as in [`crate::mac::ethernet`]: the first byte
//! on the wire is in the lowest bits, so numbers that are more than one byte long have their bytes turned round.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// An IPv4 address, cut where a beat ends.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SplitIp {
    /// Its first two bytes.
    pub first: Bits<16>,
    /// Its last two bytes.
    pub rest: Bits<16>,
}

/// Any beat, as 16-bit words: what a check sum is made of.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Words {
    pub first: Bits<16>,
    pub second: Bits<16>,
    pub third: Bits<16>,
    pub fourth: Bits<16>,
}

/// Bytes 16 to 23 of an ARP packet's frame. Its hardware type is the content of the [`TypeBeat`](crate::mac::ethernet::TypeBeat).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ArpKind {
    /// Which addresses are asked for, an Ethernet type.
    pub protocol: Bits<16>,
    /// Bytes of an Ethernet address, 6.
    pub hardware_bytes: Bits<8>,
    /// Bytes of an IPv4 address, 4.
    pub protocol_bytes: Bits<8>,
    /// 1 is a request, 2 a reply.
    pub operation: Bits<16>,
    /// First two bytes of the sender's Ethernet address.
    pub sender_first: Bits<16>,
}

/// Bytes 24 to 31 of an ARP packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ArpSender {
    /// Last four bytes of the sender's Ethernet address.
    pub rest: Bits<32>,
    /// The sender's IPv4 address.
    pub address: Bits<32>,
}

/// Bytes 32 to 39 of an ARP packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ArpTarget {
    /// The target's Ethernet address; of a request it counts nothing.
    pub station: Bits<48>,
    /// First two bytes of the target's IPv4 address.
    pub address_first: Bits<16>,
}

/// Bytes 40 to 47 of an ARP packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ArpEnd {
    /// Last two bytes of the target's IPv4 address.
    pub address_rest: Bits<16>,
    /// What follows the packet in its frame.
    pub padding: Bits<48>,
}

/// Bytes 8 to 15 of an IPv4 packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct IpStart {
    /// Last four bytes of the Ethernet address of the frame's sender.
    pub source_rest: Bits<32>,
    /// Ethernet type.
    pub ethertype: Bits<16>,
    /// Version and length of the header.
    pub version: Bits<8>,
    /// Type of service.
    pub service: Bits<8>,
}

/// Bytes 16 to 23 of an IPv4 packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct IpMiddle {
    /// High byte of the packet's length in bytes.
    pub total_high: Bits<8>,
    /// Low byte of it.
    pub total_low: Bits<8>,
    /// Identification.
    pub identification: Bits<16>,
    /// Flags, and place of a fragment.
    pub fragment: Bits<16>,
    /// Time to live.
    pub life: Bits<8>,
    /// What the packet carries.
    pub protocol: Bits<8>,
}

/// Bytes 24 to 31 of an IPv4 packet's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct IpAddresses {
    /// Check sum of the header.
    pub header_sum: Bits<16>,
    /// The packet's sender.
    pub source: Bits<32>,
    /// First two bytes of the address that it is for.
    pub destination_first: Bits<16>,
}

/// Bytes 32 to 39 of a ping's frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PingStart {
    /// Last two bytes of the address that the packet is for.
    pub destination_rest: Bits<16>,
    /// Type and code of the message.
    pub kind: Bits<16>,
    /// Check sum of the message.
    pub sum: Bits<16>,
    /// Identifier of the ping.
    pub identifier: Bits<16>,
}
