//! The PCI Express endpoint: one lane of 2.5 GT/s between the symbol seam and the TLP edge of the core. docs/pcie.md is its design.
//!
//! | folder | what for |
//! |---|---|
//! | [`bus`] | what crosses between the layers |
//! | [`link`] | the data link layer: packets, sequence numbers, replay, credits |

pub mod bus;
pub mod link;
