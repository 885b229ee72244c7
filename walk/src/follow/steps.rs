//! The steps by which the model follows: what comes to it, what it sends, what it fetches, which timer ends.

use viaduct_sim::model::Pending;

use super::group::Group;
use super::outputs::Left;
use super::places::{describe, is_read, is_response, Header};
use super::state::{State, NEVER};

/// Cycles by which a time-out may be earlier than the model has it: the NIC counts whole ticks, and its time begins when a packet is
/// made, not when that leaves (docs/simulation.md).
const EARLY: u64 = 4096;

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
    /// A descriptor is fetched.
    Fetch(usize, bool),
    /// A timer ends.
    Expire(usize),
    /// The data of a read's answer goes to memory, and before the VI has heard of it, it breaks by this.
    Unheard(usize, Cause),
}

/// What a VI breaks by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A descriptor whose turn it is.
    Request,
    /// A descriptor that is fetched.
    Fetch(bool),
    /// The host.
    Host,
    /// A request of the peer's.
    Frame,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Request, Self::Fetch(false), Self::Fetch(true), Self::Host, Self::Frame];
}

impl State {
    /// Does a step, with memory as it is before a moment; whether there was something to do.
    pub fn step(&mut self, group: &Group<'_>, step: Step, before: usize) -> Result<bool, String> {
        self.nic.host().before = before;
        if let Step::Unheard(side, cause) = step {
            return self.unheard(group, side, cause, before);
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

    /// The next answer of a side's, if it is of a read.
    pub fn response<'a>(&'a self, group: &'a Group<'_>, side: usize) -> Option<&'a [u8]> {
        let own = &self.sides[side];
        let frame = match group.loopback {
            true => own.turning[1].front().map(Vec::as_slice),
            false => group.frames[&group.ends[side]][1].get(own.taken[1]).map(|frame| frame.frame.as_slice()),
        };
        frame.filter(|frame| is_response(frame))
    }

    fn unheard(
        &mut self,
        group: &Group<'_>,
        side: usize,
        cause: Cause,
        before: usize,
    ) -> Result<bool, String> {
        let Some(frame) = self.response(group, side).map(<[u8]>::to_vec) else { return Ok(false) };
        if group.loopback {
            self.sides[side].turning[1].pop_front();
        } else {
            let arrived = &group.frames[&group.ends[side]][1][self.sides[side].taken[1]];
            self.sides[side].taken[1] += 1;
            self.clock = self.clock.max(arrived.at);
            if arrived.damaged {
                return Ok(false);
            }
        }
        self.nic.frame_unheard(&frame);
        self.absorb(group, true, 0)?;
        let vi = self.vi(group, side);
        let well = !self.nic.is_broken(vi);
        let next = match cause {
            Cause::Request => Step::Request(side),
            Cause::Fetch(receive) => Step::Fetch(side, receive),
            Cause::Host => Step::Host,
            Cause::Frame if group.loopback => Step::Turned(side, false),
            Cause::Frame => Step::Frame(side, false),
        };
        Ok(self.step(group, next, before)? && well && self.nic.is_broken(vi))
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
        if !self.nic.packets(vi).request {
            return Ok(false);
        }
        if let Some(left) = self.next(group, side, 0) {
            self.nic.set_time(left.began);
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
        if let Some(left) = self.next(group, side, 1) {
            self.nic.set_time(left.began);
        }
        let Some(sent) = self.nic.answer(vi, index) else { return Ok(true) };
        let (owed, _) = self.sides[side].owes.get(index).copied().unwrap_or((0, 0));
        if sent.loopback {
            self.turn(side, sent.frame);
        } else {
            let at = self.leave(group, side, 1, &sent.frame)?;
            if at < owed {
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
            let came = own.owes.get(index).map_or(0, |(_, came)| *came);
            // One that left when its request had come says the same.
            let said = own.said.is_some_and(|(at, said)| said == *answer && at > came);
            said || index < own.passed && matches!(answer, Pending::Acknowledgement { .. })
        };
        waiting.iter().enumerate().take_while(|answer| is_spare(*answer)).count()
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
        // When a packet left that turns round is not seen, nor when its time began.
        let early = if group.loopback { 2 * EARLY } else { EARLY };
        let due = self.nic.timer(vi).is_some_and(|when| when <= now.saturating_add(early));
        if due {
            self.nic.expire(vi);
        }
        due
    }
}
