//! What a state sends, and the count of what was sent.

use super::{Ltssm, Role, State};
use crate::ordered_set::{Kind, TrainingSet, DISABLE, HOT_RESET, NO_SCRAMBLING};

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

/// Where a set or an idle symbol that is being sent was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    entries: u64,
    answers: bool,
}

impl Ltssm {
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
        let generation = self.setup.generation;
        let enhanced = if self.state.is_polling_or_configuration() { generation.control() } else { 0 };
        let control = control | scrambling | enhanced;
        TrainingSet { rate: generation.rate(), control, ..TrainingSet::new(kind, link, lane) }
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
}
