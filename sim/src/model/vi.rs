//! A virtual interface: its state, its queues, what it sends and what it receives.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::work_queue;

use super::choices::{Choices, WHEN_TOLD};
use super::context::Context;
use super::effect::{Effect, Effects};
use super::event::Event;
use super::receives::Receives;
use super::requester::Requester;
use super::responder::Responder;
use super::tables::{Rows, ViState};
use super::work_queue::WorkQueue;
use crate::clock::Cycle;

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub struct Vi {
    state: ViState,
    /// What is posted to receive.
    pub receives: Receives,
    /// What it sends, with its send queue.
    pub requester: Requester,
    /// What it receives.
    pub responder: Responder,
    /// Its last packet was an answer.
    answered: bool,
}

impl Vi {
    /// Its state.
    pub fn state(&self) -> ViState {
        self.state
    }

    /// One of its queues.
    pub fn queue(&mut self, receive: bool) -> &mut WorkQueue {
        if receive {
            self.receives.queue()
        } else {
            self.requester.queue()
        }
    }

    /// The next moment at which something happens by itself.
    pub fn deadline(&self) -> Option<Cycle> {
        [self.requester.deadline(), self.receives.deadline()].into_iter().flatten().min()
    }

    /// What happens by itself at this time.
    pub fn serve_timer(&mut self, context: &Context<'_>, effects: &mut Effects) {
        if self.receives.is_due(context.now) {
            return effects.serve(true);
        }
        self.requester.serve_timer(context, effects);
    }

    /// A work queue's row has been committed: an empty queue at position 0.
    pub fn renew_queue(&mut self, receive: bool) {
        if receive {
            self.receives = Receives::default();
        } else {
            self.requester.renew_queue();
        }
    }

    /// A doorbell: everything up to `position` is posted, the last of it with this token if there is one.
    pub fn post(
        &mut self,
        receive: bool,
        position: u16,
        inline: Option<u64>,
        context: &Context<'_>,
        effects: &mut Effects,
    ) {
        let slots = 1u32 << context.rows.work_queue(receive).get(work_queue::RING_LOG2);
        if !self.queue(receive).post(slots, position, inline) {
            // WQ-6: more is posted than the ring has room for.
            effects.break_vi(event_code::VI_OVERRUN, receive);
        } else if !receive {
            self.requester.begin_later(context);
        } else if context.choices.receive_cycles != 0 {
            return self.receives.refill_later(context);
        }
        effects.serve(receive);
    }

    /// The consumer of a queue asks for an interrupt: it has seen what is before `seen`.
    pub fn arm(&mut self, receive: bool, seen: u16, context: &Context<'_>, effects: &mut Effects) {
        if self.queue(receive).arm(seen) {
            effects.push(Effect::Raise(context.rows.work_queue(receive).get(work_queue::VECTOR)));
        }
    }

    /// Fetches what a queue may have fetched, or flushes the next of it.
    pub fn serve(&mut self, receive: bool, context: &mut Context<'_>, effects: &mut Effects) {
        if !context.serves {
            return;
        }
        match (self.state, receive) {
            (ViState::Connected, false) => self.requester.fetch(context, effects),
            (state, false) => self.requester.flush(state == ViState::Idle, context, effects),
            (ViState::Error, true) => self.receives.flush(context, effects),
            (_, true) => {
                self.receives.fill(context, effects);
            }
        }
    }

    /// It breaks: with an event of this code and queue, or without one where a descriptor says why. Then both queues are flushed.
    pub fn break_off(&mut self, vi: usize, event: Option<(u8, bool)>, effects: &mut Effects) {
        // WQ-4: a VI breaks once.
        if self.state == ViState::Error {
            return;
        }
        self.state = ViState::Error;
        effects.count(counter::VIS_BROKEN);
        if let Some((code, receive)) = event {
            // WQ-4: one event, and none where a descriptor says why.
            effects.push(Effect::Report(Event { code, index: vi, receive, broke: true }));
        }
        self.flush(effects);
    }

    /// Its state, as the agent commands it.
    pub fn set_state(&mut self, state: ViState, effects: &mut Effects) {
        self.state = state;
        match state {
            ViState::Error => self.flush(effects),
            ViState::Idle => {
                self.responder.silence();
                effects.serve(false);
            }
            ViState::Connected => {
                effects.serve(true);
                effects.serve(false);
            }
        }
    }

    fn flush(&mut self, effects: &mut Effects) {
        // WQ-4: the message under way, then both queues in order.
        self.responder.abandon(status::TRANSPORT_ERROR, effects);
        effects.serve(true);
        effects.serve(false);
    }

    /// Receives that are posted are fetched when whoever leads the model says so.
    pub fn postpone_receives(&mut self) {
        let more = self.receives.is_behind() || self.queue(true).has_more();
        self.receives.postpone(more.then_some(WHEN_TOLD));
    }

    /// Whether a request can be sent now; `serves`: work queues are served.
    pub fn has_request(&self, rows: &Rows<'_>, choices: &Choices, serves: bool) -> bool {
        self.state == ViState::Connected && serves && self.requester.has_request(rows, choices)
    }

    /// Sends a packet. Answers and requests take turns, so that neither waits for the end of the other.
    pub fn send_in_turn(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        let requests = self.has_request(&context.rows, context.choices, context.serves);
        self.answered = self.responder.has_reply() && (!requests || !self.answered);
        if self.answered {
            self.responder.send(context, effects);
        } else {
            self.requester.send(context, effects);
        }
    }
}
