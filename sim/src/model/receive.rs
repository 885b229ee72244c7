//! A frame that has come: whose is it?

use viaduct_spec::handle::queue_pair;
use viaduct_spec::register::counter;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::opcode;

use super::device::Device;
use super::frame::{self, Drop, Reading, AGENT_QUEUE_PAIR};
use super::reads::is_answer;
use super::tables::{is_reliable, ViState};

impl Device {
    /// Takes a frame from the wire or from ourselves.
    pub fn take_frame(&mut self, frame: &[u8], damaged: bool) {
        if !self.registers.receives() {
            return;
        }
        self.counters.count(counter::FRAMES_RECEIVED);
        let reading = match damaged {
            true => Err(Drop::Malformed),
            false => frame::read(frame, &self.registers.identity),
        };
        let reason = match reading {
            Ok(reading) if reading.queue_pair == AGENT_QUEUE_PAIR && self.take_raw(frame) => return,
            Ok(reading) if reading.packet.opcode == opcode::CONGESTION => counter::CONGESTION,
            Ok(reading) => return self.take_packet(&reading),
            Err(Drop::NotOurs) if self.take_raw(frame) => return,
            Err(Drop::NotOurs) => counter::DROP_NOT_OURS,
            Err(Drop::Malformed) => counter::DROP_MALFORMED,
            Err(Drop::Icrc) => counter::DROP_ICRC,
            Err(Drop::Bth) => counter::DROP_BTH,
        };
        self.counters.count(reason);
    }

    /// The VI that a packet is for, if its peer has sent it. Its class fits the VI's service.
    fn receiver(&self, reading: &Reading) -> Option<usize> {
        let number = [reading.queue_pair.into()];
        let vi = queue_pair::VI.get(&number) as usize;
        let row = self.tables.receive.get(vi).filter(|_| reading.queue_pair != AGENT_QUEUE_PAIR)?;
        let code = row.get(receive::SERVICE) as u8;
        let class = match reading.packet.opcode & opcode::UC_SEND_FIRST {
            0 => is_reliable(code),
            _ => code == service::UNRELIABLE,
        };
        let peer = row.get(receive::GENERATION) == queue_pair::GENERATION.get(&number)
            && row.get(receive::PEER_IP) == u64::from(reading.source_ip);
        (class && peer && self.vis[vi].state != ViState::Idle).then_some(vi)
    }

    fn take_packet(&mut self, reading: &Reading) {
        if reading.marked {
            self.counters.count(counter::CONGESTION);
        }
        let Some(vi) = self.receiver(reading) else {
            return self.counters.count(counter::DROP_NO_VI);
        };
        let packet = &reading.packet;
        let reliable = is_reliable(self.tables.receive[vi].get(receive::SERVICE) as u8);
        if self.vis[vi].state != ViState::Connected {
            self.counters.count(counter::DROP_NO_VI);
            if reliable && !is_answer(packet.opcode) {
                self.repeat_nak(vi);
            }
        } else if !reliable {
            self.take_unreliable(vi, packet);
        } else if is_answer(packet.opcode) {
            self.take_answer(vi, packet);
        } else {
            self.take_request(vi, packet);
        }
    }
}
