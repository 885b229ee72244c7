//! What the framer is given: one frame to make.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

use crate::bus::Vi;

/// A frame to make. Its template is the VI's.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FrameJob {
    /// The VI that sends.
    pub vi: Vi,
    /// Opcode of the BTH.
    pub opcode: Bits<8>,
    /// PSN of the BTH.
    pub psn: Bits<24>,
    /// The frame asks for an acknowledgement.
    pub ack_request: bool,
    /// Bytes of pad behind the payload, 0 to 3.
    pub pad: Bits<2>,
    /// An extension header is there.
    pub extended: bool,
    /// The extension header, first byte on the wire in bits 7:0.
    pub extension: Bits<32>,
    /// A RETH is there.
    pub has_reth: bool,
    /// The RETH, first byte on the wire in bits 7:0.
    pub reth: Bits<128>,
    /// Words of payload, of 8 bytes.
    pub words: Bits<10>,
    /// RETH, extension, payload and pad in units of 4 bytes.
    pub quads: Bits<11>,
    /// The frame turns round inside the NIC.
    pub loopback: bool,
    /// The payload is the frame.
    pub raw: bool,
    /// Low three bits of the raw frame's length in bytes.
    pub over: Bits<3>,
}
