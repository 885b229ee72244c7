//! The credits of one class: what the link partner has allowed, and what is left of it.
//!
//! ```text
//!  heard ──►┌─────────┐──► limit, known
//!  init1 ──►│ Account │──► can_header, left, endless
//!   mine ──►│         │◄── spend, units
//!           └─────────┘
//! ```
//! Contract: `mine` says that `heard` is of this class. In Init1 the first InitFC counts, and no other; a value of 0 is without limit.
//! Later UpdateFC counts, but what is without limit stays so. `spend` takes a header and `units` of data.
//!
//! `can_header`: there is a header. `left` is the data that is left; with `endless` that means nothing. `left` of 2048 and more means that
//! more was used than was allowed, which cannot be; then nothing is left.
//!
//! Latency: 2 cycles from `heard` or `spend` to `can_header` and `left`.
//!
//! Example: InitFC1 says 1 header and 4 units. `spend` with 4 units: `can_header` is low and `left` 0. UpdateFC says 2 and 8: high, and 4.
//!
//! Tests: with the whole, `tests/pcie/link/credits.rs`.

use super::packet::Heard;
use crate::pcie::bus::Limit;
use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Account {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// Nothing is known, and nothing used.
    pub reset: Signal<In, bool>,
    /// A DLLP; from `Dllps`.
    pub heard: FlowSink<Heard>,
    /// The DLLP is of this class; from `Credits`.
    pub mine: Signal<In, bool>,
    /// InitFC counts; from `Activity`.
    pub init1: Signal<In, bool>,
    /// What is allowed.
    pub limit: Signal<Out, Limit>,
    /// InitFC has come.
    pub known: Signal<Out, bool>,
    /// A TLP of this class is sent; from `Credits`, as `units`.
    pub spend: Signal<In, bool>,
    /// The data of that TLP, in units of 16 bytes.
    pub units: Signal<In, Bits<12>>,
    /// There is a header.
    pub can_header: Signal<Out, bool>,
    /// Data that is left.
    pub left: Signal<Out, Bits<12>>,
    /// Data is without limit.
    pub endless: Signal<Out, bool>,
    allowed: DFF<Limit>,
    is_known: DFF<bool>,
    used_headers: DFF<Bits<8>>,
    used_data: DFF<Bits<12>>,
    left_headers: DFF<Bits<8>>,
    left_data: DFF<Bits<12>>,
    record: Signal<Local, bool>,
    change: Signal<Local, bool>,
}

impl Logic for Account {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, allowed, is_known, used_headers, used_data, left_headers, left_data);
        drive!(self, allowed.q => limit; is_known.q => known; left_data.q => left;
            allowed.q.val().endless_data => endless);
        self.record.next = self.heard.valid.val()
            & self.mine.val()
            & self.init1.val()
            & (self.heard.data.val().init1 | self.heard.data.val().init2)
            & !self.is_known.q.val();
        self.change.next = self.heard.valid.val()
            & self.mine.val()
            & !self.init1.val()
            & self.is_known.q.val()
            & self.heard.data.val().update;
        if self.record.val() | self.change.val() {
            fill!(self, allowed.d, heard.data.val().headers => headers; heard.data.val().number => data);
        }
        if self.record.val() {
            self.is_known.d.next = true;
            self.allowed.d.next.endless_headers = !self.heard.data.val().headers.any();
            self.allowed.d.next.endless_data = !self.heard.data.val().number.any();
        }
        if self.spend.val() {
            self.used_headers.d.next = self.used_headers.q.val() + 1;
            self.used_data.d.next = self.used_data.q.val() + self.units.val();
        }
        self.left_headers.d.next = self.allowed.q.val().headers - self.used_headers.q.val();
        self.left_data.d.next = self.allowed.q.val().data - self.used_data.q.val();
        self.can_header.next = self.allowed.q.val().endless_headers
            | (self.left_headers.q.val().any() & !self.left_headers.q.val().get_bit(7));
        if self.reset.val() {
            self.is_known.d.next = false;
            self.used_headers.d.next = bits::<8>(0);
            self.used_data.d.next = bits::<12>(0);
            fill!(self, allowed.d, false => endless_headers, endless_data);
            self.allowed.d.next.headers = bits::<8>(0);
            self.allowed.d.next.data = bits::<12>(0);
        }
    }
}
