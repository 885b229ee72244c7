//! The requester: a VI's sends, RDMA writes and reads, from their fetch to their completion. How they become packets is
//! in `packets`, what is sent again in `progress`.
//!
//! ```text
//!   messages:   [ started, sent, acknowledged up to `oldest` | started, sent | being sent | fetched ]
//!   PSNs:                                          oldest ^            sent_to ^        next ^
//!                                         the next packet: `cursor` (goes back to send again)
//! ```

use std::collections::VecDeque;

use viaduct_spec::descriptor::status;
use viaduct_spec::profile::SEND_WINDOW;
use viaduct_spec::tables::transmit;

use super::completion::Ending;
use super::descriptor::{Descriptor, Operation};
use super::device::Device;
use super::psn;
use super::queues::{Fetched, Posted};
use super::tables::{is_reliable, ViState};
use crate::clock::Cycle;

/// A descriptor on the send queue, from fetch to completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What names it; `None`: a place without a descriptor, which is passed over.
    pub(super) posted: Option<Posted>,
    /// The descriptor.
    pub descriptor: Descriptor,
    /// It has PSNs: its first packet has been made, or was refused.
    pub started: bool,
    /// Its first PSN.
    pub first: u32,
    /// Its PSNs.
    pub packets: u32,
    /// Packets that have been sent at least once.
    pub(super) sent: u32,
    /// Of a read: the packet of its answer from which it was asked for last.
    pub asked: u32,
    /// It goes out again: it has to be read again.
    pub(super) stale: bool,
    /// How it ended, as error bits, where something else than an acknowledgement says it.
    pub outcome: Option<u32>,
}

impl Message {
    fn new(posted: Option<Posted>, descriptor: Descriptor) -> Self {
        Self {
            posted,
            descriptor,
            started: false,
            first: 0,
            packets: 0,
            sent: 0,
            asked: 0,
            stale: false,
            outcome: None,
        }
    }

    /// An RDMA read that has not been answered whole.
    pub fn is_open_read(&self) -> bool {
        self.started && self.outcome.is_none() && self.descriptor.operation() == Operation::Read
    }

    /// The PSN behind its last.
    pub fn end(&self) -> u32 {
        psn::add(self.first, self.packets)
    }

    /// Everything before this PSN is acknowledged.
    fn note_acknowledged(&mut self, to: u32) {
        let whole = self.started && self.sent == self.packets;
        if self.outcome.is_none() && whole && psn::ahead(to, self.end()) < psn::HALF {
            self.outcome = Some(0);
        }
    }

    fn holds(&self, number: u32) -> bool {
        self.started && psn::ahead(number, self.first) < self.packets
    }
}

/// A VI's requester.
#[derive(Debug, Default)]
pub struct Requester {
    /// Fetched and not complete.
    pub messages: VecDeque<Message>,
    /// The message of the next packet, and which packet it is.
    pub(super) cursor: (usize, u32),
    /// PSN of the next message.
    pub(super) next: u32,
    /// The oldest PSN that is not acknowledged.
    pub oldest: u32,
    /// The PSN behind the last that was sent.
    pub(super) sent_to: u32,
    /// Time-outs and receiver-not-ready answers in a row, without progress.
    pub(super) retries: u64,
    pub(super) rnr_retries: u64,
    /// The oldest PSN when the last implied NAK was taken: one is enough until something comes of it.
    pub(super) implied: Option<u32>,
    /// What a doorbell has told of is not fetched before.
    pub(super) begins: Option<Cycle>,
    /// Unreliable sends that have left complete then.
    pub(super) completes: Option<Cycle>,
    /// No progress until then: a time-out.
    pub(super) timer: Option<Cycle>,
    /// The receiver is not ready before.
    pub(super) pause: Option<Cycle>,
}

impl Requester {
    /// Forgets everything that is posted.
    pub fn forget(&mut self) {
        let (next, oldest, sent_to) = (self.next, self.oldest, self.sent_to);
        *self = Self { next, oldest, sent_to, ..Self::default() };
    }

    /// The next moment at which something happens by itself.
    pub fn deadline(&self) -> Option<Cycle> {
        [self.pause.or(self.timer), self.begins, self.completes].into_iter().flatten().min()
    }

    /// Whether a PSN has been sent and is not acknowledged.
    pub fn in_flight(&self, number: u32) -> bool {
        psn::ahead(number, self.oldest) < psn::ahead(self.sent_to, self.oldest)
    }

    /// The message that holds a PSN.
    pub(super) fn holder(&mut self, number: u32) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.holds(number))
    }

    /// Messages that are acknowledged have their outcome, whatever comes of those before them.
    fn note_acknowledged(&mut self) {
        let oldest = self.oldest;
        self.messages.iter_mut().for_each(|message| message.note_acknowledged(oldest));
    }

    /// A refusal at this PSN acknowledges what is before it, but reads that are not answered.
    pub(super) fn note_refused(&mut self, number: u32) {
        let behind = self.messages.iter_mut().filter(|message| !message.is_open_read());
        behind.for_each(|message| message.note_acknowledged(number));
    }

    /// Puts the cursor on a PSN that is not acknowledged, or on the first message that has none.
    pub(super) fn seek(&mut self, number: u32) {
        let found = self.messages.iter().position(|message| !message.started || message.holds(number));
        let at = found.unwrap_or(self.messages.len());
        let packet = self.messages.get(at).filter(|message| message.started);
        self.cursor = (at, packet.map_or(0, |message| psn::ahead(number, message.first)));
    }

    /// The PSN of the next packet.
    pub(super) fn cursor_psn(&self) -> u32 {
        match self.messages.get(self.cursor.0) {
            Some(message) if message.started => psn::add(message.first, self.cursor.1),
            _ => self.next,
        }
    }

    /// Everything from the oldest PSN on is sent again.
    pub(super) fn rewind(&mut self) {
        self.seek(self.oldest);
        self.messages.iter_mut().skip(self.cursor.0).for_each(|message| message.stale |= message.started);
    }

    /// Whether the next message may start, whose operation is known.
    pub(super) fn may_start(&self, message: &Message, depth: u64) -> bool {
        let reads = self.messages.iter().filter(|other| other.is_open_read()).count();
        let fence = message.descriptor.fenced() && reads != 0;
        let full = message.descriptor.operation() == Operation::Read && reads as u64 >= depth.max(1);
        // Longer messages than this are refused.
        let window = psn::ahead(self.next, self.oldest) < psn::HALF / 2;
        !fence && !full && window
    }
}

impl Device {
    /// TRANSMIT has been committed: the next PSN.
    pub fn renew_requester(&mut self, vi: usize) {
        let first = self.tables.transmit[vi].get(transmit::PSN) as u32;
        let requester = &mut self.vis[vi].requester;
        requester.forget_progress();
        (requester.next, requester.oldest, requester.sent_to) = (first, first, first);
    }

    /// Fetches descriptors while the window has room.
    pub fn fetch_sends(&mut self, vi: usize) {
        if self.vis[vi].requester.begins.is_some() {
            return;
        }
        let most = self.choices.send_ahead.clamp(1, SEND_WINDOW);
        while self.vis[vi].requester.messages.len() < most && self.queue(vi, false).has_more() {
            match self.fetch(vi, false) {
                Fetched::Descriptor(posted, descriptor) => {
                    self.vis[vi].requester.messages.push_back(Message::new(Some(posted), descriptor));
                }
                Fetched::Misplaced => {
                    // It has its place among those that are flushed.
                    let mut skipped = Message::new(None, Descriptor::none());
                    skipped.outcome = Some(0);
                    self.vis[vi].requester.messages.push_back(skipped);
                    return self.misplaced(vi, false);
                }
            }
        }
    }

    /// Completes, in order, what is done; and fetches what there is room for then.
    pub fn settle_sends(&mut self, vi: usize) {
        let reliable = is_reliable(self.tables.send_service(vi));
        if reliable {
            self.vis[vi].requester.note_acknowledged();
        } else if self.waits_to_complete(vi) {
            return self.fetch_more(vi);
        }
        loop {
            let requester = &mut self.vis[vi].requester;
            let Some(bits) = requester.messages.front().and_then(|head| head.outcome) else { break };
            requester.cursor.0 = match requester.cursor {
                (0, _) => {
                    requester.cursor.1 = 0;
                    0
                }
                (at, _) => at - 1,
            };
            if let Some(message) = requester.messages.pop_front() {
                self.end_send(vi, &message, bits);
            }
        }
        self.fetch_more(vi);
    }

    fn fetch_more(&mut self, vi: usize) {
        let serves = self.vis[vi].state == ViState::Connected && self.may_serve();
        if serves && self.queue(vi, false).has_more() {
            self.fetch_sends(vi);
        }
    }

    /// Whether sends that have left are not complete yet.
    fn waits_to_complete(&mut self, vi: usize) -> bool {
        let (now, cycles) = (self.now, self.choices.complete_cycles);
        let requester = &mut self.vis[vi].requester;
        let done = requester.messages.front().is_some_and(|head| head.outcome.is_some());
        if cycles != 0 && done && requester.completes.is_none() {
            requester.completes = Some(now + cycles);
        }
        if requester.completes.is_some_and(|when| when > now) {
            return true;
        }
        requester.completes = None;
        false
    }

    fn end_send(&mut self, vi: usize, message: &Message, bits: u32) {
        let Some(posted) = message.posted else { return self.consume(vi, false) };
        let length = if bits == 0 { message.descriptor.length } else { 0 };
        let status = message.descriptor.operation().status() | bits;
        self.complete(vi, false, &posted, Ending { status, length, immediate: None });
    }

    /// Completes everything on the send queue: what has an outcome with that, what was begun with a transport error,
    /// the rest flushed.
    pub fn flush_sends(&mut self, vi: usize) {
        self.vis[vi].requester.stop();
        while let Some(message) = self.vis[vi].requester.messages.pop_front() {
            let unknown =
                if message.sent != 0 { status::TRANSPORT_ERROR } else { status::DESC_FLUSHED_ERROR };
            self.end_send(vi, &message, message.outcome.unwrap_or(unknown));
        }
        self.vis[vi].requester.cursor = (0, 0);
        while self.queue(vi, false).has_more() {
            match self.fetch(vi, false) {
                Fetched::Descriptor(posted, descriptor) => self.flush(vi, false, &posted, &descriptor),
                // An idle VI breaks by it. Then the rest of the queue has ended when that is done.
                Fetched::Misplaced if self.vis[vi].state == ViState::Idle => {
                    self.consume(vi, false);
                    return self.misplaced(vi, false);
                }
                Fetched::Misplaced => self.consume(vi, false),
            }
        }
    }
}

impl Requester {
    /// No timer runs any more.
    fn stop(&mut self) {
        (self.timer, self.pause, self.completes) = (None, None, None);
    }

    /// What was begun begins anew.
    fn forget_progress(&mut self) {
        self.stop();
        (self.retries, self.rnr_retries, self.implied) = (0, 0, None);
        self.cursor = (0, 0);
        for message in &mut self.messages {
            *message = Message {
                outcome: message.outcome,
                ..Message::new(message.posted, message.descriptor.clone())
            };
        }
    }
}
