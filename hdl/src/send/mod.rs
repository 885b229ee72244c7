//! The send side: from a fetched descriptor to a frame.
//!
//! ```text
//!  head, word ──►┌────────┐ packet, whole, payload ┌──────────┐ frame ┌────────┐──► tx
//!       reply ──►│ Gather │───────────────────────►│ Transmit │──────►│ Egress │──► loopback
//!                └────────┘        ┌─────┐ ack     └──────────┘       └────────┘
//!  acknowledgements to send ──────►│ Ack │────────────►▲
//!                                  └─────┘
//! ```

mod ack;
mod egress;
mod flush_read;
mod gather;
mod transmit;

pub use ack::Ack;
pub use egress::Egress;
pub use flush_read::FlushRead;
pub use gather::{
    Check, CheckedMessage, Cut, Gather, LengthCheck, LengthFaults, Owner, OwnerNow, PacketCount, ReadRest,
    ReadsKnown, WordReader,
};
pub use transmit::{AnswerFailure, Transmit};
