//! What crosses between the layers of the PCI Express endpoint. All of it is in the domain of `pclk`.
//!
//! Of two symbols or bytes in 16 bits, the low one is first on the wire.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// Two received symbols, descrambled, of the states in which packets move: from `mac` to `link`. COM is in the low byte, if
/// there is one. SKP sets are taken out; other ordered sets are in it as they came. Logical idle is data 0.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Symbols {
    /// Their values.
    pub data: Bits<16>,
    /// Which of them are K.
    pub k: Bits<2>,
    /// Which of them are damaged: their value and K mean nothing.
    pub error: Bits<2>,
}

/// Two symbols to send, not scrambled: from `link` to `mac`. Packets begin in the low byte and are whole words long.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct LineWord {
    /// Their values.
    pub data: Bits<16>,
    /// Which of them are K.
    pub k: Bits<2>,
    /// The word is the last of its packet.
    pub last: bool,
}

/// 16 bits of a TLP, from its header to its last data, without sequence number and LCRC.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct TlpWord {
    /// Two bytes.
    pub data: Bits<16>,
    /// The word is the first of its TLP.
    pub first: bool,
    /// The word is the last of its TLP.
    pub last: bool,
}

/// 16 bits of a TLP that goes to the core, as [`TlpWord`].
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CoreWord {
    /// Two bytes.
    pub data: Bits<16>,
    /// The word is the first of its TLP.
    pub first: bool,
    /// The word is the last of its TLP.
    pub last: bool,
    /// The BAR that a request hits, 0 or 2; it counts in all words.
    pub bar: Bits<3>,
    /// The TLP is a non-posted request; it counts in all words.
    pub non_posted: bool,
}

/// How much the link partner has allowed of one class since the link came up, modulo the width; from `link`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Limit {
    /// Headers.
    pub headers: Bits<8>,
    /// Data, in units of 16 bytes.
    pub data: Bits<12>,
    /// Headers are without limit.
    pub endless_headers: bool,
    /// Data is without limit.
    pub endless_data: bool,
}

/// The limits of the three classes.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Limits {
    /// Posted requests.
    pub posted: Limit,
    /// Non-posted requests.
    pub non_posted: Limit,
    /// Completions.
    pub completions: Limit,
}

/// What the core looks at of the function's configuration space: see [`Config`](crate::edge::Config).
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct CoreConfig {
    /// The function's bus, device and function number.
    pub requester_id: Bits<16>,
    /// MaxPayload: 128 << n bytes.
    pub max_payload: Bits<3>,
    /// MaxReadRequest: 128 << n bytes.
    pub max_read: Bits<3>,
    /// Read completion boundary, 1 = 128 bytes.
    pub rcb: bool,
    /// 8-bit tags are allowed.
    pub extended_tag: bool,
    /// Memory requests may be sent.
    pub bus_master: bool,
    /// Function-level reset; it stays high until `function_reset_done`.
    pub function_reset: bool,
    /// MSI-X is enabled.
    pub msix_enable: bool,
    /// All vectors are masked.
    pub msix_mask: bool,
}
