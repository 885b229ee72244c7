//! What the LTSSM has the lane send.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// What is to be sent. With none of `silent`, `training` and `idle` it is packets, and logical idle between them.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LaneOrder {
    /// EIOS, then electrical idle.
    pub silent: bool,
    /// Training sets.
    pub training: bool,
    /// The training sets are TS2.
    pub second: bool,
    /// Logical idle.
    pub idle: bool,
    /// The training set has the link's number.
    pub link: bool,
    /// The training set has the lane's number, which is 0.
    pub lane: bool,
    /// Control bit 0.
    pub hot_reset: bool,
    /// Control bit 1.
    pub disabled: bool,
    /// The link's number.
    pub number: Bits<8>,
    /// A bit that changes with each order: it tells for which order a set was begun.
    pub tag: bool,
}
