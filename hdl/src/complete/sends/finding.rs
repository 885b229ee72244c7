//! What has come for a VI, and how the VI stands: the question that [`Effects`](super::Effects) answers.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Whether a packet of the VI has left the NIC.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum LeftPacket {
    /// No packet has left, and no message has ended.
    Absent,
    /// A message has ended, and no packet of it has left.
    Unsent,
    /// A packet has left for the first time.
    First,
    /// A packet has left that had left before.
    Again,
}

/// What has come for a VI, judged by its row; or how the VI stands when it is looked at.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Finding {
    /// Nothing that changes anything.
    Nothing,
    /// A message that has not begun waits for a read.
    Parks,
    /// A message waits for a read, and something of it has left before.
    Unfit,
    /// A message has left, or a part of it, and nothing of it before.
    Enters,
    /// A message has left, or a part of it, and something of it before.
    Known,
    /// The known message is the same as before.
    Same,
    /// The known message has failed this time, before it was acknowledged.
    Fails,
    /// The known message is not the same as before.
    Changed,
    /// An answer to no packet in flight.
    Ghost,
    /// A refusal behind a read, and the VI is not connected any more. It says nothing of the read, so it moves nothing.
    Deaf,
    /// An answer that acknowledges what is before it, or with it, and says no more.
    Moves,
    /// A NAK_SEQUENCE.
    Missing,
    /// A NAK_SEQUENCE that moves nothing while the receiver's time runs.
    Insists,
    /// An RNR_NAK, but for one that moves nothing while the receiver's time runs.
    NotReady,
    /// A NAK that refuses a message, or an answer to a read that could not be placed.
    Refused,
    /// TIMEOUT is over without progress.
    TimeOut,
    /// The time that the receiver asked for is over.
    RestOver,
    /// TIMEOUT is over once too often.
    Silent,
    /// The receiver was not ready once too often.
    NeverReady,
    /// The VI is not connected any more.
    Broken,
    /// A TRANSMIT row: a new life.
    Begins,
    /// The oldest message is a read that ends without its answer, and bytes of an answer may still be on their way to memory.
    Placing,
    /// The oldest message is to be completed.
    Completes,
    /// The oldest message's completion is on its way.
    Completed,
    /// Nothing is to be completed before the VI breaks.
    Breaks,
    /// As `Breaks`, by a read that time-outs end.
    ReadBreaks,
    /// The VI sends again what is not acknowledged.
    GoesBack,
    /// The VI goes on with what was parked.
    GoesOn,
    /// As `GoesBack` or `GoesOn`, but another VI's rewind is before it.
    Queues,
    /// The VI was to send again, and has nothing in flight, or is not connected.
    Needless,
}

/// Conditions that the table asks for beside the finding.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Facts {
    /// The VI is connected.
    pub connected: bool,
    /// Packets are in flight.
    pub flying: bool,
    /// So many packets are in flight that all may be sent again.
    pub long: bool,
    /// The message has left whole for the first time.
    pub whole: bool,
    /// The message has ended, and had not ended before.
    pub closes: bool,
    /// An answer counts.
    pub taken: bool,
    /// With `taken`: the answer moves the window.
    pub progress: bool,
    /// With `progress`: packets are in flight behind the answer.
    pub open: bool,
    /// With `taken`: what the frame was, as in `Acknowledged`.
    pub frame: Bits<2>,
    /// Why the answer refuses: see [`refusal`](super::refusal).
    pub refusal: Bits<3>,
    /// The oldest message's completion has told of the refusal.
    pub tells: bool,
}
