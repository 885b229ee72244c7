//! How much the core may send now: what the link partner allows, less what has left the core.
//!
//! ```text
//!  limits, heard ──►┌───────────────┐──► posted_headers, posted_data
//!     beat moves ──►│ CreditCounter │──► non_posted_headers
//!           down ──►└───────────────┘──► completion_headers, completion_data
//! ```
//! Contract: docs/bring-up.md, `credit_*`: in the cycle after a packet's last beat its credits are taken off. `heard` is that of
//! [`ClassCredit`].
//!
//! Latency: that of [`ClassCredit`].
//!
//! Example: a write of 24 bytes leaves: one header and two units of data are taken off of the posted class.
//!
//! Tests: `tests/pcie/crossing/`.

use super::ClassCredit;
use crate::bus::TlpBeat;
use crate::pcie::bus::Limits;
use crate::prims::{Cast, Number, Unpack};
use crate::rows::tlp::{FirstWord, TlpKind};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::class;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct CreditCounter {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The link is down, from the `Synchronizer` behind `core_reset`.
    pub down: Signal<In, bool>,
    /// What the link partner allows, as far as it has become known; from `Mirror`.
    pub limits: Signal<In, Limits>,
    /// `limits` is to be looked at; from `Mirror`.
    pub heard: Signal<In, bool>,
    /// A beat leaves the core in this cycle, from `PcieCrossing`.
    pub moves: Signal<In, bool>,
    /// The beat that leaves, from the core.
    pub beat: Signal<In, TlpBeat>,
    /// `viaduct_spec::tlp::class` of the beat's packet, from the core.
    pub sort: Signal<In, Bits<2>>,
    /// Headers of posted packets.
    pub posted_headers: Signal<Out, Bits<8>>,
    /// Data of posted packets.
    pub posted_data: Signal<Out, Bits<12>>,
    /// Headers of non-posted packets.
    pub non_posted_headers: Signal<Out, Bits<8>>,
    /// Headers of completions.
    pub completion_headers: Signal<Out, Bits<8>>,
    /// Data of completions.
    pub completion_data: Signal<Out, Bits<12>>,
    posted: ClassCredit,
    non_posted: ClassCredit,
    completions: ClassCredit,
    /// A packet is under way.
    under_way: DFF<bool>,
    /// Its data, in units of 16 bytes.
    units: DFF<Bits<12>>,
    data: Signal<Local, Bits<64>>,
    /// The beat as a packet's first one.
    first: Unpack<Bits<64>, FirstWord>,
    kind: Cast<Bits<8>, TlpKind>,
    length: Signal<Local, Bits<10>>,
    rounded: Signal<Local, Bits<12>>,
    ends: Signal<Local, bool>,
    posted_class: Number<2, { class::POSTED as u64 }>,
    non_posted_class: Number<2, { class::NON_POSTED as u64 }>,
    completion_class: Number<2, { class::COMPLETION as u64 }>,
    most: Number<12, 256>,
}

impl Logic for CreditCounter {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, under_way, units);
        clock!(self, clock, posted, non_posted, completions);
        drive!(self, down => posted.reset, non_posted.reset, completions.reset;
            heard => posted.heard, non_posted.heard, completions.heard;
            limits.val().posted => posted.limit; limits.val().non_posted => non_posted.limit;
            limits.val().completions => completions.limit;
            units.q => posted.units, non_posted.units, completions.units;
            posted.headers => posted_headers; posted.data => posted_data;
            non_posted.headers => non_posted_headers; completions.headers => completion_headers;
            completions.data => completion_data; beat.val().data => data);
        // The first double word has the length in double words, 0 for 1024, and says whether there is data.
        drive!(self, data => first.from; first.to.val().kind => kind.from; first.to.val().length => length);
        self.rounded.next = bit_cast::<12, 10>(self.length.val()) + 3;
        if self.moves.val() {
            self.under_way.d.next = !self.beat.val().last;
            if !self.under_way.q.val() {
                self.units.d.next = self.rounded.val() >> 2;
                if !self.length.val().any() {
                    self.units.d.next = self.most.val();
                }
                if !self.kind.to.val().with_data {
                    self.units.d.next = bits::<12>(0);
                }
            }
        }
        self.ends.next = self.moves.val() & self.beat.val().last;
        self.posted.spend.next = self.ends.val() & (self.sort.val() == self.posted_class.val());
        self.non_posted.spend.next = self.ends.val() & (self.sort.val() == self.non_posted_class.val());
        self.completions.spend.next = self.ends.val() & (self.sort.val() == self.completion_class.val());
        if self.down.val() {
            self.under_way.d.next = false;
        }
    }
}
