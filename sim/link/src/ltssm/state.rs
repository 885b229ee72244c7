//! The states of the LTSSM and the side of the link it is on (section 4.2.5).

/// Which end of the link a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The downstream port, of a root complex: it names the link and the lane, and it directs.
    Downstream,
    /// The upstream port, of an endpoint: it follows.
    Upstream,
}

/// A state, or a substate where the specification has some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Electrical idle; waits for the other side to break its own, or for 12 ms.
    DetectQuiet,
    /// Receiver detection is under way.
    DetectActive,
    /// TS1 with PAD numbers.
    PollingActive,
    /// TS2 with PAD numbers.
    PollingConfiguration,
    /// The downstream port names the link.
    ConfigLinkwidthStart,
    /// The upstream port has taken the link number.
    ConfigLinkwidthAccept,
    /// The downstream port names the lane.
    ConfigLanenumWait,
    /// The lane number is agreed on.
    ConfigLanenumAccept,
    /// TS2 with both numbers.
    ConfigComplete,
    /// Logical idle before L0.
    ConfigIdle,
    /// Packets.
    L0,
    /// TS1 with both numbers.
    RecoveryRcvrLock,
    /// TS2 with both numbers.
    RecoveryRcvrCfg,
    /// Logical idle before L0 again; leads to Hot Reset and Disabled as well.
    RecoveryIdle,
    /// TS1 with the Hot Reset bit.
    HotReset,
    /// TS1 with the Disable Link bit.
    Disabled,
    /// Disabled, and in electrical idle.
    DisabledQuiet,
    /// EIOS, then electrical idle.
    L1Entry,
    /// L1, until either side leaves electrical idle.
    L1Idle,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::DetectQuiet,
        Self::DetectActive,
        Self::PollingActive,
        Self::PollingConfiguration,
        Self::ConfigLinkwidthStart,
        Self::ConfigLinkwidthAccept,
        Self::ConfigLanenumWait,
        Self::ConfigLanenumAccept,
        Self::ConfigComplete,
        Self::ConfigIdle,
        Self::L0,
        Self::RecoveryRcvrLock,
        Self::RecoveryRcvrCfg,
        Self::RecoveryIdle,
        Self::HotReset,
        Self::Disabled,
        Self::DisabledQuiet,
        Self::L1Entry,
        Self::L1Idle,
    ];

    /// LinkUp in this state, if it was so in the state before: the data link layer keeps what it knows while the link is up (Base 6.3, table
    /// 4-58). Configuration leaves it as it is: Recovery may lead there.
    pub const fn link_up(self, before: bool) -> bool {
        match self {
            Self::L0
            | Self::RecoveryRcvrLock
            | Self::RecoveryRcvrCfg
            | Self::RecoveryIdle
            | Self::L1Entry
            | Self::L1Idle => true,
            Self::ConfigLinkwidthStart
            | Self::ConfigLinkwidthAccept
            | Self::ConfigLanenumWait
            | Self::ConfigLanenumAccept
            | Self::ConfigComplete
            | Self::ConfigIdle => before,
            _ => false,
        }
    }

    /// The state is a substate of Polling or Configuration.
    pub const fn is_polling_or_configuration(self) -> bool {
        use State::*;
        matches!(
            self,
            PollingActive
                | PollingConfiguration
                | ConfigLinkwidthStart
                | ConfigLinkwidthAccept
                | ConfigLanenumWait
                | ConfigLanenumAccept
                | ConfigComplete
                | ConfigIdle
        )
    }

    /// The other side may send packets already.
    pub const fn hears_packets(self) -> bool {
        matches!(self, Self::L0 | Self::RecoveryIdle | Self::ConfigIdle)
    }
}

/// What a higher layer directs a downstream port to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Recovery, and back to L0.
    Retrain,
    /// Configuration, through Recovery, and back to L0.
    Reconfigure,
    /// Hot Reset, through Recovery.
    HotReset,
    /// Disabled, through Recovery, until it is taken back.
    Disable,
}
