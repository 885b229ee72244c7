//! One end of a connection: what it tells the other one.

use viaduct_spec::tables::RNR_WITHOUT_END;

use crate::address::{ConnectionInfo, PeerError, ACK_TIMES};
pub use crate::not_ready::{NotReady, WITHOUT_END};

use super::wrong::{need, Wrong};

impl NotReady {
    /// Whether its numbers fit the messages and the NIC's tables.
    ///
    /// # Errors
    /// A timer code above 31; more than six retries that are not [`WITHOUT_END`].
    pub fn check(self) -> Result<(), Wrong> {
        let Self::Stay { timer, retries } = self else { return Ok(()) };
        need(
            retries <= WITHOUT_END,
            "the retries to one not ready",
            retries,
            "0 to 6, or 7 for without end",
        )?;
        need(timer < 32, "the timer of one not ready", timer, "0 to 31")
    }

    /// What REQ and REP have for the other end.
    pub(super) fn retries(self) -> u8 {
        match self {
            Self::Break => 0,
            Self::Stay { retries, .. } => retries,
        }
    }
}

/// One end of a connection: what it tells the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct End {
    /// Addresses, numbers, level and sizes. MaxTransferSize is 0 if this end is no VI: an rdma_cm program's has none.
    pub info: ConnectionInfo,
    /// It lets the other one write memory that is open to it.
    pub rdma_write: bool,
    /// It lets the other one read memory that is open to it.
    pub rdma_read: bool,
    /// RDMA reads that it answers at a time.
    pub reads_answered: u8,
    /// RDMA reads that it asks for at a time.
    pub reads_asked: u8,
    /// What it does when a message finds no receive, and what the other one is to do then.
    pub not_ready: NotReady,
}

/// What two ends have agreed on, as one of them needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreement {
    /// The other one.
    pub peer: ConnectionInfo,
    /// RDMA reads that this end may ask for at a time.
    pub reads_asked: u8,
    /// RDMA reads that it answers at a time.
    pub reads_answered: u8,
    /// How often it sends again to a peer that is not ready, as the NIC counts: [`RNR_WITHOUT_END`] is.
    pub not_ready_retries: u8,
}

impl End {
    /// An end as VIA has it: it breaks when a message finds no receive.
    pub fn new(info: ConnectionInfo, reads: u8) -> Self {
        Self {
            info,
            rdma_write: false,
            rdma_read: false,
            reads_answered: reads,
            reads_asked: reads,
            not_ready: NotReady::Break,
        }
    }

    /// Whether a connection from this end to `peer` can be, and how.
    ///
    /// # Errors
    /// [`ConnectionInfo::check`].
    pub fn agree(&self, peer: &Self) -> Result<Agreement, PeerError> {
        let mut info = peer.info;
        if info.max_transfer == 0 {
            info.max_transfer = self.info.max_transfer;
        }
        self.info.check(&info)?;
        Ok(Agreement {
            peer: info,
            reads_asked: self.reads_asked.min(peer.reads_answered),
            reads_answered: self.reads_answered.min(peer.reads_asked),
            not_ready_retries: match peer.not_ready.retries() {
                WITHOUT_END.. => RNR_WITHOUT_END,
                retries => retries,
            },
        })
    }

    /// Whether its numbers fit the messages.
    pub(super) fn fits(&self) -> Result<(), Wrong> {
        let ConnectionInfo { queue_pair, starting_psn, ack_time, .. } = self.info;
        need(queue_pair >> 24 == 0, "the queue pair number", queue_pair, "24 bits")?;
        need(starting_psn >> 24 == 0, "the starting PSN", starting_psn, "24 bits")?;
        need(ACK_TIMES.contains(&ack_time), "the time to acknowledge", ack_time, "0 to 31")?;
        self.not_ready.check()
    }
}
