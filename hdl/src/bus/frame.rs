//! Ethernet frames, and what the parser found in one.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// One beat of an Ethernet frame, without preamble and FCS.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameBeat {
    /// Eight bytes, the first in bits 7:0.
    pub data: Bits<64>,
    /// Number of bytes that are there, 1 to 8; fewer than 8 only with `last`.
    pub count: Bits<4>,
    /// The beat is the last of its frame.
    pub last: bool,
    /// With `last`: the MAC found the frame damaged.
    pub bad: bool,
}

/// What the parser found in a frame that is whole, undamaged and ours.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameInfo {
    /// BTH opcode.
    pub opcode: Bits<8>,
    /// Destination queue pair.
    pub queue_pair: Bits<24>,
    /// PSN of the packet.
    pub psn: Bits<24>,
    /// Acknowledge request.
    pub ack_request: bool,
    /// Immediate data or AETH, most significant byte = first on the wire.
    pub extension: Bits<32>,
    /// IPv4 source address, most significant byte = first on the wire.
    pub source_ip: Bits<32>,
    /// Four bytes of immediate data or AETH are in front of the payload.
    pub extended: bool,
    /// A RETH is in front of them.
    pub reth: bool,
    /// Virtual address in the RETH.
    pub address: Bits<64>,
    /// Memory handle in the RETH.
    pub rkey: Bits<32>,
    /// Length in the RETH: bytes of the whole message.
    pub size: Bits<32>,
    /// Payload bytes without pad; of a raw frame all bytes.
    pub length: Bits<13>,
    /// For the raw channel: the whole frame is payload. Of the rest only `queue_pair` counts, which is the raw VI's index, and `opcode`,
    /// which is that of an unreliable send of one packet.
    pub raw: bool,
    /// The frame has a VLAN tag in the store.
    pub has_tag: bool,
    /// Word of the frame store at which the frame starts.
    pub start: Bits<11>,
    /// The frame's place in the roster.
    pub place: Bits<4>,
}
