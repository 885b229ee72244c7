//! What the users of the connections do: posts, and stores that they should not do.

use std::io;

use viaduct_driver::device::Bar;
use viaduct_spec::descriptor::control_segment;
use viaduct_spec::doorbell;
use viaduct_spec::profile::{DOORBELL_SHIFT, VIS};

use super::{Machine, Posted};
use crate::descriptor;
use crate::memory::DESCRIPTORS;
use crate::operation::{Bell, End, Flaw, Post, Stray};
use crate::program::CompletionQueue;
use crate::rows;

impl Machine<'_> {
    pub(super) fn handle(&self, end: End, slot: usize) -> u32 {
        rows::handle(end, slot, self.sides[end].slots[slot].1)
    }

    pub(super) fn write_slot(
        &mut self,
        end: End,
        receive: usize,
        position: u16,
        token: u64,
    ) -> io::Result<()> {
        let nic = self.nic(end);
        let slots = 1 << self.program.connections[end / 2].ring_log2;
        let at = rows::ring(end, receive) + 8 * (u64::from(position) % slots);
        self.memories[nic].write_arena(at, &token.to_le_bytes())
    }

    pub(super) fn ring(&mut self, end: End, receive: usize, token: u64, length: usize) {
        let page = (self.vi(end) as u64) << DOORBELL_SHIFT;
        let word = page + if receive == 1 { doorbell::page::RECEIVE } else { doorbell::page::SEND };
        match length {
            8 => self.store(self.nic(end), Bar::Doorbells, word, 8, token),
            _ => self.store(self.nic(end), Bar::Doorbells, word + 4, 4, token >> 32),
        }
    }

    pub(super) fn post(&mut self, post: &Post) -> io::Result<()> {
        let (end, receive) = (post.end, usize::from(post.receive));
        let slots = 1 << self.program.connections[end / 2].ring_log2;
        let side = &self.sides[end];
        let queue = &side.queues[receive];
        if !side.open || queue.wrecked || queue.posted.len() - queue.complete >= slots {
            return Ok(());
        }
        let position = self.sides[end].queues[receive].posted.len() as u16;
        let connection = &self.program.connections[end / 2];
        let base = |end: End| rows::address(connection, end);
        let slot = |end: End, slot: usize| {
            let made = self.sides[end].slots[slot].0;
            made.map_or(u32::MAX, |made| made.at + made.length)
        };
        let handles =
            descriptor::Places { handle: &|end, slot| self.handle(end, slot), address: &base, end_of: &slot };
        let bytes = descriptor::encode(post, &handles);
        let nic = self.nic(end);
        self.memories[nic].write(end, post.place, &bytes)?;
        let region = match post.flaw {
            Flaw::Nowhere => 0xFE,
            Flaw::Foreign => rows::ARENA_REGION,
            _ => rows::region(end, 0),
        };
        let place = post.place - if region == rows::ARENA_REGION { DESCRIPTORS } else { 0 };
        let mut token = doorbell::encode(region, u64::from(place) / 64, position);
        let word = u64::from_le_bytes(bytes[8..16].try_into().map_err(io::Error::other)?);
        // Every other descriptor that may be is read as a short one.
        if position % 2 == 1 && control_segment::SEG_COUNT.get(&[0, word, 0, 0]) <= 1 {
            token = doorbell::short(token);
        }
        self.write_slot(end, receive, position, token)?;
        let before = u64::from_le_bytes(bytes[24..32].try_into().map_err(io::Error::other)?);
        // Nothing can be written to a descriptor that is nowhere.
        let complete = matches!(post.flaw, Flaw::Nowhere | Flaw::Foreign);
        let queue = &mut self.sides[end].queues[receive];
        queue.posted.push(Posted { operation: self.at, place: post.place, before, complete });
        queue.complete += usize::from(complete);
        queue.vague |= complete;
        match post.bell {
            Bell::Token => self.ring(end, receive, token, 8),
            Bell::High => self.ring(end, receive, token, 4),
            Bell::Silent => {}
        }
        Ok(())
    }

    pub(super) fn arm(&mut self, end: End, receive: bool) {
        let side = &mut self.sides[end];
        let queue = &side.queues[usize::from(receive)];
        if !side.open || queue.wrecked || queue.vague || std::mem::replace(&mut side.armed, true) {
            return;
        }
        let seen = side.queues[usize::from(receive)].complete;
        let nic = self.nic(end);
        match self.program.connections[end / 2].completion_queues[end % 2][usize::from(receive)] {
            CompletionQueue::Small => {
                let queue = self.queues_of(end)[usize::from(receive)].unwrap_or(0);
                let page = ((VIS + queue) as u64) << DOORBELL_SHIFT;
                let word = self.queues[nic][queue].index();
                self.store(nic, Bar::Doorbells, page + doorbell::cq_page::ARM, 8, word);
            }
            CompletionQueue::None | CompletionQueue::Shared(_) => {
                let page = (self.vi(end) as u64) << DOORBELL_SHIFT;
                let at = if receive { doorbell::page::RECEIVE_ARM } else { doorbell::page::SEND_ARM };
                let position = seen as u64 & doorbell::arm::POSITION.mask();
                let word = rows::row(&[(doorbell::arm::POSITION, position)])[0];
                self.store(nic, Bar::Doorbells, page + at, 8, word);
            }
        }
    }

    pub(super) fn stray(&mut self, end: End, receive: bool, stray: Stray) -> io::Result<()> {
        let receive = usize::from(receive);
        let side = &mut self.sides[end];
        let queue = &mut side.queues[receive];
        if !side.open || queue.wrecked {
            return Ok(());
        }
        let next = queue.posted.len() as u16;
        queue.wrecked |= matches!(stray, Stray::Ahead(_) | Stray::Stale);
        let token = |position: u16| doorbell::encode(rows::region(end, 0), 0x400, position & 0x3FFF);
        let page = (self.vi(end) as u64) << DOORBELL_SHIFT;
        let nic = self.nic(end);
        match stray {
            Stray::Low => self.store(nic, Bar::Doorbells, page + 8 * receive as u64, 4, 0x1234),
            Stray::Ahead(by) => self.ring(end, receive, token(next + by), 8),
            Stray::Stale => {
                self.write_slot(end, receive, next, token(next + 0x1000))?;
                self.ring(end, receive, token(next), 4);
            }
            Stray::Beside(at) => {
                let length = if at % 8 == 0 { 8 } else { 4 };
                self.store(nic, Bar::Doorbells, page + at, length, u64::MAX);
            }
        }
        Ok(())
    }
}
