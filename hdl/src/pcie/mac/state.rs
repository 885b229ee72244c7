//! The states of the LTSSM, and their codes.

#![allow(missing_docs, reason = "derive(LogicState) makes methods without documentation")]

use rust_hdl::prelude::*;

/// A state. Its code at the ports `state` and `deepest` is its place in this list; [`codes`] has them.
#[derive(Copy, Clone, PartialEq, Debug, LogicState)]
pub enum LtssmState {
    /// Electrical idle, until the other side breaks its own, or 12 ms.
    DetectQuiet,
    /// Receiver detection.
    DetectActive,
    /// TS1, PAD PAD.
    PollingActive,
    /// TS2, PAD PAD.
    PollingConfiguration,
    /// TS1, PAD PAD: the other side names the link.
    LinkwidthStart,
    /// TS1 with the link's number: the other side names the lane.
    LinkwidthAccept,
    /// TS1 with both numbers.
    LanenumWait,
    /// TS2 with both numbers.
    Complete,
    /// Logical idle before L0.
    ConfigurationIdle,
    /// Packets.
    ActiveL0,
    /// TS1 with both numbers.
    RecoveryLock,
    /// TS2 with both numbers.
    RecoveryConfiguration,
    /// Logical idle before L0.
    RecoveryIdle,
    /// TS1 with the hot reset bit.
    HotReset,
    /// TS1 with the disable bit.
    Disabled,
    /// Electrical idle, until the other side breaks its own.
    DisabledQuiet,
    /// EIOS and electrical idle: the other side follows.
    L1Entry,
    /// L1.
    AsleepL1,
}

/// The codes of the states.
pub mod codes {
    /// Detect.Quiet.
    pub const DETECT_QUIET: u64 = 0;
    /// Detect.Active.
    pub const DETECT_ACTIVE: u64 = 1;
    /// Polling.Active.
    pub const POLLING_ACTIVE: u64 = 2;
    /// Polling.Configuration.
    pub const POLLING_CONFIGURATION: u64 = 3;
    /// Configuration.Linkwidth.Start.
    pub const LINKWIDTH_START: u64 = 4;
    /// Configuration.Linkwidth.Accept.
    pub const LINKWIDTH_ACCEPT: u64 = 5;
    /// Configuration.Lanenum.Wait, and Accept.
    pub const LANENUM_WAIT: u64 = 6;
    /// Configuration.Complete.
    pub const COMPLETE: u64 = 7;
    /// Configuration.Idle.
    pub const CONFIGURATION_IDLE: u64 = 8;
    /// L0.
    pub const L0: u64 = 9;
    /// Recovery.RcvrLock.
    pub const RECOVERY_LOCK: u64 = 10;
    /// Recovery.RcvrCfg.
    pub const RECOVERY_CONFIGURATION: u64 = 11;
    /// Recovery.Idle.
    pub const RECOVERY_IDLE: u64 = 12;
    /// Hot Reset.
    pub const HOT_RESET: u64 = 13;
    /// Disabled, while it is said.
    pub const DISABLED: u64 = 14;
    /// Disabled, in electrical idle.
    pub const DISABLED_QUIET: u64 = 15;
    /// L1.Entry.
    pub const L1_ENTRY: u64 = 16;
    /// L1.Idle.
    pub const L1: u64 = 17;
}
