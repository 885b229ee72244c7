//! The layouts of `viaduct_spec::descriptor`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Control segment: the first 32 bytes of a descriptor.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ControlSegment {
    /// Address of the next descriptor: the provider's from post to completion.
    pub next: Bits<64>,
    /// Memory handle of the next descriptor: the provider's from post to completion.
    pub next_handle: Bits<32>,
    /// Segments after the control segment, the address segment of RDMA included.
    pub seg_count: Bits<16>,
    /// Operation and flags: see control.
    pub control: Bits<16>,
    /// Must be 0.
    pub reserved: Bits<32>,
    /// 32 bits that travel with the message.
    pub immediate: Bits<32>,
    /// In: bytes in all data segments. Out: bytes transferred.
    pub length: Bits<32>,
    /// 0 when posted; written last by the NIC: see status.
    pub status: Bits<32>,
}

/// Data segment: 16 bytes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DataSegment {
    /// Virtual address of the first byte, any alignment.
    pub address: Bits<64>,
    /// Memory handle of the region.
    pub handle: Bits<32>,
    /// Bytes; 0 is legal.
    pub length: Bits<32>,
}

/// Address segment: the first segment of an RDMA descriptor, counted in SEG_COUNT and not in LENGTH.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AddressSegment {
    /// Remote virtual address of the first byte.
    pub address: Bits<64>,
    /// Remote memory handle: the rkey on the wire.
    pub handle: Bits<32>,
    /// Must be 0.
    pub reserved: Bits<32>,
}
