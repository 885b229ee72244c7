//! Tells whether a BTH's opcode is one of ours, which headers follow, and how many bytes they have.
//!
//! ```text
//!  opcode, agents ──►┌─────────────┐──► known, extended, reth, headers
//!                    └─────────────┘
//! ```
//! Contract: `headers` is what an IP packet's length counts beside payload and pad, the ICRC included. An opcode that is none of ours
//! has no headers behind the BTH, except that a datagram has its DETH, whoever it is for. A datagram is `known` only with `agents`: it is
//! for queue pair 1. A congestion notification is not `known`.
//!
//! Example: a WRITE Only with immediate data: `known`, `extended` and `reth` are high, and `headers` counts 20 bytes more than those of
//! a SEND Only.
//!
//! Latency: none, no state. Tests: with `Parse`, `tests/receive/parse/`.

use super::{DETH_BYTES, HEADERS};
use crate::prims::{Cast, Number};
use crate::receive::packet_kind::{transport, Kind, Opcode, PacketKind};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::wire::{EXTENSION_BYTES, RETH_BYTES};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct HeaderSizes {
    /// Opcode of the frame's BTH; `Parse` drives this and `agents`.
    pub opcode: Signal<In, Bits<8>>,
    /// The packet is for queue pair 1.
    pub agents: Signal<In, bool>,
    /// The opcode is one of ours; `Parse` listens to all outputs.
    pub known: Signal<Out, bool>,
    /// Immediate data or an AETH follows.
    pub extended: Signal<Out, bool>,
    /// A RETH follows.
    pub reth: Signal<Out, bool>,
    /// Bytes of all headers and the ICRC.
    pub headers: Signal<Out, Bits<14>>,
    decoded: PacketKind,
    kind: Signal<Local, Kind>,
    parts: Cast<Bits<8>, Opcode>,
    /// The opcode's class has its operation.
    ours: Signal<Local, bool>,
    has_extension: Signal<Local, bool>,
    has_reth: Signal<Local, bool>,
    datagram: Signal<Local, bool>,
    plain_headers: Number<14, { HEADERS }>,
    extended_headers: Number<14, { HEADERS + EXTENSION_BYTES as u64 }>,
    reth_headers: Number<14, { HEADERS + RETH_BYTES as u64 }>,
    both_headers: Number<14, { HEADERS + (RETH_BYTES + EXTENSION_BYTES) as u64 }>,
    datagram_headers: Number<14, { HEADERS + DETH_BYTES as u64 }>,
    reliable: Number<3, { transport::RELIABLE }>,
    datagram_opcode: Number<8, { viaduct_spec::wire::opcode::UD_SEND_ONLY as u64 }>,
}

impl Logic for HeaderSizes {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, opcode => decoded.opcode, parts.from; decoded.kind => kind);
        // Reads are of reliable services only, and so are acknowledgements.
        self.ours.next = ((self.parts.to.val().transport == self.reliable.val()) & self.kind.val().known)
            | (self.kind.val().unreliable & (self.kind.val().sends | self.kind.val().writes));
        self.has_extension.next = self.ours.val() & self.kind.val().extended;
        self.has_reth.next = self.ours.val() & self.kind.val().reth;
        self.datagram.next = self.opcode.val() == self.datagram_opcode.val();
        // FRAME-8: the opcodes that are ours; a datagram to queue pair 1 is.
        self.known.next = (self.datagram.val() & self.agents.val()) | self.ours.val();
        // FRAME-6: the headers that an opcode needs room for.
        self.headers.next = self.plain_headers.val();
        if self.has_extension.val() {
            self.headers.next = self.extended_headers.val();
        }
        if self.has_reth.val() {
            self.headers.next = self.reth_headers.val();
            if self.has_extension.val() {
                self.headers.next = self.both_headers.val();
            }
        }
        if self.datagram.val() {
            self.headers.next = self.datagram_headers.val();
        }
        drive!(self, has_extension => extended; has_reth => reth);
    }
}
