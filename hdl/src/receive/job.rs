//! What [`Scatter`](super::Scatter) has to place, and what became of it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::bus::{Acknowledged, Vi};
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

/// Place the payload of the frame in delivery.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ScatterJob {
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

/// How a [`ScatterJob`] ends.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum ScatterResult {
    /// All bytes are placed.
    Placed,
    /// The segments are full.
    TooLong,
    /// The protection checker refused a segment, or the rest of the descriptor.
    Refused,
    /// The rest of the descriptor could not be read.
    Failed,
}

/// A [`ScatterJob`] is over.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ScatterDone {
    /// How the job ended.
    pub result: ScatterResult,
    /// Segment to go on with.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled.
    pub position: Bits<32>,
}

/// Where the payload of an answer goes: the read's own descriptor, and how far that is filled.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadTarget {
    /// Region of the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor in its region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// How many segments the descriptor has.
    pub segments: Bits<8>,
    /// Segment that the payload begins in.
    pub index: Bits<8>,
    /// Bytes of that segment that are filled already.
    pub position: Bits<32>,
    /// The payload is the first of its read, so scatter has none of the descriptor's segments.
    pub fresh: bool,
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

/// What an answer is for `complete/sends`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Told {
    /// The answer counts, and `complete/sends` has to hear of it.
    pub keep: bool,
    /// The answer has payload that must be placed first.
    pub data: bool,
    /// What `complete/sends` hears.
    pub word: Acknowledged,
}
