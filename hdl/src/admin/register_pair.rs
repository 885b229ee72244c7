//! BAR 0 as registers of 4 bytes, two to each 8 bytes.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Two registers that share 8 bytes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct RegisterPair {
    /// The register at the lower address.
    pub low: Bits<32>,
    /// The register 4 bytes above.
    pub high: Bits<32>,
}

/// A byte offset in BAR 0.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct BarAddress {
    /// Which of the 8 bytes.
    pub byte: Bits<3>,
    /// Which 8 bytes of BAR 0.
    pub place: Bits<17>,
}

/// A byte offset in BAR 0, if it is that of a counter.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CounterAddress {
    /// Which byte of the counter.
    pub byte: Bits<3>,
    /// The counter's number.
    pub number: Bits<6>,
    /// Which 512 bytes of BAR 0: those of the counters, or others.
    pub block: Bits<11>,
}
