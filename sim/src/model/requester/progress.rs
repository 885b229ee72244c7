//! Progress of a reliable requester: what is acknowledged, what is sent again, and when it gives up.

use viaduct_spec::descriptor::status;
use viaduct_spec::register::{counter, event_code};
use viaduct_spec::tables::{service, transmit, RNR_WITHOUT_END};

use super::{Implied, Requester};
use crate::clock::Cycle;
use crate::model::context::Context;
use crate::model::effect::{Effect, Effects};
use crate::model::tables::Rows;
use crate::model::{psn, timers};

/// How a send ends that its receiver could not take.
pub fn remote_error(rows: &Rows<'_>) -> u32 {
    match rows.send_service() {
        service::RELIABLE_RECEPTION => status::REMOTE_DESC_ERROR,
        _ => status::TRANSPORT_ERROR,
    }
}

/// When a time-out that starts now ends.
fn timeout(context: &Context<'_>) -> Option<Cycle> {
    timers::timeout(context.now, context.rows.transmit().get(transmit::TIMEOUT))
}

impl Requester {
    /// Everything before `to` is acknowledged, but an unanswered read and what is behind it. Whether that
    /// stopped it.
    pub fn acknowledge(&mut self, to: u32, context: &Context<'_>, effects: &mut Effects) -> bool {
        let read = self.messages.iter().find(|message| message.is_open_read());
        let limit = read.map(|read| psn::later(read.first, self.oldest));
        let stopped = limit.filter(|limit| psn::ahead(to, self.oldest) > psn::ahead(*limit, self.oldest));
        self.advance(stopped.unwrap_or(to), context, effects);
        stopped.is_some()
    }

    /// The oldest PSN moves forward: progress.
    pub fn advance(&mut self, to: u32, context: &Context<'_>, effects: &mut Effects) {
        if self.oldest != to {
            self.oldest = to;
            // REQ-5: progress resets the counts and the time. REQ-6: and ends the receiver's.
            (self.retries, self.rnr_retries, self.implied, self.pause) = (0, 0, None, None);
            self.timer = timeout(context).filter(|_| to != self.sent_to);
            // What was acknowledged meanwhile is not sent again.
            if psn::ahead(self.cursor_psn(), to) >= psn::HALF {
                self.seek(to);
            }
        }
        if context.rows.sends_reliably() {
            self.note_acknowledged();
        }
        effects.settle();
    }

    /// The read whose request goes out again next asks from this packet of its answer, whose data has come meanwhile. Whether it is one of
    /// that answer, before the one that is missing.
    pub fn ask_from(&mut self, number: u32) -> bool {
        let (at, missing) = self.cursor;
        let read = self.messages.get(at).filter(|message| message.is_open_read() && message.holds(number));
        let from = read.map(|read| psn::ahead(number, read.first)).filter(|from| *from < missing);
        if let Some(from) = from {
            self.cursor = (at, from);
        }
        from.is_some()
    }

    /// An answer of this PSN stands behind an unanswered read, or is beyond what that waits for.
    pub fn is_behind_read(&self, number: u32) -> bool {
        let read = self.messages.iter().find(|message| message.is_open_read());
        let limit = read.map(|read| psn::later(read.first, self.oldest));
        limit.is_some_and(|limit| number != limit && psn::ahead(number, limit) < psn::HALF)
    }

    /// An answer that stands behind an unanswered read says that the read or its answer was lost. Once is
    /// enough: what was under way then may say it again (REQ-2).
    pub fn implied_nak(&mut self) {
        let missing = self.oldest;
        match &mut self.implied {
            // REQ-2: an implied NAK is taken once.
            Some(taken) if taken.missing == missing => taken.again = taken.asked,
            _ => {
                self.implied = Some(Implied { missing, asked: false, again: false });
                self.rewind();
            }
        }
    }

    /// Takes an implied NAK again, if it may be; for whoever leads the model.
    pub fn take_again(&mut self) -> bool {
        let again = self.implied.is_some_and(|taken| taken.again);
        if again {
            self.implied = None;
            self.implied_nak();
        }
        again
    }

    /// The request of a read leaves that asks from this PSN on.
    pub fn note_asked(&mut self, from: u32) {
        if let Some(taken) = self.implied.as_mut().filter(|taken| taken.missing == from) {
            taken.asked = true;
        }
    }

    /// The time that a receiver-not-ready answer asked for is not over.
    pub fn waits(&self, context: &Context<'_>) -> bool {
        self.pause.is_some_and(|until| context.now < until)
    }

    /// The receiver is not ready: from the oldest PSN again after the time of its code (REQ-6).
    pub fn not_ready(&mut self, number: u32, code: u8, context: &Context<'_>, effects: &mut Effects) {
        if self.waits(context) {
            // It has said so before.
            return;
        }
        // REQ-6: RNR_RETRIES in a row.
        let limit = context.rows.transmit().get(transmit::RNR_RETRIES);
        if limit != u64::from(RNR_WITHOUT_END) && self.rnr_retries >= limit {
            let bits = remote_error(&context.rows);
            return effects.push(Effect::Refused { psn: number, bits, code: event_code::CONN_LOST });
        }
        self.rnr_retries += 1;
        if !context.choices.sends_on {
            self.rewind();
        }
        self.pause = Some(context.now + timers::receiver_not_ready(code));
        self.timer = None;
    }

    /// The message that holds a PSN ends with this error, if it has none of its own, and the VI breaks with this event; without one it
    /// breaks by something else.
    pub fn refused(&mut self, number: u32, bits: u32, code: Option<u8>, effects: &mut Effects) {
        if let Some(message) = self.holder(number) {
            message.outcome.get_or_insert(bits);
        }
        if let Some(code) = code {
            effects.break_vi(code, false);
        }
    }

    /// What happens by itself at this time.
    pub fn serve_timer(&mut self, context: &Context<'_>, effects: &mut Effects) {
        let now = context.now;
        let due = |timer: &mut Option<Cycle>| timer.take_if(|when| *when <= now).is_some();
        if due(&mut self.begins) {
            return effects.serve(false);
        }
        if self.completes.is_some_and(|when| when <= now) {
            return effects.settle();
        }
        if due(&mut self.pause) {
            if context.choices.sends_on {
                self.rewind();
            }
            self.timer = timeout(context);
            return;
        }
        if self.pause.is_some() || !due(&mut self.timer) {
            return;
        }
        effects.count(counter::TIMEOUTS);
        // REQ-5: RETRIES in a row, and RDMA_TRANSPORT of a read.
        if self.retries >= context.rows.transmit().get(transmit::RETRIES) {
            let oldest = self.oldest;
            let read = self.holder(oldest).is_some_and(|message| message.is_open_read());
            let code = if read { event_code::RDMA_TRANSPORT } else { event_code::CONN_LOST };
            return self.refused(oldest, status::TRANSPORT_ERROR, Some(code), effects);
        }
        self.retries += 1;
        self.implied = None;
        self.rewind();
        self.timer = timeout(context);
    }
}
