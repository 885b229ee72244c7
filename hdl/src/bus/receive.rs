//! Receive descriptors that are fetched ahead.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::{Position, Vi};
use rust_hdl::prelude::*;
use viaduct_spec::profile::RECEIVE_AHEAD_LOG2;

/// A word of a receive descriptor that is fetched ahead.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct AheadWord {
    /// The VI.
    pub vi: Vi,
    /// Slot of the descriptor, its position modulo the slots of a VI.
    pub slot: Bits<RECEIVE_AHEAD_LOG2>,
    /// Place of the word in the descriptor, 0 to 7.
    pub index: Bits<3>,
    /// The eight bytes of that word.
    pub data: Bits<64>,
}

/// A receive descriptor is fetched ahead: its words have come.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Filled {
    /// The VI.
    pub vi: Vi,
    /// Slot of the descriptor, its position modulo the slots of a VI.
    pub slot: Bits<RECEIVE_AHEAD_LOG2>,
    /// Region that holds the descriptor.
    pub region: Bits<16>,
    /// Offset of the descriptor in that region, in units of 64 bytes.
    pub offset: Bits<34>,
    /// Words of the descriptor's first 64 bytes that the region holds, 0 to 8.
    pub words: Bits<4>,
    /// The descriptor could not be read.
    pub lost: bool,
    /// One past the descriptor's position in the ring.
    pub position: Position,
}
