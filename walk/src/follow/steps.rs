//! The steps by which the model follows: what comes to it, what it sends, what it fetches, which timer ends.

use viaduct_sim::model::Pending;
use viaduct_spec::descriptor::status;
use viaduct_spec::tables::service;

use super::group::Group;
use super::inputs::Arrived;
use super::outputs::Left;
use super::places::{describe, is_nak, is_read, is_response, Header};
use super::state::{State, NEVER};
use super::unheard::{Cause, Late};

/// Cycles by which a time-out may be earlier than the model has it: the NIC counts whole ticks, and its time begins when a packet is
/// made, not when that leaves (docs/simulation.md).
const EARLY: u64 = 4096;

/// Cycles from when the NIC begins to read the descriptor of a read again to its request (docs/simulation.md).
const AGAIN: u64 = 1024;

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The host is heard.
    Host,
    /// A frame of this side's comes: a request, or an answer.
    Frame(usize, bool),
    /// One that has turned round.
    Turned(usize, bool),
    /// A packet of what is posted, or the end of a descriptor that is wrong.
    Request(usize),
    /// One of the answers that wait.
    Answer(usize, usize),
    /// A send that is done completes.
    Complete(usize),
    /// A descriptor is fetched.
    Fetch(usize, bool),
    /// A timer ends.
    Expire(usize),
    /// Something ends, and before the VI has heard of it, it breaks by this.
    Unheard(usize, Late, Cause),
}

impl State {
    /// Does a step, with memory as it is before a moment; whether there was something to do.
    pub fn step(&mut self, group: &Group<'_>, step: Step, before: usize) -> Result<bool, String> {
        self.nic.host().before = before;
        if let Step::Unheard(side, late, cause) = step {
            return self.unheard(group, side, (late, cause), before);
        }
        let mut told = 0;
        let done = match step {
            Step::Host => self.hear(group, &mut told)?,
            Step::Frame(side, answer) => self.take(group, side, answer),
            Step::Turned(side, answer) => match self.sides[side].turning[usize::from(answer)].pop_front() {
                Some(frame) => {
                    self.nic.frame(&frame, false);
                    true
                }
                None => false,
            },
            Step::Request(side) => self.request(group, side)?,
            Step::Answer(side, index) => self.answer(group, side, index)?,
            Step::Fetch(side, receive) => {
                let vi = self.vi(group, side);
                self.nic.fetch(vi, receive)
            }
            Step::Complete(side) => {
                let vi = self.vi(group, side);
                self.nic.complete(vi)
            }
            Step::Expire(side) => self.expire(group, side, before),
            Step::Unheard(..) => false,
        };
        self.absorb(group, matches!(step, Step::Frame(_, true) | Step::Turned(_, true)), told)?;
        Ok(done)
    }

    /// The VI of a side.
    pub fn vi(&self, group: &Group<'_>, side: usize) -> usize {
        group.places.vi(group.ends[side])
    }

    /// VIs that are in Error.
    pub fn broken(&self, group: &Group<'_>) -> usize {
        (0..group.ends.len()).filter(|side| self.nic.is_broken(self.vi(group, *side))).count()
    }

    fn take(&mut self, group: &Group<'_>, side: usize, answer: bool) -> bool {
        let kind = usize::from(answer);
        let frames = &group.frames[&group.ends[side]][kind];
        let Some(arrived) = frames.get(self.sides[side].taken[kind]) else { return false };
        self.sides[side].taken[kind] += 1;
        self.clock = self.clock.max(arrived.at);
        self.nic.set_time(arrived.cycle);
        self.nic.frame(&arrived.frame, arrived.damaged);
        true
    }

    /// The next answer of a side's.
    pub fn next_answer<'a>(&'a self, group: &'a Group<'_>, side: usize) -> Option<&'a [u8]> {
        let own = &self.sides[side];
        match group.loopback {
            true => own.turning[1].front().map(Vec::as_slice),
            false => group.frames[&group.ends[side]][1].get(own.taken[1]).map(|frame| frame.frame.as_slice()),
        }
    }

    /// The frame that the NIC made next.
    fn next<'a>(&self, group: &'a Group<'_>, side: usize, kind: usize) -> Option<&'a Left> {
        group.outputs.ends[group.ends[side]].frames[kind].get(self.sides[side].made[kind])
    }

    /// The model has made a frame.
    fn leave(&mut self, group: &Group<'_>, side: usize, kind: usize, frame: &[u8]) -> Result<usize, String> {
        let name = ["request", "answer"][kind];
        let number = self.sides[side].made[kind];
        let at = match self.next(group, side, kind) {
            Some(left) if left.frame == frame => left.at,
            Some(left) => {
                let (found, own) = (describe(&left.frame), describe(frame));
                return Err(format!("{name} frame {number} is {found}, not {own}"));
            }
            None if group.cut => NEVER,
            None => return Err(format!("{name} frame {number} missing: {}", describe(frame))),
        };
        if at != NEVER && at < self.clock {
            return Err(format!("{name} frame {number} left before what it comes of"));
        }
        self.sides[side].made[kind] += 1;
        self.score += usize::from(at != NEVER);
        Ok(at)
    }

    /// A frame turns round.
    fn turn(&mut self, side: usize, frame: Vec<u8>) {
        let to = if self.sides.len() > 1 { side ^ 1 } else { side };
        let answer = Header::of(&frame).is_some_and(|header| header.answer);
        self.sides[to].turning[usize::from(answer)].push_back(frame);
    }

    fn request(&mut self, group: &Group<'_>, side: usize) -> Result<bool, String> {
        let vi = self.vi(group, side);
        if !self.nic.packets(vi).request || group.loopback && self.is_never_sent(group, vi) {
            return Ok(false);
        }
        if let Some(left) = self.next(group, side, 0) {
            self.nic.set_time(left.began);
            self.ask_from(group, side);
        }
        match self.nic.packet(vi, false) {
            Some(sent) if sent.loopback => self.turn(side, sent.frame),
            Some(sent) => {
                self.leave(group, side, 0, &sent.frame)?;
            }
            None => {}
        }
        Ok(true)
    }

    /// The next packet begins a message that the NIC flushes, so nothing of it has left.
    fn is_never_sent(&mut self, group: &Group<'_>, vi: usize) -> bool {
        self.nic.begins_next(vi).and_then(|address| self.status_at(group, address))
            == Some(status::DESC_FLUSHED_ERROR)
    }

    /// The NIC's next frame asks for a read again: from which packet was decided when it began to read the descriptor again, and what has
    /// come since may be asked for, too (Requester 8).
    fn ask_from(&mut self, group: &Group<'_>, side: usize) {
        let Some(left) = self.next(group, side, 0).filter(|left| is_read(&left.frame)) else { return };
        let Some(asked) = Header::of(&left.frame).map(|header| header.psn) else { return };
        let frames = &group.frames[&group.ends[side]][1][..self.sides[side].taken[1]];
        let (began, vi) = (left.began, self.vi(group, side));
        let came = frames.iter().rev().take_while(|frame| frame.cycle + AGAIN >= began);
        let is_asked = |frame: &Arrived| Header::of(&frame.frame).is_some_and(|header| header.psn == asked);
        if came.into_iter().any(|frame| is_response(&frame.frame) && is_asked(frame)) {
            self.nic.ask_from(vi, asked);
        }
    }

    /// A NAK has come before the next request left, of which the model has not heard: that request may be what it asks for.
    pub fn is_refused(&self, group: &Group<'_>, side: usize) -> bool {
        let frames = &group.frames[&group.ends[side]][1];
        let Some(left) = self.next(group, side, 0) else { return false };
        let mut behind = frames.iter().skip(self.sides[side].taken[1]).take_while(|frame| frame.at < left.at);
        behind.any(|frame| is_nak(&frame.frame))
    }

    /// A read request that has come before the next answer left, and of which the model has not heard: it may take the place of what
    /// the model would send.
    pub fn asks_again(&self, group: &Group<'_>, side: usize) -> bool {
        let frames = &group.frames[&group.ends[side]][0];
        let Some(left) = self.next(group, side, 1) else { return false };
        let behind = frames.iter().skip(self.sides[side].taken[0]).take_while(|frame| frame.at < left.at);
        behind.into_iter().any(|frame| is_read(&frame.frame))
    }

    /// Which of the answers that wait may leave now: a newer acknowledgement or NAK stands for older ones, and so does a response; none
    /// leaves before a response that is in front of it.
    pub fn answers(&self, group: &Group<'_>, side: usize) -> std::ops::Range<usize> {
        let waiting = self.nic.answers(self.vi(group, side));
        let response = waiting.iter().position(|answer| *answer == Pending::Response);
        0..response.map_or(waiting.len(), |response| response + 1)
    }

    fn answer(&mut self, group: &Group<'_>, side: usize, index: usize) -> Result<bool, String> {
        let vi = self.vi(group, side);
        let waiting = self.nic.answers(vi);
        let Some(kind) = waiting.get(index).copied() else { return Ok(false) };
        if kind == Pending::Response && !self.nic.host().master {
            return Ok(false);
        }
        if let Some(left) = self.next(group, side, 1) {
            self.nic.set_time(left.began);
        }
        let Some(sent) = self.nic.answer(vi, index) else { return Ok(true) };
        let owed = self.sides[side].owes.get(index).copied().unwrap_or_default();
        if sent.loopback {
            self.turn(side, sent.frame);
        } else {
            let at = self.leave(group, side, 1, &sent.frame)?;
            // Of Reliable Delivery, a response says that data has come, and nothing of the receive (Responder 7).
            let delivered =
                kind == Pending::Response && group.service(group.ends[side]) == service::RELIABLE_DELIVERY;
            if at < owed.data || at < owed.received && !delivered {
                return Err("an acknowledgement left ahead of what it acknowledges".into());
            }
            if kind != Pending::Response {
                self.sides[side].said = Some((at, kind));
            }
        }
        let ended = self.nic.answers(vi).len() < waiting.len();
        let side = &mut self.sides[side];
        if ended {
            side.owes.remove(index);
        }
        if kind == Pending::Response {
            // It says what they would; they may still leave.
            side.passed = side.passed.max(index);
        } else {
            // A newer one stands for them.
            for _ in 0..index {
                self.nic.omit_answer(vi);
                side.owes.pop_front();
            }
            side.passed = side.passed.saturating_sub(index + 1);
        }
        Ok(true)
    }

    /// Acknowledgements at the head of the answers for which others stand.
    fn spare(&self, group: &Group<'_>, side: usize) -> usize {
        let waiting = self.nic.answers(self.vi(group, side));
        let own = &self.sides[side];
        let is_spare = |(index, answer): (usize, &Pending)| {
            let came = own.owes.get(index).map_or(0, |owed| owed.came);
            // One that left when its request had come says the same.
            let said = own.said.is_some_and(|(at, said)| said == *answer && at > came);
            said || index < own.passed && matches!(answer, Pending::Acknowledgement { .. })
        };
        waiting.iter().enumerate().take_while(|answer| is_spare(*answer)).count()
    }

    /// A VI has broken, and only acknowledgements wait: a broken one may keep them to itself (Responder 8).
    pub fn is_silent(&self, group: &Group<'_>, side: usize) -> bool {
        let vi = self.vi(group, side);
        let plain = |answer: &Pending| matches!(answer, Pending::Acknowledgement { .. });
        self.nic.is_broken(vi) && self.nic.answers(vi).iter().all(plain)
    }

    /// Forgets acknowledgements for which others stand.
    pub fn omit_spare(&mut self, group: &Group<'_>, side: usize) {
        let vi = self.vi(group, side);
        for _ in 0..self.spare(group, side) {
            self.nic.omit_answer(vi);
            self.sides[side].owes.pop_front();
        }
        self.sides[side].passed = 0;
    }

    fn expire(&mut self, group: &Group<'_>, side: usize, before: usize) -> bool {
        let vi = self.vi(group, side);
        let now = group.cycles.get(before).copied().unwrap_or(u64::MAX);
        // When a packet left that turns round is not seen, nor when its time began: each time-out may be as early.
        let early = if group.loopback { (2 + self.nic.retries(vi)) * EARLY } else { EARLY };
        let due = self.nic.timer(vi).is_some_and(|when| when <= now.saturating_add(early));
        if due {
            self.nic.expire(vi);
        }
        due
    }
}
