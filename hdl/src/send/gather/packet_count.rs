//! Counts the packets of the answer to an RDMA read, and finds where the read goes on.
//!
//! ```text
//!  message ──►┌─────────────┐──► rest
//!             │ PacketCount │──► done
//!             └─────────────┘
//! ```
//! Contract: while no message is offered the block takes in what the next one is to be. Of a read, of 2^31 bytes or less, it divides the
//! length by the path MTU, and multiplies the packets to skip by it, a bit in each cycle. `done` is high when `rest` is valid, until the
//! message is taken. Of any other message `rest` says at once that nothing is skipped and nothing counted: the remote address is its own,
//! and `beyond` is 0.
//!
//! Latency: 9 cycles for a path MTU of 256 bytes from `message` to `done`, and one more for each doubling.
//!
//! Example: a read of 600 bytes with a path MTU of 256 has an answer of 3 packets, so `beyond` is 2. If the first two are there, 88
//! bytes from 512 behind its address on are left, and `beyond` is 0.
//!
//! Tests: `tests/send/gather/packet_count.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use rust_hdl::prelude::*;

use super::message::CheckedMessage;
use crate::stream::FlowSink;

/// The part of a read that is still to be read.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct ReadRest {
    /// Bytes that are still to be read.
    pub bytes: Bits<32>,
    /// Address of those bytes at the peer.
    pub address: Bits<64>,
    /// Packets of their answer, less one.
    pub beyond: Bits<20>,
    /// More packets of the answer are to be skipped than it has: the read was longer before.
    pub shrunk: bool,
    /// The answer has more than 2^20 packets.
    pub many: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketCount {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The message that cut has at hand; while it is not valid, what is known of it so far. Check drives it.
    pub message: FlowSink<CheckedMessage>,
    /// The part of the read that is still to be read, for cut.
    pub rest: Signal<Out, ReadRest>,
    /// `rest` is that of the read at hand.
    pub done: Signal<Out, bool>,
    /// The length, divided by 2 as often as the path MTU has been so far.
    packets: DFF<Bits<32>>,
    /// The length is not a multiple of what it was divided by.
    remains: DFF<bool>,
    /// The packets to skip, multiplied by 2 as often.
    skipped: DFF<Bits<32>>,
    /// How many halvings are still to come.
    steps: DFF<Bits<4>>,
    counted: DFF<bool>,
    /// `packets` was not 0 in the cycle before.
    packets_any: DFF<bool>,
    bytes: DFF<Bits<32>>,
    address: DFF<Bits<64>>,
    beyond: DFF<Bits<24>>,
    counts: Signal<Local, bool>,
    exact: Signal<Local, bool>,
    borrow: Signal<Local, Bits<25>>,
    others: Signal<Local, Bits<25>>,
}

impl Logic for PacketCount {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            packets,
            remains,
            skipped,
            steps,
            counted,
            packets_any,
            bytes,
            address,
            beyond
        );
        self.counts.next = self.message.valid.val() & self.message.data.val().reads;
        if !self.message.valid.val() {
            self.packets.d.next = self.message.data.val().length;
            self.remains.d.next = false;
            self.skipped.d.next = bits::<32>(0);
            if self.message.data.val().reads {
                self.skipped.d.next = bit_cast::<32, 24>(self.message.data.val().skip);
            }
            self.steps.d.next = self.message.data.val().mtu_log2;
        } else if self.counts.val() & self.steps.q.val().any() {
            self.packets.d.next = self.packets.q.val() >> 1;
            self.remains.d.next = self.remains.q.val() | self.packets.q.val().get_bit(0);
            self.skipped.d.next = self.skipped.q.val() << 1;
            self.steps.d.next = self.steps.q.val() - 1;
        }
        self.counted.d.next = self.counts.val() & !self.steps.q.val().any();
        self.done.next = self.counted.q.val();
        self.packets_any.d.next = self.packets.q.val().any();

        // REQ-8: a read goes on from its first missing byte.
        self.bytes.d.next = self.message.data.val().length - self.skipped.q.val();
        self.address.d.next =
            self.message.data.val().remote_address + bit_cast::<64, 32>(self.skipped.q.val());
        // Packets of the whole answer less one, less those that are there.
        // One subtraction does both: the one less is a borrow from below.
        self.exact.next = !self.remains.q.val() & self.packets_any.q.val();
        self.borrow.next = bits::<25>(0);
        if self.exact.val() {
            self.borrow.next = bits::<25>(1);
        }
        self.others.next = (bit_cast::<25, 32>(self.packets.q.val()) << 1)
            - ((bit_cast::<25, 24>(self.message.data.val().skip) << 1) | self.borrow.val());
        self.beyond.d.next = self.others.val().get_bits::<24>(1);
        if !self.message.data.val().reads {
            self.beyond.d.next = bits::<24>(0);
        }
        self.rest.next.bytes = self.bytes.q.val();
        self.rest.next.address = self.address.q.val();
        self.rest.next.beyond = self.beyond.q.val().get_bits::<20>(0);
        // READ_DEPTH of the largest, and what else may be in flight, stay below 2^23 PSNs.
        self.rest.next.shrunk = self.beyond.q.val().get_bit(23);
        self.rest.next.many = self.beyond.q.val().get_bits::<3>(20).any();
    }
}
