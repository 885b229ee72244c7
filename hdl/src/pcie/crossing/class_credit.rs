//! How much of one class the core may send now.
//!
//! ```text
//!  limit, heard ──►┌─────────────┐──► headers, data
//!  spend, units ──►│ ClassCredit │
//!         reset ──►└─────────────┘
//! ```
//! Contract: `limit` is what the link partner has allowed since the link came up, modulo its width; it is looked at with `heard`, which comes
//! every 8 cycles at most. `spend` takes one header and `units` data off; it comes every second cycle at most. What is without limit shows as
//! all ones. `limit` falls when this end's own packets use credits that have been shown here: what is left may then be less than nothing, that
//! is half the width and more; it shows as 0.
//!
//! Latency: 1 from `spend`, at most 3 from `heard`.
//!
//! Example: `limit` allows 10 headers and 40 units of data, and three packets of four units have left: `headers` is 7, `data` 28.
//!
//! Tests: `tests/pcie/crossing/`.

use crate::pcie::bus::Limit;
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct ClassCredit {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The link is down: nothing is allowed, and nothing has been sent.
    pub reset: Signal<In, bool>,
    /// What the link partner has allowed, from `Mirror`.
    pub limit: Signal<In, Limit>,
    /// `limit` is to be looked at; from `Mirror`.
    pub heard: Signal<In, bool>,
    /// A packet has left, from `CreditCounter`.
    pub spend: Signal<In, bool>,
    /// The packet's data, in units of 16 bytes, from `CreditCounter`.
    pub units: Signal<In, Bits<12>>,
    /// Headers that may be sent now.
    pub headers: Signal<Out, Bits<8>>,
    /// Data that may be sent now, in units of 16 bytes.
    pub data: Signal<Out, Bits<12>>,
    known_headers: DFF<Bits<8>>,
    known_data: DFF<Bits<12>>,
    gained_headers: DFF<Bits<8>>,
    gained_data: DFF<Bits<12>>,
    gains: DFF<bool>,
    left_headers: DFF<Bits<8>>,
    left_data: DFF<Bits<12>>,
    shown: Signal<Local, Limit>,
    no_headers: Number<8, 0>,
    no_data: Number<12, 0>,
    all_headers: Number<8, 0xFF>,
    all_data: Number<12, 0xFFF>,
}

impl Logic for ClassCredit {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, known_headers, known_data, gained_headers, gained_data, gains);
        dff_setup!(self, clock, left_headers, left_data);
        drive!(self, limit => shown; left_headers.q => headers; left_data.q => data);
        if self.left_headers.q.val().get_bit(7) {
            self.headers.next = self.no_headers.val();
        }
        if self.left_data.q.val().get_bit(11) {
            self.data.next = self.no_data.val();
        }
        if self.shown.val().endless_headers {
            self.headers.next = self.all_headers.val();
        }
        if self.shown.val().endless_data {
            self.data.next = self.all_data.val();
        }
        if self.spend.val() {
            self.left_headers.d.next = self.left_headers.q.val() - 1;
            self.left_data.d.next = self.left_data.q.val() - self.units.val();
        } else if self.gains.q.val() {
            self.left_headers.d.next = self.left_headers.q.val() + self.gained_headers.q.val();
            self.left_data.d.next = self.left_data.q.val() + self.gained_data.q.val();
            self.gains.d.next = false;
        }
        if self.heard.val() {
            self.gained_headers.d.next = self.shown.val().headers - self.known_headers.q.val();
            self.gained_data.d.next = self.shown.val().data - self.known_data.q.val();
            self.known_headers.d.next = self.shown.val().headers;
            self.known_data.d.next = self.shown.val().data;
            self.gains.d.next = true;
        }
        if self.reset.val() {
            self.known_headers.d.next = bits::<8>(0);
            self.known_data.d.next = bits::<12>(0);
            self.left_headers.d.next = bits::<8>(0);
            self.left_data.d.next = bits::<12>(0);
            self.gains.d.next = false;
        }
    }
}
