//! A descriptor on the send queue, from fetch to completion.

use crate::model::descriptor::{Descriptor, Operation};
use crate::model::posted::Posted;
use crate::model::psn;

/// See the module's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What names it; `None`: a place without a descriptor, which is passed over.
    pub posted: Option<Posted>,
    /// The descriptor.
    pub descriptor: Descriptor,
    /// It has PSNs: its first packet has been made, or was refused.
    pub started: bool,
    /// Its first PSN.
    pub first: u32,
    /// Its PSNs.
    pub packets: u32,
    /// Packets that have been sent at least once.
    pub sent: u32,
    /// Of a read: the packet of its answer from which it was asked for last.
    pub asked: u32,
    /// It goes out again: it has to be read again.
    pub stale: bool,
    /// How it ended, as error bits, where something else than an acknowledgement says it.
    pub outcome: Option<u32>,
}

impl Message {
    /// Nothing of it has been sent.
    pub fn new(posted: Option<Posted>, descriptor: Descriptor) -> Self {
        Self {
            posted,
            descriptor,
            started: false,
            first: 0,
            packets: 0,
            sent: 0,
            asked: 0,
            stale: false,
            outcome: None,
        }
    }

    /// A place without a descriptor.
    pub fn skipped() -> Self {
        Self { outcome: Some(0), ..Self::new(None, Descriptor::none()) }
    }

    /// It begins anew, unless it has ended.
    pub fn forget_progress(&mut self) {
        *self = Self { outcome: self.outcome, ..Self::new(self.posted, self.descriptor.clone()) };
    }

    /// An RDMA read that has not been answered whole.
    pub fn is_open_read(&self) -> bool {
        self.started && self.outcome.is_none() && self.descriptor.operation() == Operation::Read
    }

    /// The PSN behind its last.
    pub fn end(&self) -> u32 {
        psn::add(self.first, self.packets)
    }

    /// Everything before this PSN is acknowledged.
    pub fn note_acknowledged(&mut self, to: u32) {
        // REQ-2: a message is complete when its last PSN is acknowledged.
        let whole = self.started && self.sent == self.packets;
        if self.outcome.is_none() && whole && psn::ahead(to, self.end()) < psn::HALF {
            self.outcome = Some(0);
        }
    }

    /// It has this PSN.
    pub fn holds(&self, number: u32) -> bool {
        self.started && psn::ahead(number, self.first) < self.packets
    }
}
