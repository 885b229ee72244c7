//! Completions: into the descriptor, then the completion queue, then the interrupt. And how a VI breaks.

use viaduct_spec::descriptor::{status, COMPLETION_OFFSET, IMMEDIATE_OFFSET};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::work_queue;

use super::choices::Mutant;
use super::cq::Lost;
use super::descriptor::Descriptor;
use super::device::Device;
use super::events::Event;
use super::protection::{Access, Right};
use super::queues::Posted;
use super::tables::ViState;

/// How a descriptor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ending {
    /// Status, without DONE.
    pub status: u32,
    /// Bytes transferred.
    pub length: u32,
    /// Immediate data that came with it.
    pub immediate: Option<u32>,
}

impl Device {
    /// Writes a completion, and gives whether it is there. If its memory is no longer valid, or its completion queue has
    /// no room, the VI breaks.
    pub fn complete(&mut self, vi: usize, receive: bool, posted: &Posted, ending: Ending) -> bool {
        let told = ending.immediate.is_some() && self.choices.mutant != Some(Mutant::NoImmediate);
        let immediate = if told { status::IMMEDIATE } else { 0 };
        let word = u64::from(ending.status | status::DONE | immediate) << 32 | u64::from(ending.length);
        let access = Access {
            place: posted.place.plus(COMPLETION_OFFSET),
            span: 8,
            tag: self.descriptor_tag(vi, receive),
            right: Right::Write,
        };
        let data = ending.immediate.map_or(Ok(()), |data| {
            let place = posted.place.plus(IMMEDIATE_OFFSET);
            self.write(Access { place, span: 4, ..access }, &data.to_le_bytes())
        });
        let written = data.and_then(|()| self.write(access, &word.to_le_bytes()));
        if written.is_ok() && ending.status & status::ERROR_MASK != 0 {
            self.counters.count(counter::DESCRIPTOR_ERRORS);
        }
        let row = *self.queue_row(vi, receive);
        let mut lost = None;
        if written.is_ok() && row.is(work_queue::TO_CQ) {
            let queue = row.get(work_queue::CQ) as usize;
            lost = self.add_entry(queue, posted.token, vi as u64, receive).err().map(|lost| (queue, lost));
        }
        self.consume(vi, receive);
        match lost {
            Some((_, Lost::Overrun)) if self.choices.mutant == Some(Mutant::SilentOverrun) => {}
            Some((queue, Lost::Overrun)) => self.overrun(queue, vi, receive),
            None if written.is_ok() => {}
            _ => self.unwritten(vi, receive),
        }
        written.is_ok()
    }

    /// A completion could not be written.
    fn unwritten(&mut self, vi: usize, receive: bool) {
        let code = event_code::COMP_PROT;
        if self.vis[vi].state == ViState::Error {
            self.report(Event { code, index: vi, receive, broke: false });
        } else {
            self.break_vi(vi, Some((code, receive)));
        }
    }

    /// The next position of a queue is done with; its interrupt comes if it is armed.
    pub fn consume(&mut self, vi: usize, receive: bool) {
        if self.queue(vi, receive).complete() && self.choices.mutant != Some(Mutant::Deaf) {
            let vector = self.queue_row(vi, receive).get(work_queue::VECTOR);
            self.raise(vector);
        }
    }

    /// Completes a descriptor that was not executed.
    pub fn flush(&mut self, vi: usize, receive: bool, posted: &Posted, descriptor: &Descriptor) {
        let operation = if receive { status::OP_RECEIVE } else { descriptor.operation().status() };
        let status = operation | status::DESC_FLUSHED_ERROR;
        self.complete(vi, receive, posted, Ending { status, ..Ending::default() });
    }

    /// A VI breaks: with an event of this code and queue, or without one where a descriptor says why. Then
    /// both queues are flushed.
    pub fn break_vi(&mut self, vi: usize, event: Option<(u8, bool)>) {
        if self.vis[vi].state == ViState::Error {
            return;
        }
        self.vis[vi].state = ViState::Error;
        self.counters.count(counter::VIS_BROKEN);
        if let Some((code, receive)) = event {
            self.report(Event { code, index: vi, receive, broke: true });
        }
        self.flush_all(vi);
    }

    /// A VI's state, as the agent commands it.
    pub fn set_state(&mut self, vi: usize, state: ViState) {
        self.vis[vi].state = state;
        match state {
            ViState::Error => self.flush_all(vi),
            ViState::Idle => {
                self.vis[vi].responder.silence();
                self.serve_queue(vi, false);
            }
            ViState::Connected => {
                self.serve_queue(vi, true);
                self.serve_queue(vi, false);
            }
        }
    }

    fn flush_all(&mut self, vi: usize) {
        self.abandon_receive(vi, status::TRANSPORT_ERROR);
        self.serve_queue(vi, true);
        self.serve_queue(vi, false);
    }
}
