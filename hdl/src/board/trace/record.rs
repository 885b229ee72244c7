//! What the trace keeps of a TLP.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// The first words of a TLP.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Record {
    /// Up to eight words of 16 bits; the last one is in the lowest bits, and of each the first byte in the higher half.
    pub words: Bits<128>,
    /// How many of them there are.
    pub count: Bits<4>,
    /// The TLP went to the host.
    pub went: bool,
    /// One before it, the same way, is not in the trace.
    pub missed: bool,
}
