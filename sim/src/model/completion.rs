//! Completions: into the descriptor, then the completion queue, then the interrupt.

use viaduct_spec::descriptor::{status, COMPLETION_OFFSET, IMMEDIATE_OFFSET};
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::work_queue;

use super::choices::Mutant;
use super::context::Context;
use super::cq::{CompletionQueues, Entry, Lost};
use super::effect::{Completion, Effect, Effects};
use super::event::Event;
use super::place::{Access, Right};
use super::work_queue::WorkQueue;

/// Where completions of a VI go.
pub struct Target<'a> {
    /// The VI.
    pub vi: usize,
    /// It has broken already.
    pub broken: bool,
    /// Its queue.
    pub queue: &'a mut WorkQueue,
    /// The completion queues.
    pub cqs: &'a mut CompletionQueues,
}

impl Target<'_> {
    /// Writes a completion, and gives whether it is there. If its memory is no longer valid, or its completion queue has
    /// no room, the VI breaks.
    pub fn complete(
        &mut self,
        completion: &Completion,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> bool {
        let Completion { receive, posted, ending } = *completion;
        let told = ending.immediate.is_some() && !context.breaks(Mutant::NoImmediate);
        let immediate = if told { status::IMMEDIATE } else { 0 };
        let word = u64::from(ending.status | status::DONE | immediate) << 32 | u64::from(ending.length);
        let access = Access {
            place: posted.place.plus(COMPLETION_OFFSET),
            span: 8,
            tag: context.rows.descriptor_tag(receive),
            right: Right::Write,
        };
        // WQ-1: ImmediateData goes first, then Length and Status at once, then the entry, then the interrupt.
        let data = ending.immediate.map_or(Ok(()), |data| {
            let place = posted.place.plus(IMMEDIATE_OFFSET);
            context.memory.write(Access { place, span: 4, ..access }, &data.to_le_bytes(), effects)
        });
        let status = data.and_then(|()| context.memory.write(access, &word.to_le_bytes(), effects));
        let written = status.is_ok();
        if written && ending.status & status::ERROR_MASK != 0 {
            effects.count(counter::DESCRIPTOR_ERRORS);
        }
        let row = context.rows.work_queue(receive);
        let queue = row.get(work_queue::CQ) as usize;
        let mut lost = None;
        // CQ-1: an entry if the queue has TO_CQ. CQ-4: none if the status could not be written.
        if written && row.is(work_queue::TO_CQ) {
            let entry = Entry { token: posted.token, vi: self.vi as u64, receive };
            lost = self.cqs.add(queue, entry, context.tables, &mut context.memory, effects).err();
        }
        consume(receive, self.queue, context, effects);
        match lost {
            Some(Lost::Overrun) if context.breaks(Mutant::SilentOverrun) => {}
            Some(Lost::Overrun) => {
                // CQ-2: each VI that loses an entry breaks.
                self.cqs.overrun(queue, effects);
                // It breaks by something else, if it does so meanwhile.
                if context.choices.unheard.is_none() {
                    effects.break_vi(event_code::CONN_LOST, receive);
                }
            }
            None if written => {}
            _ => self.unwritten(receive, effects),
        }
        written
    }

    /// A completion could not be written.
    fn unwritten(&mut self, receive: bool, effects: &mut Effects) {
        // WQ-7, CQ-4: COMP_PROT, and the VI breaks.
        let code = event_code::COMP_PROT;
        if self.broken {
            effects.push(Effect::Report(Event { code, index: self.vi, receive, broke: false }));
        } else {
            effects.break_vi(code, receive);
        }
    }
}

/// The next position of a queue is done with; its interrupt comes if it is armed.
pub fn consume(receive: bool, queue: &mut WorkQueue, context: &Context<'_>, effects: &mut Effects) {
    // WQ-1: the interrupt comes behind the status.
    if queue.complete() && !context.breaks(Mutant::Deaf) {
        effects.push(Effect::Raise(context.rows.work_queue(receive).get(work_queue::VECTOR)));
    }
}
