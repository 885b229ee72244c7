//! The link training and status state machine (section 4.2.5 and 4.2.6).
//!
//! [`Ltssm::tick`] looks once a cycle whether the state is left. What has been received and sent in a
//! state is in one record, which is made anew when a state is entered.

mod configuration;
mod detect;
mod polling;
mod power;
mod recovery;
mod reset;
mod state;
mod times;

pub use state::{Request, Role, State};
pub use times::{Times, MS, US};

use crate::ordered_set::{Event, Kind, TrainingSet, DISABLE, HOT_RESET, NO_SCRAMBLING};
use crate::seam::Cycle;
use crate::symbol::Symbol;

/// Sets in a row that most states wait for.
const RUN: u32 = 8;
/// Sets or idle symbols that are sent after the first one was received.
const ANSWERS: u32 = 16;
/// Sets in a row that the substates of Configuration wait for.
const PAIR: u32 = 2;
/// Cycles of electrical idle before receiver detection (120 ns).
const SETTLED: Cycle = 15;

/// What the port sends in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmit {
    /// Electrical idle; EIOS comes first.
    ElectricalIdle,
    /// This training set, over and over.
    Training(TrainingSet),
    /// Logical idle.
    LogicalIdle,
    /// What the data link layer has, otherwise logical idle.
    Packets,
}

/// What the data link layer says about L1 (section 5.3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowPower {
    /// Nothing.
    None,
    /// A downstream port answers PM_Enter_L1: EIOS from the other side means L1.
    Expected,
    /// An upstream port's wish was acknowledged.
    Agreed,
}

/// What a state is left on beside ordered sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The received lane is in electrical idle, filtered.
    pub quiet: bool,
    /// The port has been in electrical idle for so many cycles.
    pub sent_quiet: Cycle,
    /// Receiver detection ended, with this result.
    pub detected: Option<bool>,
    /// About L1.
    pub low_power: LowPower,
}

/// Where a set or an idle symbol that is being sent was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    entries: u64,
    answers: bool,
}

/// A run of equal training sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Run {
    set: Option<(TrainingSet, bool)>,
    count: u32,
}

impl Run {
    /// The set, if it has come so many times in a row.
    fn of(&self, count: u32) -> Option<TrainingSet> {
        self.set.filter(|_| self.count >= count).map(|(set, _)| set)
    }
}

/// What has happened in this state.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    since: Cycle,
    run: Run,
    /// The set that the state waits for, once it has come often enough in a row.
    ready: Option<(TrainingSet, bool)>,
    /// Idle symbols received in a row.
    idle_run: u32,
    /// They were enough once.
    idle_ready: bool,
    /// What is answered has been received once.
    begun: bool,
    /// Sets sent.
    sent: u32,
    /// Sets or idle symbols sent that were begun after the first one was received.
    answers: u32,
    /// A training set with the link's numbers has come.
    matched: bool,
    /// EIOS has come.
    eios: bool,
    /// The line was in electrical idle.
    quiet: bool,
    /// The last sign of life: SKP in L0, TS1 with the bit in Hot Reset.
    life: Cycle,
}

/// How the machine is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    /// Its side.
    pub role: Role,
    /// Its times.
    pub times: Times,
    /// Link number that a downstream port gives.
    pub link: u8,
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

    /// Directs the machine. A wish to retrain means nothing outside L0 and L1.
    pub fn direct(&mut self, request: Request) {
        if request != Request::Retrain || matches!(self.state, State::L0 | State::L1Idle) {
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

    /// What is sent.
    pub fn transmit(&self) -> Transmit {
        use State::*;
        let ts = |kind, link, lane, control| Transmit::Training(self.own(kind, link, lane, control));
        let none = (self.setup.role == Role::Downstream).then_some(self.setup.link);
        match self.state {
            DetectQuiet | DetectActive | DisabledQuiet | L1Entry | L1Idle => Transmit::ElectricalIdle,
            PollingActive => ts(Kind::Ts1, None, None, 0),
            PollingConfiguration => ts(Kind::Ts2, None, None, 0),
            ConfigLinkwidthStart => ts(Kind::Ts1, none, None, 0),
            ConfigLinkwidthAccept => ts(Kind::Ts1, self.link, None, 0),
            ConfigLanenumWait | ConfigLanenumAccept | RecoveryRcvrLock => {
                ts(Kind::Ts1, self.link, self.lane, 0)
            }
            ConfigComplete | RecoveryRcvrCfg => ts(Kind::Ts2, self.link, self.lane, 0),
            HotReset => ts(Kind::Ts1, self.link, self.lane, HOT_RESET),
            Disabled => ts(Kind::Ts1, self.link, self.lane, DISABLE),
            ConfigIdle | RecoveryIdle => Transmit::LogicalIdle,
            L0 => Transmit::Packets,
        }
    }

    fn own(&self, kind: Kind, link: Option<u8>, lane: Option<u8>, control: u8) -> TrainingSet {
        let scrambling = if self.setup.no_scrambling { NO_SCRAMBLING } else { 0 };
        TrainingSet { control: control | scrambling, ..TrainingSet::new(kind, link, lane) }
    }

    /// A set or idle symbol is begun.
    pub fn begin(&self) -> Stamp {
        Stamp { entries: self.entries, answers: self.at.begun }
    }

    /// It has been sent.
    pub fn sent(&mut self, stamp: Stamp) {
        if stamp.entries == self.entries {
            self.at.sent += 1;
            self.at.answers += u32::from(stamp.answers);
        }
    }

    /// An ordered set has come, or a broken one.
    pub fn heard(&mut self, event: Event) {
        self.at.idle_run = 0;
        match event {
            Event::Training { set, inverted } if !inverted || self.state == State::PollingActive => {
                self.heard_training(set, inverted);
            }
            Event::Training { .. } | Event::Broken => self.at.run = Run::default(),
            Event::Skp(_) if self.state == State::L0 => self.at.life = self.now,
            Event::Skp(_) => {}
            Event::ElectricalIdle => self.at.eios = true,
        }
    }

    fn heard_training(&mut self, set: TrainingSet, inverted: bool) {
        let run = &mut self.at.run;
        if run.set != Some((set, inverted)) {
            *run = Run { set: Some((set, inverted)), count: 0 };
        }
        run.count = run.count.saturating_add(1);
        let matches = self.is_ours(&set);
        self.at.matched |= matches;
        match self.state {
            State::PollingConfiguration => self.at.begun |= set.kind == Kind::Ts2 && set.link.is_none(),
            State::ConfigComplete | State::RecoveryRcvrCfg => {
                self.at.begun |= set.kind == Kind::Ts2 && matches;
            }
            State::HotReset if self.at.run.count >= PAIR && set.control & HOT_RESET != 0 => {
                self.at.life = self.now;
            }
            _ => {}
        }
        if self.at.run.count >= RUN && self.is_awaited(&set) {
            self.at.ready = self.at.run.set;
        }
    }

    /// A set that the state waits for a run of.
    fn is_awaited(&self, set: &TrainingSet) -> bool {
        let unnamed = set.link.is_none() && set.lane.is_none();
        match self.state {
            State::PollingActive => unnamed,
            State::PollingConfiguration => unnamed && set.kind == Kind::Ts2,
            State::RecoveryRcvrLock => self.is_ours(set),
            State::ConfigComplete | State::RecoveryRcvrCfg => set.kind == Kind::Ts2 && self.is_ours(set),
            _ => false,
        }
    }

    /// A symbol has come that belongs to no ordered set, descrambled.
    pub fn heard_symbol(&mut self, symbol: Option<Symbol>) {
        self.at.run = Run::default();
        let idle = symbol == Some(Symbol::IDLE);
        self.at.idle_run = if idle { self.at.idle_run.saturating_add(1) } else { 0 };
        self.at.idle_ready |= self.at.idle_run >= RUN;
        if matches!(self.state, State::ConfigIdle | State::RecoveryIdle) {
            self.at.begun |= idle;
        }
    }

    /// A set with the numbers of this link.
    fn is_ours(&self, set: &TrainingSet) -> bool {
        self.link.is_some() && self.lane.is_some() && (set.link, set.lane) == (self.link, self.lane)
    }

    /// So many equal sets of a kind with the numbers of this link have come in a row.
    fn matching(&self, kind: Kind, count: u32) -> bool {
        self.at.run.of(count).is_some_and(|set| set.kind == kind && self.is_ours(&set))
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
            State::L0 => self.directed = self.directed.filter(|request| *request != Request::Retrain),
            State::HotReset => self.directed = self.directed.filter(|request| *request == Request::Disable),
            _ => {}
        }
        self.state = next;
        self.entries += 1;
        self.at = Progress { since: self.now, life: self.now, ..Progress::default() };
    }
}
