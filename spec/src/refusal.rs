//! How a message completes that its peer refused, or never answered: VIA's status for each answer of the wire.
//!
//! That is the requester's side. At the target a refused RDMA write is an event, or, if the packet that is refused carries immediate
//! data and finds a receive, RDMA_PROT_ERROR in that. Immediate data travels in the last packet only: a write of several packets that is
//! refused before it is an event, whether immediate data was to come or not, and takes no receive; nor does an unreliable one
//! that loses a packet.

use crate::descriptor::status::{RDMA_PROT_ERROR, REMOTE_DESC_ERROR, TRANSPORT_ERROR};
use crate::wire::syndrome::{NAK_ACCESS, NAK_INVALID, NAK_OPERATIONAL, RNR_NAK};

/// What the requester saw, and the error that its message completes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Syndrome of the answer, a receiver-not-ready answer's without its timer code; none: there was no answer.
    pub syndrome: Option<u8>,
    /// It is for RDMA only, or for all else; none: for both.
    pub rdma: Option<bool>,
    /// In words.
    pub meaning: &'static str,
    /// Error bit of the status word: Reliable Delivery.
    pub delivery: u32,
    /// Error bit of the status word: Reliable Reception.
    pub reception: u32,
}

const fn row(
    syndrome: Option<u8>,
    rdma: Option<bool>,
    meaning: &'static str,
    delivery: u32,
    reception: u32,
) -> Refusal {
    Refusal { syndrome, rdma, meaning, delivery, reception }
}

/// The table. VIA has REMOTE_DESC_ERROR for Reliable Reception only.
pub const REFUSALS: [Refusal; 6] = [
    row(Some(NAK_INVALID), Some(false), "NAK_INVALID, send", TRANSPORT_ERROR, REMOTE_DESC_ERROR),
    row(Some(NAK_INVALID), Some(true), "NAK_INVALID, RDMA", RDMA_PROT_ERROR, RDMA_PROT_ERROR),
    row(Some(NAK_ACCESS), None, "NAK_ACCESS", RDMA_PROT_ERROR, RDMA_PROT_ERROR),
    row(Some(NAK_OPERATIONAL), None, "NAK_OPERATIONAL", TRANSPORT_ERROR, REMOTE_DESC_ERROR),
    row(Some(RNR_NAK), None, "RNR_NAK beyond its retries", TRANSPORT_ERROR, REMOTE_DESC_ERROR),
    row(None, None, "time-outs beyond their retries", TRANSPORT_ERROR, TRANSPORT_ERROR),
];

/// The error bit for an answer of this syndrome to a message that is RDMA or not, under Reliable Reception or not.
///
/// # Panics
/// The syndrome is no refusal.
pub const fn error(syndrome: u8, rdma: bool, reception: bool) -> u32 {
    let mut n = 0;
    while n < REFUSALS.len() {
        let row = &REFUSALS[n];
        let same = matches!(row.syndrome, Some(code) if code == syndrome);
        let concerns = match row.rdma {
            Some(only) => only == rdma,
            None => true,
        };
        if same && concerns {
            return if reception { row.reception } else { row.delivery };
        }
        n += 1;
    }
    panic!("no refusal")
}
