//! What [`Scatter`](super::Scatter) has to place, and what became of it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::Vi;
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

/// Place the payload of the frame in delivery.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Job {
    /// The VI, for the descriptor that is fetched ahead.
    pub vi: Vi,
    /// Slot of that descriptor.
    pub slot: Bits<RECEIVE_AHEAD_LOG2>,
    /// The VI's protection tag.
    pub tag: Bits<16>,
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// How many segments the descriptor has.
    pub segments: Bits<8>,
    /// Segment to go on with.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled already.
    pub position: Bits<32>,
    /// An RDMA write: one segment, the peer's.
    pub remote: bool,
    /// With `remote`: the segment's address.
    pub place: Bits<64>,
    /// With `remote`: its memory handle.
    pub handle: Bits<32>,
    /// With `remote`: bytes of it that are not filled yet.
    pub left: Bits<32>,
    /// The answer to a read of ours: its descriptor is not among those fetched ahead.
    pub reading: bool,
    /// With `reading`: nothing of that descriptor is known from before.
    pub fresh: bool,
    /// Bytes to place, at least 1.
    pub length: Bits<13>,
}

/// A [`Job`] is over.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Done {
    /// How the job ended: see [`result`](super::scatter::result).
    pub result: Bits<2>,
    /// Segment to go on with.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled.
    pub position: Bits<32>,
}

/// The payload of an answer to a read is placed, or cannot be.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadPlaced {
    /// All of its bytes are placed.
    pub ok: bool,
    /// Segment to go on with.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled.
    pub position: Bits<32>,
}
