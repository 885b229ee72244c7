//! Disabled and Hot Reset (sections 4.2.6.9 and 4.2.6.11).

use super::{Kind, Line, Ltssm, Request, State, ANSWERS, HOT_RESET, PAIR};

impl Ltssm {
    pub(super) fn reset(&self, line: &Line) -> Option<State> {
        let times = &self.setup.times;
        match self.state {
            State::HotReset => {
                // The side that follows stays while TS1 with the bit come, and 2 ms longer.
                let silent = self.now - self.at.life >= times.hot_reset;
                let set = self.at.run.of(PAIR);
                let echoed = set.is_some_and(|set| set.kind == Kind::Ts1 && set.control & HOT_RESET != 0);
                let done = !self.is_upstream() && echoed;
                (self.after(times.hot_reset_hold) && (silent || done)).then_some(State::DetectQuiet)
            }
            State::Disabled => (self.at.sent >= ANSWERS).then_some(State::DisabledQuiet),
            _ if self.is_upstream() => {
                // The other side breaks its electrical idle, or was never in it.
                let broken = self.at.quiet && !line.quiet;
                let never = !self.at.quiet && self.after(times.disabled);
                (broken || never).then_some(State::DetectQuiet)
            }
            _ => (self.directed != Some(Request::Disable)).then_some(State::DetectQuiet),
        }
    }
}
