//! What comes back to the requester: acknowledgements, refusals, and the answers of RDMA reads.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::gather;
use viaduct_spec::wire::{opcode, syndrome};

use super::descriptor::Operation;
use super::device::Device;
use super::frame::{be32, Packet};
use super::psn;
use super::requester::Message;
use super::tables::Tables;

/// Syndromes by their two high bits but one: acknowledgement, receiver not ready, refusal.
const KIND: u8 = 0xE0;
const KIND_ACK: u8 = syndrome::ACK & KIND;
const KIND_NOT_READY: u8 = syndrome::RNR_NAK & KIND;

/// Whether an opcode answers a request.
pub fn is_answer(code: u8) -> bool {
    (opcode::RC_READ_RESPONSE_FIRST..=opcode::RC_ACKNOWLEDGE).contains(&code)
}

/// The opcode of packet `number` of an answer of `packets`.
pub fn response_opcode(number: u32, packets: u32) -> u8 {
    match (number == 0, number + 1 == packets) {
        (true, true) => opcode::RC_READ_RESPONSE_ONLY,
        (true, false) => opcode::RC_READ_RESPONSE_FIRST,
        (false, false) => opcode::RC_READ_RESPONSE_MIDDLE,
        (false, true) => opcode::RC_READ_RESPONSE_LAST,
    }
}

impl Device {
    /// An answer to a connected VI.
    pub fn take_answer(&mut self, vi: usize, packet: &Packet) {
        if !self.vis[vi].requester.in_flight(packet.psn) {
            return self.counters.count(counter::DROP_RESPONSE);
        }
        match packet.opcode {
            opcode::RC_ACKNOWLEDGE => self.take_acknowledgement(vi, packet),
            _ => self.take_response(vi, packet),
        }
    }

    fn take_acknowledgement(&mut self, vi: usize, packet: &Packet) {
        let code = (be32(&packet.body, 0) >> 24) as u8;
        match (code & KIND, code) {
            (KIND_ACK, _) => {
                self.counters.count(counter::ACKS_RECEIVED);
                if self.acknowledge(vi, psn::add(packet.psn, 1)) {
                    self.implied_nak(vi);
                }
            }
            (KIND_NOT_READY, _) => {
                self.counters.count(counter::RNR_RECEIVED);
                if self.acknowledge(vi, packet.psn) {
                    self.implied_nak(vi);
                } else {
                    self.not_ready(vi, packet.psn, code);
                }
            }
            (_, syndrome::NAK_SEQUENCE) => {
                self.counters.count(counter::NAKS_RECEIVED);
                if self.acknowledge(vi, packet.psn) {
                    self.implied_nak(vi);
                } else {
                    self.go_back(vi);
                }
            }
            (_, syndrome::NAK_INVALID | syndrome::NAK_ACCESS | syndrome::NAK_OPERATIONAL) => {
                self.counters.count(counter::NAKS_RECEIVED);
                self.take_refusal(vi, packet.psn, code);
            }
            _ => self.counters.count(counter::DROP_RESPONSE),
        }
    }

    fn take_refusal(&mut self, vi: usize, number: u32, code: u8) {
        // An unanswered read before it is not complete; it ends as the VI breaks.
        self.acknowledge(vi, number);
        self.vis[vi].requester.note_refused(number);
        let holds =
            |message: &&Message| message.started && psn::ahead(number, message.first) < message.packets;
        let held = self.vis[vi].requester.messages.iter().find(holds);
        let rdma = held.is_some_and(|message| message.descriptor.operation() != Operation::Send);
        let bits = match code {
            syndrome::NAK_ACCESS => status::RDMA_PROT_ERROR,
            syndrome::NAK_INVALID if rdma => status::RDMA_PROT_ERROR,
            _ => self.remote_error(vi),
        };
        self.refused(vi, number, bits, event_code::CONN_LOST);
    }

    /// A packet of an RDMA read's answer.
    fn take_response(&mut self, vi: usize, packet: &Packet) {
        let requester = &self.vis[vi].requester;
        let reads: Vec<&Message> =
            requester.messages.iter().filter(|message| message.is_open_read()).collect();
        let Some(read) = reads.first().copied().cloned() else {
            return self.counters.count(counter::DROP_RESPONSE);
        };
        let expected = psn::later(read.first, requester.oldest);
        if packet.psn != expected {
            let of_a_read = reads.iter().any(|read| psn::ahead(packet.psn, read.first) < read.packets);
            self.counters.count(counter::DROP_RESPONSE);
            if of_a_read {
                // It acknowledges what stands before the read that it passes, and no more.
                self.acknowledge(vi, packet.psn);
                self.implied_nak(vi);
            }
            return;
        }
        let row = self.tables.gather[vi];
        let (mtu, tag) = (Tables::mtu(row.get(gather::MTU)), row.get(gather::TAG) as u16);
        let number = psn::ahead(packet.psn, read.first);
        let from = u64::from(number) * mtu as u64;
        let length = u64::from(read.descriptor.length).saturating_sub(from).min(mtu as u64);
        // Its place in the answer, as it was asked for last or as it was at first.
        let asked = number.checked_sub(read.asked).map(|at| response_opcode(at, read.packets - read.asked));
        let placed = [Some(response_opcode(number, read.packets)), asked].contains(&Some(packet.opcode));
        let extension = if packet.opcode == opcode::RC_READ_RESPONSE_MIDDLE { 0 } else { 4 };
        let data = packet.body.get(extension..).unwrap_or(&[]);
        if !placed || data.len() as u64 != length {
            return self.counters.count(counter::DROP_RESPONSE);
        }
        self.acknowledge(vi, expected);
        match self.scatter(&read.descriptor, tag, from, data) {
            Ok(()) => {
                self.counters.add(counter::BYTES_RECEIVED, length);
                self.advance(vi, psn::add(packet.psn, 1));
            }
            Err(bits) => {
                let found = self.vis[vi].requester.messages.iter_mut().find(|message| message.is_open_read());
                if let Some(message) = found {
                    message.outcome = Some(bits);
                }
                // As if the peer had refused it: the request was good.
                self.break_vi(vi, Some((event_code::CONN_LOST, false)));
            }
        }
    }
}
