//! Keeps what is left of a message, and says how large its next packet is and where in the message that is.
//!
//! ```text
//!    message, between ──►┌─────────────┐──► size, words
//!             reading ──►│ MessageRest │──► place
//!    announced, bytes ──►│             │──► more, skips
//!             skipped ──►└─────────────┘
//! ```
//! Contract: while no message is offered the block takes in what the next one is to be. `size` is the size of the next packet: the path
//! MTU, or, of the last packet, the rest. `words` and `place` describe the packet as it was in the last cycle with `between`. `announced`
//! says that the packet is announced, or skipped, and takes its `bytes` off the rest. `skipped` counts a packet that is not sent. `more`
//! (bytes are in no packet yet) and `skips` (packets are still to be skipped) are of the cycle before. A read (`reading`) is one packet
//! without payload, and skips none.
//!
//! Latency: none for `size`, otherwise 1 cycle. How: the rest is compared with the MTU in 13 bits, see
//! [`Portion`](crate::arithmetic::Portion).
//!
//! Example: a message of 1500 bytes, and the path MTU is 1024. `size` is 1024, `words` 128, `place` says `first`. When that is announced,
//! `size` is 476, `words` 60, and `place` says `last`.
//!
//! Tests: `tests/send/gather/message_rest.rs`.

#![allow(missing_docs, reason = "derive(LogicStruct) makes methods without documentation")]

use crate::stream::FlowSink;
use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::message::CheckedMessage;
use crate::arithmetic::Portion;

/// Where in its message a packet is.
#[derive(Copy, Clone, PartialEq, Debug, Default, LogicStruct)]
pub struct PacketPlace {
    /// The first packet of the message.
    pub first: bool,
    /// The last packet of the message.
    pub last: bool,
    /// No packet of the head has been announced.
    pub fresh: bool,
}

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct MessageRest {
    /// Rising edge.
    pub clock: Signal<In, Clock>,
    /// The message that cut has at hand; while it is not valid, what is known of the next one. Cut drives it.
    pub message: FlowSink<CheckedMessage>,
    /// Cut is between two packets, or between two messages; it drives this and the inputs below.
    pub between: Signal<In, bool>,
    /// With `between`: the message is an RDMA read.
    pub reading: Signal<In, bool>,
    /// The packet is announced, or skipped.
    pub announced: Signal<In, bool>,
    /// Bytes of the packet that is announced or skipped.
    pub bytes: Signal<In, Bits<13>>,
    /// A packet that is not sent has been skipped.
    pub skipped: Signal<In, bool>,
    /// Bytes of the next packet, if it is no read.
    pub size: Signal<Out, Bits<13>>,
    /// Words of payload of the packet.
    pub words: Signal<Out, Bits<10>>,
    /// Where in the message the packet is.
    pub place: Signal<Out, PacketPlace>,
    /// Bytes of the message were in no packet.
    pub more: Signal<Out, bool>,
    /// Packets were to be skipped.
    pub skips: Signal<Out, bool>,
    /// Bytes of the message in no packet yet.
    left: DFF<Bits<32>>,
    /// Packets still to skip.
    skip: DFF<Bits<24>>,
    first: DFF<bool>,
    last: DFF<bool>,
    fresh: DFF<bool>,
    payload_words: DFF<Bits<10>>,
    left_any: DFF<bool>,
    skip_any: DFF<bool>,
    portion: Portion,
    mtu: Signal<Local, Bits<13>>,
    bytes_up: Signal<Local, Bits<13>>,
    left_after: Signal<Local, Bits<32>>,
    skip_after: Signal<Local, Bits<24>>,
}

impl Logic for MessageRest {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, skip, first, last, fresh, payload_words, left_any, skip_any);
        self.mtu.next = self.message.data.val().mtu;
        // WIRE-2: every packet has the path MTU, but the last.
        self.portion.bytes.next = self.left.q.val();
        self.portion.room.next = self.mtu.val();
        self.size.next = self.portion.portion.val();
        self.bytes_up.next = bit_cast::<13, 32>(self.left.q.val()) + bits::<13>(7);
        self.left_after.next = self.left.q.val() - bit_cast::<32, 13>(self.bytes.val());
        self.skip_after.next = self.skip.q.val() - 1;
        self.left_any.d.next = self.left.q.val().any();
        self.skip_any.d.next = self.skip.q.val().any();
        if self.between.val() {
            self.payload_words.d.next = self.mtu.val().get_bits::<10>(3);
            if self.portion.ends_bytes.val() {
                self.payload_words.d.next = self.bytes_up.val().get_bits::<10>(3);
            }
            self.last.d.next = self.portion.ends_bytes.val();
            if !self.message.valid.val() {
                self.left.d.next = self.message.data.val().length;
                self.skip.d.next = self.message.data.val().skip;
                self.first.d.next = true;
                self.fresh.d.next = true;
            }
            if self.reading.val() {
                self.payload_words.d.next = bits::<10>(0);
                self.skip.d.next = bits::<24>(0);
                self.last.d.next = true;
            }
        }
        if self.announced.val() {
            self.first.d.next = false;
            self.fresh.d.next = self.skip_any.q.val();
            self.left.d.next = self.left_after.val();
        }
        if self.skipped.val() {
            self.skip.d.next = self.skip_after.val();
        }
        drive!(self, payload_words.q => words; left_any.q => more; skip_any.q => skips);
        fill!(self, place, first.q => first; last.q => last; fresh.q => fresh);
    }
}
