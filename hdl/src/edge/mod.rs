//! The NIC's edge to PCIe: transaction layer packets in and out. The types of all ports of the NIC are here, too.
//!
//! | block | what for |
//! |---|---|
//! | [`TlpReceive`] | stores, loads and completions out of what comes in |
//! | [`PacketSort`] | what kind of packet comes |
//! | [`EnabledBytes`] | which bytes a load asks for |
//! | [`TlpComplete`] | answers loads |
//! | [`TlpTransmit`] | one stream out of posted, non-posted and completion packets, by credits |

mod complete;
mod enabled_bytes;
mod packet_sort;
mod ports;
mod receive;
mod transmit;

pub use complete::TlpComplete;
pub use enabled_bytes::EnabledBytes;
pub use packet_sort::PacketSort;
pub use ports::{
    Config, ConfigSource, EthRx, EthTx, EthWatch, TlpCredits, TlpCreditsSource, TlpRx, TlpRxSource, TlpTx,
    TlpTxSink,
};
pub use receive::TlpReceive;
pub use transmit::TlpTransmit;
