//! The first beats of an Ethernet frame, as bundles. A bundle's first field has the lowest bits, and the first byte on the wire is in bits
//! 7:0, so numbers that are more than one byte long stand here with their bytes turned round: type 0806 is 0x0608.
//!
//! [`Cast`](crate::prims::Cast) turns the 64 bits of a beat into one of these, and back.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Ethernet type of MAC control frames, 8808.
pub const CONTROL_TYPE: u64 = 0x0888;
/// Ethernet type of ARP, 0806.
pub const ARP_TYPE: u64 = 0x0608;
/// Ethernet type of IPv4, 0800.
pub const IPV4_TYPE: u64 = 0x0008;
/// Opcode of a pause among the control frames, 0001.
pub const PAUSE_OPCODE: u64 = 0x0100;
/// The group address of pause frames, 01-80-C2-00-00-01.
pub const PAUSE_GROUP: u64 = 0x0100_00c2_8001;
/// The address of everybody.
pub const BROADCAST: u64 = 0xffff_ffff_ffff;

/// An Ethernet address, cut where a frame's first beat ends.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SplitAddress {
    /// Its first two bytes.
    pub first: Bits<16>,
    /// Its last four bytes.
    pub rest: Bits<32>,
}

/// Bytes 0 to 7 of a frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AddressBeat {
    /// Whom the frame is for.
    pub destination: Bits<48>,
    /// First two bytes of the sender's address.
    pub source_first: Bits<16>,
}

/// Bytes 8 to 15 of a frame without VLAN tag.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TypeBeat {
    /// Last four bytes of the sender's address.
    pub source_rest: Bits<32>,
    /// What the frame carries, an Ethernet type.
    pub ethertype: Bits<16>,
    /// First two bytes of that: of a control frame its opcode.
    pub content: Bits<16>,
}

/// Bytes 16 to 23 of a pause frame.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PauseBeat {
    /// High byte of the time, in quanta of 512 bits.
    pub quanta_high: Bits<8>,
    /// Low byte of the time.
    pub quanta_low: Bits<8>,
    /// Zeros.
    pub zeros: Bits<48>,
}
