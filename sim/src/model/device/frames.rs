//! Frames that come: taken apart, matched with their VI or with the raw channel, and given to the part that they are for.

use viaduct_spec::register::counter;
use viaduct_spec::tables::{receive, service};
use viaduct_spec::wire::opcode;

use super::Device;
use crate::model::frame::{self, Drop, Packet, Reading, AGENT_QUEUE_PAIR};
use crate::model::held::Matched;
use crate::model::host::Host;
use crate::model::raw;
use crate::model::receive::{receiver, Class};
use crate::model::responder::Request;
use crate::model::tables::{Row, ViState};

impl<H: Host> Device<H> {
    /// Takes a frame from the wire or from ourselves.
    pub fn take_frame(&mut self, frame: &[u8], damaged: bool) {
        // FRAME-1: nothing is taken or counted.
        if !self.receives() {
            return;
        }
        self.counters.count(counter::FRAMES_RECEIVED);
        let reading = match damaged {
            // FRAME-4: damage that the MAC saw.
            true => Err(Drop::Malformed),
            false => frame::read(frame, self.registers.identity()),
        };
        let wanted = self.registers.raw_channel().wants(frame);
        // FRAME-3: a frame is counted for the first reason. RAW-3: what has one of ours is not given to the channel.
        let reason = match reading {
            Ok(reading) if reading.queue_pair == AGENT_QUEUE_PAIR && wanted => return self.take_raw(frame),
            // FRAME-9: a congestion notification, but not to the open channel's queue pair.
            Ok(reading) if reading.packet.opcode == opcode::CONGESTION => counter::CONGESTION,
            Ok(reading) => {
                // FRAME-9: a mark is counted, and the frame goes on.
                if reading.marked {
                    self.counters.count(counter::CONGESTION);
                }
                return self.take_packet(reading);
            }
            // FRAME-5, RAW-1: not ours, unless the channel takes it.
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
        if self.must_wait(vi, true) {
            return self.hold(vi, Matched::Raw(frame.to_vec()));
        }
        self.act(vi, |part, context, effects| raw::take(frame, &mut part.receives, context, effects));
    }

    /// Takes a packet for one of our queue pairs.
    fn take_packet(&mut self, reading: Reading) {
        let found = receiver(&reading, &self.tables);
        let found = found.map(|(vi, class)| (vi, class, self.vis[vi].state()));
        match found {
            Some((vi, class, ViState::Connected)) => {
                let needs = Request::of(&reading.packet).is_some_and(|request| request.takes_receive());
                match self.must_wait(vi, needs) {
                    true => self.hold(vi, Matched::Packet(reading)),
                    false => self.take_class(vi, class, &reading.packet),
                }
            }
            // RSP-8: a VI that broke repeats its last NAK.
            Some((vi, Class::Request, ViState::Error)) => {
                self.counters.count(counter::DROP_NO_VI);
                self.vis[vi].responder.repeat_nak(&self.choices);
            }
            // FRAME-10: no VI that is connected to who sent it.
            _ => self.counters.count(counter::DROP_NO_VI),
        }
    }

    /// Whether a frame for a connected VI waits: for a receive that is posted and cannot be fetched now, or behind others. None waits
    /// for a receive of a VI that is breaking.
    fn must_wait(&self, vi: usize, needs_receive: bool) -> bool {
        let is_heard = self.choices.unheard.is_none();
        // FRAME-11: for a receive that is posted and not fetched yet, or behind others of its VI.
        let waits = needs_receive && is_heard && self.vis[vi].receives.is_behind() && !self.serves();
        waits || self.held.concerns(vi)
    }

    fn hold(&mut self, vi: usize, frame: Matched) {
        if !self.held.add(vi, frame, self.now) {
            self.counters.count(counter::DROP_OVERFLOW);
        }
    }

    /// Receives of these VIs may have been fetched, or their state has changed: what waited is looked at again.
    pub(super) fn take_held(&mut self, vis: std::ops::Range<usize>) {
        vis.for_each(|vi| self.held.hear(vi));
        for (_, frame) in self.held.take() {
            match frame {
                Matched::Packet(reading) => self.take_packet(reading),
                Matched::Raw(frame) => self.take_raw(&frame),
            }
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
