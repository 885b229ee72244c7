//! What a received symbol means to framing.
//!
//! ```text
//!  value, k, error ──► [ SymbolKind ] ──► kind
//! ```
//! Contract: at most one of `plain`, `stp`, `sdp` and `closes` is high. A damaged symbol, and a K that does not frame packets, is none of
//! them. `edb` tells EDB from END.
//!
//! Latency: none, no state.
//!
//! Example: K FB is `stp`; D FB is `plain`.
//!
//! Tests: with `Deframe`, `tests/pcie/link/garbage.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::prims::Number;
use rust_hdl::prelude::*;

/// What a symbol means.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Meaning {
    /// Data.
    pub plain: bool,
    /// A TLP begins.
    pub stp: bool,
    /// A DLLP begins.
    pub sdp: bool,
    /// A packet ends: END or EDB.
    pub closes: bool,
    /// EDB.
    pub edb: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SymbolKind {
    /// The symbol's eight bits; from `Deframe`, as the two below.
    pub value: Signal<In, Bits<8>>,
    /// The symbol is a K.
    pub k: Signal<In, bool>,
    /// The symbol is damaged.
    pub error: Signal<In, bool>,
    /// What it means.
    pub kind: Signal<Out, Meaning>,
    whole_k: Signal<Local, bool>,
    is_edb: Signal<Local, bool>,
    stp: Number<8, 0xfb>,
    sdp: Number<8, 0x5c>,
    end_k: Number<8, 0xfd>,
    edb: Number<8, 0xfe>,
}

impl Logic for SymbolKind {
    #[hdl_gen]
    fn update(&mut self) {
        self.whole_k.next = self.k.val() & !self.error.val();
        self.is_edb.next = self.value.val() == self.edb.val();
        self.kind.next.plain = !self.k.val() & !self.error.val();
        self.kind.next.stp = self.whole_k.val() & (self.value.val() == self.stp.val());
        self.kind.next.sdp = self.whole_k.val() & (self.value.val() == self.sdp.val());
        self.kind.next.closes =
            self.whole_k.val() & ((self.value.val() == self.end_k.val()) | self.is_edb.val());
        self.kind.next.edb = self.is_edb.val();
    }
}
