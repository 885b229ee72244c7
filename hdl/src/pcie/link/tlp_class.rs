//! Which credits a TLP needs, by its first byte.
//!
//! ```text
//!  kind ──► [ TlpClass ] ──► sort, with_data
//! ```
//! Contract: `kind` is byte 0 of the header, Fmt and Type. Class 0 is posted: memory writes and messages. Class 2 is completions. All else
//! is class 1, non-posted.
//!
//! Latency: none, no state.
//!
//! Example: 4Ah, CplD, is class 2 and has data.
//!
//! Tests: with the whole, `tests/pcie/link/credits.rs`.

use crate::prims::{Cast, Number};
use crate::rows::tlp::TlpKind;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::{class, packet_type};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct TlpClass {
    /// Fmt and Type; from `Credits` or `TlpJudge`, which have one each.
    pub kind: Signal<In, Bits<8>>,
    /// 0 posted, 1 non-posted, 2 completion.
    pub sort: Signal<Out, Bits<2>>,
    /// The TLP has data.
    pub with_data: Signal<Out, bool>,
    fields: Cast<Bits<8>, TlpKind>,
    what: Signal<Local, Bits<5>>,
    /// The type but for its lowest bit.
    pair: Signal<Local, Bits<4>>,
    /// The type but for the routing of a message.
    unrouted: Signal<Local, Bits<2>>,
    memory: Number<5, { packet_type::MEMORY as u64 }>,
    completion_pair: Number<4, { packet_type::COMPLETION as u64 / 2 }>,
    message_types: Number<2, { packet_type::MESSAGE as u64 / 8 }>,
    posted: Number<2, { class::POSTED as u64 }>,
    non_posted: Number<2, { class::NON_POSTED as u64 }>,
    completion: Number<2, { class::COMPLETION as u64 }>,
}

impl Logic for TlpClass {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, kind => fields.from; fields.to.val().packet_type => what;
            fields.to.val().with_data => with_data; non_posted => sort);
        self.pair.next = self.what.val().get_bits::<4>(1);
        self.unrouted.next = self.what.val().get_bits::<2>(3);
        if self.pair.val() == self.completion_pair.val() {
            self.sort.next = self.completion.val();
        }
        if (self.unrouted.val() == self.message_types.val())
            | (self.fields.to.val().with_data & (self.what.val() == self.memory.val()))
        {
            self.sort.next = self.posted.val();
        }
    }
}
