//! The times of the LTSSM, in cycles of 8 ns.

use crate::seam::Cycle;

/// Cycles in a millisecond.
pub const MS: Cycle = 125_000;
/// Cycles in a microsecond.
pub const US: Cycle = 125;

/// Timeouts and counts (section 4.2.6). The default is what the specification says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Detect.Quiet is left after this time.
    pub detect_quiet: Cycle,
    /// Detect.Active gives up.
    pub detect_active: Cycle,
    /// Polling.Active gives up.
    pub polling_active: Cycle,
    /// Polling.Configuration gives up.
    pub polling_configuration: Cycle,
    /// Configuration.Linkwidth.Start gives up.
    pub linkwidth_start: Cycle,
    /// Each later substate of Configuration gives up.
    pub configuration: Cycle,
    /// Recovery.RcvrLock gives up.
    pub rcvr_lock: Cycle,
    /// Recovery.RcvrCfg gives up.
    pub rcvr_cfg: Cycle,
    /// Recovery.Idle gives up.
    pub recovery_idle: Cycle,
    /// Hot Reset ends without the other side's TS1.
    pub hot_reset: Cycle,
    /// A downstream port stays at least so long in Hot Reset.
    pub hot_reset_hold: Cycle,
    /// Disabled waits so long for the other side's electrical idle.
    pub disabled: Cycle,
    /// L0 without a SKP ordered set for so long leads to Recovery (128 us in revision 2.0, section
    /// 4.2.4.3; revision 1.1 leaves the way open).
    pub silence: Cycle,
    /// TS1 that are sent in Polling.Active.
    pub polling_sets: u32,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            detect_quiet: 12 * MS,
            detect_active: 12 * MS,
            polling_active: 24 * MS,
            polling_configuration: 48 * MS,
            linkwidth_start: 24 * MS,
            configuration: 2 * MS,
            rcvr_lock: 24 * MS,
            rcvr_cfg: 48 * MS,
            recovery_idle: 2 * MS,
            hot_reset: 2 * MS,
            hot_reset_hold: 0,
            disabled: 2 * MS,
            silence: 128 * US,
            polling_sets: 1024,
        }
    }
}
