//! Says what a TLP is by its format and type.
//!
//! ```text
//!   kind ──►┌──────────┐──► memory, completion, configuration, message
//!           │ KindSort │──► non_posted, known
//!           └──────────┘──► single
//! ```
//! Contract: `kind` is the first byte of a TLP. `memory` is a plain memory read or write, `configuration` a read or write of type 0.
//! `non_posted` is every request that must be answered: those and I/O, configuration of type 1, locked reads, atomic operations.
//! Of those, I/O and configuration requests must be of a `single` double word.
//! A format that its type does not have makes a TLP malformed: `known` is low then, and all others are.
//!
//! Latency: none, no state.
//!
//! Example: 0x44 is a configuration write of type 0: `configuration`, `non_posted` and `known` are high. 0x64 would be one with a long
//! header, which there is not: none is high.
//!
//! Tests: `tests/pcie/transaction/kind_sort.rs`.

use crate::prims::{Cast, Number};
use crate::rows::tlp::TlpKind;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::packet_type;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct KindSort {
    /// Format and type of the TLP; `HeaderReader` drives it, and listens to all that comes of it.
    pub kind: Signal<In, Bits<8>>,
    /// A memory read or write.
    pub memory: Signal<Out, bool>,
    /// A completion, or one of a locked read.
    pub completion: Signal<Out, bool>,
    /// A configuration read or write of type 0.
    pub configuration: Signal<Out, bool>,
    /// A message.
    pub message: Signal<Out, bool>,
    /// A request that must be answered.
    pub non_posted: Signal<Out, bool>,
    /// A request that can be of one double word only.
    pub single: Signal<Out, bool>,
    /// The type has this format.
    pub known: Signal<Out, bool>,
    fields: Cast<Bits<8>, TlpKind>,
    what: Signal<Local, Bits<5>>,
    /// The type but for its lowest bit.
    pair: Signal<Local, Bits<4>>,
    /// The type but for the routing of a message.
    unrouted: Signal<Local, Bits<2>>,
    plain: Signal<Local, bool>,
    short: Signal<Local, bool>,
    bare: Signal<Local, bool>,
    is_memory: Signal<Local, bool>,
    is_completion: Signal<Local, bool>,
    is_message: Signal<Local, bool>,
    is_single: Signal<Local, bool>,
    /// A request other than of memory.
    other: Signal<Local, bool>,
    memory_type: Number<5, { packet_type::MEMORY as u64 }>,
    locked_read: Number<5, { packet_type::LOCKED_READ as u64 }>,
    io: Number<5, { packet_type::IO as u64 }>,
    configuration_0: Number<5, { packet_type::CONFIGURATION_0 as u64 }>,
    configuration_pair: Number<4, { packet_type::CONFIGURATION_0 as u64 / 2 }>,
    trusted_configuration: Number<5, { packet_type::TRUSTED_CONFIGURATION as u64 }>,
    completion_pair: Number<4, { packet_type::COMPLETION as u64 / 2 }>,
    fetch_add_pair: Number<4, { packet_type::FETCH_ADD as u64 / 2 }>,
    compare_swap: Number<5, { packet_type::COMPARE_SWAP as u64 }>,
    message_types: Number<2, { packet_type::MESSAGE as u64 / 8 }>,
}

impl Logic for KindSort {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, kind => fields.from; fields.to.val().packet_type => what);
        self.pair.next = self.what.val().get_bits::<4>(1);
        self.unrouted.next = self.what.val().get_bits::<2>(3);
        self.plain.next = !self.fields.to.val().prefix;
        self.short.next = self.plain.val() & !self.fields.to.val().long;
        self.bare.next = self.plain.val() & !self.fields.to.val().with_data;
        self.is_memory.next = self.plain.val() & (self.what.val() == self.memory_type.val());
        self.is_completion.next = self.short.val() & (self.pair.val() == self.completion_pair.val());
        self.is_message.next =
            self.plain.val() & self.fields.to.val().long & (self.unrouted.val() == self.message_types.val());
        self.is_single.next = self.short.val()
            & ((self.what.val() == self.io.val())
                | (self.pair.val() == self.configuration_pair.val())
                | (self.what.val() == self.trusted_configuration.val()));
        self.other.next = self.is_single.val()
            | (self.bare.val() & (self.what.val() == self.locked_read.val()))
            | (self.plain.val()
                & self.fields.to.val().with_data
                & ((self.pair.val() == self.fetch_add_pair.val())
                    | (self.what.val() == self.compare_swap.val())));
        drive!(self, is_memory => memory; is_completion => completion; is_message => message;
            is_single => single);
        self.configuration.next = self.short.val() & (self.what.val() == self.configuration_0.val());
        self.non_posted.next = (self.is_memory.val() & self.bare.val()) | self.other.val();
        self.known.next =
            self.is_memory.val() | self.is_completion.val() | self.is_message.val() | self.other.val();
    }
}
