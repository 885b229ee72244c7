//! What the packets of sends and RDMA writes do at the target, at either service.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::counter;
use viaduct_spec::tables::receive;
use viaduct_spec::wire::syndrome;

use super::inbound::{Inbound, Refusal};
use super::request::{Part, Request};
use super::Responder;
use crate::model::context::Context;
use crate::model::effect::{Completion, Effects, Ending};
use crate::model::place::{Access, Place, Right};
use crate::model::receives::{Receive, Receives, Taken};
use crate::model::scatter;

impl Responder {
    /// Delivers the payload of the next packet of a message; gives the message as it is then, which is the responder's
    /// no more. When a packet is refused its message stays the responder's.
    pub fn take_payload(
        &mut self,
        request: &Request<'_>,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<Inbound, Refusal> {
        let follows = match (request, &self.inbound) {
            (_, None) => request.is_first(),
            (Request::Send(_), Some(Inbound::Send { .. })) => !request.is_first(),
            (Request::Write(..), Some(Inbound::Write { .. })) => !request.is_first(),
            _ => false,
        };
        // RSP-2, UNR-3: out of place, or not of the length of its place.
        if !follows || !request.fits(context.rows.receive_mtu()) {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        match request {
            Request::Send(part) => self.take_send(part, receives, context, effects),
            Request::Write(part, target) => self.take_write(part, *target, receives, context, effects),
            Request::Read { .. } => Err(Refusal::lost(syndrome::NAK_INVALID)),
        }
    }

    /// A receive that is well formed. One that is not is the message under way when this fails; its status names this
    /// operation.
    fn good_receive(
        &mut self,
        operation: u32,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<Receive, Refusal> {
        let receive = match receives.take(context, effects) {
            Taken::Receive(receive) => receive,
            Taken::Nothing => return Err(Refusal::NotReady),
            Taken::Lost => return Err(Refusal::Lost),
            Taken::Broken => return Err(Refusal::Broken),
        };
        let error = receive.descriptor.check_receive();
        if error != 0 {
            self.inbound = Some(Inbound::Send { receive, done: 0, ending: 0 });
            // RSP-3, UNR-4: the receive is malformed.
            return Err(Refusal::receive(syndrome::NAK_OPERATIONAL, error | operation));
        }
        Ok(receive)
    }

    fn take_send(
        &mut self,
        part: &Part<'_>,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<Inbound, Refusal> {
        let (receive, done) = match self.inbound.take() {
            Some(Inbound::Send { receive, done, .. }) => (receive, done),
            _ => (self.good_receive(status::OP_RECEIVE, receives, context, effects)?, 0),
        };
        let (tag, from) = (context.rows.receive_tag(), u64::from(done));
        let delivered =
            scatter::scatter(&receive.descriptor, tag, from, part.data, &mut context.memory, effects);
        let more = if delivered.is_ok() { part.data.len() as u32 } else { 0 };
        let inbound = Inbound::Send { receive, done: done.saturating_add(more), ending: 0 };
        effects.add(counter::BYTES_RECEIVED, more.into());
        match delivered {
            Ok(()) => Ok(inbound),
            Err(bits) => {
                self.inbound = Some(inbound);
                let syndrome = match bits {
                    // RSP-3, UNR-4: longer than its receive, or its memory is refused.
                    status::LENGTH_ERROR => syndrome::NAK_INVALID,
                    _ => syndrome::NAK_OPERATIONAL,
                };
                Err(Refusal::receive(syndrome, bits))
            }
        }
    }

    fn take_write(
        &mut self,
        part: &Part<'_>,
        target: Option<(Place, u64)>,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<Inbound, Refusal> {
        let (place, length, done) = match (target, &self.inbound) {
            (Some((place, length)), _) => (place, length, 0),
            (None, Some(Inbound::Write { place, length, done, .. })) => (*place, *length, *done),
            (None, _) => return Err(Refusal::lost(syndrome::NAK_INVALID)),
        };
        let (left, count) = (length.saturating_sub(done), part.data.len() as u64);
        // RSP-2: the length is not RETH's.
        if if part.last { count != left } else { count >= left } {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        // RSP-5: first the VI's right, then the receive, then the range and the data.
        if !context.rows.receive().is(receive::RDMA_WRITE) {
            let receive = match part.immediate.map(|_| receives.take(context, effects)) {
                Some(Taken::Receive(receive)) => Some(receive),
                _ => None,
            };
            return Err(self.refuse_write(receive, syndrome::NAK_INVALID));
        }
        let tag = context.rows.receive_tag();
        let access = Access { place: place.plus(done), span: left, tag, right: Right::RemoteWrite };
        let receive = match part.immediate {
            Some(_) => Some(self.good_receive(status::OP_REMOTE_RDMA_WRITE, receives, context, effects)?),
            None => None,
        };
        // The span is all that is to come, the first packet's the whole range.
        if count != 0 && context.memory.write(access, part.data, effects).is_err() {
            return Err(self.refuse_write(receive, syndrome::NAK_ACCESS));
        }
        effects.add(counter::BYTES_RECEIVED, count);
        self.inbound = None;
        Ok(Inbound::Write { place, length, done: done + count, receive })
    }

    /// An RDMA write is refused: told by an event, or by the receive of the immediate data that the packet carries.
    fn refuse_write(&mut self, receive: Option<Receive>, code: u8) -> Refusal {
        match receive {
            Some(receive) => {
                self.inbound = Some(Inbound::Send { receive, done: 0, ending: 0 });
                Refusal::receive(code, status::RDMA_PROT_ERROR | status::OP_REMOTE_RDMA_WRITE)
            }
            None => Refusal::write(code),
        }
    }

    /// The receive under way is complete, with its own error or this one.
    pub fn abandon(&mut self, bits: u32, effects: &mut Effects) {
        if let Some(Inbound::Send { receive, done, ending }) = self.inbound.take() {
            let bits = if ending != 0 { ending } else { bits };
            let status = status::OP_RECEIVE | bits;
            effects.complete(true, receive.posted, Ending { status, length: done, immediate: None });
        }
    }
}

/// A whole message has come: the completion of its receive, if it has one.
pub fn deliver(inbound: Inbound, immediate: Option<u32>, effects: &mut Effects) -> Option<Completion> {
    effects.count(counter::MESSAGES_RECEIVED);
    let (receive, status, length) = match inbound {
        Inbound::Send { receive, done, .. } => (receive, status::OP_RECEIVE, done),
        Inbound::Write { receive: Some(receive), length, .. } => {
            (receive, status::OP_REMOTE_RDMA_WRITE, length as u32)
        }
        Inbound::Write { receive: None, .. } | Inbound::Dropped => return None,
    };
    let ending = Ending { status, length, immediate };
    Some(Completion { receive: true, posted: receive.posted, ending })
}
