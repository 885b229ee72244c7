//! What comes back to the requester: acknowledgements, refusals, and the answers of RDMA reads.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::gather;
use viaduct_spec::wire::{opcode, syndrome};

use super::message::Message;
use super::progress::remote_error;
use super::Requester;
use crate::model::choices::Unheard;
use crate::model::context::Context;
use crate::model::descriptor::{Descriptor, Operation};
use crate::model::effect::{Effect, Effects};
use crate::model::frame::{be32, Packet};
use crate::model::response::response_opcode;
use crate::model::{psn, scatter};

/// Syndromes by their two high bits but one: acknowledgement, receiver not ready, refusal.
const KIND: u8 = 0x60;
const KIND_ACK: u8 = syndrome::ACK & KIND;
const KIND_NOT_READY: u8 = syndrome::RNR_NAK & KIND;
const KIND_NAK: u8 = syndrome::NAK_SEQUENCE & KIND;

impl Requester {
    /// An answer to a connected VI.
    pub fn take_answer(&mut self, packet: &Packet, context: &mut Context<'_>, effects: &mut Effects) {
        // REQ-2: an answer to no PSN in flight is a ghost.
        if !self.in_flight(packet.psn) {
            return effects.count(counter::DROP_RESPONSE);
        }
        match packet.opcode {
            opcode::RC_ACKNOWLEDGE => self.take_acknowledgement(packet, context, effects),
            _ => self.take_response(packet, context, effects),
        }
    }

    fn take_acknowledgement(&mut self, packet: &Packet, context: &Context<'_>, effects: &mut Effects) {
        // The highest bit is reserved.
        let code = (be32(&packet.body, 0) >> 24) as u8 & 0x7F;
        match (code & KIND, code) {
            (KIND_ACK, _) => {
                effects.count(counter::ACKS_RECEIVED);
                // REQ-2: an ACK does not pass an unanswered read.
                if self.acknowledge(psn::add(packet.psn, 1), context, effects) {
                    self.implied_nak();
                }
            }
            (KIND_NOT_READY, _) => {
                effects.count(counter::RNR_RECEIVED);
                if self.acknowledge(packet.psn, context, effects) {
                    self.implied_nak();
                } else {
                    self.not_ready(packet.psn, code, context, effects);
                }
            }
            // REQ-4: NAK_SEQUENCE sends again. REQ-6: not while the receiver's time runs.
            (_, syndrome::NAK_SEQUENCE) => {
                effects.count(counter::NAKS_RECEIVED);
                if self.acknowledge(packet.psn, context, effects) {
                    self.implied_nak();
                } else if !self.waits(context) {
                    self.rewind();
                }
            }
            // REQ-4: a refusal, and NAK_OPERATIONAL for an unknown code.
            (_, syndrome::NAK_INVALID | syndrome::NAK_ACCESS | syndrome::NAK_OPERATIONAL) => {
                effects.count(counter::NAKS_RECEIVED);
                self.take_refusal(packet.psn, code, context, effects);
            }
            (KIND_NAK, _) => {
                effects.count(counter::NAKS_RECEIVED);
                self.take_refusal(packet.psn, syndrome::NAK_OPERATIONAL, context, effects);
            }
            _ => effects.count(counter::DROP_RESPONSE),
        }
    }

    fn take_refusal(&mut self, number: u32, code: u8, context: &Context<'_>, effects: &mut Effects) {
        // An unanswered read before it is not complete; it ends as the VI breaks.
        self.acknowledge(number, context, effects);
        self.note_refused(number);
        let held = self.holder(number);
        let rdma = held.is_some_and(|message| message.descriptor.operation() != Operation::Send);
        let bits = match code {
            syndrome::NAK_ACCESS => status::RDMA_PROT_ERROR,
            syndrome::NAK_INVALID if rdma => status::RDMA_PROT_ERROR,
            _ => remote_error(&context.rows),
        };
        effects.push(Effect::Refused { psn: number, bits, code: event_code::CONN_LOST });
    }

    /// A packet of an RDMA read's answer.
    fn take_response(&mut self, packet: &Packet, context: &mut Context<'_>, effects: &mut Effects) {
        let reads: Vec<&Message> = self.messages.iter().filter(|message| message.is_open_read()).collect();
        let Some(read) = reads.first().copied().cloned() else {
            return effects.count(counter::DROP_RESPONSE);
        };
        // REQ-3: at the expected PSN only. REQ-2: what is beyond it is an implied NAK.
        let expected = psn::later(read.first, self.oldest);
        if packet.psn != expected {
            let of_a_read = reads.iter().any(|read| read.holds(packet.psn));
            effects.count(counter::DROP_RESPONSE);
            if of_a_read {
                // It acknowledges what stands before the read that it passes, and no more.
                self.acknowledge(packet.psn, context, effects);
                self.implied_nak();
            }
            return;
        }
        let (mtu, tag) = (context.rows.send_mtu() as u64, context.rows.gather().get(gather::TAG) as u16);
        let number = psn::ahead(packet.psn, read.first);
        let from = u64::from(number) * mtu;
        let length = u64::from(read.descriptor.length).saturating_sub(from).min(mtu);
        // REQ-3: with the opcode and length of its place.
        // Its place in the answer, as it was asked for last or as it was at first.
        let asked = number.checked_sub(read.asked).map(|at| response_opcode(at, read.packets - read.asked));
        let placed = [Some(response_opcode(number, read.packets)), asked].contains(&Some(packet.opcode));
        let extension = if packet.opcode == opcode::RC_READ_RESPONSE_MIDDLE { 0 } else { 4 };
        let data = packet.body.get(extension..).unwrap_or(&[]);
        if !placed || data.len() as u64 != length {
            return effects.count(counter::DROP_RESPONSE);
        }
        if context.choices.unheard.is_none() {
            self.acknowledge(expected, context, effects);
        }
        let scattered = match where_it_goes(&read, data, context) {
            Some(descriptor) => scatter::scatter(&descriptor, tag, from, data, &mut context.memory, effects),
            None => Err(status::TRANSPORT_ERROR),
        };
        match scattered {
            Ok(()) if context.choices.unheard == Some(Unheard::Completes) => {
                if let Some(read) = self.holder(expected).filter(|read| number + 1 == read.packets) {
                    read.outcome = Some(0);
                }
            }
            _ if context.choices.unheard.is_some() => {}
            Ok(()) => {
                effects.add(counter::BYTES_RECEIVED, length);
                effects.push(Effect::Advance(psn::add(packet.psn, 1)));
            }
            // WQ-2: a read's own segment is refused when its answer comes.
            // As if the peer had refused it: the request was good.
            Err(bits) => {
                effects.push(Effect::Refused { psn: expected, bits, code: event_code::CONN_LOST });
            }
        }
    }
}

/// Where the data of a read goes is read from its descriptor when it comes (REQ-3); none if that is not there any more.
fn where_it_goes(read: &Message, data: &[u8], context: &mut Context<'_>) -> Option<Descriptor> {
    if data.is_empty() {
        return Some(read.descriptor.clone());
    }
    let tag = context.rows.descriptor_tag(false);
    Descriptor::read(read.posted?, tag, &mut context.memory).ok().filter(|descriptor| !descriptor.unread)
}
