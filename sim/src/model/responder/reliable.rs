//! Requests to a reliable VI: at the expected PSN they are executed, others are answered.

use viaduct_spec::profile::READ_DEPTH;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::receive;
use viaduct_spec::wire::syndrome;

use super::inbound::{Inbound, Refusal};
use super::payload::deliver;
use super::replies::{Nak, Read};
use super::request::Request;
use super::Responder;
use crate::model::choices::{Mutant, Unheard};
use crate::model::context::Context;
use crate::model::effect::{Effect, Effects};
use crate::model::frame::Packet;
use crate::model::place::{Access, Place, Right};
use crate::model::psn;
use crate::model::receives::Receives;

/// Bytes of the longest read.
const MOST_READ: u64 = 1 << 31;

impl Responder {
    /// A request of the peer's to a reliable VI.
    pub fn take_request(
        &mut self,
        packet: &Packet,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) {
        // RSP-1: packets are executed at the expected PSN only.
        let distance = psn::ahead(packet.psn, self.expected);
        if distance == 0 {
            return self.execute(packet, receives, context, effects);
        }
        if distance >= psn::HALF {
            let only = Request::of(packet).is_some_and(|request| request.is_first() && request.is_last());
            if context.breaks(Mutant::Again) && only {
                let expected = self.expected;
                self.execute(packet, receives, context, effects);
                self.expected = expected;
                return;
            }
            return self.take_duplicate(packet, context, effects);
        }
        effects.count(counter::DROP_PSN);
        if !std::mem::replace(&mut self.asked, true) {
            self.reply(self.expected, syndrome::NAK_SEQUENCE, context.choices);
        }
    }

    /// The packet that is expected.
    fn execute(
        &mut self,
        packet: &Packet,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) {
        self.asked = false;
        let executed = match Request::of(packet) {
            Some(Request::Read { place, length }) => {
                self.execute_read(packet, place, length, context, effects)
            }
            Some(request) => self.execute_packet(packet, &request, receives, context, effects),
            None => Err(Refusal::lost(syndrome::NAK_INVALID)),
        };
        match executed {
            Ok(()) | Err(Refusal::Broken) => {}
            Err(Refusal::NotReady) => self.not_ready_for(packet, context, effects),
            Err(Refusal::Lost) => {
                let nak = self.nak(packet.psn, syndrome::NAK_OPERATIONAL);
                self.refuse(nak, event_code::CONN_LOST, None, context, effects);
            }
            Err(Refusal::Break { syndrome, event, ending }) => {
                self.refuse(self.nak(packet.psn, syndrome), event, ending, context, effects);
            }
        }
    }

    fn execute_packet(
        &mut self,
        packet: &Packet,
        request: &Request<'_>,
        receives: &mut Receives,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let inbound = self.take_payload(request, receives, context, effects)?;
        let (psn, asks) = (packet.psn, packet.ack_request);
        self.expected = psn::add(psn, 1);
        if !request.is_last() {
            self.inbound = Some(inbound);
            self.delivered(psn, true, asks, context.choices);
            return Ok(());
        }
        self.msn = psn::add(self.msn, 1);
        match deliver(inbound, request.immediate(), effects) {
            Some(completion) => effects.push(Effect::Deliver { completion, psn, asks }),
            None => self.delivered(psn, true, asks, context.choices),
        }
        Ok(())
    }

    /// No receive is posted: later, or never.
    fn not_ready_for(&mut self, packet: &Packet, context: &Context<'_>, effects: &mut Effects) {
        let row = context.rows.receive();
        // RSP-4: the VI stays, or breaks in VIA's way.
        if row.is(receive::RNR_STAY) {
            self.asked = true;
            let code = syndrome::RNR_NAK | row.get(receive::RNR_TIMER) as u8;
            return self.reply(packet.psn, code, context.choices);
        }
        effects.count(counter::DROP_NO_RECEIVE);
        // With code 0, the longest time: there is nothing to be had by asking again.
        self.refuse(self.nak(packet.psn, syndrome::RNR_NAK), event_code::RECVQ_EMPTY, None, context, effects);
    }

    /// Answers with a NAK, and the VI breaks; the receive under way ends as said.
    pub fn refuse(
        &mut self,
        nak: Nak,
        event: u8,
        ending: Option<u32>,
        context: &Context<'_>,
        effects: &mut Effects,
    ) {
        let unheard = context.choices.unheard;
        if unheard != Some(Unheard::Receives) {
            self.break_with(nak, context.choices);
        }
        if let (Some(bits), Some(Inbound::Send { ending, .. })) = (ending, &mut self.inbound) {
            *ending = bits;
        }
        if unheard.is_none() {
            effects.break_vi(event, true);
        }
    }

    /// Checks a read and executes it: its answer is made packet by packet.
    fn execute_read(
        &mut self,
        packet: &Packet,
        place: Place,
        length: u64,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> Result<(), Refusal> {
        let row = context.rows.receive();
        let depth = (row.get(receive::READ_DEPTH) as usize).min(READ_DEPTH);
        let misplaced = self.inbound.is_some() || packet.body.len() != 16;
        // RSP-2: out of place, or too long.
        if misplaced || length > MOST_READ {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        let refusal = |syndrome| Refusal::Break { syndrome, event: event_code::RDMAR_PROT, ending: None };
        // RSP-5: the VI's right.
        if !row.is(receive::RDMA_READ) {
            return Err(refusal(syndrome::NAK_INVALID));
        }
        // RSP-6: more reads than READ_DEPTH.
        if self.replies.open_reads() >= depth {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        effects.count(counter::READS_SERVED);
        let read = self.readable(packet.psn, place, length, context);
        let read = read.ok_or(refusal(syndrome::NAK_ACCESS))?;
        self.expected = psn::add(packet.psn, read.packets);
        self.msn = psn::add(self.msn, 1);
        self.reads.push_back(read);
        while self.reads.len() > READ_DEPTH {
            self.reads.pop_front();
        }
        self.replies.answer(read, self.msn);
        Ok(())
    }

    /// A read, if the peer may read there, as far as that is checked now. Of no bytes nothing is asked.
    fn readable(&self, first: u32, place: Place, length: u64, context: &mut Context<'_>) -> Option<Read> {
        let packets = psn::packets(length, context.rows.receive_mtu()) as u32;
        let tag = context.rows.receive_tag();
        let access = Access { place, span: length, tag, right: Right::RemoteRead };
        // RSP-5: of no bytes only the VI's right is asked for.
        let unasked = length == 0 || context.choices.reads_late;
        let allowed = unasked || context.memory.probe(access).is_ok();
        allowed.then_some(Read { first, packets, place, length })
    }

    /// A packet that was executed before: acknowledged or answered again.
    fn take_duplicate(&mut self, packet: &Packet, context: &mut Context<'_>, effects: &mut Effects) {
        let newest = psn::add(self.expected, u32::MAX);
        let Some(Request::Read { place, length }) = Request::of(packet) else {
            effects.count(counter::DUPLICATES);
            return self.reply(newest, syndrome::ACK, context.choices);
        };
        let packets = psn::packets(length, context.rows.receive_mtu());
        // RSP-1: a read within one of the last four is executed again.
        let within = self.reads.iter().any(|read| read.holds(packet.psn, packets));
        if packet.body.len() != 16 || length > MOST_READ || !within {
            return effects.count(counter::DROP_PSN);
        }
        effects.count(counter::DUPLICATES);
        effects.count(counter::READS_SERVED);
        let Some(read) = self.readable(packet.psn, place, length, context) else {
            let nak = self.nak(packet.psn, syndrome::NAK_ACCESS);
            return self.refuse(nak, event_code::RDMAR_PROT, None, context, effects);
        };
        self.replies.forget_behind(packet.psn);
        self.replies.answer(read, self.msn);
    }
}
