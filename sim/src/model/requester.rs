//! The requester: a VI's sends, RDMA writes and reads, from descriptor to packet; and when they are complete.
//!
//! ```text
//!   messages:   [ started, sent, acknowledged up to `oldest` | started, sent | being sent | fetched ]
//!   PSNs:                                          oldest ^            sent_to ^        next ^
//!                                         the next packet: `cursor` (goes back to send again)
//! ```

use std::collections::VecDeque;

use viaduct_spec::descriptor::status;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{gather, service, transmit};
use viaduct_spec::wire::opcode;

use super::completion::Ending;
use super::descriptor::{Descriptor, Operation};
use super::device::Device;
use super::frame::Packet;
use super::psn;
use super::queues::{Fetched, Posted};
use super::tables::{is_reliable, Tables, ViState};
use super::timers;
use crate::clock::Cycle;

/// A packet asks for an acknowledgement if it is the last of its message, or each of so many.
const ACKNOWLEDGE_EVERY: u32 = 16;
/// Opcodes of the unreliable connection are those of the reliable one and this.
const UNRELIABLE: u8 = opcode::UC_SEND_FIRST;
/// Opcodes of an RDMA write are those of a send and this.
const WRITE: u8 = opcode::RC_WRITE_FIRST;

/// A descriptor on the send queue, from fetch to completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What names it; `None`: a place without a descriptor, which is skipped.
    posted: Option<Posted>,
    /// The descriptor.
    pub descriptor: Descriptor,
    /// It has PSNs: its first packet has been made, or was refused.
    pub started: bool,
    /// Its first PSN.
    pub first: u32,
    /// Its PSNs.
    pub packets: u32,
    /// Packets that have been sent at least once.
    sent: u32,
    /// Of a read: the packet of its answer from which it was asked for last.
    pub asked: u32,
    /// It goes out again: it has to be read again.
    stale: bool,
    /// How it ended, as error bits, where something else than an acknowledgement says it.
    pub outcome: Option<u32>,
}

impl Message {
    fn new(posted: Option<Posted>, descriptor: Descriptor) -> Self {
        Self {
            posted,
            descriptor,
            started: false,
            first: 0,
            packets: 0,
            sent: 0,
            asked: 0,
            stale: false,
            outcome: None,
        }
    }

    /// An RDMA read that has not been answered whole.
    pub fn is_open_read(&self) -> bool {
        self.started && self.outcome.is_none() && self.descriptor.operation() == Operation::Read
    }

    /// The PSN behind its last.
    pub fn end(&self) -> u32 {
        psn::add(self.first, self.packets)
    }

    fn holds(&self, number: u32) -> bool {
        self.started && psn::ahead(number, self.first) < self.packets
    }
}

/// A VI's requester.
#[derive(Debug, Default)]
pub struct Requester {
    /// Fetched and not complete.
    pub messages: VecDeque<Message>,
    /// The message of the next packet, and which packet it is.
    cursor: (usize, u32),
    /// PSN of the next message.
    next: u32,
    /// The oldest PSN that is not acknowledged.
    pub oldest: u32,
    /// The PSN behind the last that was sent.
    sent_to: u32,
    /// Time-outs and receiver-not-ready answers in a row, without progress.
    retries: u64,
    rnr_retries: u64,
    /// The oldest PSN when the last implied NAK was taken: one is enough until something comes of it.
    implied: Option<u32>,
    /// No progress until then: a time-out.
    timer: Option<Cycle>,
    /// The receiver is not ready before.
    pause: Option<Cycle>,
}

impl Requester {
    /// Forgets everything that is posted.
    pub fn forget(&mut self) {
        let (next, oldest, sent_to) = (self.next, self.oldest, self.sent_to);
        *self = Self { next, oldest, sent_to, ..Self::default() };
    }

    /// The next moment at which something happens by itself.
    pub fn deadline(&self) -> Option<Cycle> {
        self.pause.or(self.timer)
    }

    /// Whether a PSN has been sent and is not acknowledged.
    pub fn in_flight(&self, number: u32) -> bool {
        psn::ahead(number, self.oldest) < psn::ahead(self.sent_to, self.oldest)
    }

    /// The message that holds a PSN.
    fn holder(&mut self, number: u32) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.holds(number))
    }

    /// Puts the cursor on a PSN that is not acknowledged, or on the first message that has none.
    fn seek(&mut self, number: u32) {
        let found = self.messages.iter().position(|message| !message.started || message.holds(number));
        let at = found.unwrap_or(self.messages.len());
        let packet = self.messages.get(at).filter(|message| message.started);
        self.cursor = (at, packet.map_or(0, |message| psn::ahead(number, message.first)));
    }

    /// The PSN of the next packet.
    fn cursor_psn(&self) -> u32 {
        match self.messages.get(self.cursor.0) {
            Some(message) if message.started => psn::add(message.first, self.cursor.1),
            _ => self.next,
        }
    }

    /// Everything from the oldest PSN on is sent again.
    fn rewind(&mut self) {
        self.seek(self.oldest);
        self.messages.iter_mut().skip(self.cursor.0).for_each(|message| message.stale |= message.started);
    }

    /// Whether the next message may start, whose operation is known.
    fn may_start(&self, message: &Message, depth: u64) -> bool {
        let reads = self.messages.iter().filter(|other| other.is_open_read()).count();
        let fence = message.descriptor.fenced() && reads != 0;
        let full = message.descriptor.operation() == Operation::Read && reads as u64 >= depth.max(1);
        // Longer messages than this are refused.
        let window = psn::ahead(self.next, self.oldest) < psn::HALF / 2;
        !fence && !full && window
    }
}

impl Device {
    /// TRANSMIT has been committed: the next PSN.
    pub fn renew_requester(&mut self, vi: usize) {
        let first = self.tables.transmit[vi].get(transmit::PSN) as u32;
        let requester = &mut self.vis[vi].requester;
        requester.forget_progress();
        (requester.next, requester.oldest, requester.sent_to) = (first, first, first);
    }

    /// Fetches descriptors while the window has room.
    pub fn fetch_sends(&mut self, vi: usize) {
        while self.vis[vi].requester.messages.len() < SEND_WINDOW && self.queue(vi, false).has_more() {
            match self.fetch(vi, false) {
                Fetched::Descriptor(posted, descriptor) => {
                    self.vis[vi].requester.messages.push_back(Message::new(Some(posted), descriptor));
                }
                wrong => {
                    let mut skipped = Message::new(None, Descriptor::none());
                    skipped.outcome = Some(0);
                    self.vis[vi].requester.messages.push_back(skipped);
                    if self.misplaced(vi, false, wrong == Fetched::Slot) {
                        return;
                    }
                    self.settle_sends(vi);
                }
            }
        }
    }

    /// Whether a request packet can be made now.
    pub fn has_request(&self, vi: usize) -> bool {
        let vi_state = &self.vis[vi];
        let requester = &vi_state.requester;
        let Some(message) = requester.messages.get(requester.cursor.0) else { return false };
        let depth = self.tables.transmit[vi].get(transmit::READ_DEPTH);
        vi_state.state == ViState::Connected
            && self.may_serve()
            && requester.pause.is_none()
            && (message.started || message.outcome.is_some() || requester.may_start(message, depth))
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
                    Made::Frame(frame) => self.emit_raw(frame),
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
    fn check_send(&mut self, vi: usize, descriptor: &Descriptor) -> Result<u32, u32> {
        let row = self.tables.gather[vi];
        let code = self.tables.send_service(vi);
        let depth = self.tables.transmit[vi].get(transmit::READ_DEPTH);
        let reads = is_reliable(code) && row.is(gather::RDMA_READ) && depth != 0;
        let error = descriptor.check_send(code != service::RAW, reads, row.get(gather::MAX_TRANSFER));
        if error != 0 {
            return Err(error);
        }
        if code == service::RAW {
            return self.check_raw(descriptor).map(|()| 1);
        }
        let packets = psn::packets(descriptor.length.into(), Tables::mtu(row.get(gather::MTU)));
        if packets > u64::from(psn::HALF / 2) {
            return Err(status::LENGTH_ERROR);
        }
        if descriptor.operation() == Operation::Read {
            if descriptor.sum() != u64::from(descriptor.length) {
                return Err(status::LENGTH_ERROR);
            }
            self.probe_segments(descriptor, row.get(gather::TAG) as u16)?;
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
            ack_request: is_reliable(code) && (last || (number + 1) % ACKNOWLEDGE_EVERY == 0),
            body: Vec::new(),
        };
        if descriptor.operation() == Operation::Read {
            packet.ack_request = true;
            packet.body = reth(descriptor, from, length.saturating_sub(from));
            return Ok(Made::Packet(packet));
        }
        let count = if code == service::RAW { length } else { length.saturating_sub(from).min(mtu as u64) };
        let data = self.gather(descriptor, tag, from, count as usize)?;
        if last && descriptor.sum() != length {
            return Err(status::LENGTH_ERROR);
        }
        if code == service::RAW {
            return Ok(Made::Frame(data));
        }
        self.counters.add(counter::BYTES_SENT, count);
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

    /// Completes, in order, what is done; and fetches what there is room for then.
    pub fn settle_sends(&mut self, vi: usize) {
        let reliable = is_reliable(self.tables.send_service(vi));
        loop {
            let requester = &mut self.vis[vi].requester;
            let Some(head) = requester.messages.front() else { break };
            let acknowledged = reliable
                && head.started
                && head.sent == head.packets
                && psn::ahead(requester.oldest, head.end()) < psn::HALF;
            let Some(bits) = head.outcome.or(acknowledged.then_some(0)) else { break };
            requester.cursor.0 = match requester.cursor {
                (0, _) => {
                    requester.cursor.1 = 0;
                    0
                }
                (at, _) => at - 1,
            };
            if let Some(message) = requester.messages.pop_front() {
                self.end_send(vi, &message, bits);
            }
        }
        if self.vis[vi].state == ViState::Connected && self.may_serve() {
            self.fetch_more_sends(vi);
        }
    }

    fn fetch_more_sends(&mut self, vi: usize) {
        if self.queue(vi, false).has_more() {
            self.fetch_sends(vi);
        }
    }

    fn end_send(&mut self, vi: usize, message: &Message, bits: u32) {
        let Some(posted) = message.posted else { return self.consume(vi, false) };
        let length = if bits == 0 { message.descriptor.length } else { 0 };
        let status = message.descriptor.operation().status() | bits;
        self.complete(vi, false, &posted, Ending { status, length, immediate: None });
    }

    /// Completes everything on the send queue: what has an outcome with that, what was begun with a transport error,
    /// the rest flushed.
    pub fn flush_sends(&mut self, vi: usize) {
        self.vis[vi].requester.stop();
        while let Some(message) = self.vis[vi].requester.messages.pop_front() {
            let unknown =
                if message.sent != 0 { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
            self.end_send(vi, &message, message.outcome.unwrap_or(unknown));
        }
        self.vis[vi].requester.cursor = (0, 0);
        while self.queue(vi, false).has_more() {
            match self.fetch(vi, false) {
                Fetched::Descriptor(posted, descriptor) => self.flush(vi, false, &posted, &descriptor),
                _ => self.consume(vi, false),
            }
        }
    }

    /// Everything before `to` is acknowledged, but an unanswered read and what is behind it. Whether that
    /// stopped it.
    pub fn acknowledge(&mut self, vi: usize, to: u32) -> bool {
        let requester = &mut self.vis[vi].requester;
        let read = requester.messages.iter().find(|message| message.is_open_read());
        let limit = read.map(|read| psn::later(read.first, requester.oldest));
        let stopped =
            limit.filter(|limit| psn::ahead(to, requester.oldest) > psn::ahead(*limit, requester.oldest));
        self.advance(vi, stopped.unwrap_or(to));
        stopped.is_some()
    }

    /// The oldest PSN moves forward: progress.
    pub fn advance(&mut self, vi: usize, to: u32) {
        let ticks = self.tables.transmit[vi].get(transmit::TIMEOUT);
        let timer = timers::timeout(self.now, ticks);
        let requester = &mut self.vis[vi].requester;
        if requester.oldest != to {
            requester.oldest = to;
            (requester.retries, requester.rnr_retries, requester.implied) = (0, 0, None);
            requester.timer = timer.filter(|_| to != requester.sent_to);
            // What was acknowledged meanwhile is not sent again.
            if psn::ahead(requester.cursor_psn(), to) >= psn::HALF {
                requester.seek(to);
            }
        }
        self.settle_sends(vi);
    }

    /// The packet at the oldest PSN is missing: everything from there on is sent again.
    pub fn go_back(&mut self, vi: usize) {
        self.vis[vi].requester.rewind();
    }

    /// An answer that stands behind an unanswered read says that the read or its answer was lost. Once is
    /// enough: what was under way then may say it again.
    pub fn implied_nak(&mut self, vi: usize) {
        let requester = &mut self.vis[vi].requester;
        if requester.implied != Some(requester.oldest) {
            requester.implied = Some(requester.oldest);
            requester.rewind();
        }
    }

    /// The receiver is not ready: from the oldest PSN again after the time of its code.
    pub fn not_ready(&mut self, vi: usize, number: u32, code: u8) {
        let limit = self.tables.transmit[vi].get(transmit::RNR_RETRIES);
        let now = self.now;
        let requester = &mut self.vis[vi].requester;
        if requester.rnr_retries >= limit {
            let bits = self.remote_error(vi);
            return self.refused(vi, number, bits, event_code::CONN_LOST);
        }
        requester.rnr_retries += 1;
        requester.rewind();
        requester.pause = Some(now + timers::receiver_not_ready(code));
        requester.timer = None;
    }

    /// How a send ends that its receiver could not take.
    pub fn remote_error(&self, vi: usize) -> u32 {
        match self.tables.send_service(vi) {
            service::RELIABLE_RECEPTION => status::REMOTE_DESC_ERROR,
            _ => status::TRANSPORT_ERROR,
        }
    }

    /// The message that holds a PSN ends with this error, and the VI breaks.
    pub fn refused(&mut self, vi: usize, number: u32, bits: u32, code: u8) {
        if let Some(message) = self.vis[vi].requester.holder(number) {
            message.outcome = Some(bits);
        }
        self.break_vi(vi, Some((code, false)));
    }

    /// What happens by itself at this time.
    pub fn serve_timer(&mut self, vi: usize) {
        let row = self.tables.transmit[vi];
        let now = self.now;
        let requester = &mut self.vis[vi].requester;
        let due = |timer: &mut Option<Cycle>| timer.take_if(|when| *when <= now).is_some();
        if due(&mut requester.pause) {
            requester.timer = timers::timeout(now, row.get(transmit::TIMEOUT));
            return;
        }
        if requester.pause.is_some() || !due(&mut requester.timer) {
            return;
        }
        self.counters.count(counter::TIMEOUTS);
        let requester = &mut self.vis[vi].requester;
        if requester.retries >= row.get(transmit::RETRIES) {
            let oldest = requester.oldest;
            let read = requester.holder(oldest).is_some_and(|message| message.is_open_read());
            let code = if read { event_code::RDMA_TRANSPORT } else { event_code::CONN_LOST };
            return self.refused(vi, oldest, status::TRANSPORT_ERROR, code);
        }
        requester.retries += 1;
        requester.implied = None;
        requester.rewind();
        requester.timer = timers::timeout(now, row.get(transmit::TIMEOUT));
    }
}

impl Requester {
    /// No timer runs any more.
    fn stop(&mut self) {
        (self.timer, self.pause) = (None, None);
    }

    /// What was begun begins anew.
    fn forget_progress(&mut self) {
        self.stop();
        (self.retries, self.rnr_retries, self.implied) = (0, 0, None);
        self.cursor = (0, 0);
        for message in &mut self.messages {
            *message = Message {
                outcome: message.outcome,
                ..Message::new(message.posted, message.descriptor.clone())
            };
        }
    }
}

/// RETH of a descriptor's remote place, from byte `from` on.
fn reth(descriptor: &Descriptor, from: u64, length: u64) -> Vec<u8> {
    let (address, handle) = match descriptor.remote() {
        Some(super::protection::Place::Address { address, handle }) => (address.wrapping_add(from), handle),
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
