//! The NIC's edge to PCIe: transaction layer packets in and out. The types of all ports of the NIC are here, too.
//!
//! | block | what for |
//! |---|---|
//! | [`TlpReceive`] | stores, loads and completions out of what comes in |
//! | [`PacketSort`] | what kind of packet comes |
//! | [`EnabledBytes`] | which bytes a load asks for |
//! | [`TlpComplete`] | answers loads |
//! | [`TlpTransmit`] | one stream out of posted, non-posted and completion packets, by credits |

mod class;
mod complete;
mod enabled;
mod ports;
mod receive;
mod transmit;

pub use class::PacketSort;
pub use complete::TlpComplete;
pub use enabled::EnabledBytes;
pub use ports::{Config, Credits, EthRx, EthTx, EthWatch, TlpRx, TlpTx};
pub use receive::TlpReceive;
pub use transmit::TlpTransmit;
