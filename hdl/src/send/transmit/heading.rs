//! Works out what a packet or an acknowledgement is on the wire: opcode, PSN, extension headers, lengths.
//!
//! ```text
//!       packet, psn ──►┌─────────┐
//!               ack ──►│ Heading │──► job
//!   acking, vi, now ──►└─────────┘
//! ```
//! Contract: with `acking` `job` is the acknowledgement's frame, otherwise the packet's. A job asks the peer for an acknowledgement in the
//! last packet of a reliable message, and where the low 4 bits of the PSN are ones. The block has no state.
//!
//! Example: a packet of 10 bytes that is a whole message of a reliable VI: the opcode is that of a SEND Only, the pad is 2 bytes, the
//! payload is 2 words, and the packet asks for an acknowledgement.
//!
//! Latency: 0 cycles. Tests: with `Transmit`, `tests/send/transmit/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;
use viaduct_spec::descriptor::control;
use viaduct_spec::wire::opcode;

use super::frame_job::FrameJob;
use super::sender::SenderNow;
use crate::bus::{AckRequest, Packet, Vi};
use crate::prims::{Cast, Number, WireOrder};
use crate::rows::wire::{Aeth, Reth};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub(super) struct Heading {
    /// The packet whose turn it may be, from gather.
    pub(super) packet: Signal<In, Packet>,
    /// The acknowledgement whose turn it may be, from send/ack.
    pub(super) ack: Signal<In, AckRequest>,
    /// It is the acknowledgement's turn, as the steps say; otherwise it is the packet's.
    pub(super) acking: Signal<In, bool>,
    /// VI of the packet or the acknowledgement, from the sender.
    pub(super) vi: Signal<In, Vi>,
    /// PSN of the packet, from the PSN count.
    pub(super) psn: Signal<In, Bits<24>>,
    /// Service and loopback of that VI, from the sender.
    pub(super) now: Signal<In, SenderNow>,
    /// The frame to make, for the framer.
    pub(super) job: Signal<Out, FrameJob>,
    length: Signal<Local, Bits<13>>,
    replies: Signal<Local, bool>,
    reads: Signal<Local, bool>,
    is_reliable: Signal<Local, bool>,
    op_read: Number<2, { control::OP_RDMAREAD as u64 }>,
    response_opcode: Signal<Local, Bits<8>>,
    read_request: Number<8, { opcode::RC_READ_REQUEST as u64 }>,
    response_first: Number<8, { opcode::RC_READ_RESPONSE_FIRST as u64 }>,
    response_middle: Number<8, { opcode::RC_READ_RESPONSE_MIDDLE as u64 }>,
    response_last: Number<8, { opcode::RC_READ_RESPONSE_LAST as u64 }>,
    response_only: Number<8, { opcode::RC_READ_RESPONSE_ONLY as u64 }>,
    send_opcode: Signal<Local, Bits<8>>,
    plain_opcode: Signal<Local, Bits<8>>,
    low_bits: Signal<Local, Bits<2>>,
    pad: Signal<Local, Bits<2>>,
    up_four: Signal<Local, Bits<13>>,
    up_eight: Signal<Local, Bits<13>>,
    extended: Signal<Local, bool>,
    value: Signal<Local, Bits<32>>,
    /// RDMA write.
    writes: Signal<Local, bool>,
    has_reth: Signal<Local, bool>,
    write_opcode: Signal<Local, Bits<8>>,
    reth_fields: Signal<Local, Reth>,
    reth: Cast<Reth, Bits<128>>,
    reth_wire: WireOrder<128>,
    aeth_fields: Signal<Local, Aeth>,
    aeth: Cast<Aeth, Bits<32>>,
    extension: WireOrder<32>,
    payload_quads: Signal<Local, Bits<11>>,
    header_quads: Signal<Local, Bits<11>>,
    quads: Signal<Local, Bits<11>>,
    acknowledge: Number<8, { opcode::RC_ACKNOWLEDGE as u64 }>,
    send_first: Number<8, { opcode::RC_SEND_FIRST as u64 }>,
    send_middle: Number<8, { opcode::RC_SEND_MIDDLE as u64 }>,
    send_last: Number<8, { opcode::RC_SEND_LAST as u64 }>,
    send_only: Number<8, { opcode::RC_SEND_ONLY as u64 }>,
    write_first: Number<8, { opcode::RC_WRITE_FIRST as u64 }>,
    write_middle: Number<8, { opcode::RC_WRITE_MIDDLE as u64 }>,
    write_last: Number<8, { opcode::RC_WRITE_LAST as u64 }>,
    write_only: Number<8, { opcode::RC_WRITE_ONLY as u64 }>,
    op_write: Number<2, { control::OP_RDMAWRITE as u64 }>,
    /// The opcode with immediate data is the next one.
    with_immediate: Number<8, { (opcode::RC_SEND_ONLY_IMMEDIATE - opcode::RC_SEND_ONLY) as u64 }>,
    /// Unreliable opcodes have this bit.
    unreliable_bit: Number<8, { (opcode::UC_SEND_FIRST - opcode::RC_SEND_FIRST) as u64 }>,
    asks: Signal<Local, bool>,
}

impl Logic for Heading {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        drive!(self, packet.val().length => length; packet.val().reply => replies);
        self.reads.next = self.packet.val().operation == self.op_read.val();
        // WIRE-3: a packet with a PSN of 15 modulo 16 asks for an acknowledgement.
        self.asks.next = self.psn.val().get_bits::<4>(0) == bits::<4>(15);
        self.is_reliable.next = self.now.val().reliable;
        self.low_bits.next = self.length.val().get_bits::<2>(0);
        self.pad.next = bits::<2>(0) - self.low_bits.val();
        self.up_four.next = self.length.val() + bits::<13>(3);
        self.up_eight.next = self.length.val() + bits::<13>(7);
        self.extended.next = self.packet.val().has_immediate;
        self.value.next = self.packet.val().immediate;
        self.aeth_fields.next.msn = self.ack.val().msn;
        self.aeth_fields.next.syndrome = self.ack.val().syndrome;
        self.aeth.from.next = self.aeth_fields.val();
        // WIRE-1: the opcode of the operation and of the packet's place.
        self.send_opcode.next = self.send_middle.val();
        if self.packet.val().first {
            self.send_opcode.next = self.send_first.val();
        }
        if self.packet.val().last {
            self.send_opcode.next = self.send_last.val();
            if self.packet.val().first {
                self.send_opcode.next = self.send_only.val();
            }
        }
        self.writes.next = self.packet.val().operation == self.op_write.val();
        // A choice among the few opcodes takes less logic than an adder of eight bits.
        self.write_opcode.next = self.write_middle.val();
        self.response_opcode.next = self.response_middle.val();
        if self.packet.val().first {
            self.write_opcode.next = self.write_first.val();
            self.response_opcode.next = self.response_first.val();
        }
        if self.packet.val().last {
            self.write_opcode.next = self.write_last.val();
            self.response_opcode.next = self.response_last.val();
            if self.packet.val().first {
                self.write_opcode.next = self.write_only.val();
                self.response_opcode.next = self.response_only.val();
            }
        }
        self.plain_opcode.next = self.send_opcode.val();
        if self.writes.val() {
            self.plain_opcode.next = self.write_opcode.val();
        }
        if self.reads.val() {
            self.plain_opcode.next = self.read_request.val();
        }
        self.job.next.vi = self.vi.val();
        self.job.next.opcode = self.plain_opcode.val();
        if self.packet.val().has_immediate & self.is_reliable.val() {
            self.job.next.opcode = self.plain_opcode.val() | self.with_immediate.val();
        }
        if self.packet.val().has_immediate & !self.is_reliable.val() {
            self.job.next.opcode =
                self.plain_opcode.val() | self.with_immediate.val() | self.unreliable_bit.val();
        }
        if !self.packet.val().has_immediate & !self.is_reliable.val() {
            self.job.next.opcode = self.plain_opcode.val() | self.unreliable_bit.val();
        }
        if self.replies.val() {
            self.job.next.opcode = self.response_opcode.val();
        }
        self.job.next.psn = self.psn.val();
        // WIRE-3: the last packet of a message asks, too.
        self.job.next.ack_request =
            self.is_reliable.val() & (self.packet.val().last | self.asks.val()) & !self.replies.val();
        self.job.next.pad = self.pad.val();
        self.job.next.words = self.up_eight.val().get_bits::<10>(3);
        self.has_reth.next = (self.writes.val() | self.reads.val()) & self.packet.val().first;
        self.payload_quads.next = self.up_four.val().get_bits::<11>(2);
        self.header_quads.next = bits::<11>(0);
        if self.packet.val().has_immediate {
            self.header_quads.next = bits::<11>(1);
        }
        if self.has_reth.val() {
            self.header_quads.next = self.header_quads.val() | bits::<11>(4);
        }
        self.quads.next = self.payload_quads.val() + self.header_quads.val();
        self.job.next.loopback = self.now.val().loopback;
        if self.acking.val() {
            fill!(self, job, acknowledge => opcode; ack.val().psn => psn; false => ack_request);
            self.job.next.pad = bits::<2>(0);
            self.job.next.words = bits::<10>(0);
            self.has_reth.next = false;
            self.extended.next = true;
            self.value.next = self.aeth.to.val();
            self.quads.next = bits::<11>(1);
        }
        self.job.next.raw = self.now.val().raw;
        self.job.next.over = self.length.val().get_bits::<3>(0);
        if self.now.val().raw {
            self.quads.next = bit_cast::<11, 13>(self.up_eight.val() >> 3) << 1;
        }
        self.job.next.quads = self.quads.val();
        self.job.next.extended = self.extended.val();
        self.extension.from.next = self.value.val();
        self.job.next.extension = self.extension.to.val();

        self.job.next.has_reth = self.has_reth.val();
        fill!(self, reth_fields, packet.val().remote_address => address; packet.val().rkey => rkey;
            packet.val().message_length => length);
        if self.reads.val() {
            // The bytes that are still to be read.
            self.reth_fields.next.length = self.packet.val().immediate;
        }
        drive!(self, reth_fields => reth.from; reth.to => reth_wire.from);
        self.job.next.reth = self.reth_wire.to.val();
    }
}
