//! Takes off the link partner's limits what this layer has sent itself, so that the core has the rest.
//!
//! ```text
//!   limits ──►┌────────────┐──► core_limits
//!  count_* ──►│ OwnCredits │
//!             └────────────┘
//! ```
//! Contract: a completion takes a header, one with data a unit of data, too; a message takes a posted header. Limits are modulo their
//! width, and so is the difference.
//!
//! Latency: 2 cycles from `count_*`, 1 from `limits`.
//!
//! Example: the limits are 32 completion headers; 3 completions have been sent here: the core sees 29.
//!
//! Tests: `tests/pcie/transaction/credits.rs`.

use crate::pcie::bus::{Limit, Limits};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct OwnCredits {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The link has been down: nothing has been sent.
    pub reset: Signal<In, bool>,
    /// What the link partner has allowed, from the link.
    pub limits: Signal<In, Limits>,
    /// A completion begins; this and the next two are from `Completer`.
    pub count_completion: Signal<In, bool>,
    /// A completion with data begins.
    pub count_data: Signal<In, bool>,
    /// A message begins.
    pub count_message: Signal<In, bool>,
    /// What the core may use, over the crossing.
    pub core_limits: Signal<Out, Limits>,
    completions: DFF<Bits<8>>,
    units: DFF<Bits<12>>,
    messages: DFF<Bits<8>>,
    shown: DFF<Limits>,
    posted: Signal<Local, Limit>,
    completion: Signal<Local, Limit>,
    rest: Signal<Local, Limit>,
    posted_rest: Signal<Local, Limit>,
}

impl Logic for OwnCredits {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, completions, units, messages, shown);
        drive!(self, limits.val().posted => posted; limits.val().completions => completion);
        self.posted_rest.next = self.posted.val();
        self.posted_rest.next.headers = self.posted.val().headers - self.messages.q.val();
        self.rest.next = self.completion.val();
        self.rest.next.headers = self.completion.val().headers - self.completions.q.val();
        self.rest.next.data = self.completion.val().data - self.units.q.val();
        fill!(self, shown.d, posted_rest => posted; limits.val().non_posted => non_posted;
            rest => completions);
        drive!(self, shown.q => core_limits);
        if self.count_completion.val() {
            self.completions.d.next = self.completions.q.val() + 1;
        }
        if self.count_data.val() {
            self.units.d.next = self.units.q.val() + 1;
        }
        if self.count_message.val() {
            self.messages.d.next = self.messages.q.val() + 1;
        }
        if self.reset.val() {
            self.completions.d.next = bits::<8>(0);
            self.units.d.next = bits::<12>(0);
            self.messages.d.next = bits::<8>(0);
        }
    }
}
