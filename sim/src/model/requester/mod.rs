//! The requester: a VI's sends, RDMA writes and reads, from their fetch to their completion. How they become packets is
//! in `packets`, what is sent again in `progress`.
//!
//! ```text
//!   messages:   [ started, sent, acknowledged up to `oldest` | started, sent | being sent | fetched ]
//!   PSNs:                                          oldest ^            sent_to ^        next ^
//!                                         the next packet: `cursor` (goes back to send again)
//! ```

mod answers;
mod message;
mod packets;
mod progress;

use std::collections::VecDeque;

use viaduct_spec::descriptor::status;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::transmit;

use super::choices::WHEN_TOLD;
use super::context::Context;
use super::descriptor::Operation;
use super::effect::{Effect, Effects, Ending};
use super::psn;
use super::work_queue::{Fetched, WorkQueue};
use crate::clock::Cycle;
use message::Message;

/// An implied NAK that was taken.
#[derive(Debug, Clone, Copy)]
struct Implied {
    /// The oldest PSN then: what the read's answer lacked.
    missing: u32,
    /// That has been asked for since.
    asked: bool,
    /// And the NAK has come again: it may be taken again.
    again: bool,
}

/// A VI's requester.
#[derive(Debug, Clone, Default)]
pub struct Requester {
    queue: WorkQueue,
    /// Fetched and not complete.
    messages: VecDeque<Message>,
    /// The message of the next packet, and which packet it is.
    cursor: (usize, u32),
    /// PSN of the next message.
    next: u32,
    /// The oldest PSN that is not acknowledged.
    oldest: u32,
    /// The PSN behind the last that was sent.
    sent_to: u32,
    /// Time-outs and receiver-not-ready answers in a row, without progress.
    retries: u64,
    rnr_retries: u64,
    /// The implied NAK that was taken last: it is not taken again until something comes of it.
    implied: Option<Implied>,
    /// What a doorbell has told of is not fetched before.
    begins: Option<Cycle>,
    /// Unreliable sends that have left complete then.
    completes: Option<Cycle>,
    /// No progress until then: a time-out.
    timer: Option<Cycle>,
    /// The receiver is not ready before.
    pause: Option<Cycle>,
}

impl Requester {
    /// The send queue's row has been committed: nothing is posted.
    pub fn renew_queue(&mut self) {
        // LIFE-2: nothing that was posted before is left.
        let (next, oldest, sent_to) = (self.next, self.oldest, self.sent_to);
        *self = Self { next, oldest, sent_to, ..Self::default() };
    }

    /// TRANSMIT has been committed: the next PSN. What was begun begins anew.
    pub fn renew(&mut self, context: &Context<'_>) {
        let first = context.rows.transmit().get(transmit::PSN) as u32;
        self.stop();
        (self.retries, self.rnr_retries, self.implied) = (0, 0, None);
        self.cursor = (0, 0);
        self.messages.iter_mut().for_each(Message::forget_progress);
        (self.next, self.oldest, self.sent_to) = (first, first, first);
    }

    /// No timer runs any more.
    fn stop(&mut self) {
        (self.timer, self.pause, self.completes) = (None, None, None);
    }

    /// The send queue's positions.
    pub fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    /// A doorbell has told of more: it is fetched after a while.
    pub fn begin_later(&mut self, context: &Context<'_>) {
        if context.choices.send_cycles != 0 {
            self.begins = self.begins.or(Some(context.now + context.choices.send_cycles));
        }
    }

    /// Sends that are fetched and not complete.
    pub fn fetched(&self) -> usize {
        self.messages.len()
    }

    /// What a doorbell has told of is not fetched before this; what was in its place.
    pub fn postpone(&mut self, until: Option<Cycle>) -> Option<Cycle> {
        std::mem::replace(&mut self.begins, until)
    }

    /// When its timer ends: of its pause if there is one, otherwise its time-out.
    pub fn timer(&self) -> Option<Cycle> {
        self.pause.or(self.timer)
    }

    /// It waits for its receiver.
    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// The oldest send is done, and whoever leads the model says when it completes.
    pub fn completes_now(&mut self) -> bool {
        self.completes.take().is_some()
    }

    /// The next moment at which something happens by itself.
    pub fn deadline(&self) -> Option<Cycle> {
        [self.timer(), self.begins, self.completes].into_iter().flatten().min()
    }

    /// Whether a PSN has been sent and is not acknowledged.
    pub fn in_flight(&self, number: u32) -> bool {
        psn::ahead(number, self.oldest) < psn::ahead(self.sent_to, self.oldest)
    }

    /// The message that holds a PSN.
    fn holder(&mut self, number: u32) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.holds(number))
    }

    /// Messages that are acknowledged have their outcome, whatever comes of those before them.
    fn note_acknowledged(&mut self) {
        let oldest = self.oldest;
        self.messages.iter_mut().for_each(|message| message.note_acknowledged(oldest));
    }

    /// A refusal at this PSN acknowledges what is before it, but reads that are not answered.
    fn note_refused(&mut self, number: u32) {
        let behind = self.messages.iter_mut().filter(|message| !message.is_open_read());
        behind.for_each(|message| message.note_acknowledged(number));
    }

    /// Puts the cursor on a PSN that is not acknowledged, or on the first message that has none.
    fn seek(&mut self, number: u32) {
        let found = self.messages.iter().position(|message| !message.started || message.holds(number));
        let at = found.unwrap_or(self.messages.len());
        let packet = self.messages.get(at).filter(|message| message.started);
        self.cursor = (at, packet.map_or(0, |message| psn::ahead(number, message.first)));
    }

    /// The PSN of the next packet.
    fn cursor_psn(&self) -> u32 {
        match self.messages.get(self.cursor.0) {
            Some(message) if message.started => psn::add(message.first, self.cursor.1),
            _ => self.next,
        }
    }

    /// Everything from the oldest PSN on is sent again.
    fn rewind(&mut self) {
        self.seek(self.oldest);
        self.messages.iter_mut().skip(self.cursor.0).for_each(|message| message.stale |= message.started);
    }

    /// Whether the next message may start, whose operation is known.
    fn may_start(&self, message: &Message, depth: u64) -> bool {
        let reads = self.messages.iter().filter(|other| other.is_open_read()).count();
        // WQ-5: a fence waits for every read before it.
        let fence = message.descriptor.fenced() && reads != 0;
        // REQ-9: at most READ_DEPTH reads are outstanding.
        let full = message.descriptor.operation() == Operation::Read && reads as u64 >= depth.max(1);
        // REQ-1: no message starts with 2^22 PSNs in flight.
        // Longer messages than this are refused.
        let window = psn::ahead(self.next, self.oldest) < psn::HALF / 2;
        !fence && !full && window
    }
}

impl Requester {
    /// Fetches descriptors while the window has room.
    pub fn fetch(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        if self.begins.is_some() {
            return;
        }
        // WQ-2, REQ-1: at most SEND_WINDOW sends at a time.
        let most = context.choices.send_ahead.clamp(1, SEND_WINDOW);
        while self.messages.len() < most && self.queue.has_more() {
            match self.queue.fetch(false, context) {
                Fetched::Descriptor(posted, descriptor) => {
                    self.messages.push_back(Message::new(Some(posted), descriptor));
                }
                Fetched::Misplaced => {
                    // It has its place among those that are flushed.
                    self.messages.push_back(Message::skipped());
                    // WQ-6: POST_DESC, and the place is passed over.
                    return effects.break_vi(event_code::POST_DESC, false);
                }
            }
        }
    }

    /// Completes the oldest message, if it is done, and then the next; behind the last, fetches what there is room for. `waited`:
    /// what an unreliable one waits for is over.
    pub fn settle(&mut self, waited: bool, context: &mut Context<'_>, effects: &mut Effects) {
        let reliable = context.rows.sends_reliably();
        if reliable {
            self.note_acknowledged();
        }
        let led = context.choices.complete_cycles == WHEN_TOLD;
        if !waited && (led || !reliable) && self.waits_to_complete(context) {
            return self.fetch_more(context, effects);
        }
        // WQ-1: sends complete in order.
        let Some(bits) = self.messages.front().and_then(|head| head.outcome) else {
            return self.fetch_more(context, effects);
        };
        self.cursor = match self.cursor {
            (0, _) => (0, 0),
            (at, packet) => (at - 1, packet),
        };
        if let Some(message) = self.messages.pop_front() {
            end(&message, bits, effects);
        }
        effects.push(Effect::Settle { waited: !led });
    }

    fn fetch_more(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        if context.connected && context.serves && self.queue.has_more() {
            self.fetch(context, effects);
        }
    }

    /// Whether sends that have left are not complete yet.
    fn waits_to_complete(&mut self, context: &Context<'_>) -> bool {
        let cycles = context.choices.complete_cycles;
        let done = self.messages.front().is_some_and(|head| head.outcome.is_some());
        if cycles != 0 && done && self.completes.is_none() {
            self.completes = Some(context.now + cycles);
        }
        if self.completes.is_some_and(|when| when > context.now) {
            return true;
        }
        self.completes = None;
        false
    }

    /// Completes the oldest of what is on the send queue, and then the others: what has an outcome with that, what was begun with a
    /// transport error, the rest flushed. `idle`: the VI is idle, and breaks by a place without a descriptor.
    pub fn flush(&mut self, idle: bool, context: &mut Context<'_>, effects: &mut Effects) {
        self.stop();
        if let Some(message) = self.messages.pop_front() {
            // WQ-4: TRANSPORT_ERROR if a packet went out, otherwise flushed.
            let unknown =
                if message.sent != 0 { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
            end(&message, message.outcome.unwrap_or(unknown), effects);
            return effects.serve(false);
        }
        self.cursor = (0, 0);
        if !self.queue.has_more() {
            return;
        }
        match self.queue.fetch(false, context) {
            Fetched::Descriptor(posted, descriptor) => {
                end(&Message::new(Some(posted), descriptor), status::DESC_FLUSHED_ERROR, effects);
                effects.serve(false);
            }
            Fetched::Misplaced => {
                effects.push(Effect::Consume { receive: false });
                // A VI that breaks is flushed by that.
                if idle {
                    effects.break_vi(event_code::POST_DESC, false);
                } else {
                    effects.serve(false);
                }
            }
        }
    }
}

/// A message is done with: 0, or its error bit.
fn end(message: &Message, bits: u32, effects: &mut Effects) {
    let Some(posted) = message.posted else { return effects.push(Effect::Consume { receive: false }) };
    // WQ-3: with an error Length is 0.
    let length = if bits == 0 { message.descriptor.length } else { 0 };
    let status = message.descriptor.operation().status() | bits;
    effects.complete(false, posted, Ending { status, length, immediate: None });
}
