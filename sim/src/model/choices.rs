//! What the specification leaves open, in one place: a differential test of a program whose outcome
//! depends on one of these lets the model follow the RTL's choice.
//!
//! Beyond the numbers here, the model makes these choices, each where it is named:
//!
//! | matter | the model | where |
//! |---|---|---|
//! | host memory | an access takes no time and is whole | `host` |
//! | receives | fetched as soon as they are posted, `receive_ahead` of them, or when the packet that made room for them is done with; checked when a message takes them | `receives`, `responder::payload` |
//! | sends | fetched as soon as they are posted, `send_ahead` of them; checked when their first packet is made, their memory with each packet | `requester` |
//! | a packet whose place is partly refused | the bytes before the refused segment are written | `scatter` |
//! | whose turn it is | virtual interfaces in a circle, a packet each; answers and requests of one in turn | `transmit`, `vi` |
//! | acknowledgements | one for each packet that asks, at once, unless one of the same VI still waits: then the newer one stands for both | `responder::replies` |
//! | answers queued when a VI breaks | leave in their order before the NAK, which could stand for acknowledgements | `responder::replies` |

use viaduct_spec::profile::{RECEIVE_AHEAD, SEND_WINDOW};

/// Later than any moment: it happens when whoever leads the model says so.
pub const WHEN_TOLD: u64 = 1 << 60;

/// What the specification leaves open and a number can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// Cycles between the beginnings of two packets that the NIC makes; at least 1. A packet of a
    /// loopback VI arrives so many cycles after it was made. Frames on the wire leave at the link's rate besides.
    pub packet_cycles: u64,
    /// Cycles that a packet of a loopback VI's takes besides.
    pub loopback_cycles: u64,
    /// Cycles from a doorbell of a send queue to the fetch of what it tells of.
    pub send_cycles: u64,
    /// Sends of a VI that are fetched and not complete: SEND_WINDOW at most, and at least 1.
    pub send_ahead: usize,
    /// Cycles from a doorbell of a receive queue, and from the packet that takes a receive, to the fetch of those that
    /// there is room for then. A packet that needs one does not wait so long.
    pub receive_cycles: u64,
    /// Receives of a VI that are fetched and wait for a message: RECEIVE_AHEAD at most, and at least 1.
    pub receive_ahead: usize,
    /// Cycles from the last packet of an unreliable send to its completion, while its VI is well.
    pub complete_cycles: u64,
    /// Each answer is queued for itself, and whoever leads the model says which stands for which.
    pub answers_apart: bool,
    /// What is under way while its VI breaks, and is not why it breaks.
    pub unheard: Option<Unheard>,
    /// The range of a peer's read is checked when its answer is made, and not when its request has come.
    pub reads_late: bool,
    /// While its peer asks for time, a VI goes on with what is behind the packet to be sent again.
    pub sends_on: bool,
    /// A rule that is broken on purpose, for the tests of tests.
    pub mutant: Option<Mutant>,
}

/// What comes of something that is under way while its VI breaks by something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    /// Data of an answer to a read goes to memory, as far as it may; a descriptor that is wrong, or that the peer refuses, has its error; a
    /// request that is refused is told so.
    Ends,
    /// The same, and a read is complete whose last packet that was.
    Completes,
    /// A NAK acknowledges what is before it, and no more.
    Acknowledges,
    /// A request of an unreliable VI ends the message before it, and does no more.
    Cuts,
    /// The receive of a request has an error of its own, of which the peer is not told; or its entry is lost.
    Receives,
}

/// A rule that a model breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// After a gap inside a message, the receive is complete without an error.
    SilentLoss,
    /// On an unreliable connection the first packet of a message is taken whatever its PSN.
    Twice,
    /// A segment may reach one byte behind its region.
    OneBehind,
    /// ImmediateData is not told of in Status.
    NoImmediate,
    /// A duplicate of a message of one packet is executed again.
    Again,
    /// What a completion queue has no room for is lost without a word.
    SilentOverrun,
    /// Who waits for an interrupt of a work queue waits for ever.
    Deaf,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            packet_cycles: 16,
            loopback_cycles: 0,
            send_cycles: 0,
            send_ahead: SEND_WINDOW,
            receive_cycles: 0,
            receive_ahead: RECEIVE_AHEAD,
            complete_cycles: 0,
            answers_apart: false,
            unheard: None,
            reads_late: false,
            sends_on: false,
            mutant: None,
        }
    }
}
