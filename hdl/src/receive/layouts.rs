//! Layouts of `spec/` as bundles: the lowest field first, so that a [`Cast`](crate::prims::Cast) from the bits is the fields.
//!
//! `tests/receive/layouts.rs` holds each beside its layout in `viaduct_spec`: name, place and width of every field.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A row of RECEIVE: `viaduct_spec::tables::receive`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReceiveRow {
    /// IPv4 address of the peer, most significant byte = first on the wire.
    pub peer_ip: Bits<32>,
    /// PSN expected next.
    pub psn: Bits<24>,
    /// `viaduct_spec::tables::service`.
    pub service: Bits<2>,
    /// Code of the path MTU.
    pub mtu: Bits<3>,
    pub reserved_0: Bits<3>,
    /// Tag of the VI.
    pub tag: Bits<16>,
    /// Generation that a queue pair number must carry.
    pub generation: Bits<14>,
    pub reserved_1: Bits<2>,
    /// The peer may write to the VI's memory.
    pub rdma_write: bool,
    /// The peer may read the VI's memory.
    pub rdma_read: bool,
    /// A message that finds no receive is refused and the VI stays; otherwise it breaks.
    pub rnr_stay: bool,
    /// Timer code of that refusal.
    pub rnr_timer: Bits<5>,
    /// RDMA reads of the peer's kept at a time.
    pub read_depth: Bits<4>,
    pub reserved_2: Bits<20>,
}

/// A queue pair number: `viaduct_spec::handle::queue_pair`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct QueuePair {
    /// Index of the VI.
    pub vi: Bits<10>,
    /// Generation of the VI.
    pub generation: Bits<14>,
}

/// A memory handle: `viaduct_spec::handle::memory_handle`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MemoryHandle {
    /// Number of the region.
    pub index: Bits<16>,
    /// The key that the region must have.
    pub key: Bits<16>,
}

/// A data segment of a descriptor: `viaduct_spec::descriptor::data_segment`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct DataSegment {
    /// Virtual address of its first byte.
    pub address: Bits<64>,
    /// Memory handle.
    pub handle: Bits<32>,
    /// Length in bytes.
    pub length: Bits<32>,
}

/// The second word of a [`DataSegment`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SegmentExtent {
    /// Memory handle.
    pub handle: Bits<32>,
    /// Length in bytes.
    pub length: Bits<32>,
}

/// Word 1 of a descriptor, in its control segment: `viaduct_spec::descriptor::control_segment`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ControlWord {
    /// Memory handle of the next descriptor: the provider's.
    pub next_handle: Bits<32>,
    /// Segments behind the control segment.
    pub seg_count: Bits<16>,
    /// Operation and flags.
    pub control: Bits<16>,
}
