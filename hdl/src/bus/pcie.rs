//! What crosses between the PCIe edge and the rest of the NIC.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::STORE_LOG2;
use rust_hdl::prelude::*;

/// One beat of a TLP: see `viaduct_spec::tlp` for the packing.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TlpBeat {
    /// Two double words, the earlier in bits 31:0.
    pub data: Bits<64>,
    /// Which of the two double words are there: 01 or 11; 01 only with `last`.
    pub keep: Bits<2>,
    /// The beat is the last of its packet.
    pub last: bool,
}

/// A store of the host to BAR 0 or BAR 2, at most 8 bytes, in its aligned 8-byte lanes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MmioWrite {
    /// The store is to BAR 2, the doorbell pages.
    pub doorbell: bool,
    /// Byte offset in the BAR, low 3 bits 0.
    pub address: Bits<STORE_LOG2>,
    /// The eight bytes, in their lanes.
    pub data: Bits<64>,
    /// Which of the eight bytes are written.
    pub enables: Bits<8>,
}

/// A load of the host from BAR 0 or BAR 2, one or two double words, and what its completion needs.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MmioRead {
    /// The load is from BAR 2.
    pub doorbell: bool,
    /// Byte offset in the BAR, low 2 bits 0.
    pub address: Bits<20>,
    /// Two double words are asked for, not one.
    pub pair: bool,
    /// The request cannot be served: answer it as unsupported.
    pub unsupported: bool,
    /// Low 7 bits of the first byte's address.
    pub lower_address: Bits<7>,
    /// Bytes asked for, 1 to 8.
    pub byte_count: Bits<4>,
    /// Tag of the request.
    pub tag: Bits<8>,
    /// Identifier of the function that asks, to which the completion goes.
    pub requester: Bits<16>,
    /// Attributes of the request, to repeat.
    pub attr: Bits<2>,
    /// Traffic class of the request, to repeat.
    pub traffic_class: Bits<3>,
}
