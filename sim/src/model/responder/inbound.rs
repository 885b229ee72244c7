//! Messages under way to a VI, and why a packet of one is refused.

use viaduct_spec::register::event_code;

use crate::model::place::Place;
use crate::model::receives::Receive;

/// A message under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    /// A send.
    Send {
        /// Its receive.
        receive: Receive,
        /// Bytes delivered.
        done: u32,
        /// The error bit with which it ends; 0: none.
        ending: u32,
    },
    /// An RDMA write.
    Write {
        /// Where it begins.
        place: Place,
        /// Bytes in all.
        length: u64,
        /// Bytes delivered.
        done: u64,
        /// The receive that its immediate data takes.
        receive: Option<Receive>,
    },
    /// The rest of it is dropped (Unreliable Delivery).
    Dropped,
}

/// Why a packet was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No receive is posted.
    NotReady,
    /// The receive lies nowhere, and the VI breaks for that.
    Lost,
    /// What a reliable VI breaks of. `ending`: the error bit of the receive that was taken.
    Break {
        /// Syndrome of the NAK.
        syndrome: u8,
        /// Event.
        event: u8,
        /// Error bit of the receive.
        ending: Option<u32>,
    },
    /// The VI has broken already.
    Broken,
}

impl Refusal {
    /// A refusal that has no event of its own.
    pub fn lost(syndrome: u8) -> Self {
        Self::Break { syndrome, event: event_code::CONN_LOST, ending: None }
    }

    /// A receive that ends with this error.
    pub fn receive(syndrome: u8, bits: u32) -> Self {
        Self::Break { syndrome, event: event_code::CONN_LOST, ending: Some(bits) }
    }

    /// Of an RDMA write.
    pub fn write(syndrome: u8) -> Self {
        Self::Break { syndrome, event: event_code::RDMAW_PROT, ending: None }
    }
}
