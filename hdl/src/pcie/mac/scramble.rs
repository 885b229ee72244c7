//! Scrambles what is sent.
//!
//! ```text
//!        word ──►┌──────────┐──► tx_data, tx_k
//!   scrambled ──►│ Scramble │
//!                └──────────┘──► tx_idle
//! ```
//! Contract: COM begins the register anew, SKP leaves it, every other symbol moves it on by eight bits. K symbols and the data of training
//! sets stay as they are.
//!
//! Latency: 1 cycle.
//!
//! Example: behind COM and three SKP, logical idle is FF 17 C0 14.
//!
//! Tests: with the whole, `tests/pcie/mac/`.

use super::keystream::{BEHIND_ONE, START};
use super::symbol::{OutgoingSymbols, SentSymbols};
use super::Keystream;
use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// `tx_data` and `tx_k`.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
struct SymbolBits {
    data: Bits<16>,
    k: Bits<2>,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Scramble {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Electrical idle at once.
    pub reset: Signal<In, bool>,
    /// Two symbols, from `Lane`.
    pub word: Signal<In, OutgoingSymbols>,
    /// Data is scrambled, as both sides have agreed; from the LTSSM.
    pub scrambled: Signal<In, bool>,
    /// Two symbols, for the seam.
    pub tx_data: Signal<Out, Bits<16>>,
    /// Which of them are K.
    pub tx_k: Signal<Out, Bits<2>>,
    /// Electrical idle in place of both.
    pub tx_idle: Signal<Out, bool>,
    register: DFF<Bits<16>>,
    stream: Keystream,
    low_key: Signal<Local, Bits<8>>,
    high_key: Signal<Local, Bits<8>>,
    sent: DFF<SentSymbols>,
    silent: DFF<bool>,
    lines: Cast<SentSymbols, SymbolBits>,
    start: Number<16, START>,
    behind_one: Number<16, BEHIND_ONE>,
    zero: Number<8, 0>,
}

impl Logic for Scramble {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, register, sent, silent);
        drive!(self, register.q => stream.from; stream.low => low_key; stream.high => high_key;
            stream.after => register.d; sent.q => lines.from; lines.to.val().data => tx_data;
            lines.to.val().k => tx_k; silent.q => tx_idle; word.val().silent => silent.d);
        if self.word.val().com {
            self.register.d.next = self.behind_one.val();
            if self.word.val().skp {
                self.register.d.next = self.start.val();
            }
        } else if self.word.val().skp {
            self.register.d.next = self.register.q.val();
        }
        if self.word.val().training | self.word.val().low_k | self.word.val().silent | !self.scrambled.val() {
            self.low_key.next = self.zero.val();
        }
        if self.word.val().training | self.word.val().high_k | self.word.val().silent | !self.scrambled.val()
        {
            self.high_key.next = self.zero.val();
        }
        self.sent.d.next.low = self.word.val().low ^ self.low_key.val();
        self.sent.d.next.high = self.word.val().high ^ self.high_key.val();
        fill!(self, sent.d, word.val().low_k => low_k; word.val().high_k => high_k);
        if self.reset.val() {
            self.silent.d.next = true;
        }
    }
}
