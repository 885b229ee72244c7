//! The link training and status state machine (section 4.2.5 and 4.2.6).
//!
//! [`Ltssm::tick`] looks once a cycle whether the state is left. What has been received and sent in a
//! state is in one record, which is made anew when a state is entered.

mod configuration;
mod detect;
mod line;
mod polling;
mod power;
mod progress;
mod recovery;
mod reset;
mod state;
#[cfg(test)]
mod tests;
mod times;
mod transmit;

pub use line::{Line, LowPower};
pub use state::{Request, Role, State};
pub use times::{Times, MS, US};
pub use transmit::{Stamp, Transmit};

use crate::generation::Generation;
use crate::ordered_set::{Kind, DISABLE, HOT_RESET, NO_SCRAMBLING};
use crate::seam::Cycle;
use progress::Progress;

/// Sets in a row that most states wait for.
const RUN: u32 = 8;
/// Sets or idle symbols that are sent after the first one was received.
const ANSWERS: u32 = 16;
/// Sets in a row that the substates of Configuration wait for.
const PAIR: u32 = 2;
/// Cycles of electrical idle before receiver detection (120 ns).
const SETTLED: Cycle = 15;

/// How the machine is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Its side.
    pub role: Role,
    /// Its times.
    pub times: Times,
    /// Link number that a downstream port gives.
    pub link: u8,
    /// What it says of itself in training sets.
    pub generation: Generation,
    /// It asks for Disable Scrambling.
    pub no_scrambling: bool,
    /// TS1 in Recovery.Idle lead back to Recovery.RcvrLock. Revision 1.1 waits for 2 ms there and then
    /// takes the link down, if the other side has left L0 again by then.
    pub relock: bool,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Ltssm {
    setup: Setup,
    now: Cycle,
    state: State,
    link_up: bool,
    entries: u64,
    at: Progress,
    /// Numbers agreed on, or being agreed on.
    link: Option<u8>,
    lane: Option<u8>,
    inverted: bool,
    scrambled: bool,
    directed: Option<Request>,
}

impl Ltssm {
    /// After power-up: Detect.Quiet.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            now: 0,
            state: State::DetectQuiet,
            link_up: false,
            entries: 0,
            at: Progress::default(),
            link: None,
            lane: None,
            inverted: false,
            scrambled: true,
            directed: None,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// LinkUp.
    pub fn link_up(&self) -> bool {
        self.link_up
    }

    /// The received lane is to be inverted.
    pub fn inverted(&self) -> bool {
        self.inverted
    }

    /// Data is scrambled: not so after Disable Scrambling.
    pub fn scrambled(&self) -> bool {
        self.scrambled
    }

    /// Receiver detection is asked for.
    pub fn detects(&self) -> bool {
        self.state == State::DetectActive
    }

    /// A request that is still to be obeyed.
    pub fn directed(&self) -> Option<Request> {
        self.directed
    }

    /// Directs the machine. A wish to retrain means nothing outside L0 and L1, one to configure anew nothing outside L0.
    pub fn direct(&mut self, request: Request) {
        let obeyed = match request {
            Request::Retrain => matches!(self.state, State::L0 | State::L1Idle),
            Request::Reconfigure => self.state == State::L0,
            Request::HotReset | Request::Disable => true,
        };
        if obeyed {
            self.directed = Some(request);
        }
    }

    /// Takes Disable back.
    pub fn enable(&mut self) {
        self.directed = self.directed.filter(|request| *request != Request::Disable);
    }

    /// Cycles until L0 counts as silent unless something comes.
    pub fn silent_in(&self) -> Cycle {
        (self.at.life + self.setup.times.silence).saturating_sub(self.now)
    }

    fn is_upstream(&self) -> bool {
        self.setup.role == Role::Upstream
    }

    /// Two TS1 with this control bit have come to an upstream port.
    fn told(&self, bit: u8) -> bool {
        let told = self.at.run.of(PAIR).is_some_and(|set| set.kind == Kind::Ts1 && set.control & bit != 0);
        self.is_upstream() && told
    }

    /// Logical idle has come and gone for long enough.
    fn is_idle(&self) -> bool {
        self.at.idle_ready && self.at.answers >= ANSWERS
    }

    /// The set that the state waits for has come, and was answered often enough.
    fn is_answered(&self) -> bool {
        self.at.ready.is_some() && self.at.answers >= ANSWERS
    }

    /// The state has lasted so long.
    fn after(&self, time: Cycle) -> bool {
        self.now - self.at.since >= time
    }

    /// The next state, or Detect after this time.
    fn within(&self, time: Cycle, next: Option<State>) -> Option<State> {
        next.or_else(|| self.after(time).then_some(State::DetectQuiet))
    }

    /// A cycle passes. Says whether another state was entered.
    pub fn tick(&mut self, line: &Line) -> bool {
        use State::*;
        self.now += 1;
        self.at.quiet |= line.quiet;
        let next = match self.state {
            DetectQuiet | DetectActive => self.detect(line),
            PollingActive | PollingConfiguration => self.polling(),
            ConfigLinkwidthStart
            | ConfigLinkwidthAccept
            | ConfigLanenumWait
            | ConfigLanenumAccept
            | ConfigComplete
            | ConfigIdle => self.configuration(),
            L0 | L1Entry | L1Idle => self.power(line),
            RecoveryRcvrLock | RecoveryRcvrCfg | RecoveryIdle => self.recovery(),
            HotReset | Disabled | DisabledQuiet => self.reset(line),
        };
        if let Some(next) = next {
            self.enter(next);
        }
        next.is_some()
    }

    /// Enters a state: what it keeps of what the last one received.
    fn enter(&mut self, next: State) {
        let set = self.at.ready.or(self.at.run.set);
        match next {
            State::DetectQuiet => {
                (self.link, self.lane, self.inverted, self.scrambled) = (None, None, false, true);
            }
            State::PollingConfiguration => self.inverted ^= set.is_some_and(|(_, inverted)| inverted),
            State::ConfigLinkwidthStart => {
                let own = (!self.is_upstream()).then_some(self.setup.link);
                (self.link, self.lane) = (own, None);
            }
            State::ConfigLinkwidthAccept if self.is_upstream() => {
                self.link = set.and_then(|(set, _)| set.link);
            }
            State::ConfigLanenumWait => self.lane = Some(0),
            State::ConfigIdle => {
                let other = set.is_some_and(|(set, _)| set.control & NO_SCRAMBLING != 0);
                self.scrambled = !(other || self.setup.no_scrambling);
            }
            State::L0 => {
                let done = [Request::Retrain, Request::Reconfigure];
                self.directed = self.directed.filter(|request| !done.contains(request));
            }
            State::HotReset => self.directed = self.directed.filter(|request| *request == Request::Disable),
            _ => {}
        }
        self.state = next;
        self.link_up = next.link_up(self.link_up);
        self.entries += 1;
        self.at = Progress { since: self.now, life: self.now, ..Progress::default() };
    }
}
