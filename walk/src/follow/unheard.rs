//! What ends while a VI breaks by something else: the VI has not heard of it, and it has ended all the same (docs/semantics.md, WQ-4).

use viaduct_sim::model::{Pending, Unheard};
use viaduct_spec::tables::service;

use super::end_trace::EndTrace;
use super::inputs::Arrived;
use super::places::{is_last_response, is_nak, is_refusal, is_response, Header};
use super::state::State;
use super::steps::Step;

/// What was under way when a VI broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// The data of a read's answer goes to memory.
    Response,
    /// It does, and ends the read.
    LastResponse,
    /// The peer refuses a message.
    Refusal,
    /// It does, and the VI hears only what that acknowledges.
    Acknowledgement,
    /// A descriptor has an error of its own.
    Descriptor,
    /// A request of the peer's is refused.
    Request,
    /// A request of the peer's has ended the message before it, and not begun its own.
    Cut,
    /// A send is complete, and its entry is lost.
    Send,
    /// The receive of a request of the peer's has an error of its own, or its entry is lost.
    Receive,
}

impl Late {
    /// Those that an answer may be.
    pub const ANSWERS: [Self; 4] = [Self::Response, Self::LastResponse, Self::Refusal, Self::Acknowledgement];

    /// Those that a frame may be.
    pub fn is(self, frame: &[u8]) -> bool {
        match self {
            Self::Response => is_response(frame),
            Self::LastResponse => is_last_response(frame),
            Self::Refusal | Self::Acknowledgement => is_nak(frame),
            Self::Descriptor | Self::Request | Self::Cut | Self::Send | Self::Receive => false,
        }
    }
}

/// What a VI breaks by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A descriptor whose turn it is.
    Request,
    /// A descriptor that is fetched.
    Fetch(bool),
    /// A send that is complete, whose entry is lost.
    Complete,
    /// The host.
    Host,
    /// A request of the peer's.
    Frame,
    /// One whose data goes to memory while so many answers are heard, and behind them what is under way.
    FrameBehind(usize),
    /// An answer of the peer's.
    Answer,
    /// The answer to a read of the peer's, whose turn it is, and which may not be read.
    Response,
    /// An answer of the peer's that came before what is under way, and of which the VI has not heard either.
    AnswerBefore,
}

impl Cause {
    /// Those that come after what is under way, or by themselves.
    pub const LATER: [Self; 7] = [
        Self::Request,
        Self::Fetch(false),
        Self::Fetch(true),
        Self::Complete,
        Self::Host,
        Self::Frame,
        Self::Answer,
    ];
}

impl State {
    /// What may end while the VI breaks by something else, and by what.
    pub fn unheard_steps(&self, trace: &EndTrace<'_>, before: usize) -> Vec<Step> {
        let mut all = Vec::new();
        let came = |behind: usize| {
            let frame: Option<&Arrived> = trace.frames[1].get(self.reached.taken[1] + behind);
            frame.filter(|frame| frame.at < before).map(|frame| frame.frame.as_slice())
        };
        for late in Late::ANSWERS {
            if came(0).is_some_and(|frame| late.is(frame)) {
                all.extend(Cause::LATER.map(|cause| Step::Unheard(late, cause)));
            }
            if came(0).is_some_and(is_nak)
                && came(1).is_some_and(|frame| is_response(frame) && late.is(frame))
            {
                all.push(Step::Unheard(late, Cause::AnswerBefore));
            }
        }
        let asked = trace.frames[0].get(self.reached.taken[0]).is_some_and(|frame| frame.at < before);
        if asked && self.refuses(trace) {
            all.extend(Cause::LATER.map(|cause| Step::Unheard(Late::Request, cause)));
        }
        // A lost entry has no other behind it, unless room has come meanwhile.
        let lost = |kind: usize| trace.outputs.entries[kind].len() == self.reached.entries[kind];
        if asked && lost(1) {
            all.extend(Cause::LATER.map(|cause| Step::Unheard(Late::Receive, cause)));
        }
        if lost(0) && self.nic.clone().complete(trace.vi) {
            all.extend(Cause::LATER.map(|cause| Step::Unheard(Late::Send, cause)));
        }
        if asked && self.next_response(trace).is_some() {
            all.push(Step::Unheard(Late::Receive, Cause::Response));
        }
        if asked && trace.service == service::UNRELIABLE {
            all.extend(Cause::LATER.map(|cause| Step::Unheard(Late::Cut, cause)));
        }
        if self.is_wrong(trace) {
            all.extend(Cause::LATER.map(|cause| Step::Unheard(Late::Descriptor, cause)));
        }
        all
    }

    /// Something ends, and the VI breaks by something else; whether both can be.
    pub(super) fn unheard(
        &mut self,
        trace: &EndTrace<'_>,
        (late, cause): (Late, Cause),
        before: usize,
    ) -> Result<bool, String> {
        if let Cause::FrameBehind(answers) = cause {
            return self.unheard_behind(trace, late, answers, before);
        }
        let ended = match late {
            Late::Request => self.request_unheard(trace, Unheard::Ends)?,
            Late::Cut => self.request_unheard(trace, Unheard::Cuts)?,
            Late::Receive => self.request_unheard(trace, Unheard::Receives)?,
            Late::Send => {
                let done = self.nic.complete_unheard(trace.vi);
                self.absorb(trace, false)?;
                done
            }
            Late::Descriptor => self.is_wrong(trace) && self.nic.request_unheard(trace.vi),
            _ => self.answer_unheard(trace, late, usize::from(cause == Cause::AnswerBefore))?,
        };
        let broke = ended && self.breaks_by(trace, cause, before)?;
        // The answer that it breaks by, and behind it the one that was under way.
        self.reached.taken[1] += usize::from(cause == Cause::AnswerBefore);
        Ok(broke)
    }

    /// A request comes, and while its data goes to memory so many answers, which are heard, and one that is not: then the VI breaks.
    fn unheard_behind(
        &mut self,
        trace: &EndTrace<'_>,
        late: Late,
        answers: usize,
        before: usize,
    ) -> Result<bool, String> {
        let came = self.clock;
        for _ in 0..answers {
            self.step(trace, Step::Frame(true), before)?;
        }
        self.breaks_behind = self.clock;
        if !self.answer_unheard(trace, late, 0)? {
            return Ok(false);
        }
        let last = std::mem::replace(&mut self.clock, came);
        let broke = self.breaks_by(trace, Cause::Frame, before)?;
        self.breaks_behind = 0;
        self.clock = self.clock.max(last);
        Ok(broke)
    }

    /// An answer, which is such a one, is not heard to its end: the next, or the one that is so many behind it. The next one is heard then.
    fn answer_unheard(&mut self, trace: &EndTrace<'_>, late: Late, behind: usize) -> Result<bool, String> {
        let found = trace.frames[1].get(self.reached.taken[1] + behind);
        let Some(arrived) = found.filter(|arrived| late.is(&arrived.frame)) else { return Ok(false) };
        let frame = arrived.frame.clone();
        self.reached.taken[1] += 1 - behind;
        self.clock = self.clock.max(arrived.at);
        if arrived.damaged {
            return Ok(false);
        }
        let what = match late {
            Late::Acknowledgement => Unheard::Acknowledges,
            Late::LastResponse => Unheard::Completes,
            _ => Unheard::Ends,
        };
        self.nic.frame_unheard(&frame, what);
        let before = self.reached.data[0];
        self.absorb(trace, true)?;
        let own = &mut self.reached;
        own.late = std::mem::replace(&mut own.data[0], before);
        Ok(true)
    }

    /// The next request is refused, which the peer is told; or its receive has an error of its own, which it is not; or it ends a message.
    fn request_unheard(&mut self, trace: &EndTrace<'_>, what: Unheard) -> Result<bool, String> {
        let Some(arrived) = trace.frames[0].get(self.reached.taken[0]).filter(|frame| !frame.damaged) else {
            return Ok(false);
        };
        self.reached.taken[0] += 1;
        self.clock = self.clock.max(arrived.at);
        self.nic.frame_unheard(&arrived.frame, what);
        self.absorb(trace, false)?;
        let refused = |answer: &Pending| matches!(answer, Pending::Refusal { .. });
        Ok(what != Unheard::Ends || self.nic.answers(trace.vi).iter().any(refused))
    }

    /// The NIC's next answer refuses the next request.
    pub fn refuses(&self, trace: &EndTrace<'_>) -> bool {
        let left = trace.outputs.frames[1].get(self.reached.made[1]).filter(|left| is_refusal(&left.frame));
        let asked = trace.frames[0].get(self.reached.taken[0]);
        left.zip(asked).is_some_and(|(left, asked)| {
            Header::of(&left.frame).map(|header| header.psn)
                == Header::of(&asked.frame).map(|header| header.psn)
        })
    }

    /// The descriptor whose turn it is has an error of its own.
    pub fn is_wrong(&self, trace: &EndTrace<'_>) -> bool {
        let vi = trace.vi;
        self.nic.packets(vi).request && self.nic.clone().request_unheard(vi)
    }

    /// A VI breaks by this, and was well before.
    fn breaks_by(&mut self, trace: &EndTrace<'_>, cause: Cause, before: usize) -> Result<bool, String> {
        let vi = trace.vi;
        let well = !self.nic.is_broken(vi);
        let next = match cause {
            Cause::Request => Step::Request,
            Cause::Fetch(receive) => Step::Fetch(receive),
            Cause::Complete => Step::Complete,
            Cause::Host => Step::Host,
            Cause::Response => match self.next_response(trace) {
                Some(turn) => Step::Answer(turn),
                None => return Ok(false),
            },
            Cause::Answer | Cause::AnswerBefore => Step::Frame(true),
            Cause::Frame | Cause::FrameBehind(_) => Step::Frame(false),
        };
        Ok(self.step(trace, next, before)? && well && self.nic.is_broken(vi))
    }
}
