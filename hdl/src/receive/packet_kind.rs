//! Says what a BTH's opcode is: what the packet does, where it stands in its message, and which headers follow.
//!
//! ```text
//!  opcode ──►[ PacketKind ]──► kind
//! ```
//! Contract: for an opcode of the reliable or of the unreliable class, `kind` says what the opcode's name says. The block does not check
//! whether the class has the operation (the unreliable one has no reads). If there is no such operation, `known` is low.
//!
//! Example: opcode 2b (hexadecimal) is an unreliable WRITE Only with immediate data: `unreliable`, `known`, `writes`, `first`, `last`,
//! `extended` and `reth` are high.
//!
//! Latency: none, no state. Tests: `tests/receive/packet_kind.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::prims::{Cast, Number};
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

/// An opcode.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Opcode {
    /// What the packet does: see [`Operation`].
    pub operation: Bits<5>,
    /// Class of the connection: see [`transport`].
    pub transport: Bits<3>,
}

/// What an opcode says.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct Kind {
    /// The class is the unreliable one.
    pub unreliable: bool,
    /// The operation is one of those below.
    pub known: bool,
    /// A packet of a send.
    pub sends: bool,
    /// A packet of an RDMA write.
    pub writes: bool,
    /// An RDMA read request.
    pub reads: bool,
    /// A packet of the answer to an RDMA read.
    pub responds: bool,
    /// An acknowledgement.
    pub acknowledges: bool,
    /// The first packet of its message or answer.
    pub first: bool,
    /// The last packet of its message or answer.
    pub last: bool,
    /// Four bytes of immediate data or AETH are in front of the payload.
    pub extended: bool,
    /// A RETH is in front of them.
    pub reth: bool,
}

/// Operations, in the order of their numbers on the wire.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum Operation {
    SendFirst,
    SendMiddle,
    SendLast,
    SendLastImmediate,
    SendOnly,
    SendOnlyImmediate,
    WriteFirst,
    WriteMiddle,
    WriteLast,
    WriteLastImmediate,
    WriteOnly,
    WriteOnlyImmediate,
    ReadRequest,
    ReadResponseFirst,
    ReadResponseMiddle,
    ReadResponseLast,
    ReadResponseOnly,
    Acknowledge,
}

/// Classes of opcodes.
pub mod transport {
    /// Reliable connection.
    pub const RELIABLE: u64 = 0;
    /// Unreliable connection.
    pub const UNRELIABLE: u64 = 1;
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketKind {
    /// Opcode of a packet's BTH; the block that owns this one drives it.
    pub opcode: Signal<In, Bits<8>>,
    /// What the opcode means.
    pub kind: Signal<Out, Kind>,
    parts: Cast<Bits<8>, Opcode>,
    to_operation: Cast<Bits<5>, Operation>,
    operation: Signal<Local, Operation>,
    unreliable: Number<3, { transport::UNRELIABLE }>,
}

impl Logic for PacketKind {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, opcode => parts.from; parts.to.val().operation => to_operation.from;
            to_operation.to => operation);
        self.kind.next.unreliable = self.parts.to.val().transport == self.unreliable.val();
        fill!(self, kind, true => known;
            false => sends, writes, reads, responds, acknowledges, first, last, extended, reth);
        match self.operation.val() {
            Operation::SendFirst => {
                self.kind.next.sends = true;
                self.kind.next.first = true;
            }
            Operation::SendMiddle => {
                self.kind.next.sends = true;
            }
            Operation::SendLast => {
                self.kind.next.sends = true;
                self.kind.next.last = true;
            }
            Operation::SendLastImmediate => {
                fill!(self, kind, true => sends, last, extended);
            }
            Operation::SendOnly => {
                fill!(self, kind, true => sends, first, last);
            }
            Operation::SendOnlyImmediate => {
                fill!(self, kind, true => sends, first, last, extended);
            }
            Operation::WriteFirst => {
                fill!(self, kind, true => writes, first, reth);
            }
            Operation::WriteMiddle => {
                self.kind.next.writes = true;
            }
            Operation::WriteLast => {
                self.kind.next.writes = true;
                self.kind.next.last = true;
            }
            Operation::WriteLastImmediate => {
                fill!(self, kind, true => writes, last, extended);
            }
            Operation::WriteOnly => {
                fill!(self, kind, true => writes, first, last, reth);
            }
            Operation::WriteOnlyImmediate => {
                fill!(self, kind, true => writes, first, last, extended, reth);
            }
            Operation::ReadRequest => {
                fill!(self, kind, true => reads, first, last, reth);
            }
            Operation::ReadResponseFirst => {
                fill!(self, kind, true => responds, first, extended);
            }
            Operation::ReadResponseMiddle => {
                self.kind.next.responds = true;
            }
            Operation::ReadResponseLast => {
                fill!(self, kind, true => responds, last, extended);
            }
            Operation::ReadResponseOnly => {
                fill!(self, kind, true => responds, first, last, extended);
            }
            Operation::Acknowledge => {
                self.kind.next.acknowledges = true;
                self.kind.next.extended = true;
            }
            _ => {
                self.kind.next.known = false;
            }
        }
    }
}
