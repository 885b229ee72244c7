//! What [`Lookup`](super::Lookup) tells [`Delivery`](super::Delivery) to do, and what came of it.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::ahead::AheadMeta;
use super::contexts::{Message, Peer};
use super::judge::Verdict;
use crate::bus::{FrameInfo, Position, Vi};
use rust_hdl::prelude::*;

/// Deliver a frame, or flush a receive.
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
    /// The frame is an RDMA read request.
    pub reading: bool,
    /// With `reading`: the request is well formed. It has no payload and asks for at most 2^31 bytes.
    pub reads: bool,
    /// The frame carries immediate data.
    pub immediate: bool,
    /// The frame has payload.
    pub some: bool,
    /// A receive is there at the consumed position.
    pub present: bool,
    /// The receive descriptor at that position, without its segments.
    pub receive: AheadMeta,
    /// Receive descriptors of the VI that are completed.
    pub consumed: Position,
    /// The VI's peer.
    pub peer: Peer,
    /// Where the VI's receive side is.
    pub message: Message,
    /// What is known of the frame.
    pub packet: FrameInfo,
}

/// What came of an order.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Situation {
    /// Nothing that is reported.
    Nothing,
    /// A receive is flushed.
    Flush,
    /// The connection has come to its end.
    Over,
    /// A duplicate.
    Behind,
    /// Something in front of the packet is missing.
    Gap,
    /// The packet may not come here (reliable).
    Refuse,
    /// The message in progress has lost something (unreliable).
    Partial,
    /// An RDMA write, and the VI gives no right to it.
    NoRight,
    /// No receive is posted.
    NotReady,
    /// The receive could not be read.
    Lost,
    /// The receive is malformed.
    Malformed,
    /// The peer may not write there.
    Denied,
    /// The receive's segments are full.
    TooLong,
    /// A segment of the receive was refused.
    Refused,
    /// The rest of the receive could not be read.
    Failed,
    /// The payload is placed.
    Placed,
    /// An RDMA read is kept, and will be answered.
    Read,
    /// An RDMA read that came again is not known any more.
    Unread,
    /// An RDMA read, and the VI gives no right to it.
    NoReading,
}

/// What came of an order, and the three consequences that nearly everything else depends on.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Came {
    /// What came of the order.
    pub situation: Situation,
    /// The message is lost by it.
    pub fails: bool,
    /// A receive ends by it.
    pub consumes: bool,
    /// The packet's PSN is done with: placed, kept, or lost by an unreliable VI.
    pub advances: bool,
}
