//! The PCI Express endpoint: one lane of 2.5 GT/s between the symbol seam and the TLP edge of the core. docs/pcie.md is its design.
//!
//! [`PcieEndpoint`] is all of it.
//!
//! | folder | what for |
//! |---|---|
//! | [`bus`] | what crosses between the layers |
//! | [`phy`] | the transceiver below the seam: vendor cells, and their start |
//! | [`mac`] | symbols: alignment, scrambling, ordered sets, SKP, the LTSSM |
//! | [`link`] | the data link layer: packets, sequence numbers, replay, credits |
//! | [`transaction`] | configuration space, requests that the core does not see, completions of those |
//! | [`crossing`] | packets, credits and configuration between `pclk` and the core's clock |

pub mod bus;
pub mod crossing;
mod endpoint;
pub mod link;
pub mod mac;
pub mod phy;
pub mod transaction;

pub use endpoint::PcieEndpoint;
