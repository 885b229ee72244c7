//! The packets that a reliable VI sends back.

use viaduct_spec::register::{counter, event_code};
use viaduct_spec::wire::{opcode, syndrome};

use super::replies::{Nak, Read, Reply};
use super::Responder;
use crate::model::context::Context;
use crate::model::effect::{Effect, Effects};
use crate::model::frame::{acknowledge, Packet};
use crate::model::place::Unread;
use crate::model::psn;
use crate::model::response::response_opcode;

impl Responder {
    /// Sends the next packet of the oldest reply.
    pub fn send(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        match self.replies.next() {
            Some(Reply::Acknowledge { psn, msn, syndrome }) => {
                effects.count(match syndrome {
                    syndrome::ACK => counter::ACKS_SENT,
                    _ if syndrome & 0xE0 == syndrome::RNR_NAK => counter::RNR_SENT,
                    _ => counter::NAKS_SENT,
                });
                let body = acknowledge(syndrome, msn).to_vec();
                let opcode = opcode::RC_ACKNOWLEDGE;
                effects.push(Effect::Send(Packet { opcode, psn, ack_request: false, body }));
            }
            Some(Reply::Read { read, msn, done }) => self.send_response(read, msn, done, context, effects),
            None => {}
        }
    }

    fn send_response(
        &mut self,
        read: Read,
        msn: u32,
        done: u32,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) {
        let (access, length) = read.access(done, &context.rows);
        let psn = read.psn(done);
        let data = if length == 0 { Ok(Vec::new()) } else { context.memory.read(access, length) };
        let data = match data {
            Ok(data) => data,
            // A VI breaks once, by one cause, and that has been said.
            // RSP-6: when another request has broken the VI, its NAK is all that is said, and no read behind this one is answered.
            Err(_) if self.last_nak.is_some() => return self.replies.forget_reads(),
            Err(unread) => {
                // Its region has gone since it was asked for, or its memory, or its range is looked at only now. Then it was
                // not executed, and nothing behind it is acknowledged.
                self.replies.clear();
                // RSP-5, RSP-6: NAK_ACCESS. WQ-8: NAK_OPERATIONAL if the host has not given it.
                let (syndrome, event) = match unread {
                    Unread::Refused => (syndrome::NAK_ACCESS, event_code::RDMAR_PROT),
                    Unread::Failed => (syndrome::NAK_OPERATIONAL, event_code::CONN_LOST),
                };
                // RSP-7: MSN counts the messages executed.
                let nak = Nak { psn, msn: psn::add(msn, u32::MAX), syndrome };
                return self.refuse(nak, event, None, context, effects);
            }
        };
        if done + 1 < read.packets {
            self.replies.put_back(Reply::Read { read, msn, done: done + 1 });
        }
        let opcode = response_opcode(done, read.packets);
        let mut body = Vec::new();
        if opcode != opcode::RC_READ_RESPONSE_MIDDLE {
            body.extend(acknowledge(syndrome::ACK, msn));
        }
        body.extend(data);
        effects.add(counter::BYTES_SENT, length as u64);
        effects.push(Effect::Send(Packet { opcode, psn, ack_request: false, body }));
    }
}
