//! RDMA reads, of both sides.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::Vi;
use rust_hdl::prelude::*;

/// An RDMA read that a peer asks for.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadRequest {
    /// The VI that the peer asks.
    pub vi: Vi,
    /// The request's PSN is not the one expected, but behind it.
    pub again: bool,
    /// Virtual address of the first byte.
    pub address: Bits<64>,
    /// Memory handle.
    pub rkey: Bits<32>,
    /// Bytes that are asked for, 0 to 2^31.
    pub length: Bits<32>,
    /// PSN of the first packet of the answer.
    pub psn: Bits<24>,
    /// Messages executed, this one included, modulo 2^24.
    pub msn: Bits<24>,
    /// The VI is of Reliable Reception.
    pub reception: bool,
}

/// One packet of the answer to an RDMA read, without its bytes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Reply {
    /// The VI that answers.
    pub vi: Vi,
    /// Virtual address of the packet's first byte.
    pub address: Bits<64>,
    /// Memory handle.
    pub rkey: Bits<32>,
    /// Bytes from `address` to the end of the answer.
    pub span: Bits<32>,
    /// Bytes of the packet, 0 to 4096.
    pub length: Bits<13>,
    /// First packet of its answer.
    pub first: bool,
    /// Last packet of its answer.
    pub last: bool,
    /// PSN of the packet.
    pub psn: Bits<24>,
    /// Messages executed, modulo 2^24.
    pub msn: Bits<24>,
}

/// An RDMA read that leaves, from transmit to `receive/reads`, which waits for the answer.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadSent {
    /// The VI that reads.
    pub vi: Vi,
    /// Which of the VI's reads, counted modulo 8: one that is sent again has its old number.
    pub number: Bits<3>,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Segments of the descriptor, the address segment included.
    pub segments: Bits<8>,
    /// Bytes of the message.
    pub length: Bits<32>,
    /// PSN of the first packet of the answer; of a read that is sent again, the PSN from which it asks.
    pub psn: Bits<24>,
}

/// An answer from the wire: an acknowledgement, or a packet of the answer to an RDMA read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Answer {
    /// The VI that the answer is for.
    pub vi: Vi,
    /// Path MTU of the VI: 256 << MTU bytes.
    pub mtu: Bits<3>,
    /// The answer is a packet of the answer to an RDMA read; otherwise an acknowledgement.
    pub response: bool,
    /// READ_RESPONSE_FIRST or _ONLY.
    pub first: bool,
    /// READ_RESPONSE_LAST or _ONLY.
    pub last: bool,
    /// PSN of the answer.
    pub psn: Bits<24>,
    /// Payload bytes of the packet.
    pub length: Bits<13>,
    /// `viaduct_spec::wire::syndrome`; a MIDDLE has none.
    pub syndrome: Bits<8>,
}

/// Whether a [`ReadRequest`] is kept.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Admission {
    /// The request is kept, and will be answered.
    pub ok: bool,
    /// The peer has no right to read there.
    pub denied: bool,
    /// PSNs that its answer takes.
    pub packets: Bits<24>,
}

/// The VIs of which a packet of the answer to a read may be on its way to memory, so that the read is not completed yet.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Placing {
    /// A packet of an answer is being placed.
    pub placed: bool,
    /// The VI that it is for.
    pub placed_vi: Vi,
    /// A frame is looked up, which may be such a packet.
    pub looked_up: bool,
    /// The VI that it is for.
    pub looked_up_vi: Vi,
}
