//! The layouts of `viaduct_spec::handle`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Memory handle (VIP_MEM_HANDLE, and the rkey on the wire). Never 0.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct MemoryHandle {
    /// Row of the region table; never 0.
    pub index: Bits<16>,
    /// Random bits that a data segment must repeat: defence in depth, the tag is the protection.
    pub key: Bits<16>,
}

/// Queue pair number on the wire.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct QueuePair {
    /// Index of the virtual interface.
    pub vi: Bits<10>,
    /// Changes with each connection of the VI, never 0: frames of a former one match nothing.
    pub generation: Bits<14>,
}
