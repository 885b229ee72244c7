//! Recovery (section 4.2.6.4).

use super::{Kind, Ltssm, Request, State, DISABLE, HOT_RESET, PAIR, RUN};

impl Ltssm {
    pub(super) fn recovery(&self) -> Option<State> {
        let times = &self.setup.times;
        match self.state {
            State::RecoveryRcvrLock => {
                if self.at.ready.is_some() {
                    return Some(State::RecoveryRcvrCfg);
                }
                // What came was ours, but not often enough in a row: the link is configured anew.
                let again = self.after(times.rcvr_lock) && self.at.matched;
                self.within(times.rcvr_lock, again.then_some(State::ConfigLinkwidthStart))
            }
            State::RecoveryRcvrCfg => {
                if self.is_answered() {
                    return Some(State::RecoveryIdle);
                }
                let others = self.at.run.of(RUN);
                let other = others.is_some_and(|set| set.kind == Kind::Ts1 && !self.is_ours(&set));
                self.within(times.rcvr_cfg, other.then_some(State::ConfigLinkwidthStart))
            }
            _ => {
                let next = match self.directed {
                    Some(Request::HotReset) => Some(State::HotReset),
                    Some(Request::Disable) => Some(State::Disabled),
                    Some(Request::Reconfigure) => Some(State::ConfigLinkwidthStart),
                    _ if self.told(HOT_RESET) => Some(State::HotReset),
                    _ if self.told(DISABLE) => Some(State::Disabled),
                    _ if self
                        .at
                        .run
                        .of(PAIR)
                        .is_some_and(|set| set.kind == Kind::Ts1 && set.lane.is_none()) =>
                    {
                        Some(State::ConfigLinkwidthStart)
                    }
                    _ if self.setup.relock && self.matching(Kind::Ts1, RUN) => Some(State::RecoveryRcvrLock),
                    _ => self.is_idle().then_some(State::L0),
                };
                self.within(times.recovery_idle, next)
            }
        }
    }
}
