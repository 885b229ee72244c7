//! What has been received and sent in a state.

use super::{Ltssm, State, PAIR, RUN};
use crate::ordered_set::{Kind, TrainingSet, HOT_RESET};
use crate::recogniser::Event;
use crate::seam::Cycle;
use crate::symbol::Symbol;

/// A run of equal training sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Run {
    pub set: Option<(TrainingSet, bool)>,
    pub count: u32,
}

impl Run {
    /// The set, if it has come so many times in a row.
    pub fn of(&self, count: u32) -> Option<TrainingSet> {
        self.set.filter(|_| self.count >= count).map(|(set, _)| set)
    }
}

/// What has happened in this state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    pub since: Cycle,
    pub run: Run,
    /// The set that the state waits for, once it has come often enough in a row.
    pub ready: Option<(TrainingSet, bool)>,
    /// Idle symbols received in a row.
    pub idle_run: u32,
    /// They were enough once.
    pub idle_ready: bool,
    /// What is answered has been received once.
    pub begun: bool,
    /// Sets sent.
    pub sent: u32,
    /// Sets or idle symbols sent that were begun after the first one was received.
    pub answers: u32,
    /// A training set with the link's numbers has come.
    pub matched: bool,
    /// EIOS has come.
    pub eios: bool,
    /// The line was in electrical idle.
    pub quiet: bool,
    /// The last sign of life: SKP in L0, TS1 with the bit in Hot Reset.
    pub life: Cycle,
}

impl Ltssm {
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
    pub(super) fn is_ours(&self, set: &TrainingSet) -> bool {
        self.link.is_some() && self.lane.is_some() && (set.link, set.lane) == (self.link, self.lane)
    }

    /// So many equal sets of a kind with the numbers of this link have come in a row.
    pub(super) fn matching(&self, kind: Kind, count: u32) -> bool {
        self.at.run.of(count).is_some_and(|set| set.kind == kind && self.is_ours(&set))
    }
}
