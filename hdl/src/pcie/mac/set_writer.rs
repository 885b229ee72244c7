//! Writes the words of ordered sets.
//!
//! ```text
//!   kind, place, order ──►┌───────────┐──► word
//!                         │ SetWriter │
//!                         └───────────┘
//! ```
//! Contract: `word` is the word number `place` of the set. A training set has eight words: COM, link or PAD, lane 0 or PAD, N_FTS 255, the
//! data rate 2.5 GT/s, the control bits, and ten identifiers. A SKP set is COM and three SKP, EIOS is COM and three IDL: two words.
//!
//! `no_scramble` sets control bit 3 in all training sets.
//!
//! Latency: none, no state.
//!
//! Example: TS1 in Polling: COM PAD, PAD FF, 02 00, 4A 4A and so on.
//!
//! Tests: with the whole, `tests/pcie/mac/`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use super::symbol::{OutgoingSymbols, COM, IDL, PAD, SKP};
use super::LaneOrder;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// An ordered set.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum SetKind {
    /// TS1 or TS2.
    Training,
    /// The SKP ordered set.
    Skp,
    /// EIOS.
    Farewell,
}

/// The control bits.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct Flags {
    hot_reset: bool,
    disabled: bool,
    loopback: bool,
    no_scramble: bool,
    reserved: Bits<4>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct SetWriter {
    /// The set, from `Lane`.
    pub kind: Signal<In, SetKind>,
    /// The word's number in the set, from `Lane`.
    pub place: Signal<In, Bits<3>>,
    /// What a training set says, from `Lane`; it stays from the first word to the last.
    pub order: Signal<In, LaneOrder>,
    /// Training sets ask for scrambling off; a constant of `PcieMac`.
    pub no_scramble: Signal<In, bool>,
    /// The word.
    pub word: Signal<Out, OutgoingSymbols>,
    identifier: Signal<Local, Bits<8>>,
    flags: Signal<Local, Flags>,
    octet: Cast<Flags, Bits<8>>,
    control: Signal<Local, Bits<8>>,
    com: Number<8, COM>,
    skp: Number<8, SKP>,
    idl: Number<8, IDL>,
    pad: Number<8, PAD>,
    first: Number<8, 0x4a>,
    second: Number<8, 0x45>,
    n_fts: Number<8, 0xff>,
    rate: Number<8, 2>,
    zero: Number<8, 0>,
}

impl Logic for SetWriter {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        self.identifier.next = self.first.val();
        if self.order.val().second {
            self.identifier.next = self.second.val();
        }
        self.flags.next.hot_reset = self.order.val().hot_reset;
        self.flags.next.disabled = self.order.val().disabled;
        self.flags.next.loopback = false;
        self.flags.next.no_scramble = self.no_scramble.val();
        self.flags.next.reserved = bits::<4>(0);
        drive!(self, flags => octet.from; octet.to => control);
        fill!(self, word, identifier => low, high; false => low_k, high_k, com, skp, silent;
            true => training);
        match self.place.val().index() {
            0 => {
                fill!(self, word, com => low; true => low_k, com; pad => high; true => high_k);
                if self.order.val().link {
                    fill!(self, word, order.val().number => high; false => high_k);
                }
            }
            1 => {
                fill!(self, word, pad => low; true => low_k; n_fts => high);
                if self.order.val().lane {
                    fill!(self, word, zero => low; false => low_k);
                }
            }
            2 => {
                fill!(self, word, rate => low; control => high);
            }
            _ => {}
        }
        match self.kind.val() {
            SetKind::Training => {}
            SetKind::Skp => {
                fill!(self, word, skp => high; true => low_k, high_k, skp);
                if self.place.val().get_bit(0) {
                    self.word.next.low = self.skp.val();
                }
            }
            SetKind::Farewell => {
                fill!(self, word, idl => high; true => low_k, high_k);
                if self.place.val().get_bit(0) {
                    self.word.next.low = self.idl.val();
                }
            }
        }
    }
}
