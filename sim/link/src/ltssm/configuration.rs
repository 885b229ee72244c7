//! Configuration (section 4.2.6.3) of a link with one lane.

use super::{Kind, Ltssm, Request, State, DISABLE, PAIR};

impl Ltssm {
    pub(super) fn configuration(&self) -> Option<State> {
        let times = &self.setup.times;
        let upstream = self.is_upstream();
        // Two equal TS1: whether they have a link number, and a lane number.
        let pair = self.at.run.of(PAIR).filter(|set| set.kind == Kind::Ts1);
        let numbers = pair.map(|set| (set.link.is_some(), set.lane.is_some()));
        match self.state {
            State::ConfigLinkwidthStart => {
                if self.told(DISABLE) || self.directed == Some(Request::Disable) {
                    return Some(State::Disabled);
                }
                let named = numbers == Some((true, false));
                let answered = pair.is_some_and(|set| set.link == self.link);
                let next = (named && (upstream || answered)).then_some(State::ConfigLinkwidthAccept);
                self.within(times.linkwidth_start, next)
            }
            // One lane is always a link: the downstream port names it at once.
            State::ConfigLinkwidthAccept if !upstream => Some(State::ConfigLanenumWait),
            State::ConfigLinkwidthAccept => {
                // An x1 port is lane 0.
                let named = pair.is_some_and(|set| set.link == self.link && set.lane == Some(0));
                self.unless_given_up(numbers, named.then_some(State::ConfigLanenumWait))
            }
            State::ConfigLanenumWait => {
                let agreed = if upstream {
                    self.at.run.of(PAIR).is_some_and(|set| set.kind == Kind::Ts2)
                } else {
                    self.matching(Kind::Ts1, PAIR)
                };
                self.unless_given_up(numbers, agreed.then_some(State::ConfigLanenumAccept))
            }
            State::ConfigLanenumAccept => {
                let kind = if upstream { Kind::Ts2 } else { Kind::Ts1 };
                let agreed = self.matching(kind, PAIR);
                self.unless_given_up(numbers, agreed.then_some(State::ConfigComplete))
            }
            State::ConfigComplete => {
                self.within(times.configuration, self.is_answered().then_some(State::ConfigIdle))
            }
            _ => self.within(times.configuration, self.is_idle().then_some(State::L0)),
        }
    }

    /// Two TS1 with PAD for both numbers, or time, lead back to Detect.
    fn unless_given_up(&self, numbers: Option<(bool, bool)>, next: Option<State>) -> Option<State> {
        // A downstream port may still hear the PAD of the substate before.
        let given_up = numbers == Some((false, false)) && self.is_upstream();
        self.within(self.setup.times.configuration, next.or(given_up.then_some(State::DetectQuiet)))
    }
}
