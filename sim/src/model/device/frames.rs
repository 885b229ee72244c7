//! Frames that come: taken apart, matched with their VI or with the raw channel, and given to the part that they are for.

use viaduct_spec::register::counter;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::opcode;

use super::Device;
use crate::model::frame::{self, Drop, Packet, Reading, AGENT_QUEUE_PAIR};
use crate::model::host::Host;
use crate::model::raw;
use crate::model::receive::{receiver, Class};
use crate::model::responder::Request;
use crate::model::tables::{Row, ViState};

impl<H: Host> Device<H> {
    /// Takes a frame from the wire or from ourselves.
    pub fn take_frame(&mut self, frame: &[u8], damaged: bool) {
        if !self.receives() {
            return;
        }
        self.counters.count(counter::FRAMES_RECEIVED);
        let reading = match damaged {
            true => Err(Drop::Malformed),
            false => frame::read(frame, self.registers.identity()),
        };
        let wanted = self.registers.raw_channel().wants(frame);
        let reason = match reading {
            Ok(reading) if reading.queue_pair == AGENT_QUEUE_PAIR && wanted => return self.take_raw(frame),
            Ok(reading) if reading.packet.opcode == opcode::CONGESTION => counter::CONGESTION,
            Ok(reading) => return self.take_packet(&reading),
            Err(Drop::NotOurs) if wanted => return self.take_raw(frame),
            Err(Drop::NotOurs) => counter::DROP_NOT_OURS,
            Err(Drop::Malformed) => counter::DROP_MALFORMED,
            Err(Drop::Icrc) => counter::DROP_ICRC,
            Err(Drop::Bth) => counter::DROP_BTH,
        };
        self.counters.count(reason);
    }

    /// Takes a frame that the raw channel wants.
    fn take_raw(&mut self, frame: &[u8]) {
        let vi = self.registers.raw_channel().vi();
        let is_raw = |row: &Row| row.get(receive::SERVICE) == u64::from(service::RAW);
        let open = self.vis.get(vi).is_some_and(|part| part.state() == ViState::Connected)
            && self.tables.receive.get(vi).is_some_and(is_raw);
        if !open {
            return self.counters.count(counter::RAW_DROPPED);
        }
        self.act(vi, |part, context, effects| raw::take(frame, &mut part.receives, context, effects));
    }

    /// Takes a packet for one of our queue pairs.
    fn take_packet(&mut self, reading: &Reading) {
        if reading.marked {
            self.counters.count(counter::CONGESTION);
        }
        let found = receiver(reading, &self.tables);
        let found = found.map(|(vi, class)| (vi, class, self.vis[vi].state()));
        let packet = &reading.packet;
        match found {
            Some((vi, class, ViState::Connected)) => self.take_class(vi, class, packet),
            Some((vi, Class::Request, ViState::Error)) => {
                self.counters.count(counter::DROP_NO_VI);
                self.vis[vi].responder.repeat_nak(&self.choices);
            }
            _ => self.counters.count(counter::DROP_NO_VI),
        }
    }

    fn take_class(&mut self, vi: usize, class: Class, packet: &Packet) {
        match class {
            Class::Answer => self.act(vi, |part, context, effects| {
                part.requester.take_answer(packet, context, effects);
            }),
            Class::Request => self.act(vi, |part, context, effects| {
                part.responder.take_request(packet, &mut part.receives, context, effects);
            }),
            Class::Unreliable => {
                let Some(request) = Request::of(packet) else { return };
                let mut admitted = false;
                self.act(vi, |part, context, effects| {
                    admitted = part.responder.admit(packet.psn, &request, vi, context, effects);
                });
                if admitted {
                    self.act(vi, |part, context, effects| {
                        let receives = &mut part.receives;
                        part.responder.take_unreliable(&request, vi, receives, context, effects);
                    });
                }
            }
        }
    }
}
