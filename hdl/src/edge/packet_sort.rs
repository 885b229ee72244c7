//! Says what kind of packet comes from the host.
//!
//! ```text
//!   kind ──►┌────────────┐──► memory, with_data, long_header
//!           │ PacketSort │──► nonposted, completion, message
//!           └────────────┘
//! ```
//! Contract: `kind` is the byte of a packet's first double word that has its type and format. `memory` is a memory request, a write if
//! it is `with_data`. `nonposted` is a request that must be answered: a memory read, locked reads, I/O, configuration, atomic operations.
//! `completion` and `message` are those packets. For a prefix and for an unknown type none of these three is high, and for a prefix
//! `memory` is low too.
//!
//! Latency: none, no state.
//!
//! Example: 0x20 is a memory read with a long header: `memory`, `long_header` and `nonposted` are high.
//!
//! Tests: `tests/tlp/packet_sort.rs`.

use crate::prims::{Cast, Number};
use crate::rows::tlp::TlpKind;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::tlp::packet_type;

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketSort {
    /// Type and format of the packet; `TlpReceive` drives it.
    pub kind: Signal<In, Bits<8>>,
    /// A memory request; `TlpReceive` listens to this and the other outputs.
    pub memory: Signal<Out, bool>,
    /// Data follows the header.
    pub with_data: Signal<Out, bool>,
    /// The header has 4 double words, otherwise 3.
    pub long_header: Signal<Out, bool>,
    /// A request that must be answered.
    pub nonposted: Signal<Out, bool>,
    /// A completion.
    pub completion: Signal<Out, bool>,
    /// A message.
    pub message: Signal<Out, bool>,
    fields: Cast<Bits<8>, TlpKind>,
    what: Signal<Local, Bits<5>>,
    plain: Signal<Local, bool>,
    is_memory: Signal<Local, bool>,
    /// The type without the routing of a message.
    unrouted: Signal<Local, Bits<5>>,
    unrouted_bits: Number<5, 0x18>,
    memory_type: Number<5, { packet_type::MEMORY as u64 }>,
    locked_read: Number<5, { packet_type::LOCKED_READ as u64 }>,
    io: Number<5, { packet_type::IO as u64 }>,
    configuration_0: Number<5, { packet_type::CONFIGURATION_0 as u64 }>,
    configuration_1: Number<5, { packet_type::CONFIGURATION_1 as u64 }>,
    trusted_configuration: Number<5, { packet_type::TRUSTED_CONFIGURATION as u64 }>,
    completion_type: Number<5, { packet_type::COMPLETION as u64 }>,
    fetch_add: Number<5, { packet_type::FETCH_ADD as u64 }>,
    swap: Number<5, { packet_type::SWAP as u64 }>,
    compare_swap: Number<5, { packet_type::COMPARE_SWAP as u64 }>,
    message_type: Number<5, { packet_type::MESSAGE as u64 }>,
}

impl Logic for PacketSort {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, kind => fields.from; fields.to.val().packet_type => what);
        self.plain.next = !self.fields.to.val().prefix;
        self.is_memory.next = self.plain.val() & (self.what.val() == self.memory_type.val());
        drive!(self, is_memory => memory; fields.to.val().with_data => with_data;
            fields.to.val().long => long_header);
        self.completion.next =
            self.plain.val() & !self.fields.to.val().long & (self.what.val() == self.completion_type.val());
        self.unrouted.next = self.what.val() & self.unrouted_bits.val();
        self.message.next = self.plain.val() & (self.unrouted.val() == self.message_type.val());
        self.nonposted.next = self.plain.val()
            & ((self.is_memory.val() & !self.fields.to.val().with_data)
                | (self.what.val() == self.locked_read.val())
                | (self.what.val() == self.io.val())
                | (self.what.val() == self.configuration_0.val())
                | (self.what.val() == self.configuration_1.val())
                | (self.what.val() == self.fetch_add.val())
                | (self.what.val() == self.swap.val())
                | (self.what.val() == self.compare_swap.val())
                | (self.what.val() == self.trusted_configuration.val()));
    }
}
