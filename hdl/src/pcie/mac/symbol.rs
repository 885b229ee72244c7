//! Symbols on their way through the layer, and the values of the K symbols.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

/// COM: begins every ordered set.
pub const COM: u64 = 0xbc;
/// SKP: what rate matching adds and removes.
pub const SKP: u64 = 0x1c;
/// IDL: announces electrical idle.
pub const IDL: u64 = 0x7c;
/// PAD: in place of a link or lane number.
pub const PAD: u64 = 0xf7;

/// A received symbol behind the removal of SKP sets.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Symbol {
    /// Its value.
    pub value: Bits<8>,
    /// The symbol is K.
    pub k: bool,
    /// The symbol is damaged: value and K mean nothing.
    pub error: bool,
    /// The symbol is COM.
    pub com: bool,
    /// A SKP set stood just before it.
    pub skipped: bool,
}

/// Two received symbols. COM is the low one, if there is one.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Aligned {
    /// The symbol that came first.
    pub low: Bits<8>,
    /// The symbol behind it.
    pub high: Bits<8>,
    /// `low` is K.
    pub low_k: bool,
    /// `high` is K.
    pub high_k: bool,
    /// `low` is damaged.
    pub low_error: bool,
    /// `high` is damaged.
    pub high_error: bool,
    /// `low` is COM.
    pub com: bool,
    /// A SKP set stood before `low`.
    pub low_skipped: bool,
    /// A SKP set stood between the two.
    pub high_skipped: bool,
}

/// Two symbols of [`Symbols`](crate::pcie::bus::Symbols), taken apart.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Plain {
    /// The symbol that came first.
    pub low: Bits<8>,
    /// The symbol behind it.
    pub high: Bits<8>,
    /// `low` is K.
    pub low_k: bool,
    /// `high` is K.
    pub high_k: bool,
    /// `low` is damaged.
    pub low_error: bool,
    /// `high` is damaged.
    pub high_error: bool,
}

/// Two symbols to send, before scrambling.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct OutgoingSymbols {
    /// The symbol that goes first.
    pub low: Bits<8>,
    /// The symbol behind it.
    pub high: Bits<8>,
    /// `low` is K.
    pub low_k: bool,
    /// `high` is K.
    pub high_k: bool,
    /// `low` is COM.
    pub com: bool,
    /// `high` is SKP, and `low` is SKP or COM.
    pub skp: bool,
    /// The data is that of a training set, which is not scrambled.
    pub training: bool,
    /// Electrical idle in place of both.
    pub silent: bool,
}

/// Two symbols on the lane, taken apart: `tx_data` and `tx_k`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct SentSymbols {
    /// The symbol that goes first.
    pub low: Bits<8>,
    /// The symbol behind it.
    pub high: Bits<8>,
    /// `low` is K.
    pub low_k: bool,
    /// `high` is K.
    pub high_k: bool,
}
