//! What [`Lookup`](super::Lookup) tells [`Delivery`](super::Delivery) to do.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::contexts::{Message, Peer};
use super::judge::Verdict;
use crate::bus::{Position, Vi};
use rust_hdl::prelude::*;

/// Deliver the frame on show, or flush a receive.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Order {
    /// The VI whose frame, or whose receive, the order is about.
    pub vi: Vi,
    /// Flush the receive at the consumed position; otherwise deliver the frame.
    pub flush: bool,
    /// What the frame is to the VI.
    pub verdict: Verdict,
    /// The frame ends a message.
    pub ends: bool,
    /// The frame is of an RDMA write.
    pub writes: bool,
    /// The frame is an RDMA read request, and may be one.
    pub reads: bool,
    /// The frame carries immediate data.
    pub immediate: bool,
    /// A receive is there at the consumed position.
    pub present: bool,
    /// The VI's peer.
    pub peer: Peer,
    /// Where the VI's receive side is.
    pub message: Message,
    /// Receive descriptors of the VI that are completed.
    pub consumed: Position,
}
