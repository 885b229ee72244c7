//! Effects: what a part of the model asks for beside the change of its own state. A part returns them in the order in which they
//! are to happen, and [`Device`](super::device) applies them; what one of them asks for in turn comes before those behind it.

use super::event::Event;
use super::frame::Packet;
use super::posted::Posted;

/// How a descriptor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ending {
    /// Status, without DONE.
    pub status: u32,
    /// Bytes transferred.
    pub length: u32,
    /// Immediate data that came with it.
    pub immediate: Option<u32>,
}

/// A descriptor that is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// It is the receive queue's.
    pub receive: bool,
    /// What names it.
    pub posted: Posted,
    /// How it ended.
    pub ending: Ending,
}

/// What is to happen, on the VI whose part asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A counter moves on.
    Count(u64, u64),
    /// Host memory is written: a DMA address, and bytes of one page.
    Write {
        /// DMA address.
        address: u64,
        /// Bytes.
        data: Vec<u8>,
    },
    /// An interrupt vector is raised; one that does not exist is none.
    Raise(u64),
    /// An event goes to the error ring.
    Report(Event),
    /// A descriptor is completed: status, entry, interrupt.
    Complete(Completion),
    /// The receive of a request is completed, and the responder hears whether its status is there.
    Deliver {
        /// Its receive.
        completion: Completion,
        /// PSN of the packet that was the message's last.
        psn: u32,
        /// It asks for an acknowledgement.
        asks: bool,
    },
    /// A position of a queue at which no descriptor is: passed over.
    Consume {
        /// It is the receive queue's.
        receive: bool,
    },
    /// The VI breaks, with an event of this code and queue; or without one, where a descriptor says why.
    Break(Option<(u8, bool)>),
    /// What a queue may have fetched is fetched, or the next of what is to be flushed is flushed.
    Serve {
        /// The receive queue.
        receive: bool,
    },
    /// The oldest send that is done is completed, and so on; then more is fetched.
    Settle {
        /// What an unreliable send waits for ([`Choices::complete_cycles`](super::Choices)) is over.
        waited: bool,
    },
    /// The oldest PSN that is not acknowledged is this one now.
    Advance(u32),
    /// The send that holds this PSN ends with an error bit, and the VI breaks with an event.
    Refused {
        /// The PSN.
        psn: u32,
        /// The error bit.
        bits: u32,
        /// The event's code.
        code: u8,
    },
    /// A packet leaves.
    Send(Packet),
    /// A frame of the raw channel's leaves.
    SendRaw(Vec<u8>),
}

/// Effects in their order.
#[derive(Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more, behind the others.
    pub fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// More, behind the others.
    pub fn extend(&mut self, more: impl IntoIterator<Item = Effect>) {
        self.0.extend(more);
    }

    /// A counter moves on by one.
    pub fn count(&mut self, counter: u64) {
        self.push(Effect::Count(counter, 1));
    }

    /// A counter moves on.
    pub fn add(&mut self, counter: u64, more: u64) {
        self.push(Effect::Count(counter, more));
    }

    /// A descriptor is completed.
    pub fn complete(&mut self, receive: bool, posted: Posted, ending: Ending) {
        self.push(Effect::Complete(Completion { receive, posted, ending }));
    }

    /// The VI breaks.
    pub fn break_vi(&mut self, code: u8, receive: bool) {
        self.push(Effect::Break(Some((code, receive))));
    }

    /// A queue is served.
    pub fn serve(&mut self, receive: bool) {
        self.push(Effect::Serve { receive });
    }

    /// What is done on the send queue is completed.
    pub fn settle(&mut self) {
        self.push(Effect::Settle { waited: false });
    }

    /// From the last to the first, for a stack.
    pub fn reversed(self) -> impl Iterator<Item = Effect> {
        self.0.into_iter().rev()
    }
}
