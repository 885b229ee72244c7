//! The layouts of `viaduct_spec::doorbell`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A ring slot and a doorbell are the same 64-bit word: it names one descriptor. A word of 0 is never valid, because region 0 does not exist.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Token {
    /// Where the descriptor lies, in units of 64 bytes from the region's base rounded down to 64.
    pub offset: Bits<34>,
    /// Index of the region that holds the descriptor; never 0.
    pub region: Bits<15>,
    /// 1: the descriptor has one segment or none, and the NIC reads only its first 48 bytes. If it says more segments, it is malformed.
    pub short: bool,
    /// The descriptor's position: it counts every descriptor ever posted to this ring, modulo 2^14. Its low bits are the ring slot, its high bits tell a stale slot.
    pub position: Bits<14>,
}

/// A word of a completion queue's page.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CqIndexWord {
    /// Entries taken since the queue was created or resized, modulo 2^18.
    pub index: Bits<18>,
    /// Reserved, 0.
    pub reserved_18: Bits<14>,
    /// Changes with every store, so that a poller of doorbell pages sees each.
    pub sequence: Bits<32>,
}

/// An arm word: asks for one interrupt when a descriptor is complete that the consumer has not seen. If one is already, the interrupt comes at once.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ArmWord {
    /// Position of the oldest descriptor that the consumer has not seen complete.
    pub position: Bits<14>,
    /// Reserved, 0.
    pub reserved_14: Bits<18>,
    /// Changes with every store, so that a poller of doorbell pages sees each.
    pub sequence: Bits<32>,
}
