//! Fills in the fields of a packet that cut announces, or of the end of a message.
//!
//! ```text
//!  head, message, rest, now ──►┌─────────────┐
//!              place, bytes ──►│ PacketLabel │──► packet
//!   announces, ends, errors ──►└─────────────┘
//! ```
//! Contract: with `announces` it is a packet that is sent, otherwise the end of a message. The first packet behind a rewind has
//! `restart`. A read's packet says in `immediate` how many bytes are to be read, and has no immediate data of its own. The block has no
//! state.
//!
//! Latency: none.
//!
//! Example: the second and last packet of a send of 1500 bytes with immediate data: `packet` has `last`, `length` 476, `message_length`
//! 1500, and the immediate data.
//!
//! Tests: with the whole of gather, `tests/send/gather/`.

use rust_hdl::prelude::*;
use viaduct_dialect::wires;

use super::message::CheckedMessage;
use super::message_rest::PacketPlace;
use super::owner::OwnerNow;
use super::packet_count::ReadRest;
use crate::bus::{Packet, SendHead};

/// See the module's description.
#[derive(LogicBlock, Default)]
pub struct PacketLabel {
    /// The message's head, from the inbox.
    pub head: Signal<In, SendHead>,
    /// The message at hand, from check.
    pub message: Signal<In, CheckedMessage>,
    /// The VI's RDMA reads, from the owner.
    pub now: Signal<In, OwnerNow>,
    /// The part of a read that is still to be read, from the packet count.
    pub rest: Signal<In, ReadRest>,
    /// Where in the message the packet is, from `MessageRest`.
    pub place: Signal<In, PacketPlace>,
    /// Bytes of payload of the packet, from `PacketPart`.
    pub bytes: Signal<In, Bits<13>>,
    /// A packet is announced; cut drives this and the inputs below.
    pub announces: Signal<In, bool>,
    /// The message ends without a further packet.
    pub ends: Signal<In, bool>,
    /// Error bits of the status, if the message ends in its midst.
    pub errors: Signal<In, Bits<9>>,
    /// The packet, or the message's end, for send/transmit.
    pub packet: Signal<Out, Packet>,
}

impl Logic for PacketLabel {
    #[wires]
    #[hdl_gen]
    fn update(&mut self) {
        fill!(self, packet, head.val().vi => vi; announces => send; place.val().first => first);
        self.packet.next.last = self.place.val().last | self.ends.val();
        self.packet.next.length = self.bytes.val();
        self.packet.next.has_immediate =
            self.message.val().has_immediate & self.place.val().last & !self.message.val().reads;
        self.packet.next.immediate = self.message.val().immediate;
        if self.message.val().reads {
            self.packet.next.immediate = self.rest.val().bytes;
        }
        fill!(self, packet, head.val().region => region; head.val().offset => offset;
            message.val().length => message_length);
        self.packet.next.errors = self.message.val().errors | self.errors.val();
        self.packet.next.lost = self.head.val().lost;
        self.packet.next.epoch = self.head.val().epoch;
        self.packet.next.restart = self.head.val().restart & self.place.val().fresh;
        fill!(self, packet, head.val().psn => psn; message.val().operation => operation;
            rest.val().address => remote_address; message.val().rkey => rkey);
        self.packet.next.beyond = bit_cast::<24, 20>(self.rest.val().beyond);
        fill!(self, packet, message.val().segments => segments; now.val().sent => number;
            message.val().parks => parked);
        if self.message.val().parks {
            self.packet.next.number = self.message.val().complete;
        }
        self.packet.next.reply = false;
        self.packet.next.unread = self.message.val().unread;
    }
}
