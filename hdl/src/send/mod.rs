//! The send side: from a fetched descriptor to a frame.
//!
//! ```text
//!  head, word ──►┌────────┐ packet, whole, payload ┌──────────┐ frame ┌────────┐──► tx
//!       reply ──►│ Gather │───────────────────────►│ Transmit │──────►│ Egress │──► loopback
//!                └────────┘        ┌─────┐ ack     └──────────┘       └────────┘
//!  acknowledgements to send ──────►│ Ack │────────────►▲
//!                                  └─────┘
//! ```
//! [`EthTransmit`] stands between `Egress` and the MAC, and says which bytes of a beat are there.

mod ack;
mod egress;
mod eth_transmit;
mod flush_read;
mod gather;
mod transmit;

pub use ack::Ack;
pub use egress::Egress;
pub use eth_transmit::EthTransmit;
pub use flush_read::FlushRead;
pub use gather::{
    Check, CheckedMessage, Cut, DescriptorRequest, Gather, HeadCheck, HeadFindings, LengthCheck,
    LengthFaults, MessageJudge, MessageRest, MessageVerdict, Owner, OwnerNow, PacketCount, PacketPlace,
    ReadRest, ReadsKnown, WordReader,
};
pub use transmit::{
    AckJudge, AckVerdict, AnswerFailure, MessageUnderWay, PacketJudge, PacketVerdict, PsnCount, SenderNow,
    Transmit,
};
