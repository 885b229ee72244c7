//! What ends while a VI breaks by something else: the VI has not heard of it, and it has ended all the same (docs/semantics.md, Work queues 4).

use viaduct_sim::model::Unheard;

use super::group::Group;
use super::places::{is_nak, is_response};
use super::state::State;
use super::steps::Step;

/// What was under way when a VI broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// The data of a read's answer goes to memory.
    Response,
    /// The peer refuses a message.
    Refusal,
    /// It does, and the VI hears only what that acknowledges.
    Acknowledgement,
    /// A descriptor has an error of its own.
    Descriptor,
}

impl Late {
    /// Those that a frame may be.
    pub fn is(self, frame: &[u8]) -> bool {
        match self {
            Self::Response => is_response(frame),
            Self::Refusal | Self::Acknowledgement => is_nak(frame),
            Self::Descriptor => false,
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
    /// The host.
    Host,
    /// A request of the peer's.
    Frame,
    /// An answer of the peer's.
    Answer,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Request, Self::Fetch(false), Self::Fetch(true), Self::Host, Self::Frame, Self::Answer];
}

impl State {
    /// Something of a side's ends, and the VI breaks by something else; whether both can be.
    pub(super) fn unheard(
        &mut self,
        group: &Group<'_>,
        side: usize,
        (late, cause): (Late, Cause),
        before: usize,
    ) -> Result<bool, String> {
        let ended = match late {
            Late::Response | Late::Refusal | Late::Acknowledgement => {
                self.answer_unheard(group, side, late)?
            }
            Late::Descriptor => self.is_wrong(group, side) && self.nic.request_unheard(self.vi(group, side)),
        };
        Ok(ended && self.breaks_by(group, side, cause, before)?)
    }

    /// The next answer of a side's, which is such a one, is not heard to its end.
    fn answer_unheard(&mut self, group: &Group<'_>, side: usize, late: Late) -> Result<bool, String> {
        let found = self.next_answer(group, side).filter(|frame| late.is(frame));
        let Some(frame) = found.map(<[u8]>::to_vec) else { return Ok(false) };
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
        let what = if late == Late::Acknowledgement { Unheard::Acknowledges } else { Unheard::Ends };
        self.nic.frame_unheard(&frame, what);
        let before = self.sides[side].data[0];
        self.absorb(group, true, 0)?;
        let own = &mut self.sides[side];
        own.late = std::mem::replace(&mut own.data[0], before);
        Ok(true)
    }

    /// The descriptor whose turn it is has an error of its own.
    pub fn is_wrong(&self, group: &Group<'_>, side: usize) -> bool {
        let vi = self.vi(group, side);
        self.nic.packets(vi).request && self.nic.clone().request_unheard(vi)
    }

    /// A VI breaks by this, and was well before.
    fn breaks_by(
        &mut self,
        group: &Group<'_>,
        side: usize,
        cause: Cause,
        before: usize,
    ) -> Result<bool, String> {
        let vi = self.vi(group, side);
        let well = !self.nic.is_broken(vi);
        let next = match cause {
            Cause::Request => Step::Request(side),
            Cause::Fetch(receive) => Step::Fetch(side, receive),
            Cause::Host => Step::Host,
            Cause::Frame | Cause::Answer if group.loopback => Step::Turned(side, cause == Cause::Answer),
            Cause::Frame | Cause::Answer => Step::Frame(side, cause == Cause::Answer),
        };
        Ok(self.step(group, next, before)? && well && self.nic.is_broken(vi))
    }
}
