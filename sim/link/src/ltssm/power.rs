//! L0 and L1 (sections 4.2.6.5 and 4.2.6.7). Neither side offers L0s.

use super::{Line, LowPower, Ltssm, Request, State};

impl Ltssm {
    pub(super) fn power(&self, line: &Line) -> Option<State> {
        let recovery = Some(State::RecoveryRcvrLock);
        if self.at.run.count > 0 {
            return recovery;
        }
        match self.state {
            State::L0 => {
                if self.directed.is_some() || self.silent_in() == 0 {
                    return recovery;
                }
                let entered = match line.low_power {
                    LowPower::None => false,
                    LowPower::Expected => self.at.eios,
                    LowPower::Agreed => true,
                };
                entered.then_some(State::L1Entry)
            }
            // Both sides have to be in electrical idle before either may break it. The specification
            // gives no time here; 2 ms keep a lost EIOS from stopping the link.
            State::L1Entry if line.quiet && line.sent_quiet >= 3 => Some(State::L1Idle),
            State::L1Entry => self.after(self.setup.times.disabled).then_some(State::RecoveryRcvrLock),
            _ => (!line.quiet || self.wakes()).then_some(State::RecoveryRcvrLock),
        }
    }

    fn wakes(&self) -> bool {
        matches!(self.directed, Some(Request::Retrain | Request::HotReset | Request::Disable))
    }
}
