//! Request packets: whose turn it is, what a descriptor is checked for, and the packets that it becomes.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{gather, service, transmit};
use viaduct_spec::wire::opcode;

use super::message::Message;
use super::Requester;
use crate::model::choices::Choices;
use crate::model::context::Context;
use crate::model::descriptor::{Descriptor, Operation};
use crate::model::effect::{Effect, Effects};
use crate::model::frame::Packet;
use crate::model::place::Place;
use crate::model::tables::Rows;
use crate::model::{psn, raw, scatter, timers};

/// A packet asks for an acknowledgement if it is the last of its message, or the last of so many PSNs.
const ACKNOWLEDGE_EVERY: u32 = 16;
/// Opcodes of the unreliable connection are those of the reliable one and this.
const UNRELIABLE: u8 = opcode::UC_SEND_FIRST;
/// Opcodes of an RDMA write are those of a send and this.
const WRITE: u8 = opcode::RC_WRITE_FIRST;

/// RETH of a descriptor's remote place, from byte `from` on.
fn reth(descriptor: &Descriptor, from: u64, length: u64) -> Vec<u8> {
    let (address, handle) = match descriptor.remote() {
        Some(Place::Address { address, handle }) => (address.wrapping_add(from), handle),
        // An RDMA descriptor without an address segment has been refused.
        _ => (0, 0),
    };
    [&address.to_be_bytes()[..], &handle.to_be_bytes(), &(length as u32).to_be_bytes()].concat()
}

/// What was made.
enum Made {
    Packet(Packet),
    /// A frame of the raw channel's.
    Frame(Vec<u8>),
}

/// Why a packet was not made.
enum Failure {
    /// The descriptor's own error: its status bit.
    Own(u32),
    /// It is not what it was the first time, or no longer there.
    Changed,
}

/// The rules for a descriptor on the send queue; its packets, or the error bit.
fn check(descriptor: &Descriptor, rows: &Rows<'_>) -> Result<u32, u32> {
    let row = rows.gather();
    let code = rows.send_service();
    let depth = rows.transmit().get(transmit::READ_DEPTH);
    let reads = rows.sends_reliably() && row.is(gather::RDMA_READ) && depth != 0;
    // RAW-4: no immediate data, and no RDMA.
    if code == service::RAW && descriptor.immediate().is_some() {
        return Err(status::FORMAT_ERROR);
    }
    let error = descriptor.check_send(code != service::RAW, reads, row.get(gather::MAX_TRANSFER));
    if error != 0 {
        return Err(error);
    }
    if code == service::RAW {
        return raw::check_length(descriptor).map(|()| 1);
    }
    let packets = psn::packets(descriptor.length.into(), rows.send_mtu());
    // REQ-1: the most PSNs that a read, or another message, has.
    let most = if descriptor.operation() == Operation::Read { psn::LONGEST_READ } else { psn::HALF / 2 };
    if packets > u64::from(most) {
        return Err(status::LENGTH_ERROR);
    }
    Ok(packets as u32)
}

/// Packet `number` of a message; the error is its status bit.
fn make(
    message: &Message,
    number: u32,
    context: &mut Context<'_>,
    effects: &mut Effects,
) -> Result<Made, u32> {
    let descriptor = &message.descriptor;
    let rows = context.rows;
    let (mtu, tag) = (rows.send_mtu(), rows.gather().get(gather::TAG) as u16);
    let (raw, reliable) = (rows.send_service() == service::RAW, rows.sends_reliably());
    let (from, length) = (u64::from(number) * mtu as u64, u64::from(descriptor.length));
    let last = number + 1 == message.packets;
    let psn = psn::add(message.first, number);
    let mut packet = Packet {
        opcode: opcode::RC_READ_REQUEST,
        psn,
        // WIRE-3: the last packet asks, and every PSN of 15 modulo 16.
        ack_request: reliable && (last || psn % ACKNOWLEDGE_EVERY == ACKNOWLEDGE_EVERY - 1),
        body: Vec::new(),
    };
    // REQ-8: a read asks from its first missing byte.
    if descriptor.operation() == Operation::Read {
        packet.ack_request = true;
        packet.body = reth(descriptor, from, length.saturating_sub(from));
        return Ok(Made::Packet(packet));
    }
    // WIRE-2: every packet has the path MTU, but the last.
    let count = if raw { length } else { length.saturating_sub(from).min(mtu as u64) };
    let data = scatter::gather(descriptor, tag, from, count as usize, &mut context.memory)?;
    effects.add(counter::BYTES_SENT, count);
    if raw {
        return Ok(Made::Frame(data));
    }
    let immediate = descriptor.immediate().filter(|_| last);
    // WIRE-1: the opcode of the operation and of the packet's place.
    packet.opcode = match (number, last) {
        (0, true) => opcode::RC_SEND_ONLY,
        (0, false) => opcode::RC_SEND_FIRST,
        (_, false) => opcode::RC_SEND_MIDDLE,
        (_, true) => opcode::RC_SEND_LAST,
    } + u8::from(immediate.is_some());
    if descriptor.operation() == Operation::Write {
        packet.opcode += WRITE;
        if number == 0 {
            packet.body = reth(descriptor, 0, length);
        }
    }
    if !reliable {
        packet.opcode += UNRELIABLE;
    }
    packet.body.extend(immediate.into_iter().flat_map(u32::to_be_bytes));
    packet.body.extend(data);
    Ok(Made::Packet(packet))
}

impl Requester {
    /// Whether a request packet can be made now, of a VI that is connected and served.
    pub fn has_request(&self, rows: &Rows<'_>, choices: &Choices) -> bool {
        let Some(message) = self.messages.get(self.cursor.0) else { return false };
        let depth = rows.transmit().get(transmit::READ_DEPTH);
        (self.pause.is_none() || choices.sends_on)
            && (message.started
                || message.outcome.is_some()
                || self.may_start(message, depth)
                // WQ-5: nor for a fence.
                // What is wrong in itself waits for no read.
                || check(&message.descriptor, rows).is_err())
    }

    /// Makes the next request packet; what goes wrong with it completes its descriptor.
    pub fn send(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        let (at, number) = self.cursor;
        let Some(message) = self.messages.get(at) else { return };
        if message.outcome.is_some() {
            self.cursor = (at + 1, 0);
            return;
        }
        let ready = if !message.started {
            self.start(at, context)
        } else if message.stale {
            self.read_again(at, context)
        } else {
            Ok(())
        };
        let made =
            ready.and_then(|()| make(&self.messages[at], number, context, effects).map_err(Failure::Own));
        match made {
            Ok(packet) => {
                self.note_sent(at, number, context, effects);
                effects.push(match packet {
                    Made::Packet(packet) => Effect::Send(packet),
                    Made::Frame(frame) => Effect::SendRaw(frame),
                });
                effects.settle();
            }
            Err(Failure::Own(bits)) => self.fail(at, number, bits, context, effects),
            Err(Failure::Changed) => effects.break_vi(event_code::POST_DESC, false),
        }
    }

    /// The descriptor whose turn had come when the VI began to send again is wrong, and the VI breaks by it before that has left (REQ-4);
    /// for whoever leads the model. Whether there is one.
    pub fn fail_ahead(&mut self, context: &mut Context<'_>, effects: &mut Effects) -> bool {
        // A message whose first packets have left, or the one behind those that have.
        let is_open = |message: &Message| !message.started || message.sent < message.packets;
        let open = self.messages.iter().position(is_open).filter(|_| context.rows.sends_reliably());
        // It fails once.
        let Some(at) = open.filter(|&at| self.messages[at].outcome.is_none()) else { return false };
        let mut message = self.messages[at].clone();
        let number = if message.started { message.sent } else { 0 };
        if (at, number) <= self.cursor {
            return false;
        }
        let made = match message.started {
            true => make(&message, number, context, &mut Effects::new()),
            false => check(&message.descriptor, &context.rows).and_then(|packets| {
                (message.first, message.packets) = (self.next, packets);
                make(&message, 0, context, &mut Effects::new())
            }),
        };
        let Err(bits) = made else { return false };
        self.fail(at, number, bits, context, effects);
        true
    }

    /// Checks a descriptor whose turn has come, and gives it its PSNs.
    fn start(&mut self, at: usize, context: &Context<'_>) -> Result<(), Failure> {
        let message = &mut self.messages[at];
        let packets = check(&message.descriptor, &context.rows).map_err(Failure::Own)?;
        (message.started, message.first, message.packets) = (true, self.next, packets);
        self.next = psn::add(self.next, packets);
        Ok(())
    }

    /// What goes out again is read again, and has to be the same.
    fn read_again(&mut self, at: usize, context: &mut Context<'_>) -> Result<(), Failure> {
        let message = &mut self.messages[at];
        let Some(posted) = message.posted else { return Err(Failure::Changed) };
        let tag = context.rows.descriptor_tag(false);
        let new = Descriptor::read(posted, tag, &mut context.memory).map_err(|_| Failure::Changed)?;
        check(&new, &context.rows).map_err(Failure::Own)?;
        let old = &message.descriptor;
        // REQ-7: it must be the same as the first time.
        let same = new.operation() == old.operation() && new.length == old.length;
        if !same || new.sum() != old.sum() {
            return Err(Failure::Changed);
        }
        (message.descriptor, message.stale) = (new, false);
        Ok(())
    }

    /// Packet `number` of a message goes out.
    fn note_sent(&mut self, at: usize, number: u32, context: &Context<'_>, effects: &mut Effects) {
        let reliable = context.rows.sends_reliably();
        let ticks = context.rows.transmit().get(transmit::TIMEOUT);
        let message = &mut self.messages[at];
        let read = message.descriptor.operation() == Operation::Read;
        // WIRE-4: a PSN for each packet.
        // The request of a read stands for all PSNs of its answer.
        let through = if read { message.packets } else { number + 1 };
        let fresh = message.sent < through;
        let whole = through == message.packets;
        if fresh {
            message.sent = through;
            self.sent_to = psn::add(message.first, through);
        }
        if read {
            message.asked = number;
        }
        let from = psn::add(message.first, number);
        // UNR-1: an unreliable message is done when it has left.
        if whole && !reliable {
            message.outcome = Some(0);
        }
        self.cursor = if whole { (at + 1, 0) } else { (at, number + 1) };
        if read {
            self.note_asked(from);
        }
        if reliable {
            self.timer = self.timer.or(timers::timeout(context.now, ticks));
        } else {
            self.oldest = self.sent_to;
        }
        match (fresh, whole) {
            (false, _) => effects.count(counter::RETRANSMITTED),
            (true, true) => effects.count(counter::MESSAGES_SENT),
            (true, false) => {}
        }
    }

    /// A descriptor's own error. Unreliable: the rest of its message is not sent. Reliable: the VI breaks, and the
    /// descriptor says why.
    fn fail(&mut self, at: usize, number: u32, bits: u32, context: &Context<'_>, effects: &mut Effects) {
        let message = &mut self.messages[at];
        // WQ-3: it completes with its own error.
        message.outcome = Some(bits);
        if context.choices.unheard.is_some() {
            return;
        }
        if context.rows.sends_reliably() {
            return effects.push(Effect::Break(None));
        }
        if message.started {
            // PSNs of packets that were not sent are the next message's.
            self.next = psn::add(message.first, number);
        }
        self.cursor = (at + 1, 0);
        effects.settle();
    }
}
