//! The layouts of `viaduct_spec::pcie_link`, as bundles.
//!
//! Printed by `cargo run -p viaduct-spec --example rows`; a test fails when it is stale.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A DLLP without its CRC; the first byte on the lane lies lowest.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Dllp {
    /// See dllp_kind; of flow control packets see flow_kind.
    pub kind: Bits<8>,
    /// Bits 7:2 of the header credits.
    pub headers_high: Bits<6>,
    /// Reserved, 0.
    pub reserved_14: Bits<2>,
    /// Bits 11:8 of the sequence number or of the data credits.
    pub number_high: Bits<4>,
    /// Reserved, 0.
    pub reserved_20: Bits<2>,
    /// Bits 1:0 of the header credits.
    pub headers_low: Bits<2>,
    /// Bits 7:0 of the sequence number or of the data credits.
    pub number_low: Bits<8>,
}

/// The kind of a flow control DLLP.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct FlowKind {
    /// Virtual channel in the low three bits; the fourth is 0.
    pub channel: Bits<4>,
    /// Whose credits: tlp::class.
    pub class: Bits<2>,
    /// See flow_family.
    pub family: Bits<2>,
}

/// The low bits of a training set's symbol 5, the link's control.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TrainingControl {
    /// Hot Reset.
    pub hot_reset: bool,
    /// Disable Link.
    pub disabled: bool,
    /// Loopback.
    pub loopback: bool,
    /// Disable Scrambling.
    pub no_scramble: bool,
}
