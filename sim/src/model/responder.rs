//! The responder of a reliable VI: requests at the expected PSN are executed, others are answered; and its answers leave
//! in the order of their requests.

use std::collections::VecDeque;

use viaduct_spec::descriptor::status;
use viaduct_spec::profile::READ_DEPTH;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::receive;
use viaduct_spec::wire::{opcode, syndrome};

use super::choices::Mutant;
use super::completion::Ending;
use super::device::Device;
use super::frame::{acknowledge, Packet};
use super::message::{Inbound, Refusal, Request};
use super::protection::{Access, Place, Right};
use super::psn;
use super::reads::response_opcode;
use super::tables::Tables;

/// Bytes of the longest read.
const MOST_READ: u64 = 1 << 31;

/// What is to be sent back.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// An acknowledgement, or a NAK, with this syndrome.
    Acknowledge { psn: u32, msn: u32, syndrome: u8 },
    /// What is left of the answer to a read.
    Read { read: Read, msn: u32, done: u32 },
}

/// An RDMA read of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Read {
    first: u32,
    packets: u32,
    place: Place,
    length: u64,
}

impl Read {
    /// The PSN behind its last.
    fn end(&self) -> u32 {
        psn::add(self.first, self.packets)
    }
}

/// A VI's responder, and what it receives at either service.
#[derive(Debug, Default)]
pub struct Responder {
    /// The PSN expected next.
    pub expected: u32,
    /// Messages executed.
    msn: u32,
    /// The message under way.
    pub inbound: Option<Inbound>,
    /// The expected PSN has been asked for, or refused for now, and has not come yet.
    asked: bool,
    /// The NAK with which the VI broke.
    last_nak: Option<(u32, u8)>,
    /// The newest reads, oldest first.
    reads: VecDeque<Read>,
    answers: VecDeque<Answer>,
}

impl Responder {
    /// Something is to be sent back.
    pub fn has_answer(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Nothing is sent back any more.
    pub fn silence(&mut self) {
        self.answers.clear();
        self.last_nak = None;
    }

    /// Reads of which some answer is not out.
    fn open_reads(&self) -> usize {
        self.answers.iter().filter(|answer| matches!(answer, Answer::Read { .. })).count()
    }

    fn answer(&mut self, number: u32, syndrome: u8) {
        let new = Answer::Acknowledge { psn: number, msn: self.msn, syndrome };
        match self.answers.back_mut() {
            // The newer one stands for the older.
            Some(Answer::Acknowledge { syndrome: syndrome::ACK, psn, .. })
                if syndrome == syndrome::ACK && psn::later(number, *psn) == number =>
            {
                self.answers.pop_back();
            }
            // Or is the same.
            Some(last) if *last == new => return,
            _ => {}
        }
        self.answers.push_back(new);
    }
}

impl Device {
    /// RECEIVE has been committed: the expected PSN.
    pub fn renew_responder(&mut self, vi: usize) {
        let expected = self.tables.receive[vi].get(receive::PSN) as u32;
        self.vis[vi].responder = Responder { expected, ..Responder::default() };
    }

    /// A request of the peer's to a reliable VI.
    pub fn take_request(&mut self, vi: usize, packet: &Packet) {
        let responder = &mut self.vis[vi].responder;
        let distance = psn::ahead(packet.psn, responder.expected);
        if distance == 0 {
            return self.execute(vi, packet);
        }
        if distance >= psn::HALF {
            let only = Request::of(packet).is_some_and(|request| request.is_first() && request.is_last());
            if self.choices.mutant == Some(Mutant::Again) && only {
                let expected = responder.expected;
                self.execute(vi, packet);
                self.vis[vi].responder.expected = expected;
                return;
            }
            return self.take_duplicate(vi, packet);
        }
        self.counters.count(counter::DROP_PSN);
        if !std::mem::replace(&mut responder.asked, true) {
            let expected = responder.expected;
            self.answer(vi, expected, syndrome::NAK_SEQUENCE);
        }
    }

    /// A request to a VI that broke: its last NAK again. Whether there is one.
    pub fn repeat_nak(&mut self, vi: usize) -> bool {
        let last = self.vis[vi].responder.last_nak;
        if let Some((number, code)) = last {
            self.answer(vi, number, code);
        }
        last.is_some()
    }

    fn answer(&mut self, vi: usize, number: u32, code: u8) {
        self.vis[vi].responder.answer(number, code);
    }

    /// The packet that is expected.
    fn execute(&mut self, vi: usize, packet: &Packet) {
        self.vis[vi].responder.asked = false;
        let executed = match Request::of(packet) {
            Some(Request::Read { place, length }) => self.execute_read(vi, packet, place, length),
            Some(request) => self.execute_packet(vi, packet, &request),
            None => Err(Refusal::lost(syndrome::NAK_INVALID)),
        };
        match executed {
            Ok(()) => {
                if packet.ack_request && packet.opcode != opcode::RC_READ_REQUEST {
                    self.answer(vi, packet.psn, syndrome::ACK);
                }
            }
            Err(Refusal::NotReady) => self.not_ready_for(vi, packet),
            Err(Refusal::Break { syndrome, event, ending }) => {
                self.refuse(vi, packet.psn, syndrome, event, ending);
            }
            Err(Refusal::Broken) => {}
        }
    }

    fn execute_packet(&mut self, vi: usize, packet: &Packet, request: &Request) -> Result<(), Refusal> {
        let mtu = Tables::mtu(self.tables.receive[vi].get(receive::MTU));
        let last = request.is_last();
        let inbound = self.take_payload(vi, request, mtu)?;
        let responder = &mut self.vis[vi].responder;
        responder.expected = psn::add(packet.psn, 1);
        if !last {
            responder.inbound = Some(inbound);
            return Ok(());
        }
        responder.msn = psn::add(responder.msn, 1);
        if self.deliver(vi, inbound, request.immediate()) {
            return Ok(());
        }
        // The status could not be written: the VI has broken.
        let reason = (packet.psn, syndrome::NAK_OPERATIONAL);
        self.vis[vi].responder.last_nak = Some(reason);
        self.answer(vi, reason.0, reason.1);
        Err(Refusal::Broken)
    }

    /// No receive is posted: later, or never.
    fn not_ready_for(&mut self, vi: usize, packet: &Packet) {
        let row = self.tables.receive[vi];
        let code = syndrome::RNR_NAK | row.get(receive::RNR_TIMER) as u8;
        if row.is(receive::RNR_STAY) {
            self.vis[vi].responder.asked = true;
            return self.answer(vi, packet.psn, code);
        }
        self.counters.count(counter::DROP_NO_RECEIVE);
        self.refuse(vi, packet.psn, code, event_code::RECVQ_EMPTY, None);
    }

    /// Answers with a NAK, and the VI breaks; the receive under way ends as said.
    fn refuse(&mut self, vi: usize, number: u32, code: u8, event: u8, ending: Option<u32>) {
        self.vis[vi].responder.last_nak = Some((number, code));
        self.answer(vi, number, code);
        if let (Some(bits), Some(Inbound::Send { ending, .. })) =
            (ending, &mut self.vis[vi].responder.inbound)
        {
            *ending = bits;
        }
        self.break_vi(vi, Some((event, true)));
    }

    /// The receive under way is complete, with its own error or this one.
    pub fn abandon_receive(&mut self, vi: usize, bits: u32) {
        if let Some(Inbound::Send { receive, done, ending }) = self.vis[vi].responder.inbound.take() {
            let bits = if ending != 0 { ending } else { bits };
            let ending = Ending { status: status::OP_RECEIVE | bits, length: done, immediate: None };
            self.complete(vi, true, &receive.posted, ending);
        }
    }

    /// Checks a read and executes it: its answer is made packet by packet.
    fn execute_read(&mut self, vi: usize, packet: &Packet, place: Place, length: u64) -> Result<(), Refusal> {
        let row = self.tables.receive[vi];
        let responder = &self.vis[vi].responder;
        let packets = psn::packets(length, Tables::mtu(row.get(receive::MTU)));
        let depth = (row.get(receive::READ_DEPTH) as usize).min(READ_DEPTH);
        let misplaced = responder.inbound.is_some() || packet.body.len() != 16;
        if misplaced || length > MOST_READ {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        let refusal = |syndrome| Refusal::Break { syndrome, event: event_code::RDMAR_PROT, ending: None };
        if !row.is(receive::RDMA_READ) {
            return Err(refusal(syndrome::NAK_INVALID));
        }
        if responder.open_reads() >= depth {
            return Err(Refusal::lost(syndrome::NAK_INVALID));
        }
        self.counters.count(counter::READS_SERVED);
        let tag = row.get(receive::TAG) as u16;
        if length != 0 && self.probe(Access { place, span: length, tag, right: Right::RemoteRead }).is_err() {
            return Err(refusal(syndrome::NAK_ACCESS));
        }
        let read = Read { first: packet.psn, packets: packets as u32, place, length };
        let responder = &mut self.vis[vi].responder;
        responder.expected = psn::add(packet.psn, read.packets);
        responder.msn = psn::add(responder.msn, 1);
        responder.reads.push_back(read);
        while responder.reads.len() > READ_DEPTH {
            responder.reads.pop_front();
        }
        let msn = responder.msn;
        responder.answers.push_back(Answer::Read { read, msn, done: 0 });
        Ok(())
    }

    /// A packet that was executed before: acknowledged or answered again.
    fn take_duplicate(&mut self, vi: usize, packet: &Packet) {
        let row = self.tables.receive[vi];
        let newest = psn::add(self.vis[vi].responder.expected, u32::MAX);
        let Some(Request::Read { place, length }) = Request::of(packet) else {
            self.counters.count(counter::DUPLICATES);
            return self.answer(vi, newest, syndrome::ACK);
        };
        let packets = psn::packets(length, Tables::mtu(row.get(receive::MTU)));
        let responder = &self.vis[vi].responder;
        let within = |read: &Read| {
            let from = psn::ahead(packet.psn, read.first);
            from < read.packets && u64::from(from) + packets <= u64::from(read.packets)
        };
        let known = packet.body.len() == 16 && length <= MOST_READ && responder.reads.iter().any(within);
        if !known {
            return self.counters.count(counter::DROP_PSN);
        }
        self.counters.count(counter::DUPLICATES);
        self.counters.count(counter::READS_SERVED);
        let tag = row.get(receive::TAG) as u16;
        if length != 0 && self.probe(Access { place, span: length, tag, right: Right::RemoteRead }).is_err() {
            return self.refuse(vi, packet.psn, syndrome::NAK_ACCESS, event_code::RDMAR_PROT, None);
        }
        let read = Read { first: packet.psn, packets: packets as u32, place, length };
        let responder = &mut self.vis[vi].responder;
        let msn = responder.msn;
        // What is left of its answer, and the reads behind it, are asked for again too.
        let ends_behind = |read: &Read| (1..psn::HALF).contains(&psn::ahead(read.end(), packet.psn));
        responder.answers.retain(|answer| !matches!(answer, Answer::Read { read, .. } if ends_behind(read)));
        responder.answers.push_back(Answer::Read { read, msn, done: 0 });
    }

    /// Sends the next packet of the oldest answer.
    pub fn send_answer(&mut self, vi: usize) {
        match self.vis[vi].responder.answers.front().cloned() {
            Some(Answer::Acknowledge { psn, msn, syndrome }) => {
                self.vis[vi].responder.answers.pop_front();
                self.counters.count(match syndrome {
                    syndrome::ACK => counter::ACKS_SENT,
                    _ if syndrome & 0xE0 == syndrome::RNR_NAK => counter::RNR_SENT,
                    _ => counter::NAKS_SENT,
                });
                let body = acknowledge(syndrome, msn).to_vec();
                self.emit(vi, &Packet { opcode: opcode::RC_ACKNOWLEDGE, psn, ack_request: false, body });
            }
            Some(Answer::Read { read, msn, done }) => self.send_response(vi, read, msn, done),
            None => {}
        }
    }

    fn send_response(&mut self, vi: usize, read: Read, msn: u32, done: u32) {
        let row = self.tables.receive[vi];
        let mtu = Tables::mtu(row.get(receive::MTU)) as u64;
        let from = u64::from(done) * mtu;
        let left = read.length.saturating_sub(from);
        let length = left.min(mtu) as usize;
        let access = Access {
            place: read.place.plus(from),
            span: left,
            tag: row.get(receive::TAG) as u16,
            right: Right::RemoteRead,
        };
        let number = psn::add(read.first, done);
        let data = if length == 0 { Ok(Vec::new()) } else { self.read(access, length) };
        self.vis[vi].responder.answers.pop_front();
        let Ok(data) = data else {
            // Its memory has gone since it was executed.
            return self.refuse(vi, number, syndrome::NAK_ACCESS, event_code::RDMAR_PROT, None);
        };
        if done + 1 < read.packets {
            self.vis[vi].responder.answers.push_front(Answer::Read { read, msn, done: done + 1 });
        }
        let opcode = response_opcode(done, read.packets);
        let mut body = Vec::new();
        if opcode != opcode::RC_READ_RESPONSE_MIDDLE {
            body.extend(acknowledge(syndrome::ACK, msn));
        }
        body.extend(data);
        self.counters.add(counter::BYTES_SENT, length as u64);
        self.emit(vi, &Packet { opcode, psn: number, ack_request: false, body });
    }
}
