//! The steps by which the model follows: what comes to it, what it sends, what it fetches, which timer ends.

use super::end_trace::EndTrace;
use super::inputs::{Arrived, Given, Said};
use super::outputs::Left;
use super::places::{describe, is_nak, is_read, is_response, Header};
use super::state::{State, NEVER};
use super::unheard::{Cause, Late};

/// Cycles by which a time-out may be earlier than the model has it: the NIC counts whole ticks, and its time begins when a packet is
/// made, not when that leaves (docs/simulation.md).
const EARLY: u64 = 4096;

/// Cycles by which a time-out may be later: it ends with a tick, when the NIC comes to look at the VI.
const LATE: u64 = 1024;

/// Cycles from when the NIC begins to read the descriptor of a read again to its request (docs/simulation.md).
const AGAIN: u64 = 4096;

/// Cycles in which a NIC hears an answer, unless it waits for its bus.
const HEARD: u64 = 1024;

/// Cycles from when Bus Master is taken away to a request for which the NIC had read everything by then.
const READS_ON: u64 = 1024;

/// Cycles from a request to when all its data is in memory, and the VI broken by it, if it is.
const DELIVERED: u64 = 4096;

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The host is heard.
    Host,
    /// A frame comes: a request, or an answer.
    Frame(bool),
    /// A packet of what is posted, or the end of a descriptor that is wrong.
    Request,
    /// A request comes by which the VI breaks, and while its data goes to memory so many answers.
    Breaking(usize),
    /// A send is complete by which the VI breaks, for its entry is lost; and before it has, so many requests.
    Overrunning(usize),
    /// One of the answers that wait.
    Answer(usize),
    /// A response is refused, and before it so many requests come, one of which asks for it again.
    Refusing(usize),
    /// One of the answers behind a response that is refused.
    Released(usize),
    /// The last answer once more, for an older one that it stood for (RSP-1).
    AnswerAgain,
    /// A send that is done completes.
    Complete,
    /// A descriptor is fetched.
    Fetch(bool),
    /// A timer ends.
    Expire,
    /// An implied NAK is taken that was taken before (REQ-2).
    TakeAgain,
    /// The descriptor whose turn had come when the VI began to send again is wrong, and breaks it (REQ-4).
    FailAhead,
    /// Something ends, and before the VI has heard of it, it breaks by this.
    Unheard(Late, Cause),
}

impl State {
    /// Does a step, with memory as it is before a moment; whether there was something to do.
    pub fn step(&mut self, trace: &EndTrace<'_>, step: Step, before: usize) -> Result<bool, String> {
        // What the host says has taken effect by then: what it writes later is not read for it.
        let heard = trace.host.get(self.host).filter(|_| step == Step::Host);
        // And what is done in one life does not read what is written for the next.
        let next_life = trace.host[self.host..].iter().find(|given| given.renews);
        let in_life = next_life.map_or(before, |given| given.at.min(before));
        self.nic.host().before = heard.map_or(in_life, |given| given.by.min(before));
        if let Step::Unheard(late, cause) = step {
            return self.unheard(trace, (late, cause), before);
        }
        let done = match step {
            Step::Host => self.hear(trace)?,
            Step::Frame(answer) => self.take(trace, answer),
            Step::Breaking(answers) => {
                return self.break_behind(trace, Step::Frame(false), (true, answers), before)
            }
            Step::Overrunning(requests) => {
                return self.break_behind(trace, Step::Complete, (false, requests), before)
            }
            Step::Refusing(requests) => return self.refuse_behind(trace, requests, before),
            Step::Request => self.request(trace)?,
            Step::Answer(index) => self.answer(trace, index)?,
            Step::Released(index) => self.release(trace, index)?,
            Step::AnswerAgain => self.answer_again(trace),
            Step::Fetch(receive) => self.nic.fetch(trace.vi, receive),
            Step::Complete => self.nic.complete(trace.vi),
            Step::Expire => self.expire(trace, before),
            Step::TakeAgain => self.asks_for_a_read(trace) && self.nic.take_again(trace.vi),
            Step::FailAhead => self.nic.fail_ahead(trace.vi),
            Step::Unheard(..) => false,
        };
        self.absorb(trace, step == Step::Frame(true))?;
        Ok(done)
    }

    fn take(&mut self, trace: &EndTrace<'_>, answer: bool) -> bool {
        let kind = usize::from(answer);
        let frames = &trace.frames[kind];
        let Some(arrived) = frames.get(self.reached.taken[kind]) else { return false };
        self.reached.taken[kind] += 1;
        self.clock = self.clock.max(arrived.at);
        let over = answer && self.is_due(trace, arrived.cycle);
        self.reached.lapsed = over.then_some(arrived.cycle).or(self.reached.lapsed);
        self.nic.set_time(arrived.cycle);
        self.nic.frame(&arrived.frame, arrived.damaged);
        true
    }

    /// Takes so many answers or requests, and then does a step by which the VI breaks, of which something was seen before they came;
    /// whether it does.
    fn break_behind(
        &mut self,
        trace: &EndTrace<'_>,
        breaks: Step,
        (answers, count): (bool, usize),
        before: usize,
    ) -> Result<bool, String> {
        let came = self.clock;
        for _ in 0..count {
            self.step(trace, Step::Frame(answers), before)?;
        }
        if self.nic.is_broken(trace.vi) {
            return Ok(false);
        }
        self.breaks_behind = std::mem::replace(&mut self.clock, came);
        self.step(trace, breaks, before)?;
        self.clock = self.clock.max(std::mem::take(&mut self.breaks_behind));
        Ok(self.nic.is_broken(trace.vi))
    }

    /// The breaks before which frames may come: answers, while the data of the next request goes to memory, or requests, when a send is
    /// complete. The last of those frames comes behind the next thing that is to be explained, or it could be taken by itself.
    pub fn meanwhile(&self, trace: &EndTrace<'_>, before: usize) -> Vec<Step> {
        let begins = trace.frames[0].get(self.reached.taken[0]).filter(|asked| asked.at < before);
        let begins = begins.map(|asked| asked.cycle).or(trace.cycles.get(before).copied());
        let ends = begins.map_or(0, |begins| begins + DELIVERED);
        let steps = |kind: usize, step: fn(usize) -> Step| {
            let frames = trace.frames[kind].iter().skip(self.reached.taken[kind]).zip(1..);
            let frames = frames.take_while(move |(frame, _)| frame.cycle <= ends);
            frames.filter(move |(frame, _)| frame.at >= before).map(move |(_, count)| step(count))
        };
        let mut all: Vec<Step> = steps(1, Step::Breaking).chain(steps(0, Step::Overrunning)).collect();
        let answers = trace.frames[1].iter().skip(self.reached.taken[1]).enumerate();
        for (behind, frame) in answers.take_while(|(_, frame)| frame.cycle <= ends) {
            let late = Late::ANSWERS.into_iter().filter(|late| late.is(&frame.frame) && frame.at >= before);
            all.extend(late.map(|late| Step::Unheard(late, Cause::FrameBehind(behind))));
        }
        all
    }

    /// The frame that the NIC made next.
    pub(super) fn next<'a>(&self, trace: &'a EndTrace<'_>, kind: usize) -> Option<&'a Left> {
        trace.outputs.frames[kind].get(self.reached.made[kind])
    }

    /// The model has made a frame.
    pub(super) fn leave(&mut self, trace: &EndTrace<'_>, kind: usize, frame: &[u8]) -> Result<usize, String> {
        let name = ["request", "answer"][kind];
        let number = self.reached.made[kind];
        let at = match self.next(trace, kind) {
            Some(left) if left.frame == frame => left.at,
            Some(left) => {
                let (found, own) = (describe(&left.frame), describe(frame));
                return Err(format!("{name} frame {number} is {found}, not {own}"));
            }
            None if trace.cut => NEVER,
            None => return Err(format!("{name} frame {number} missing: {}", describe(frame))),
        };
        if at != NEVER && at < self.clock {
            let what = format!("{name} frame {number} left");
            return Err(trace.too_early(at, &what, "what it comes of", self.clock));
        }
        self.reached.made[kind] += 1;
        self.score += usize::from(at != NEVER);
        Ok(at)
    }

    fn request(&mut self, trace: &EndTrace<'_>) -> Result<bool, String> {
        if !self.nic.packets(trace.vi).request {
            return Ok(false);
        }
        if let Some(left) = self.next(trace, 0) {
            self.nic.set_time(left.began);
            self.ask_from(trace);
        }
        if let Some(sent) = self.nic.packet(trace.vi, false) {
            self.leave(trace, 0, &sent.frame)?;
        }
        Ok(true)
    }

    /// The NIC's next request asks for a read.
    fn asks_for_a_read(&self, trace: &EndTrace<'_>) -> bool {
        self.next(trace, 0).is_some_and(|left| is_read(&left.frame))
    }

    /// The NIC's next frame asks for a read again: from which packet was decided when it began to read the descriptor again, and what has
    /// come since may be asked for, too (REQ-8).
    fn ask_from(&mut self, trace: &EndTrace<'_>) {
        let Some(left) = self.next(trace, 0).filter(|left| is_read(&left.frame)) else { return };
        let Some(asked) = Header::of(&left.frame).map(|header| header.psn) else { return };
        let (began, vi) = (left.began, trace.vi);
        // An answer is heard when its data is in memory.
        let heard = |(frame, brought): &(&Arrived, &usize)| {
            frame.cycle.max(trace.cycles.get(**brought).copied().unwrap_or(0))
        };
        let answers = trace.frames[1].iter().zip(&self.reached.brought);
        let mut came = answers.rev().take_while(|answer| heard(answer) + AGAIN >= began);
        let is_asked = |frame: &Arrived| Header::of(&frame.frame).is_some_and(|header| header.psn == asked);
        if came.any(|(frame, _)| is_response(&frame.frame) && is_asked(frame)) {
            self.nic.ask_from(vi, asked);
        }
    }

    /// The next request left so soon behind this that the NIC may have had all it reads for it: Bus Master that is taken away does not
    /// hold that request back.
    pub fn reads_on(&self, trace: &EndTrace<'_>, given: &Given) -> bool {
        let began = self.next(trace, 0).map(|left| left.began);
        matches!(given.said, Said::Master(false)) && began.is_some_and(|began| began < given.cycle + READS_ON)
    }

    /// A NAK has come before the next request left, or an implied one, of which the model has not heard: that request may be what it asks for.
    pub fn is_refused(&self, trace: &EndTrace<'_>) -> bool {
        let frames = &trace.frames[1];
        let Some(left) = self.next(trace, 0) else { return false };
        let mut behind = frames.iter().skip(self.reached.taken[1]).take_while(|frame| frame.at < left.at);
        let implies = |frame: &Arrived| {
            Header::of(&frame.frame).is_some_and(|header| self.nic.is_behind_read(trace.vi, header.psn))
        };
        behind.any(|frame| is_nak(&frame.frame) || implies(frame))
    }

    /// The next answer is such a NAK, and came so long before the request left that the NIC has most likely heard it first.
    pub fn is_refused_long_before(&self, trace: &EndTrace<'_>) -> bool {
        let nak = trace.frames[1].get(self.reached.taken[1]).filter(|frame| is_nak(&frame.frame));
        nak.zip(self.next(trace, 0)).is_some_and(|(nak, left)| nak.cycle + HEARD <= left.began)
    }

    /// The last answer came so little before the next request left that this may be what comes of it.
    pub fn is_answered_just_now(&self, trace: &EndTrace<'_>) -> bool {
        let answer = self.reached.taken[1].checked_sub(1).and_then(|last| trace.frames[1].get(last));
        answer.zip(self.next(trace, 0)).is_some_and(|(answer, left)| left.began <= answer.cycle + HEARD)
    }

    /// A read request that has come before the next answer left, and of which the model has not heard: it may take the place of what
    /// the model would send.
    pub fn asks_again(&self, trace: &EndTrace<'_>) -> bool {
        let frames = &trace.frames[0];
        let Some(left) = self.next(trace, 1) else { return false };
        let behind = frames.iter().skip(self.reached.taken[0]).take_while(|frame| frame.at < left.at);
        behind.into_iter().any(|frame| is_read(&frame.frame))
    }

    /// The timer has ended for sure before the next request left, or before the next thing happened that is to be explained. (What
    /// it would send again may be given up before it has left.)
    pub fn is_overdue(&self, trace: &EndTrace<'_>, before: usize) -> bool {
        let Some(when) = self.nic.timer(trace.vi) else { return false };
        // Of a NIC it begins with each packet.
        let sent = self.reached.made[0].checked_sub(1).and_then(|last| trace.outputs.frames[0].get(last));
        let after = sent.zip(self.nic.timeout(trace.vi)).map_or(0, |(sent, time)| sent.began + time);
        let when = when.max(after);
        let now = trace.cycles.get(before).copied().unwrap_or(u64::MAX);
        let now = self.next(trace, 0).map_or(now, |left| left.began.min(now));
        let is_heard = |kind: usize| {
            let frame = trace.frames[kind].get(self.reached.taken[kind]);
            frame.is_none_or(|frame| frame.cycle > when)
        };
        when + LATE <= now && is_heard(1) && trace.host.get(self.host).is_none_or(|given| given.cycle > when)
    }

    /// The timer had ended, as the model has it, when the NIC began to read what it sent next.
    pub fn is_over(&self, trace: &EndTrace<'_>) -> bool {
        self.nic.timer(trace.vi).zip(self.next(trace, 0)).is_some_and(|(when, left)| when <= left.began)
    }

    fn expire(&mut self, trace: &EndTrace<'_>, before: usize) -> bool {
        let vi = trace.vi;
        let now = trace.cycles.get(before).copied().unwrap_or(u64::MAX);
        // It had been over when an answer came that would have ended it, and what goes out again begins to be read behind that.
        let next = self.next(trace, 0).map_or(now, |left| left.began);
        let lapsed =
            self.reached.lapsed.is_some_and(|came| next <= came + AGAIN) && self.nic.timer(vi).is_some();
        let due = self.is_due(trace, now) || lapsed;
        if due {
            self.reached.lapsed = None;
            self.nic.expire(vi);
        }
        due
    }

    /// The timer may have ended by then.
    fn is_due(&self, trace: &EndTrace<'_>, now: u64) -> bool {
        self.nic.timer(trace.vi).is_some_and(|when| when <= now.saturating_add(EARLY))
    }
}
