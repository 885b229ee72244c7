//! Request packets: whose turn it is, what a descriptor is checked for, and the packets that it becomes.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{gather, service, transmit};
use viaduct_spec::wire::opcode;

use super::descriptor::{Descriptor, Operation};
use super::device::Device;
use super::frame::Packet;
use super::protection::Place;
use super::psn;
use super::tables::{is_reliable, Tables, ViState};
use super::timers;

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

impl Device {
    /// Whether a request packet can be made now.
    pub fn has_request(&self, vi: usize) -> bool {
        let vi_state = &self.vis[vi];
        let requester = &vi_state.requester;
        let Some(message) = requester.messages.get(requester.cursor.0) else { return false };
        let depth = self.tables.transmit[vi].get(transmit::READ_DEPTH);
        vi_state.state == ViState::Connected
            && self.may_serve()
            && requester.pause.is_none()
            && (message.started
                || message.outcome.is_some()
                || requester.may_start(message, depth)
                // What is wrong in itself waits for no read.
                || self.check_send(vi, &message.descriptor).is_err())
    }

    /// Makes the next request packet; what goes wrong with it completes its descriptor.
    pub fn send_request(&mut self, vi: usize) {
        let (at, number) = self.vis[vi].requester.cursor;
        let message = &self.vis[vi].requester.messages[at];
        if message.outcome.is_some() {
            self.vis[vi].requester.cursor = (at + 1, 0);
            return;
        }
        let ready = if !message.started {
            self.start(vi, at)
        } else if message.stale {
            self.read_again(vi, at)
        } else {
            Ok(())
        };
        let made = ready.and_then(|()| self.make_packet(vi, at, number).map_err(Failure::Own));
        match made {
            Ok(packet) => {
                self.sent(vi, at, number);
                match packet {
                    Made::Packet(packet) => self.emit(vi, &packet),
                    Made::Frame(frame) => self.emit_raw(vi, frame),
                }
                self.settle_sends(vi);
            }
            Err(Failure::Own(bits)) => self.fail(vi, at, number, bits),
            Err(Failure::Changed) => self.break_vi(vi, Some((event_code::POST_DESC, false))),
        }
    }

    /// Checks a descriptor whose turn has come, and gives it its PSNs.
    fn start(&mut self, vi: usize, at: usize) -> Result<(), Failure> {
        let message = self.vis[vi].requester.messages[at].clone();
        let packets = self.check_send(vi, &message.descriptor).map_err(Failure::Own)?;
        let requester = &mut self.vis[vi].requester;
        let first = requester.next;
        requester.next = psn::add(first, packets);
        let message = &mut requester.messages[at];
        (message.started, message.first, message.packets) = (true, first, packets);
        Ok(())
    }

    /// The rules for a descriptor on the send queue; its packets, or the error bit.
    fn check_send(&self, vi: usize, descriptor: &Descriptor) -> Result<u32, u32> {
        let row = self.tables.gather[vi];
        let code = self.tables.send_service(vi);
        let depth = self.tables.transmit[vi].get(transmit::READ_DEPTH);
        let reads = is_reliable(code) && row.is(gather::RDMA_READ) && depth != 0;
        if code == service::RAW && descriptor.immediate().is_some() {
            return Err(status::FORMAT_ERROR);
        }
        let error = descriptor.check_send(code != service::RAW, reads, row.get(gather::MAX_TRANSFER));
        if error != 0 {
            return Err(error);
        }
        if code == service::RAW {
            return super::raw::check_length(descriptor).map(|()| 1);
        }
        let packets = psn::packets(descriptor.length.into(), Tables::mtu(row.get(gather::MTU)));
        if packets > u64::from(psn::HALF / 2) {
            return Err(status::LENGTH_ERROR);
        }
        Ok(packets as u32)
    }

    /// What goes out again is read again, and has to be the same.
    fn read_again(&mut self, vi: usize, at: usize) -> Result<(), Failure> {
        let old = self.vis[vi].requester.messages[at].clone();
        let Some(posted) = old.posted else { return Err(Failure::Changed) };
        let tag = self.descriptor_tag(vi, false);
        let new = self.read_descriptor(posted.place, tag).map_err(|_| Failure::Changed)?;
        self.check_send(vi, &new).map_err(Failure::Own)?;
        let same = new.operation() == old.descriptor.operation() && new.length == old.descriptor.length;
        if !same || new.sum() != old.descriptor.sum() {
            return Err(Failure::Changed);
        }
        let message = &mut self.vis[vi].requester.messages[at];
        (message.descriptor, message.stale) = (new, false);
        Ok(())
    }

    /// Packet `number` of a message; the error is its status bit.
    fn make_packet(&mut self, vi: usize, at: usize, number: u32) -> Result<Made, u32> {
        let message = self.vis[vi].requester.messages[at].clone();
        let descriptor = &message.descriptor;
        let row = self.tables.gather[vi];
        let (mtu, tag) = (Tables::mtu(row.get(gather::MTU)), row.get(gather::TAG) as u16);
        let code = self.tables.send_service(vi);
        let (from, length) = (u64::from(number) * mtu as u64, u64::from(descriptor.length));
        let last = number + 1 == message.packets;
        let mut packet = Packet {
            opcode: opcode::RC_READ_REQUEST,
            psn: psn::add(message.first, number),
            ack_request: is_reliable(code)
                && (last || psn::add(message.first, number) % ACKNOWLEDGE_EVERY == ACKNOWLEDGE_EVERY - 1),
            body: Vec::new(),
        };
        if descriptor.operation() == Operation::Read {
            packet.ack_request = true;
            packet.body = reth(descriptor, from, length.saturating_sub(from));
            return Ok(Made::Packet(packet));
        }
        let count = if code == service::RAW { length } else { length.saturating_sub(from).min(mtu as u64) };
        let data = self.gather(descriptor, tag, from, count as usize)?;
        self.counters.add(counter::BYTES_SENT, count);
        if code == service::RAW {
            return Ok(Made::Frame(data));
        }
        let immediate = descriptor.immediate().filter(|_| last);
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
        if !is_reliable(code) {
            packet.opcode += UNRELIABLE;
        }
        packet.body.extend(immediate.into_iter().flat_map(u32::to_be_bytes));
        packet.body.extend(data);
        Ok(Made::Packet(packet))
    }

    /// Packet `number` of a message goes out.
    fn sent(&mut self, vi: usize, at: usize, number: u32) {
        let ticks = self.tables.transmit[vi].get(transmit::TIMEOUT);
        let reliable = is_reliable(self.tables.send_service(vi));
        let timer = timers::timeout(self.now, ticks);
        let requester = &mut self.vis[vi].requester;
        let message = &mut requester.messages[at];
        let read = message.descriptor.operation() == Operation::Read;
        // The request of a read stands for all PSNs of its answer.
        let through = if read { message.packets } else { number + 1 };
        let fresh = message.sent < through;
        let whole = through == message.packets;
        if fresh {
            message.sent = through;
            requester.sent_to = psn::add(message.first, through);
        }
        if read {
            message.asked = number;
        }
        if whole && !reliable {
            message.outcome = Some(0);
        }
        requester.cursor = if whole { (at + 1, 0) } else { (at, number + 1) };
        if reliable {
            requester.timer = requester.timer.or(timer);
        } else {
            requester.oldest = requester.sent_to;
        }
        match (fresh, whole) {
            (false, _) => self.counters.count(counter::RETRANSMITTED),
            (true, true) => self.counters.count(counter::MESSAGES_SENT),
            (true, false) => {}
        }
    }

    /// A descriptor's own error. Unreliable: the rest of its message is not sent. Reliable: the VI breaks, and the
    /// descriptor says why.
    fn fail(&mut self, vi: usize, at: usize, number: u32, bits: u32) {
        let reliable = is_reliable(self.tables.send_service(vi));
        let requester = &mut self.vis[vi].requester;
        let message = &mut requester.messages[at];
        message.outcome = Some(bits);
        if reliable {
            return self.break_vi(vi, None);
        }
        if message.started {
            // PSNs of packets that were not sent are the next message's.
            requester.next = psn::add(message.first, number);
        }
        requester.cursor = (at + 1, 0);
        self.settle_sends(vi);
    }
}
