//! The answers that a VI sends to its peer's requests: which of those that wait the NIC sent, and which of them others stand for.

use viaduct_sim::model::{psn, Pending};
use viaduct_spec::tables::service;
use viaduct_spec::wire::syndrome;

use super::end_trace::EndTrace;
use super::places::{is_duplicate, is_nak, is_refusal};
use super::state::State;
use super::steps::Step;

const ACKNOWLEDGEMENT: &str = "an acknowledgement left";
const ACKNOWLEDGED: &str = "what it acknowledges";

impl State {
    /// Which of the answers that wait may leave now: a newer acknowledgement or NAK stands for older ones, and so does a response; none
    /// leaves before a response that is in front of it.
    pub fn answers(&self, trace: &EndTrace<'_>) -> std::ops::Range<usize> {
        let waiting = self.nic.answers(trace.vi).len();
        0..self.next_response(trace).map_or(waiting, |response| response + 1)
    }

    /// Which of the answers that wait is the first of a read's.
    pub fn next_response(&self, trace: &EndTrace<'_>) -> Option<usize> {
        self.nic.answers(trace.vi).iter().position(|answer| *answer == Pending::Response)
    }

    pub(super) fn answer(&mut self, trace: &EndTrace<'_>, index: usize) -> Result<bool, String> {
        let vi = trace.vi;
        let waiting = self.nic.answers(vi);
        let Some(kind) = waiting.get(index).copied() else { return Ok(false) };
        if let Some(left) = self.next(trace, 1) {
            self.nic.set_time(left.began);
        }
        let Some(sent) = self.nic.answer(vi, index) else {
            // Its turn has broken the VI; or it is of bytes, which come while Bus Master is set.
            return Ok(kind != Pending::Response || self.nic.answers(vi) != waiting);
        };
        let owed = self.reached.owes.get(index).copied().unwrap_or_default();
        let at = self.leave(trace, 1, &sent.frame)?;
        // Of Reliable Delivery, a response says that data has come, and nothing of the receive (RSP-7).
        let delivered = kind == Pending::Response && trace.service == service::RELIABLE_DELIVERY;
        let behind = if delivered { owed.data } else { owed.data.max(owed.received) };
        if at < behind {
            return Err(trace.too_early(at, ACKNOWLEDGEMENT, ACKNOWLEDGED, behind));
        }
        if kind != Pending::Response {
            self.reached.said = Some((at, kind));
        }
        let ended = self.nic.answers(vi).len() < waiting.len();
        let reached = &mut self.reached;
        if ended {
            reached.owes.remove(index);
        }
        if kind == Pending::Response {
            // It says what they would; they may still leave.
            reached.passed = reached.passed.max(index);
        } else {
            // A newer one stands for them.
            (reached.stood_for, reached.repeated) = (index, 0);
            for _ in 0..index {
                self.nic.omit_answer(vi);
                reached.owes.pop_front();
            }
            reached.passed = reached.passed.saturating_sub(index + 1);
        }
        Ok(true)
    }

    /// The next response is refused, and the VI breaks by that (RSP-5, RSP-6).
    fn response_breaks(&self, trace: &EndTrace<'_>) -> Option<usize> {
        let response = self.next_response(trace)?;
        let mut tried = self.nic.clone();
        tried.answer(trace.vi, response);
        tried.is_broken(trace.vi).then_some(response)
    }

    /// The steps by which an acknowledgement that waits behind a response leaves, though that response is refused (RSP-8).
    pub fn released(&self, trace: &EndTrace<'_>) -> Vec<Step> {
        let waiting = self.nic.answers(trace.vi).len();
        let first = self.response_breaks(trace).map_or(waiting, |response| response + 1);
        (first..waiting).map(Step::Released).collect()
    }

    /// One of them leaves.
    pub(super) fn release(&mut self, trace: &EndTrace<'_>, index: usize) -> Result<bool, String> {
        if self.response_breaks(trace).is_none_or(|response| index <= response) {
            return Ok(false);
        }
        let Some(sent) = self.nic.answer(trace.vi, index) else { return Ok(false) };
        let owed = self.reached.owes.remove(index).unwrap_or_default();
        let (at, behind) = (self.leave(trace, 1, &sent.frame)?, owed.data.max(owed.received));
        if at < behind {
            return Err(trace.too_early(at, ACKNOWLEDGEMENT, ACKNOWLEDGED, behind));
        }
        Ok(true)
    }

    /// The next response is on its way while so many requests come, one of which asks for it again; then it is refused, and the VI breaks
    /// (RSP-1). Whether it does.
    pub(super) fn refuse_behind(
        &mut self,
        trace: &EndTrace<'_>,
        requests: usize,
        before: usize,
    ) -> Result<bool, String> {
        let Some(response) = self.nic.start_response(trace.vi) else { return Ok(false) };
        for _ in 0..requests {
            self.step(trace, Step::Frame(false), before)?;
        }
        if self.nic.is_broken(trace.vi) {
            return Ok(false);
        }
        self.nic.end_response(trace.vi, response);
        self.step(trace, Step::Answer(0), before)?;
        Ok(self.nic.is_broken(trace.vi))
    }

    /// The steps by which a response is refused that has been asked for again: so many requests come before.
    pub fn refusals(&self, trace: &EndTrace<'_>) -> Vec<Step> {
        let Some(left) = self.next(trace, 1).filter(|left| is_refusal(&left.frame)) else {
            return Vec::new();
        };
        if self.next_response(trace).is_none() || !self.asks_again(trace) {
            return Vec::new();
        }
        let behind =
            trace.frames[0].iter().skip(self.reached.taken[0]).take_while(|frame| frame.at < left.at);
        behind.zip(1..).map(|(_, requests)| Step::Refusing(requests)).collect()
    }

    /// The NIC says once more what it said last: a duplicate is acknowledged with the newest PSN executed when that leaves. So is one that
    /// came while the message went to memory by which the VI broke.
    pub(super) fn answer_again(&mut self, trace: &EndTrace<'_>) -> bool {
        let last = self.reached.made[1].checked_sub(1).and_then(|last| trace.outputs.frames[1].get(last));
        let Some((last, next)) = last.zip(self.next(trace, 1)) else { return false };
        let late = self.reached.broke.map_or(0, |broke| {
            let came = trace.frames[0][broke..].iter().take_while(|frame| frame.at < next.at);
            came.filter(|frame| is_duplicate(&frame.frame, &last.frame)).count()
        });
        let plain = last.frame == next.frame && !is_nak(&last.frame);
        let may = plain && self.reached.repeated < self.reached.stood_for + late;
        if may {
            self.reached.repeated += 1;
            self.reached.made[1] += 1;
            self.score += 1;
        }
        may
    }

    /// Acknowledgements at the head of the answers for which others stand.
    fn spare(&self, trace: &EndTrace<'_>) -> usize {
        let waiting = self.nic.answers(trace.vi);
        let own = &self.reached;
        let is_spare = |(index, answer): (usize, &Pending)| {
            let came = own.owes.get(index).map_or(0, |owed| owed.came);
            // One that left when its request had come says it.
            let said = own.said.is_some_and(|(at, said)| says(said, *answer) && at > came);
            said || index < own.passed && matches!(answer, Pending::Acknowledgement { .. })
        };
        waiting.iter().enumerate().take_while(|answer| is_spare(*answer)).count()
    }

    /// A VI has broken, and only acknowledgements wait: a broken one may keep them to itself (RSP-8).
    pub fn is_silent(&self, trace: &EndTrace<'_>) -> bool {
        let vi = trace.vi;
        let plain = |answer: &Pending| matches!(answer, Pending::Acknowledgement { .. });
        self.nic.is_broken(vi) && self.nic.answers(vi).iter().all(plain)
    }

    /// A VI has broken with a response that waits, and the NIC sends nothing more: nothing that comes would change that.
    pub fn owes_a_response(&self, trace: &EndTrace<'_>) -> bool {
        let vi = trace.vi;
        let ends = !trace.cut && self.next(trace, 1).is_none();
        ends && self.nic.is_broken(vi) && self.nic.answers(vi).contains(&Pending::Response)
    }

    /// Forgets acknowledgements for which others stand.
    pub fn omit_spare(&mut self, trace: &EndTrace<'_>) {
        let vi = trace.vi;
        for _ in 0..self.spare(trace) {
            self.nic.omit_answer(vi);
            self.reached.owes.pop_front();
        }
        self.reached.passed = 0;
    }
}

/// One answer says what the other would: it is the same, or a NAK behind what the other acknowledges (RSP-7).
fn says(said: Pending, answer: Pending) -> bool {
    let (
        Pending::Acknowledgement { psn: expected, syndrome: nak, .. },
        Pending::Acknowledgement { psn, syndrome: ack, .. },
    ) = (said, answer)
    else {
        return said == answer;
    };
    said == answer || ack == syndrome::ACK && nak != ack && psn::ahead(psn, expected) >= psn::HALF
}
