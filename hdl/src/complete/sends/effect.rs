//! What happens to a VI: what [`Effects`](super::Effects) answers.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// The change of a VI's window, and what else is to be done.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Effect {
    /// The window: something of the VI has come out of the NIC.
    pub comes: bool,
    /// The window: the next PSN that has never been sent is the one behind the packet.
    pub advances: bool,
    /// The window: the message, or the part of it that has come, takes its place.
    pub lands: bool,
    /// The window: the oldest PSN is the answer's, or the one behind it.
    pub moves: bool,
    /// The window: all from the oldest PSN on is to be sent again.
    pub pends: bool,
    /// The window: it is not to be sent again.
    pub drops: bool,
    /// The window: the receiver's time runs.
    pub rests: bool,
    /// The window: it does not run any more.
    pub wakes: bool,
    /// The window: the oldest message is refused for `refusal`.
    pub refuses: bool,
    /// With `refuses`: why; see [`refusal`](super::refusal).
    pub refusal: Bits<3>,
    /// The window: its oldest message is complete.
    pub passes: bool,
    /// The window: the epoch turns, and nothing of the new one has left.
    pub turns: bool,
    /// The window: it begins as the TRANSMIT row says.
    pub begins: bool,
    /// The message is recorded in the VI's ring.
    pub records: bool,
    /// The message is to be compared with what the ring has of it.
    pub compares: bool,
    /// The message waits for a read.
    pub parks: bool,
    /// The timer has a command: it starts anew, or stops.
    pub times: bool,
    /// With `times`: it runs for TIMEOUT, or, with `rests`, for the receiver's time.
    pub runs: bool,
    /// With `times`: its counts are cleared.
    pub clears: bool,
    /// The VI is to break, as soon as what is complete is completed.
    pub breaks: bool,
    /// With `breaks`, and of Breaks: the VI breaks now.
    pub ends: bool,
    /// With `breaks`: the code of the event.
    pub code: Bits<8>,
    /// The oldest message is to be completed.
    pub completes: bool,
    /// The VI is to be looked at again.
    pub queues: bool,
}

/// The counters that go up.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SendCounts {
    /// A message has left whole for the first time.
    pub message: bool,
    /// A packet has left again.
    pub again: bool,
    /// An ACK counts.
    pub ack: bool,
    /// A NAK counts.
    pub nak: bool,
    /// A receiver-not-ready answer counts.
    pub rnr: bool,
    /// An answer is dropped.
    pub ghost: bool,
    /// A timer has ended.
    pub timeout: bool,
}
