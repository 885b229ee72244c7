//! The interpreter: applies what the parts ask for, in their order. What an effect asks for in turn comes before those behind it, as
//! if the part had waited for it.

use viaduct_spec::register::counter;
use viaduct_spec::tables::completion_queue;

use super::Device;
use crate::model::choices::Unheard;
use crate::model::completion::{self, Target};
use crate::model::cq::Entry;
use crate::model::effect::{Completion, Effect, Effects};
use crate::model::event::Event;
use crate::model::frame::{self, Packet};
use crate::model::host::Host;
use crate::model::tables::{Row, Rows, ViState};
use crate::model::transmit::{Turned, Way};

impl<H: Host> Device<H> {
    /// Applies the effects of a part of a VI's, and those of these.
    pub(super) fn apply(&mut self, vi: usize, effects: Effects) {
        let mut stack: Vec<Effect> = effects.reversed().collect();
        while let Some(effect) = stack.pop() {
            let mut more = Effects::new();
            self.apply_one(vi, effect, &mut more);
            stack.extend(more.reversed());
        }
    }

    fn apply_one(&mut self, vi: usize, effect: Effect, more: &mut Effects) {
        match effect {
            Effect::Count(number, count) => self.counters.add(number, count),
            Effect::Write { address, data } => self.host.write(address, &data),
            Effect::Raise(vector) => {
                self.vectors.raise(vector);
                self.send_interrupts();
            }
            Effect::Report(event) => self.report(event, more),
            Effect::Complete(completion) => {
                self.complete(vi, &completion, more);
            }
            Effect::Deliver { completion, psn, asks } => {
                let written = self.complete(vi, &completion, more);
                self.vis[vi].responder.delivered(psn, written, asks, &self.choices);
            }
            Effect::Consume { receive } => {
                self.host.passes(receive);
                let (part, _, context) = self.parts(vi);
                completion::consume(receive, part.queue(receive), &context, more);
            }
            Effect::Break(event) => self.vis[vi].break_off(vi, event, more),
            Effect::Serve { receive } => {
                let (part, _, mut context) = self.parts(vi);
                part.serve(receive, &mut context, more);
            }
            Effect::Settle { waited } => {
                let (part, _, mut context) = self.parts(vi);
                part.requester.settle(waited, &mut context, more);
            }
            Effect::Advance(psn) => {
                let (part, _, context) = self.parts(vi);
                part.requester.advance(psn, &context, more);
            }
            Effect::Refused { psn, bits, code } => {
                let requester = &mut self.vis[vi].requester;
                match self.choices.unheard {
                    None => requester.refused(psn, bits, Some(code), more),
                    Some(Unheard::Ends | Unheard::Completes) => requester.refused(psn, bits, None, more),
                    Some(Unheard::Acknowledges | Unheard::Receives | Unheard::Cuts) => {}
                }
            }
            Effect::Send(packet) => self.emit(vi, &packet),
            Effect::SendRaw(frame) => self.give(vi, frame),
        }
    }

    /// Completes a descriptor; whether its status is there.
    fn complete(&mut self, vi: usize, completion: &Completion, more: &mut Effects) -> bool {
        let (part, cqs, mut context) = self.parts(vi);
        let broken = part.state() == ViState::Error;
        let queue = part.queue(completion.receive);
        Target { vi, broken, queue, cqs }.complete(completion, &mut context, more)
    }

    /// An event goes to the error ring, if there is one. That has no error ring of its own: a refusal by its memory is a loss too.
    fn report(&mut self, event: Event, more: &mut Effects) {
        // CQ-3: an event goes to the error ring, or is lost and counted.
        let is_ring = |row: &Row| row.is(completion_queue::LIVE) && row.is(completion_queue::EVENTS);
        let ring = self.tables.completion_queue.iter().position(is_ring);
        let entry = Entry { token: event.word(), vi: event.index as u64, receive: event.receive };
        let entered = ring.is_some_and(|ring| {
            let (_, cqs, mut context) = self.parts(0);
            cqs.add(ring, entry, context.tables, &mut context.memory, more).is_ok()
        });
        if !entered {
            more.count(counter::EVENT_LOST);
        }
    }

    /// Sends the interrupts that are pending and may be sent.
    pub fn send_interrupts(&mut self) {
        if !self.host.msix() || !self.host.bus_master() {
            return;
        }
        for (address, data) in self.vectors.send(self.now, &self.tables.moderation) {
            self.host.message(address, data);
            self.counters.count(counter::INTERRUPTS);
        }
    }

    /// A packet of a VI's leaves.
    fn emit(&mut self, vi: usize, packet: &Packet) {
        let frame = frame::build(&Rows::new(&self.tables, vi).template(), packet);
        self.give(vi, frame);
    }

    /// A frame of a VI's leaves.
    fn give(&mut self, vi: usize, frame: Vec<u8>) {
        self.counters.count(counter::FRAMES_SENT);
        match self.way(vi) {
            Way::Loopback => {
                let arrives = self.now + self.choices.packet_cycles + self.choices.loopback_cycles;
                self.outbox.turn_round(Turned { began: self.now, arrives, frame });
            }
            Way::Wire => self.outbox.send(frame),
        }
    }
}
