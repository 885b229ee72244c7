//! Descrambles what is received, and finds logical idle in it.
//!
//! ```text
//!    aligned ──►┌────────────┐──► symbols
//!  scrambled ──►│ Descramble │
//!  receiving ──►└────────────┘──► idle, busy
//! ```
//! Contract: COM and a SKP set begin the register anew, every other symbol moves it on by eight bits. K symbols and the data of training
//! sets stay as they are. `symbols` is given while `receiving` only. `idle` pulses for each word of two logical idle symbols outside of
//! ordered sets, `busy` for each other word.
//!
//! A training set ends after its 16 symbols, with the next COM, or with a K symbol where there can be none.
//!
//! Latency: `symbols` 1 cycle, `idle` and `busy` 2.
//!
//! Example: COM, SKP, SKP, SKP, FF, 17 on the lane gives 00, 00, and then `idle`.
//!
//! Tests: with the whole, `tests/pcie/mac/`.

use super::keystream::{BEHIND_ONE, START};
use super::symbol::{Aligned, Plain, IDL, PAD};
use super::Keystream;
use crate::pcie::bus::Symbols;
use crate::prims::{Cast, Number};
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Descramble {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Two symbols, from `Align`.
    pub aligned: FlowSink<Aligned>,
    /// Data is scrambled, as both sides have agreed; from the LTSSM.
    pub scrambled: Signal<In, bool>,
    /// The other side may send packets; from the LTSSM.
    pub receiving: Signal<In, bool>,
    /// Two symbols, for `link`.
    pub symbols: FlowSource<Symbols>,
    /// Pulses for a word of logical idle, for the LTSSM.
    pub idle: Signal<Out, bool>,
    /// Pulses for a word of anything else.
    pub busy: Signal<Out, bool>,
    register: DFF<Bits<16>>,
    from: Signal<Local, Bits<16>>,
    stream: Keystream,
    /// The register is begun anew between the two symbols.
    anew: Signal<Local, bool>,
    low_key: Signal<Local, Bits<8>>,
    high_key: Signal<Local, Bits<8>>,
    /// Words of an ordered set that are still to come.
    rest: DFF<Bits<3>>,
    in_set: Signal<Local, bool>,
    given: DFF<bool>,
    plain: DFF<Plain>,
    words: Cast<Plain, Symbols>,
    /// The word given is outside of ordered sets.
    outside: DFF<bool>,
    is_idle: Signal<Local, bool>,
    idles: DFF<bool>,
    others: DFF<bool>,
    start: Number<16, START>,
    behind_one: Number<16, BEHIND_ONE>,
    behind_com: Number<8, 0xff>,
    zero: Number<8, 0>,
    idl: Number<8, IDL>,
    pad: Number<8, PAD>,
}

impl Logic for Descramble {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, register, rest, given, plain, outside, idles, others);
        drive!(self, idles.q => idle; others.q => busy; register.q => from);
        // What the two symbols are combined with.
        if self.aligned.data.val().low_skipped {
            self.from.next = self.start.val();
        }
        self.stream.from.next = self.from.val();
        self.anew.next = self.aligned.data.val().com | self.aligned.data.val().high_skipped;
        drive!(self, stream.low => low_key; stream.high => high_key);
        if self.anew.val() {
            self.high_key.next = self.behind_com.val();
        }
        if self.aligned.valid.val() {
            self.register.d.next = self.stream.after.val();
            if self.anew.val() {
                self.register.d.next = self.behind_one.val();
            }
        }

        // Where ordered sets are.
        self.in_set.next = self.aligned.data.val().com | (self.rest.q.val() != bits::<3>(0));
        if self.aligned.valid.val() {
            if self.rest.q.val() != bits::<3>(0) {
                self.rest.d.next = self.rest.q.val() - 1;
            }
            if self.aligned.data.val().high_k | self.aligned.data.val().high_error {
                self.rest.d.next = bits::<3>(0);
            }
            if self.aligned.data.val().com {
                self.rest.d.next = bits::<3>(7);
                if self.aligned.data.val().high_k & (self.aligned.data.val().high != self.pad.val()) {
                    self.rest.d.next = bits::<3>(0);
                    if self.aligned.data.val().high == self.idl.val() {
                        self.rest.d.next = bits::<3>(1);
                    }
                }
            }
        }

        if self.in_set.val() | !self.scrambled.val() {
            drive!(self, zero => low_key, high_key);
        }
        fill!(self, plain.d, aligned.data.val().low => low; aligned.data.val().high => high;
            aligned.data.val().low_k => low_k; aligned.data.val().high_k => high_k;
            aligned.data.val().low_error => low_error; aligned.data.val().high_error => high_error);
        if !self.aligned.data.val().low_k {
            self.plain.d.next.low = self.aligned.data.val().low ^ self.low_key.val();
        }
        if !self.aligned.data.val().high_k {
            self.plain.d.next.high = self.aligned.data.val().high ^ self.high_key.val();
        }
        self.given.d.next = self.aligned.valid.val();
        self.outside.d.next = !self.in_set.val();
        drive!(self, plain.q => words.from; words.to => symbols.data);
        self.symbols.valid.next = self.given.q.val() & self.receiving.val();

        self.is_idle.next = self.outside.q.val()
            & (self.plain.q.val().low == self.zero.val())
            & (self.plain.q.val().high == self.zero.val())
            & !self.plain.q.val().low_k
            & !self.plain.q.val().high_k
            & !self.plain.q.val().low_error
            & !self.plain.q.val().high_error;
        self.idles.d.next = self.given.q.val() & self.is_idle.val();
        self.others.d.next = self.given.q.val() & !self.is_idle.val();
    }
}
