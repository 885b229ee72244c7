//! The layouts of `viaduct_spec::inside`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Who asks for host memory. The code is the field's place.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ByClient {
    /// Work queue fetch: rings and descriptors.
    pub fetch: bool,
    /// Gather: data segments, and the tails of long send descriptors.
    pub gather: bool,
    /// Scatter: data segments, and the tails of long receive descriptors.
    pub scatter: bool,
    /// Completion: the last words of descriptors.
    pub complete: bool,
}

/// What a peer wants of a region by an access; none of it if no peer asked.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RemoteRights {
    /// A peer writes.
    pub write: bool,
    /// A peer reads.
    pub read: bool,
}

/// The blocks that offer faults. The code is the field's place.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FaultSources {
    /// `fetch`.
    pub fetch: bool,
    /// `send/transmit`.
    pub transmit: bool,
    /// `receive`.
    pub receive: bool,
    /// `complete/sends`.
    pub sends: bool,
    /// `complete/writer`.
    pub writer: bool,
    /// `complete/queues`.
    pub queues: bool,
}
