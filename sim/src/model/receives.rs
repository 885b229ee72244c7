//! The receive queue of a VI: what is posted, and the receives that are fetched ahead of their messages.

use std::collections::VecDeque;

use viaduct_spec::descriptor::status;
use viaduct_spec::profile::RECEIVE_AHEAD;
use viaduct_spec::register::event_code;

use super::context::Context;
use super::descriptor::Descriptor;
use super::effect::{Effect, Effects, Ending};
use super::posted::Posted;
use super::work_queue::{Fetched, WorkQueue};
use crate::clock::Cycle;

/// A receive descriptor that waits for its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    /// What names it.
    pub posted: Posted,
    /// The descriptor.
    pub descriptor: Descriptor,
}

/// A receive queue.
#[derive(Debug, Clone, Default)]
pub struct Receives {
    queue: WorkQueue,
    /// Receives that are fetched; `None`: a place without a descriptor.
    ahead: VecDeque<Option<Receive>>,
    /// Receives that there is room for now are fetched then.
    refills: Option<Cycle>,
}

/// What a message that needs a receive finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// A receive, which is the message's now.
    Receive(Receive),
    /// None is posted.
    Nothing,
    /// The one that is posted lies nowhere, and the VI breaks for that.
    Lost,
    /// The VI breaks, or has broken.
    Broken,
}

impl Receives {
    /// Its positions.
    pub fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    /// Receives that are fetched and not taken.
    pub fn fetched(&self) -> usize {
        self.ahead.len()
    }

    /// What there is room for is fetched by itself at this time; `None`: when more is posted.
    pub fn postpone(&mut self, until: Option<Cycle>) {
        self.refills = until;
    }

    /// A receive is posted, and none is fetched: a message waits for it if it cannot be fetched now.
    pub fn is_behind(&self) -> bool {
        self.ahead.is_empty() && self.queue.has_more()
    }

    /// When receives are fetched by themselves.
    pub fn deadline(&self) -> Option<Cycle> {
        self.refills
    }

    /// Whether it is time to fetch receives: asked once.
    pub fn is_due(&mut self, now: Cycle) -> bool {
        self.refills.take_if(|when| *when <= now).is_some()
    }

    /// A doorbell has told of more, or one was taken: there is room, and what is posted is fetched after a while.
    pub fn refill_later(&mut self, context: &Context<'_>) {
        let when = context.now + context.choices.receive_cycles;
        self.refills = self.refills.or(Some(when));
    }

    /// Fetches while there is room. Whether each place had a descriptor; if not, the VI breaks.
    pub fn fill(&mut self, context: &mut Context<'_>, effects: &mut Effects) -> bool {
        // WQ-2: at most RECEIVE_AHEAD receives at a time.
        let most = context.choices.receive_ahead.clamp(1, RECEIVE_AHEAD);
        while self.ahead.len() < most && self.queue.has_more() {
            match self.queue.fetch(true, context) {
                Fetched::Descriptor(posted, descriptor) => {
                    self.ahead.push_back(Some(Receive { posted, descriptor }));
                }
                Fetched::Misplaced => {
                    // It has its place among those that are flushed.
                    self.ahead.push_back(None);
                    // WQ-6: POST_DESC, and the place is passed over.
                    effects.break_vi(event_code::POST_DESC, true);
                    return false;
                }
            }
        }
        true
    }

    /// Takes the next receive for a message. One that is posted and not fetched is waited for.
    pub fn take(&mut self, context: &mut Context<'_>, effects: &mut Effects) -> Taken {
        if context.choices.unheard.is_some() && self.is_behind() {
            // The VI breaks before it is fetched. Of one that lies nowhere it breaks for that.
            let is_lost = self.queue.clone().fetch(true, context) == Fetched::Misplaced;
            return if is_lost { Taken::Lost } else { Taken::Broken };
        }
        let waits = self.ahead.is_empty() && self.refills.take().is_some() && context.serves;
        if !context.connected || waits && !self.fill(context, effects) {
            return Taken::Broken;
        }
        let Some(taken) = self.ahead.pop_front().flatten() else { return Taken::Nothing };
        if self.queue.has_more() {
            self.refill_later(context);
        }
        Taken::Receive(taken)
    }

    /// Flushes the oldest receive, if there is one, and then the others.
    pub fn flush(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        let next = match self.ahead.pop_front() {
            Some(next) => next,
            None if self.queue.has_more() => match self.queue.fetch(true, context) {
                Fetched::Descriptor(posted, descriptor) => Some(Receive { posted, descriptor }),
                Fetched::Misplaced => None,
            },
            None => return,
        };
        // WQ-4: receives are flushed in order.
        let status = status::OP_RECEIVE | status::DESC_FLUSHED_ERROR;
        match next {
            Some(receive) => effects.complete(true, receive.posted, Ending { status, ..Ending::default() }),
            None => effects.push(Effect::Consume { receive: true }),
        }
        effects.serve(true);
    }
}
