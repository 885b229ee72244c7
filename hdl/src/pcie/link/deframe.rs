//! Finds packets among the received symbols, and makes words of them.
//!
//! ```text
//!  symbols ──►┌─────────┐──► begins
//!    in_l0 ──►│ Deframe │──► piece
//!             │         │──► ending
//!             └─────────┘──► damaged
//! ```
//! Contract: STP and SDP may stand in either byte. A packet gives `begins`, then its words at `piece`, the sequence number or the DLLP's
//! type first, check sum and all; then `ending`, if END or EDB has come behind a whole word. A TLP that ends in another way, by any other
//! K, by a damaged symbol or because L0 is left, is `damaged`; such a DLLP is dropped. What is too long or too short is for those who hear
//! to see: they count.
//!
//! `ending` comes a cycle behind the last word at the earliest, `begins` a cycle before the first one. `ending` and `begins` may come in
//! the same cycle, and so may `ending` and `damaged`: then the end is that of the packet before.
//!
//! A cycle without `symbols` means nothing.
//!
//! Latency: 2 cycles from symbols to words.
//!
//! Example: the symbols STP 12, 34 56, .. give `begins` and then the word 3412h, which is `first`.
//!
//! Tests: `tests/pcie/link/garbage.rs`, and with the whole.

use super::packet::{PacketEnding, Piece};
use super::symbol_kind::{Meaning, SymbolKind};
use crate::pcie::bus::Symbols;
use crate::stream::{FlowSink, FlowSource};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Deframe {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Drops the packet under way.
    pub reset: Signal<In, bool>,
    /// Two received symbols, from `mac`.
    pub symbols: FlowSink<Symbols>,
    /// The link is in L0, from `mac`; when it falls the packet under way is cut.
    pub in_l0: Signal<In, bool>,
    /// A packet begins.
    pub begins: Signal<Out, bool>,
    /// A word of a packet.
    pub piece: FlowSource<Piece>,
    /// A packet has ended.
    pub ending: FlowSource<PacketEnding>,
    /// A TLP was cut.
    pub damaged: Signal<Out, bool>,
    value: Signal<Local, Bits<16>>,
    k: Signal<Local, Bits<2>>,
    error: Signal<Local, Bits<2>>,
    first_kind: SymbolKind,
    second_kind: SymbolKind,
    // The symbols of the cycle before, and what they mean.
    come: DFF<bool>,
    data: DFF<Bits<16>>,
    low: DFF<Meaning>,
    high: DFF<Meaning>,
    was_l0: DFF<bool>,
    // The packet under way.
    busy: DFF<bool>,
    tlp: DFF<bool>,
    /// The packet began in the high byte.
    odd: DFF<bool>,
    /// No word of it has come.
    fresh: DFF<bool>,
    /// The high byte of the cycle before.
    held: DFF<Bits<8>>,
    /// A packet has ended with the last cycle's word.
    late: DFF<PacketEnding>,
    is_late: DFF<bool>,
    // As it is behind the low byte.
    busy_between: Signal<Local, bool>,
    tlp_between: Signal<Local, bool>,
    odd_between: Signal<Local, bool>,
    // And behind the high byte.
    busy_behind: Signal<Local, bool>,
    tlp_behind: Signal<Local, bool>,
    starts_low: Signal<Local, bool>,
    starts_high: Signal<Local, bool>,
    starts: Signal<Local, bool>,
    cut: Signal<Local, bool>,
    word: Signal<Local, bool>,
    low_byte: Signal<Local, Bits<8>>,
    high_byte: Signal<Local, Bits<8>>,
    // The outputs.
    begun: DFF<bool>,
    shown: DFF<bool>,
    show: DFF<Piece>,
    ended: DFF<bool>,
    end_kind: DFF<PacketEnding>,
    hurt: DFF<bool>,
}

impl Logic for Deframe {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, come, data, low, high, was_l0, busy, tlp, odd, fresh, held, late, is_late);
        dff_setup!(self, clock, begun, shown, show, ended, end_kind, hurt);
        drive!(self, symbols.data.val().data => value; symbols.data.val().k => k;
            symbols.data.val().error => error; symbols.valid => come.d; in_l0 => was_l0.d; value => data.d);
        self.first_kind.value.next = self.value.val().get_bits::<8>(0);
        self.first_kind.k.next = self.k.val().get_bit(0);
        self.first_kind.error.next = self.error.val().get_bit(0);
        self.second_kind.value.next = self.value.val().get_bits::<8>(8);
        self.second_kind.k.next = self.k.val().get_bit(1);
        self.second_kind.error.next = self.error.val().get_bit(1);
        drive!(self, first_kind.kind => low.d; second_kind.kind => high.d);

        // The low byte.
        self.low_byte.next = self.data.q.val().get_bits::<8>(0);
        self.high_byte.next = self.data.q.val().get_bits::<8>(8);
        self.starts_low.next = self.low.q.val().stp | self.low.q.val().sdp;
        self.starts_high.next = self.high.q.val().stp | self.high.q.val().sdp;
        drive!(self, busy.q => busy_between; tlp.q => tlp_between; odd.q => odd_between);
        self.cut.next = false;
        self.word.next = false;
        self.ended.d.next = self.is_late.q.val();
        self.end_kind.d.next = self.late.q.val();
        self.is_late.d.next = false;
        if self.come.q.val() {
            self.word.next =
                self.busy.q.val() & self.low.q.val().plain & (!self.odd.q.val() | self.high.q.val().plain);
            if self.starts_low.val() {
                self.cut.next = self.busy.q.val() & self.tlp.q.val();
                self.busy_between.next = true;
                self.tlp_between.next = self.low.q.val().stp;
                self.odd_between.next = false;
            } else if !self.low.q.val().plain {
                self.busy_between.next = false;
                if self.low.q.val().closes & self.odd.q.val() & self.busy.q.val() {
                    self.ended.d.next = true;
                    fill!(self, end_kind.d, tlp.q => tlp; low.q.val().edb => edb);
                } else {
                    self.cut.next = self.busy.q.val() & self.tlp.q.val();
                }
            }
        }

        // The high byte.
        drive!(self, busy_between => busy_behind; tlp_between => tlp_behind; odd_between => odd.d);
        if self.come.q.val() {
            self.held.d.next = self.high_byte.val();
            if !self.high.q.val().plain & self.busy_between.val() {
                if self.high.q.val().closes & !self.odd_between.val() {
                    // The word of this cycle goes first.
                    self.is_late.d.next = true;
                } else {
                    self.cut.next = self.cut.val() | self.tlp_between.val();
                }
            }
            if self.starts_high.val() {
                self.busy_behind.next = true;
                self.tlp_behind.next = self.high.q.val().stp;
                self.odd.d.next = true;
            } else if !self.high.q.val().plain {
                self.busy_behind.next = false;
            }
        }
        drive!(self, busy_behind => busy.d; tlp_behind => tlp.d);
        fill!(self, late.d, tlp_between => tlp; high.q.val().edb => edb);

        // The word.
        self.shown.d.next = self.word.val();
        self.show.d.next.data = self.data.q.val();
        if !self.odd.q.val() {
            self.show.d.next.data =
                (bit_cast::<16, 8>(self.low_byte.val()) << 8) | bit_cast::<16, 8>(self.held.q.val());
        }
        self.show.d.next.first = self.fresh.q.val();
        self.show.d.next.tlp = self.tlp.q.val();
        self.starts.next = self.come.q.val() & (self.starts_low.val() | self.starts_high.val());
        self.begun.d.next = self.starts.val();
        if self.word.val() {
            self.fresh.d.next = false;
        }
        if self.starts.val() {
            self.fresh.d.next = true;
        }

        // L0 is left.
        if self.was_l0.q.val() & !self.in_l0.val() {
            self.cut.next = self.cut.val() | (self.busy_behind.val() & self.tlp_behind.val());
            self.busy.d.next = false;
        }
        self.hurt.d.next = self.cut.val();
        drive!(self, begun.q => begins; shown.q => piece.valid; show.q => piece.data; ended.q => ending.valid;
            end_kind.q => ending.data; hurt.q => damaged);
        if self.reset.val() {
            drive!(self, false => come.d, busy.d, is_late.d, shown.d, ended.d, hurt.d);
        }
    }
}
