//! Tells what a BTH's opcode says: which headers follow, and whether it is one of ours.
//!
//! ```text
//!  opcode, agents ──►┌────────┐──► known, extended, reth, headers
//!                    └────────┘
//! ```
//! Contract: `headers` is what an IP packet's length counts beside payload and pad, the ICRC included. An opcode that is none of ours
//! has no headers behind the BTH, except that a datagram has its DETH, whoever it is for. A datagram is `known` only to `agents`, queue
//! pair 1. Congestion notifications are not `known`.
//!
//! Example: a WRITE Only with immediate data: `known`, `extended` and `reth` are high, and `headers` counts 20 bytes more than those of
//! a SEND Only.
//!
//! Latency: none, no state. Tests: with the whole, `tests/receive/parse/`.

use super::{DETH_BYTES, HEADERS};
use crate::prims::Number;
use rust_hdl::prelude::*;
use viaduct_spec::wire::{EXTENSION_BYTES, RETH_BYTES};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct Opcode {
    /// Opcode of the frame's BTH.
    pub opcode: Signal<In, Bits<8>>,
    /// The packet is for queue pair 1.
    pub agents: Signal<In, bool>,
    /// The opcode is one of ours.
    pub known: Signal<Out, bool>,
    /// Immediate data or an AETH follows.
    pub extended: Signal<Out, bool>,
    /// A RETH follows.
    pub reth: Signal<Out, bool>,
    /// Bytes of all headers and the ICRC.
    pub headers: Signal<Out, Bits<14>>,
    /// A send, a write, a read request or one of its first answers.
    common: Signal<Local, bool>,
    has_extension: Signal<Local, bool>,
    has_reth: Signal<Local, bool>,
    datagram: Signal<Local, bool>,
    plain_headers: Number<14, { HEADERS }>,
    extended_headers: Number<14, { HEADERS + EXTENSION_BYTES as u64 }>,
    reth_headers: Number<14, { HEADERS + RETH_BYTES as u64 }>,
    both_headers: Number<14, { HEADERS + (RETH_BYTES + EXTENSION_BYTES) as u64 }>,
    datagram_headers: Number<14, { HEADERS + DETH_BYTES as u64 }>,
    acknowledge: Number<8, { viaduct_spec::wire::opcode::RC_ACKNOWLEDGE as u64 }>,
    read_request: Number<8, { viaduct_spec::wire::opcode::RC_READ_REQUEST as u64 }>,
    response_only: Number<8, { viaduct_spec::wire::opcode::RC_READ_RESPONSE_ONLY as u64 }>,
    datagram_opcode: Number<8, { viaduct_spec::wire::opcode::UD_SEND_ONLY as u64 }>,
}

impl Logic for Opcode {
    #[hdl_gen]
    fn update(&mut self) {
        // Sends 0 to 5, RDMA writes 6 to 11; bit 5: unreliable. Immediate data in 3, 5, 9 and 11, RETH in 6, 10 and 11.
        // RDMA read: request 12 with RETH, answers 13 to 16 with AETH but 14; reliable only.
        self.common.next = !self.opcode.val().get_bits::<2>(6).any()
            & !self.opcode.val().get_bit(4)
            & !(self.opcode.val().get_bit(5) & self.opcode.val().get_bit(3) & self.opcode.val().get_bit(2));
        self.has_extension.next = (self.opcode.val() == self.acknowledge.val())
            | (self.opcode.val() == self.response_only.val())
            | (self.common.val()
                & self.opcode.val().get_bit(0)
                & (self.opcode.val().get_bit(3)
                    | (self.opcode.val().get_bit(2) ^ self.opcode.val().get_bit(1))));
        self.has_reth.next = (self.opcode.val() == self.read_request.val())
            | (self.common.val()
                & self.opcode.val().get_bit(1)
                & ((self.opcode.val().get_bit(3) & !self.opcode.val().get_bit(2))
                    | (!self.opcode.val().get_bit(3)
                        & self.opcode.val().get_bit(2)
                        & !self.opcode.val().get_bit(0))));
        self.datagram.next = self.opcode.val() == self.datagram_opcode.val();
        // FRAME-8: the opcodes that are ours; a datagram to queue pair 1 is.
        self.known.next = (self.datagram.val() & self.agents.val())
            | (self.opcode.val() == self.acknowledge.val())
            | (self.opcode.val() == self.response_only.val())
            | self.common.val();
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
        self.extended.next = self.has_extension.val();
        self.reth.next = self.has_reth.val();
    }
}
